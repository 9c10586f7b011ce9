// SPDX-License-Identifier: MIT
#include "workloads/kernels/bias_gelu_residual_operator.hpp"

#include "workloads/kernels/bias_gelu_residual.hpp"
#include "workloads/kernels/on_device.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <tuple>

namespace examples::kernels {
namespace {

using torch::Tensor;

using Forward = Tensor(const Tensor& x, const Tensor& bias, const Tensor& residual);
using Backward = std::tuple<Tensor, Tensor>(const Tensor& gradient, const Tensor& x, const Tensor& bias);

template <typename Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

Shape shape_of(const Tensor& x, const Tensor& bias, const Tensor& like_x, bool doubles = false) {
  TORCH_CHECK(x.dim() == 2 && bias.dim() == 1 && bias.size(0) == x.size(1) && like_x.sizes() == x.sizes(),
              "bias_gelu_residual: x ", x.sizes(), ", bias ", bias.sizes(), ", the third ", like_x.sizes());
  for (const Tensor& one : {x, bias, like_x})
    TORCH_CHECK(one.scalar_type() == (doubles ? torch::kDouble : torch::kFloat) && one.is_contiguous(),
                "bias_gelu_residual: contiguous floats only, or doubles on a CPU");
  return {x.size(0), x.size(1)};
}

template <typename Float>
Tensor forward_of(const Tensor& x, const Tensor& bias, const Tensor& residual, Shape shape) {
  Tensor out = torch::empty_like(x);
  bias_gelu_residual(x.const_data_ptr<Float>(), bias.const_data_ptr<Float>(), residual.const_data_ptr<Float>(),
                     out.data_ptr<Float>(), shape);
  return out;
}

template <typename Float>
std::tuple<Tensor, Tensor> backward_of(const Tensor& gradient, const Tensor& x, const Tensor& bias, Shape shape) {
  Tensor gradient_x = torch::empty_like(x), gradient_bias = torch::zeros_like(bias);
  bias_gelu_residual_backward(gradient.const_data_ptr<Float>(), x.const_data_ptr<Float>(), bias.const_data_ptr<Float>(),
                              gradient_x.data_ptr<Float>(), gradient_bias.data_ptr<Float>(), shape);
  return {gradient_x, gradient_bias};
}

bool of_doubles(const Tensor& x) { return x.scalar_type() == torch::kDouble; }

Tensor forward_cpu(const Tensor& x, const Tensor& bias, const Tensor& residual) {
  const Shape shape = shape_of(x, bias, residual, of_doubles(x));
  return of_doubles(x) ? forward_of<double>(x, bias, residual, shape) : forward_of<float>(x, bias, residual, shape);
}

std::tuple<Tensor, Tensor> backward_cpu(const Tensor& gradient, const Tensor& x, const Tensor& bias) {
  const Shape shape = shape_of(x, bias, gradient, of_doubles(x));
  return of_doubles(x) ? backward_of<double>(gradient, x, bias, shape) : backward_of<float>(gradient, x, bias, shape);
}

Tensor forward_cuda(const Tensor& x, const Tensor& bias, const Tensor& residual) {
  const auto shape = shape_of(x, bias, residual);
  Tensor out = torch::empty_like(x);
  check_launch(bias_gelu_residual_on_device(x.const_data_ptr<float>(), bias.const_data_ptr<float>(),
                                            residual.const_data_ptr<float>(), out.data_ptr<float>(), shape,
                                            current_stream(x)));
  return out;
}

std::tuple<Tensor, Tensor> backward_cuda(const Tensor& gradient, const Tensor& x, const Tensor& bias) {
  const auto shape = shape_of(x, bias, gradient);
  Tensor gradient_x = torch::empty_like(x), gradient_bias = torch::empty_like(bias);
  check_launch(bias_gelu_residual_backward_on_device(gradient.const_data_ptr<float>(), x.const_data_ptr<float>(),
                                                     bias.const_data_ptr<float>(), gradient_x.data_ptr<float>(),
                                                     gradient_bias.data_ptr<float>(), shape, current_stream(x)));
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

}  // namespace

Tensor bias_gelu_residual(const Tensor& x, const Tensor& bias, const Tensor& residual) {
  static const auto kOperator = find<Forward>("rangefinder_examples::bias_gelu_residual");
  return kOperator.call(x, bias, residual);
}

}  // namespace examples::kernels
