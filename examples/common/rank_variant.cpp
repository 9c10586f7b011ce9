// SPDX-License-Identifier: MIT
#include "common/rank_variant.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace examples {

void RankVariant::setup(const bench::Setup& setup) {
  const auto rank = static_cast<int>(setup.rank), ranks = static_cast<int>(setup.ranks);
  if (setup.device == "cuda") {
    device_ = torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(rank));
    c10::impl::VirtualGuardImpl(torch::kCUDA).setDevice(device_);
  }
  size_ = setup.size;
  torch::set_num_threads(1);
  group_ = ProcessGroup(setup.store, rank, ranks, device_);
  torch::manual_seed(setup.seed);
  make();
}

void RankVariant::step() {
  group_.reset_counts();
  run();
  traffic_ = group_.traffic();
  wait_ns_ = group_.wait_ns();
}

std::vector<bench::TensorView> RankVariant::inputs() { return views_of(given()); }
std::vector<bench::TensorView> RankVariant::outputs() { return views_of(results()); }

void RankVariant::perturb() {
  const torch::NoGradGuard no_grad;
  const torch::Tensor first = given().at(0).tensor.detach().view({-1});
  first[first.numel() / 2].add_(1);
}

void RankVariant::synchronize() {
  if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
}

std::vector<bench::Metric> RankVariant::metrics() {
  const Traffic expected = expected_traffic();
  TORCH_CHECK(traffic_ == expected, "rank ", rank(), " communicated ", to_string(traffic_), "; its sizes ask for ",
              to_string(expected));
  std::vector<bench::Metric> all;
  for (std::size_t i = 0; i < kCommunications; ++i) {
    const Traffic::Count& count = traffic_.of[i];
    if (count.calls == 0) continue;
    const std::string name = to_string(static_cast<Communication>(i));
    all.push_back({name + "_calls", static_cast<double>(count.calls), bench::MetricKind::kCount});
    all.push_back({name + "_bytes", static_cast<double>(count.bytes), bench::MetricKind::kBytes});
  }
  all.push_back({"least_sent_bytes", traffic_.least_sent_bytes(group_.size()), bench::MetricKind::kBytes});
  all.push_back(
      {"communication_wait_ns", static_cast<double>(wait_ns_), bench::MetricKind::kFact, bench::OverRanks::kMost});
  for (bench::Metric& metric : more_metrics()) all.push_back(std::move(metric));
  return all;
}

torch::Tensor RankVariant::my_part(const torch::Tensor& whole, std::int64_t dimension) const {
  TORCH_CHECK(whole.size(dimension) % ranks() == 0, ranks(), " ranks do not divide ", whole.size(dimension));
  const std::int64_t length = whole.size(dimension) / ranks();
  return whole.narrow(dimension, rank() * length, length);
}

torch::Tensor RankVariant::gathered(const torch::Tensor& part) {
  if (ranks() == 1) return part;
  const torch::NoGradGuard no_grad;
  std::vector<std::int64_t> shape = part.sizes().vec();
  shape.at(0) *= ranks();
  torch::Tensor whole = torch::empty(shape, part.options().requires_grad(false));
  group_.all_gather(whole, part.contiguous()).wait();
  return whole;
}

torch::Tensor RankVariant::summed(const torch::Tensor& tensor) {
  const torch::Tensor sum = tensor.detach().clone();
  if (ranks() > 1) group_.all_reduce(sum).wait();
  return sum;
}

std::string skip_ranks(const bench::Setup& setup, std::int64_t parts) {
  if (setup.ranks > 1 && parts % setup.ranks != 0)
    return "size_not_offered: " + std::to_string(setup.ranks) + " ranks do not divide " + std::to_string(parts) +
           " parts equally";
  return ProcessGroup::missing(setup.device, static_cast<int>(setup.ranks));
}

bench::Benchmark rank_benchmark(std::int64_t parts, const bench::Tolerance& cpu, const bench::Tolerance& cuda) {
  bench::Benchmark benchmark;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.least_ranks = 2;
  benchmark.skip = [parts](const bench::Setup& setup) { return skip_ranks(setup, parts); };
  for (bench::VariantSpec* variant : {&benchmark.baseline, &benchmark.optimized, &benchmark.reference}) {
    variant->cpu = cpu;
    variant->cuda = cuda;
  }
  return benchmark;
}

}  // namespace examples
