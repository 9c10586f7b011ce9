// SPDX-License-Identifier: MIT
// gelu(x + bias) + residual, forward and backward: three operators of LibTorch with a result each; and one of our own,
// registered with LibTorch, that reads and writes everything once each way.
#include "common/tensor_side.hpp"
#include "workloads/kernels/on_device.hpp"

#include <rangefinder/range.hpp>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <tuple>

namespace {

using examples::NamedTensor;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;
namespace kernels = examples::kernels;

using Forward = Tensor(const Tensor& x, const Tensor& bias, const Tensor& residual);
using Backward = std::tuple<Tensor, Tensor>(const Tensor& gradient, const Tensor& x, const Tensor& bias);

template <typename Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

kernels::Shape shape_of(const Tensor& x, const Tensor& bias, const Tensor& like_x) {
  TORCH_CHECK(x.dim() == 2 && bias.dim() == 1 && bias.size(0) == x.size(1) && like_x.sizes() == x.sizes(),
              "bias_gelu_residual: x ", x.sizes(), ", bias ", bias.sizes(), ", the third ", like_x.sizes());
  for (const Tensor& one : {x, bias, like_x})
    TORCH_CHECK(one.scalar_type() == torch::kFloat && one.is_contiguous(),
                "bias_gelu_residual: contiguous floats only");
  return {x.size(0), x.size(1)};
}

Tensor forward_cpu(const Tensor& x, const Tensor& bias, const Tensor& residual) {
  const auto shape = shape_of(x, bias, residual);
  Tensor out = torch::empty_like(x);
  kernels::bias_gelu_residual(x.const_data_ptr<float>(), bias.const_data_ptr<float>(), residual.const_data_ptr<float>(),
                              out.data_ptr<float>(), shape);
  return out;
}

std::tuple<Tensor, Tensor> backward_cpu(const Tensor& gradient, const Tensor& x, const Tensor& bias) {
  const auto shape = shape_of(x, bias, gradient);
  Tensor gradient_x = torch::empty_like(x), gradient_bias = torch::zeros_like(bias);
  kernels::bias_gelu_residual_backward(gradient.const_data_ptr<float>(), x.const_data_ptr<float>(),
                                       bias.const_data_ptr<float>(), gradient_x.data_ptr<float>(),
                                       gradient_bias.data_ptr<float>(), shape);
  return {gradient_x, gradient_bias};
}

Tensor forward_cuda(const Tensor& x, const Tensor& bias, const Tensor& residual) {
  const auto shape = shape_of(x, bias, residual);
  Tensor out = torch::empty_like(x);
  kernels::check_launch(kernels::bias_gelu_residual_on_device(x.const_data_ptr<float>(), bias.const_data_ptr<float>(),
                                                              residual.const_data_ptr<float>(), out.data_ptr<float>(),
                                                              shape, kernels::current_stream(x)));
  return out;
}

std::tuple<Tensor, Tensor> backward_cuda(const Tensor& gradient, const Tensor& x, const Tensor& bias) {
  const auto shape = shape_of(x, bias, gradient);
  Tensor gradient_x = torch::empty_like(x), gradient_bias = torch::empty_like(bias);
  kernels::check_launch(kernels::bias_gelu_residual_backward_on_device(
      gradient.const_data_ptr<float>(), x.const_data_ptr<float>(), bias.const_data_ptr<float>(),
      gradient_x.data_ptr<float>(), gradient_bias.data_ptr<float>(), shape, kernels::current_stream(x)));
  return {gradient_x, gradient_bias};
}

/// Keeps x and the bias, no result between: what the gradient needs is cheaper to compute again than to fetch.
class WithGradient : public torch::autograd::Function<WithGradient> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& bias,
                        const Tensor& residual) {
    static const auto kOperator = find<Forward>("rangefinder_examples::bias_gelu_residual");
    context->save_for_backward({x, bias});
    const at::AutoDispatchBelowADInplaceOrView below;
    return kOperator.call(x, bias, residual);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    static const auto kOperator = find<Backward>("rangefinder_examples::bias_gelu_residual_backward");
    const auto saved = context->get_saved_variables();
    const auto [x, bias] = kOperator.call(gradients[0].contiguous(), saved[0], saved[1]);
    return {x, bias, gradients[0]};
  }
};

