// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/pair.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace examples {

/// A side that is one program on a CPU and another one on a CUDA device.
class ByDevice : public rangefinder::bench::Side {
 public:
  using Make = std::function<std::unique_ptr<rangefinder::bench::Side>()>;
  ByDevice(Make on_cpu, Make on_cuda) : on_cpu_(std::move(on_cpu)), on_cuda_(std::move(on_cuda)) {}

  void setup(const rangefinder::bench::Setup& setup) override {
    side_ = setup.device == "cuda" ? on_cuda_() : on_cpu_();
    side_->setup(setup);
  }
  void step() override { side_->step(); }
  std::vector<rangefinder::bench::TensorView> inputs() override { return side_->inputs(); }
  std::vector<rangefinder::bench::TensorView> outputs() override { return side_->outputs(); }
  void perturb() override { side_->perturb(); }
  void synchronize() override { side_->synchronize(); }
  rangefinder::bench::Work work() override { return side_->work(); }
  std::vector<rangefinder::bench::Metric> metrics() override { return side_->metrics(); }

 private:
  Make on_cpu_, on_cuda_;
  std::unique_ptr<rangefinder::bench::Side> side_;
};

}  // namespace examples
