// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace examples {

/// A variant that is one program on a CPU and another one on a CUDA device.
class ByDevice : public rangefinder::bench::Variant {
 public:
  using Make = std::function<std::unique_ptr<rangefinder::bench::Variant>()>;
  ByDevice(Make on_cpu, Make on_cuda) : on_cpu_(std::move(on_cpu)), on_cuda_(std::move(on_cuda)) {}

  void setup(const rangefinder::bench::Setup& setup) override {
    variant_ = setup.device == "cuda" ? on_cuda_() : on_cpu_();
    variant_->setup(setup);
  }
  void step() override { variant_->step(); }
  std::vector<rangefinder::bench::TensorView> inputs() override { return variant_->inputs(); }
  std::vector<rangefinder::bench::TensorView> outputs() override { return variant_->outputs(); }
  void perturb() override { variant_->perturb(); }
  void synchronize() override { variant_->synchronize(); }
  rangefinder::bench::Work work() override { return variant_->work(); }
  std::vector<rangefinder::bench::Metric> metrics() override { return variant_->metrics(); }

 private:
  Make on_cpu_, on_cuda_;
  std::unique_ptr<rangefinder::bench::Variant> variant_;
};

}  // namespace examples
