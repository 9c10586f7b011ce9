// SPDX-License-Identifier: MIT
// Small steps of training that add up the loss: by .item(), for which the host waits until the device has done all that
// it was given; and on the device, read once at the end.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <string>

namespace workloads::sync_antipattern {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t batches, batch, width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {4, 8, 32}, {50, 32, 128}, {16, 2048, 2048});
}

double flops_of(const Sizes& sizes) {
  const double of_data = examples::elements({sizes.width, sizes.width});
  return examples::training_flops(of_data + static_cast<double>(sizes.width),
                                  examples::elements({sizes.batches, sizes.batch}), of_data);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double rows = examples::elements({sizes.batches, sizes.batch});
  const double weights =
      examples::linear_elements(sizes.width, sizes.width) + examples::linear_elements(sizes.width, 1);
  bench::Estimate out = examples::estimate_of_elements(rows * static_cast<double>(sizes.width + 1) + weights, weights,
                                                       examples::kFloatBytes, flops_of(sizes));
  out.output_bytes += sizeof(double);  // the sum of losses
  out.launches = (examples::training_launches(5) + 6) * static_cast<double>(sizes.batches);
  return out;
}

class Loop : public examples::TensorVariant {
 public:
  explicit Loop(bool on_device) : on_device_(on_device) {}

  void step() override {
    waits_ = 0;
    double sum = 0;
    torch::Tensor sum_there = torch::zeros({}, torch::TensorOptions(device()).dtype(torch::kDouble));
    for (std::int64_t i = 0; i < x_.size(0); ++i) {
      torch::Tensor loss;
      {
        const ProfileRange range("train");
        optimizer_->zero_grad();
        loss = torch::mse_loss(net_->forward(x_[i]), y_[i]);
        loss.backward();
        optimizer_->step();
      }
      const ProfileRange range("loss");
      if (on_device_)
        sum_there.add_(loss.detach());
      else
        sum += read(loss);
    }
    const ProfileRange range("read_loss");
    total_ = torch::full({}, on_device_ ? read(sum_there) : sum, torch::kDouble);
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(x_.size(0) * x_.size(1));
    work.flops = flops_of(sizes_of(size()));
    work.flops_type = "fp32";
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    return {{"waits_for_device", static_cast<double>(waits_), bench::MetricKind::kCount}};
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size());
    x_ = torch::randn({sizes.batches, sizes.batch, sizes.width}).to(device());
    y_ = torch::randn({sizes.batches, sizes.batch, 1}).to(device());
    net_ = torch::nn::Sequential(torch::nn::Linear(sizes.width, sizes.width), torch::nn::Tanh(),
                                 torch::nn::Linear(sizes.width, 1));
    net_->to(device());
    optimizer_ = std::make_unique<torch::optim::SGD>(net_->parameters(), 0.01);
  }
  std::vector<NamedTensor> given() override {
    auto all = examples::parameters_of(*net_);
    all.insert(all.begin(), {{"x", x_}, {"y", y_}});
    return all;
  }
  std::vector<NamedTensor> results() override {
    auto all = examples::parameters_of(*net_);
    all.insert(all.begin(), {"sum of losses", total_});
    return all;
  }
  double read(const torch::Tensor& value) {
    ++waits_;
    return value.item<double>();
  }

  bool on_device_;
  std::int64_t waits_ = 0;
  torch::Tensor x_, y_, total_;
  torch::nn::Sequential net_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
};

bench::Benchmark sync_antipattern() {
  bench::Benchmark benchmark;
  benchmark.name = "sync_antipattern";
  benchmark.estimate = estimate;
  benchmark.purpose = "the loss read at every step, once at the end";
  // A CPU has nothing to wait for: there the benchmark shows that both count alike, and promises nothing.
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Loop>(false); }, {}, {1e-5, 1e-6}};
  benchmark.optimized = {[] { return std::make_unique<Loop>(true); }, {}, {1e-5, 1e-6}};
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(sync_antipattern());

}  // namespace workloads::sync_antipattern
