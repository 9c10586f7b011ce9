// SPDX-License-Identifier: MIT
#pragma once

#include "common/packages.hpp"
#include "common/tensor_variant.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace examples {

/// A weight, as it is drawn: mean + deviation * N(0, 1).
struct DrawnWeight {
  std::string name;
  std::vector<std::int64_t> shape;
  double mean = 0, deviation = 0;
};

/// A net written as a function of its weights, and the updates of a step. The exporter has the same function, and
/// compiles it with its gradient and the update of its weights into one package, for one size of batch.
struct TrainedFunction {
  std::string kind;                   ///< the exporter's name of the compiled update
  PackageSizes sizes;                 ///< of the package
  std::int64_t batch = 0;             ///< rows that the package is compiled for
  std::int64_t width = 0;             ///< of inputs and targets
  std::vector<std::int64_t> batches;  ///< rows of each update
  std::vector<DrawnWeight> weights;
  std::function<torch::Tensor(const torch::Tensor& x, const std::vector<torch::Tensor>& weights)> forward;
};
using DescribeFunction = std::function<TrainedFunction(const std::string& size)>;

/// Trains a function by autograd and SGD, operator after operator: mean squared error, one batch after another.
class EagerTraining : public TensorVariant {
 public:
  explicit EagerTraining(DescribeFunction describe) : describe_(std::move(describe)) {}
  void step() override;
  bench::Work work() override;
  std::vector<bench::Metric> metrics() override;

 protected:
  void make() override;
  virtual torch::Tensor forward(const torch::Tensor& x) { return function_.forward(x, weights_); }
  /// Of a batch; sets what came of it.
  virtual void update(const torch::Tensor& x, const torch::Tensor& target);
  void came_to(const torch::Tensor& output, const torch::Tensor& loss);

  const TrainedFunction& function() const { return function_; }
  std::vector<torch::Tensor>& weights() { return weights_; }

 private:
  std::vector<NamedTensor> given() override;
  std::vector<NamedTensor> results() override;
  std::vector<NamedTensor> named_weights() const;

  DescribeFunction describe_;
  TrainedFunction function_;
  std::vector<torch::Tensor> data_, targets_, weights_;
  torch::Tensor output_, loss_;
  std::optional<torch::optim::SGD> optimizer_;
};

/// The same with the package; a batch of another size than the package's takes the eager way, and is counted.
class PackagedTraining : public EagerTraining {
 public:
  using EagerTraining::EagerTraining;
  std::vector<bench::Metric> metrics() override;

 private:
  void make() override;
  void update(const torch::Tensor& x, const torch::Tensor& target) override;

  std::optional<Package> package_;
  torch::Tensor rate_;
  std::int64_t bail_outs_ = 0;
};

/// The name of the package of `kind` with a function's sizes.
std::string package_of(const TrainedFunction& function, const std::string& kind, torch::DeviceType device);

/// Eager training against a variant that needs the package of `kind`.
bench::Benchmark packaged_training_benchmark(const DescribeFunction& describe, const std::string& kind,
                                             std::function<std::unique_ptr<bench::Variant>()> optimized);

}  // namespace examples
