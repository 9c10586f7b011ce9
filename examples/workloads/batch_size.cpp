// SPDX-License-Identifier: MIT
// Gradients of the same samples: one at a time, where each pays for all operators and reads all weights; and 128 at a
// time.
#include "common/tensor_side.hpp"

#include <rangefinder/range.hpp>

#include <memory>

namespace {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t samples, width, hidden;
};

class Batches : public examples::TensorSide {
 public:
  explicit Batches(std::int64_t batch) : batch_(batch) {}

  void step() override {
    net_->zero_grad();
    for (std::int64_t at = 0; at < x_.size(0); at += batch_) {
      torch::Tensor loss;
      {
        const ProfileRange range("forward");
        const torch::Tensor out = net_->forward(x_.narrow(0, at, batch_));
        out_.narrow(0, at, batch_).copy_(out.detach());
        // Sums of squares: gradients of the batches add up to that of all samples.
        loss = torch::mse_loss(out, y_.narrow(0, at, batch_), at::Reduction::Sum) / x_.size(0);
      }
      const ProfileRange range("backward");
      loss.backward();
    }
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(x_.size(0));
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    return {{"batches", static_cast<double>(x_.size(0) / batch_), bench::MetricKind::kCount}};
  }

 private:
  void make() override {
    const auto sizes = of_size<Sizes>({128, 32, 64}, {512, 256, 512}, {4096, 1024, 4096});
    x_ = torch::randn({sizes.samples, sizes.width}).to(device());
    y_ = torch::randn({sizes.samples, 10}).to(device());
    out_ = torch::zeros({sizes.samples, 10}, device());
    net_ = torch::nn::Sequential(torch::nn::Linear(sizes.width, sizes.hidden), torch::nn::Tanh(),
                                 torch::nn::Linear(sizes.hidden, 10));
    net_->to(device());
  }
  std::vector<NamedTensor> given() override {
    auto all = examples::parameters_of(*net_);
    all.insert(all.begin(), {{"x", x_}, {"y", y_}});
    return all;
  }
  std::vector<NamedTensor> results() override {
    auto all = examples::gradients_of(*net_);
    all.insert(all.begin(), {"out", out_});
    return all;
  }

  std::int64_t batch_;
  torch::Tensor x_, y_, out_;
  torch::nn::Sequential net_;
};

bench::Pair batch_size() {
  bench::Pair pair;
  pair.name = "batch_size";
  pair.purpose = "samples one at a time, 128 at a time";
  pair.goal = bench::Goal::kThroughput;
  pair.devices = {"cpu", "cuda"};
  pair.baseline = {[] { return std::make_unique<Batches>(1); }, {1e-4, 1e-5}, {1e-4, 1e-5}};
  pair.optimized = {[] { return std::make_unique<Batches>(128); }, {1e-4, 1e-5}, {1e-4, 1e-5}};
  pair.least_ratio_cpu = 3;
  return pair;
}

[[maybe_unused]] const bool kAdded = bench::add_pair(batch_size());

}  // namespace