Tensor with_gradient(const Tensor& x, const Tensor& bias, const Tensor& residual) {
  return WithGradient::apply(x, bias, residual);
}

}  // namespace

TORCH_LIBRARY(rangefinder_examples, library) {
  library.def("bias_gelu_residual(Tensor x, Tensor bias, Tensor residual) -> Tensor");
  library.def("bias_gelu_residual_backward(Tensor gradient, Tensor x, Tensor bias) -> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(rangefinder_examples, CPU, library) {
  library.impl("bias_gelu_residual", forward_cpu);
  library.impl("bias_gelu_residual_backward", backward_cpu);
}
TORCH_LIBRARY_IMPL(rangefinder_examples, CUDA, library) {
  library.impl("bias_gelu_residual", forward_cuda);
  library.impl("bias_gelu_residual_backward", backward_cuda);
}
TORCH_LIBRARY_IMPL(rangefinder_examples, Autograd, library) { library.impl("bias_gelu_residual", with_gradient); }

namespace {

struct Sizes {
  std::int64_t rows, width;
};

class Activation : public examples::TensorSide {
 public:
  explicit Activation(bool fused) : fused_(fused) {}

  void step() override {
    for (Tensor& one : {std::ref(x_), std::ref(bias_), std::ref(residual_)}) one.mutable_grad().reset();
    {
      const ProfileRange range("forward");
      static const auto kOperator = find<Forward>("rangefinder_examples::bias_gelu_residual");
      out_ = fused_ ? kOperator.call(x_, bias_, residual_) : torch::gelu(x_ + bias_) + residual_;
    }
    const ProfileRange range("backward");
    out_.backward(gradient_);
  }

  bench::Work work() override {
    bench::Work work;
    work.bytes =
        (3.0 + 3.0) * 4.0 * static_cast<double>(x_.numel());  // of use: forward and backward, three arrays each
    return work;
  }

 private:
  void make() override {
    const auto sizes = of_size<Sizes>({32, 256}, {256, 2048}, {8192, 8192});
    const auto random = [&](torch::IntArrayRef shape) { return torch::randn(shape).to(device()); };
    x_ = random({sizes.rows, sizes.width}).requires_grad_();
    bias_ = random({sizes.width}).requires_grad_();
    residual_ = random({sizes.rows, sizes.width}).requires_grad_();
    gradient_ = random({sizes.rows, sizes.width});
  }
  std::vector<NamedTensor> given() override {
    return {{"x", x_}, {"bias", bias_}, {"residual", residual_}, {"gradient", gradient_}};
  }
  std::vector<NamedTensor> results() override {
    return {{"out", out_},
            {"gradient of x", x_.grad()},
            {"gradient of bias", bias_.grad()},
            {"gradient of residual", residual_.grad()}};
  }

  bool fused_;
  Tensor x_, bias_, residual_, gradient_, out_;
};

bench::Pair custom_cuda_kernel() {
  bench::Pair pair;
  pair.name = "custom_cuda_kernel";
  pair.purpose = "bias, GELU and residual as three operators, as one of our own with its gradient";
  pair.devices = {"cpu", "cuda"};
  pair.baseline = {[] { return std::make_unique<Activation>(false); }, {1e-5, 1e-4}, {1e-5, 1e-4}};
  pair.optimized = {[] { return std::make_unique<Activation>(true); }, {1e-5, 1e-4}, {1e-5, 1e-4}};
  pair.least_ratio_cpu = 1.2;
  pair.skip = [](const bench::Setup& setup) -> std::string {
    return setup.device == "cuda" && !kernels::device_kernels_built() ? "feature_not_built" : "";
  };
  return pair;
}

[[maybe_unused]] const bool kAdded = bench::add_pair(custom_cuda_kernel());

}  // namespace
