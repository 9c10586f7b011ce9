// SPDX-License-Identifier: MIT
// Updates of a net so small that they cost what calling operators costs: by autograd and an optimizer; and, on a CPU,
// written out into buffers that are made once, with the update folded into the product that gives the gradient of a
// weight. On a CUDA device a graph of the whole update is replayed.
#include "common/by_device.hpp"
#include "common/estimates.hpp"
#include "common/operator_count.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/graphs/captured_work.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::autograd_standard {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr double kRate = 0.01;

struct Sizes {
  std::int64_t updates, batch, width, inner;
};

Sizes sizes_of(const std::string& size, bool wide) {
  return examples::of_size<Sizes>(size, {5, 8, 32, 64}, wide ? Sizes{40, 16, 128, 256} : Sizes{100, 8, 32, 64},
                                  {20, 16, 1024, 2048});
}

double flops_of(const Sizes& sizes) {
  const double of_data = examples::elements({sizes.width, sizes.inner});
  return examples::training_flops(2 * of_data, examples::elements({sizes.updates, sizes.batch}), of_data);
}

bench::Estimate estimate(const bench::Setup& setup, bool wide) {
  const Sizes sizes = sizes_of(setup.size, wide);
  const double data = examples::elements({sizes.updates, sizes.batch, sizes.width});
  const double weights =
      examples::linear_elements(sizes.width, sizes.inner) + examples::linear_elements(sizes.inner, sizes.width);
  bench::Estimate out =
      examples::estimate_of_elements(2 * data + weights, examples::elements({sizes.batch, sizes.width}) + 1 + weights,
                                     examples::float_or_half_bytes(setup), flops_of(sizes));
  out.launches = (examples::training_launches(4) + 8) * static_cast<double>(sizes.updates);
  out.half = setup.device == "cuda";
  return out;
}

/// Both variants: weights, data, and as many updates a step as make it long enough to time.
class Updates : public examples::TensorVariant {
 public:
  explicit Updates(bool wide) : wide_(wide) {}
  void step() override {
    for (std::int64_t i = 0; i < data_.size(0); ++i)
      update(inputs_[static_cast<std::size_t>(i)], targets_[static_cast<std::size_t>(i)]);
  }
  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(data_.size(0) * data_.size(1));
    work.flops = flops_of(sizes_of(size(), wide_));
    work.flops_type = examples::flops_type_of(data_.scalar_type());
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    const std::int64_t operators = examples::operators_of([this] { update(inputs_[0], targets_[0]); });
    return {{"operators_per_update", static_cast<double>(operators), bench::MetricKind::kCount}};
  }

 protected:
  virtual void update(const torch::Tensor& x, const torch::Tensor& target) = 0;
  virtual void prepare() = 0;

  void make() override {
    const Sizes sizes = sizes_of(size(), wide_);
    const auto type = device().is_cuda() ? torch::kHalf : torch::kFloat;
    up_ = torch::nn::Linear(sizes.width, sizes.inner);
    down_ = torch::nn::Linear(sizes.inner, sizes.width);
    up_->to(device(), type);
    down_->to(device(), type);
    data_ = torch::randn({sizes.updates, sizes.batch, sizes.width}).to(device(), type);
    wanted_ = torch::randn({sizes.updates, sizes.batch, sizes.width}).to(device(), type);
    inputs_ = data_.unbind(0);
    targets_ = wanted_.unbind(0);
    prepare();
  }
  std::vector<NamedTensor> given() override {
    return {{"data", data_},        {"targets", wanted_},           {"up.weight", up_->weight},
            {"up.bias", up_->bias}, {"down.weight", down_->weight}, {"down.bias", down_->bias}};
  }
  std::vector<NamedTensor> results() override {
    return {{"output", out_},
            {"loss", loss_},
            {"up.weight", up_->weight},
            {"up.bias", up_->bias},
            {"down.weight", down_->weight},
            {"down.bias", down_->bias}};
  }

  std::vector<torch::Tensor> weights() const { return {up_->weight, up_->bias, down_->weight, down_->bias}; }

  bool wide_;
  torch::nn::Linear up_{nullptr}, down_{nullptr};
  torch::Tensor data_, wanted_, out_, loss_;
  std::vector<torch::Tensor> inputs_, targets_;
};

class Eager : public Updates {
 public:
  using Updates::Updates;

