// SPDX-License-Identifier: MIT
#include "common/packaged_training.hpp"

#include "common/estimates.hpp"
#include "common/operator_count.hpp"

#include <rangefinder/range.hpp>

#include <utility>

namespace examples {
namespace {

using rangefinder::ProfileRange;

constexpr double kRate = 0.01;

torch::ScalarType type_on(torch::DeviceType device) { return device == torch::kCUDA ? torch::kHalf : torch::kFloat; }

double rows_of_updates(const TrainedFunction& function) {
  double rows = 0;
  for (const std::int64_t batch : function.batches) rows += static_cast<double>(batch);
  return rows;
}

/// Matrices are multiplied with, all else is added or scales. The first one meets data.
double flops_of_function(const TrainedFunction& function) {
  const auto elements_of = [](const DrawnWeight& weight) {
    return weight.shape.size() == 2 ? static_cast<double>(c10::multiply_integers(weight.shape)) : 0.0;
  };
  double weights = 0;
  for (const DrawnWeight& weight : function.weights) weights += elements_of(weight);
  return training_flops(weights, rows_of_updates(function), elements_of(function.weights.front()));
}

bench::Estimate estimate_of_function(const TrainedFunction& function, const bench::Setup& setup) {
  double weights = 0;
  const double rows = rows_of_updates(function);
  for (const DrawnWeight& weight : function.weights)
    weights += static_cast<double>(c10::multiply_integers(weight.shape));
  bench::Estimate out = estimate_of_elements(2 * rows * static_cast<double>(function.width) + weights,
                                             elements({function.batches.back(), function.width}) + 1 + weights,
                                             float_or_half_bytes(setup), flops_of_function(function));
  // Of a layer each parameter has about one operator forward, and one of the optimizer.
  out.launches = (training_launches(1) + 1) * static_cast<double>(function.weights.size() * function.batches.size());
  out.half = setup.device == "cuda";
  return out;
}

}  // namespace

std::string package_of(const TrainedFunction& function, const std::string& kind, torch::DeviceType device) {
  return package_name(kind, device, type_on(device), function.sizes);
}

void EagerTraining::make() {
  function_ = describe_(size());
  const auto options = torch::TensorOptions().device(device()).dtype(type_on(device().type()));
  for (const DrawnWeight& weight : function_.weights)
    weights_.push_back((weight.mean + weight.deviation * torch::randn(weight.shape)).to(options).requires_grad_());
  for (const std::int64_t rows : function_.batches) {
    data_.push_back(torch::randn({rows, function_.width}).to(options));
    targets_.push_back(torch::randn({rows, function_.width}).to(options));
  }
  optimizer_.emplace(weights_, torch::optim::SGDOptions(kRate));
}

void EagerTraining::step() {
  for (std::size_t i = 0; i < data_.size(); ++i) update(data_[i], targets_[i]);
}

void EagerTraining::update(const torch::Tensor& x, const torch::Tensor& target) {
  optimizer_->zero_grad();
  torch::Tensor output, loss;
  {
    const ProfileRange range("forward");
    output = forward(x);
    loss = torch::mse_loss(output, target);
  }
  {
    const ProfileRange range("backward");
    loss.backward();
  }
  {
    const ProfileRange range("optimizer");
    optimizer_->step();
  }
  came_to(output, loss);
}

void EagerTraining::came_to(const torch::Tensor& output, const torch::Tensor& loss) {
  output_ = output.detach();
  loss_ = loss.detach();
}

bench::Work EagerTraining::work() {
  bench::Work work;
  work.samples = rows_of_updates(function_);
  work.flops = flops_of_function(function_);
  work.flops_type = flops_type_of(type_on(device().type()));
  return work;
}

std::vector<bench::Metric> EagerTraining::metrics() {
  const std::int64_t operators = operators_of([this] { update(data_.front(), targets_.front()); });
  return {{"operators_per_update", static_cast<double>(operators), bench::MetricKind::kCount}};
}

std::vector<NamedTensor> EagerTraining::named_weights() const {
  std::vector<NamedTensor> all;
  for (std::size_t i = 0; i < weights_.size(); ++i) all.push_back({function_.weights[i].name, weights_[i]});
  return all;
}

std::vector<NamedTensor> EagerTraining::given() {
  std::vector<NamedTensor> all;
  for (std::size_t i = 0; i < data_.size(); ++i) {
    all.push_back({"data." + std::to_string(i), data_[i]});
    all.push_back({"target." + std::to_string(i), targets_[i]});
  }
  for (NamedTensor& weight : named_weights()) all.push_back(std::move(weight));
  return all;
}

std::vector<NamedTensor> EagerTraining::results() {
  std::vector<NamedTensor> all{{"output", output_}, {"loss", loss_}};
  for (NamedTensor& weight : named_weights()) all.push_back(std::move(weight));
  return all;
}

void PackagedTraining::make() {
  EagerTraining::make();
  rate_ = torch::tensor(kRate, torch::TensorOptions().device(device()).dtype(torch::kFloat));
  const torch::DeviceType type = device().type();
  package_.emplace(get_packages(size(), type, {package_of(function(), function().kind, type)}).front());
}

void PackagedTraining::update(const torch::Tensor& x, const torch::Tensor& target) {
  if (x.size(0) != function().batch) {
    ++bail_outs_;
    return EagerTraining::update(x, target);
  }
  const ProfileRange range("package");
  std::vector<torch::Tensor> arguments{x, target, rate_};
  for (const torch::Tensor& weight : weights()) arguments.push_back(weight.detach());
  const std::vector<torch::Tensor> out = package_->run(arguments);
  came_to(out.at(0), out.at(1));
  for (std::size_t i = 0; i < weights().size(); ++i) weights()[i].set_data(out.at(2 + i));
}

std::vector<bench::Metric> PackagedTraining::metrics() {
  const auto bail_outs = static_cast<double>(bail_outs_), runs = static_cast<double>(package_->runs());
  std::vector<bench::Metric> all = EagerTraining::metrics();
  all.push_back({"packaged_updates_share", runs / (runs + bail_outs)});
  all.push_back({"bail_outs", bail_outs});
  all.push_back({"compile_s", package_->compile_s()});
  return all;
}

bench::Benchmark packaged_training_benchmark(const DescribeFunction& describe, const std::string& kind,
                                             std::function<std::unique_ptr<bench::Variant>()> optimized) {
  add_smoke_packages([describe, kind](torch::DeviceType device) {
    return std::vector<std::string>{package_of(describe("smoke"), kind, device)};
  });
  bench::Benchmark benchmark;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[describe] { return std::make_unique<EagerTraining>(describe); }, {1e-5, 1e-6}, {2e-3, 2e-3}};
  benchmark.optimized = {std::move(optimized), {1e-5, 1e-6}, {2e-3, 2e-3}};
  benchmark.estimate = [describe](const bench::Setup& setup) {
    return estimate_of_function(describe(setup.size), setup);
  };
  benchmark.skip = [describe, kind](const bench::Setup& setup) {
    const torch::DeviceType device = setup.device == "cuda" ? torch::kCUDA : torch::kCPU;
    return skip_without_packages(device, {package_of(describe(setup.size), kind, device)});
  };
  return benchmark;
}

}  // namespace examples
