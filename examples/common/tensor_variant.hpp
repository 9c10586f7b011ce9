// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>

#include <torch/torch.h>

#include <string>
#include <vector>

namespace examples {

namespace bench = rangefinder::bench;

/// Of three sizes, the one that is named.
template <typename T>
T of_size(const std::string& size, const T& smoke, const T& cpu, const T& gpu) {
  return size == "smoke" ? smoke : size == "gpu" ? gpu : cpu;
}

/// Products of that type, as Work::flops_type has it: float ones without TF32, as LibTorch has them by itself.
const char* flops_type_of(torch::ScalarType type);

struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

/// What the harness reads of a tensor: on a CPU and contiguous its own memory, else a copy.
bench::TensorView view_of(const NamedTensor& named);
std::vector<bench::TensorView> views_of(const std::vector<NamedTensor>& named);

/// Values of a module's parameters, or their gradients, under their names: both variants of a benchmark must be given,
/// or come to, the same ones.
std::vector<NamedTensor> parameters_of(const torch::nn::Module& module);
std::vector<NamedTensor> gradients_of(const torch::nn::Module& module);

/// A variant of a benchmark in LibTorch: says which tensors it was given and which it came to. The CPU computes on one
/// thread.
class TensorVariant : public bench::Variant {
 public:
  void setup(const bench::Setup& setup) final;
  std::vector<bench::TensorView> inputs() final;
  std::vector<bench::TensorView> outputs() final;
  /// Adds 1 to the middle element of the first that was given.
  void perturb() override;
  void synchronize() override;

 protected:
  /// Makes inputs and weights on `device()`; LibTorch's generators are seeded.
  virtual void make() = 0;
  virtual std::vector<NamedTensor> given() = 0;
  virtual std::vector<NamedTensor> results() = 0;

  torch::Device device() const { return device_; }
  const std::string& size() const { return size_; }

 private:
  torch::Device device_{torch::kCPU};
  std::string size_;
};

}  // namespace examples