 protected:
  void prepare() override {
    optimizer_ = std::make_unique<torch::optim::SGD>(weights(), torch::optim::SGDOptions(kRate));
  }
  void update(const torch::Tensor& x, const torch::Tensor& target) override {
    optimizer_->zero_grad();
    {
      const ProfileRange range("forward");
      out_ = down_(torch::relu(up_(x)));
      loss_ = torch::mse_loss(out_, target);
    }
    {
      const ProfileRange range("backward");
      loss_.backward();
    }
    const ProfileRange range("optimizer");
    optimizer_->step();
  }

 private:
  std::unique_ptr<torch::optim::SGD> optimizer_;
};

/// The eager update, launched as a whole. Its inputs are copied to where those of the capture were.
class Replayed : public Eager {
 public:
  using Eager::Eager;

 private:
  void prepare() override {
    Eager::prepare();
    x_ = torch::zeros_like(inputs_[0]);
    target_ = torch::zeros_like(targets_[0]);
    std::vector<torch::Tensor> first;
    for (const torch::Tensor& weight : weights()) first.push_back(weight.detach().clone());
    graph_.emplace([this] { Eager::update(x_, target_); }, pool_);
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < first.size(); ++i) weights()[i].copy_(first[i]);
  }
  void update(const torch::Tensor& x, const torch::Tensor& target) override {
    {
      const ProfileRange range("inputs");
      x_.copy_(x);
      target_.copy_(target);
    }
    const ProfileRange range("replay");
    graph_->replay();
  }
  torch::Tensor x_, target_;
  examples::GraphPool pool_;
  std::optional<examples::CapturedWork> graph_;
};

class WrittenOut : public Updates {
 public:
  using Updates::Updates;

 private:
  void prepare() override {
    const torch::NoGradGuard no_grad;
    hidden_ = torch::empty({data_.size(1), up_->weight.size(0)}, data_.options());
    hidden_gradient_ = torch::empty_like(hidden_);
    out_ = torch::empty({data_.size(1), data_.size(2)}, data_.options());
    difference_ = torch::empty_like(out_);
    loss_ = torch::empty({}, data_.options());
    ones_ = torch::ones({data_.size(1)}, data_.options());
  }
  void update(const torch::Tensor& x, const torch::Tensor& target) override {
    const torch::NoGradGuard no_grad;
    {
      const ProfileRange range("forward");
      torch::addmm_out(hidden_, up_->bias, x, up_->weight.t());
      hidden_.relu_();
      torch::addmm_out(out_, down_->bias, hidden_, down_->weight.t());
      at::mse_loss_out(loss_, out_, target);
      torch::sub_out(difference_, out_, target);
    }
    const ProfileRange range("backward");
    const double slope = 2.0 / static_cast<double>(out_.numel());  // of the mean of squares
    // The gradient of the hidden values first: it needs the weight that is about to change.
    torch::mm_out(hidden_gradient_, difference_, down_->weight);
    at::threshold_backward_out(hidden_gradient_, hidden_gradient_, hidden_, 0);
    down_->weight.addmm_(difference_.t(), hidden_, 1, -kRate * slope);
    down_->bias.addmv_(difference_.t(), ones_, 1, -kRate * slope);
    up_->weight.addmm_(hidden_gradient_.t(), x, 1, -kRate * slope);
    up_->bias.addmv_(hidden_gradient_.t(), ones_, 1, -kRate * slope);
  }
  torch::Tensor hidden_, hidden_gradient_, difference_, ones_;
};

bench::Benchmark autograd_standard(bool wide) {
  const auto written_out = [wide] { return std::make_unique<WrittenOut>(wide); };
  const auto replayed = [wide] { return std::make_unique<Replayed>(wide); };
  bench::Benchmark benchmark;
  benchmark.name = wide ? "autograd_standard_wide" : "autograd_standard";
  benchmark.purpose = wide ? "as autograd_standard, layers four times as wide"
                           : "autograd and SGD; on a CPU a step written out into buffers, on a GPU a graph of the step";
  if (!wide) benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[wide] { return std::make_unique<Eager>(wide); }, {1e-5, 1e-6}, {2e-3, 2e-3}};
  benchmark.optimized = {
      [=] { return std::make_unique<examples::ByDevice>(written_out, replayed); }, {1e-5, 1e-6}, {2e-3, 2e-3}};
  benchmark.least_ratio_cpu = wide ? 1.3 : 2;
  benchmark.least_ratio_cuda = 1.3;
  benchmark.estimate = [wide](const bench::Setup& setup) { return estimate(setup, wide); };
  benchmark.skip = examples::skip_without_graphs;
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(autograd_standard(false)) && bench::add_benchmark(autograd_standard(true));

}  // namespace workloads::autograd_standard
