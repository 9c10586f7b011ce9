// SPDX-License-Identifier: MIT
#include "bench/plan.hpp"

#include "bench/benchmark_json.hpp"
#include "bench/correctness_check.hpp"
#include "bench/rank_figures.hpp"
#include "bench/worker_process.hpp"
#include "report/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kPlanVersion = 1;
// A host thread draws about so many normal numbers a second with LibTorch's generator.
constexpr double kRandomNumbers_per_s = 1e8;
// A thread of a CPU with vectors; and of a GPU's 60 TFLOP/s in float32 the half that products of matrices reach.
constexpr double kCpuFlops_per_s = 1e10, kCudaFlops_per_s = 3e13, kCudaHalfFlops_per_s = 3e14;
constexpr double kCpuBytes_per_s = 1e10, kCudaBytes_per_s = 2e12;
// What a host takes for an operator of LibTorch, a launch with it. Beside an H100: 26 us a kernel of small nets that
// are trained, 10 us without autograd.
constexpr double kCpuOperator_s = 5e-6, kCudaOperator_s = 2e-5;
constexpr double kBothVariants = 2;

std::string why_skipped(const Benchmark& benchmark, const Setup& setup, unsigned ranks) {
  const auto lacks = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) == all.end();
  };
  if (benchmark.least_ranks > ranks) return fmt::format("needs_world_size_{}", benchmark.least_ranks);
  if (lacks(benchmark.sizes, setup.size)) return "size_not_offered";
  if (lacks(benchmark.devices, setup.device)) return "device_not_offered";
  return {};
}

double flops_per_s(const Estimate& estimate, const AssumedRate& rate) noexcept {
  return estimate.half ? rate.half_flops_per_s : rate.flops_per_s;
}

std::string known_text(double value, std::string (*text)(std::int64_t)) {
  return value > 0 ? text(std::llround(value)) : "not known";
}

std::string seconds_text(double value) { return value > 0 ? fmt::format("{:.1f} s", value) : "not known"; }

Json known(double value) { return value > 0 ? Json(value) : Json(); }

/// On disk, of all ranks.
double output_bytes(const PlannedBenchmark& row) { return row.checked.output_bytes * row.ranks; }

/// Which limits a benchmark is over, each as a sentence.
std::vector<std::string> over_limits(const PlannedBenchmark& row, const RunOptions& options, const AssumedRate& rate) {
  std::vector<std::string> over;
  if (!row.skipped.empty()) return over;
  if (output_bytes(row) > static_cast<double>(options.disk_limit))
    over.push_back(fmt::format("its outputs take {} of disk, and --disk-limit is {}",
                               report::readable_bytes(std::llround(output_bytes(row))),
                               report::readable_bytes(static_cast<std::int64_t>(options.disk_limit))));
  if (const double seconds = check_seconds(row, rate); seconds > kCheckLimit_s)
    over.push_back(
        fmt::format("its correctness check takes about {:.0f} s, and the limit is {:.0f}", seconds, kCheckLimit_s));
  return over;
}

std::string row_text(const PlannedBenchmark& row, const Setup& setup, const RunOptions& options,
                     const AssumedRate& rate) {
  const std::string ranks = row.ranks > 1 ? fmt::format(", {} ranks a variant", row.ranks) : "";
  std::string out = fmt::format("{}: {} {}{}, {} iterations after {} to warm up, profile {}\n", row.name, setup.device,
                                setup.size, ranks, row.iterations, row.warmup, to_string(options.profile));
  if (!row.skipped.empty()) return out + "  skipped: " + row.skipped + "\n";
  return out +
         fmt::format("  check at {}: outputs on disk {}, time {}; a step: {}, bytes {}, launches {}; timing {}\n",
                     row.check_size, known_text(output_bytes(row), report::readable_bytes),
                     seconds_text(check_seconds(row, rate)),
                     row.timed.flops > 0 ? known_text(row.timed.flops, report::readable_flops) : "FLOPs not known",
                     known_text(row.timed.bytes, report::readable_bytes),
                     row.timed.launches > 0 ? fmt::format("{:.0f}", row.timed.launches) : "not known",
                     seconds_text(timing_seconds(row, rate)));
}

Json row_of_plan(const PlannedBenchmark& row, const std::vector<std::string>& over, const AssumedRate& rate) {
  return Json::object({{"name", row.name},
                       {"ranks", std::int64_t{row.ranks}},
                       {"iterations", row.iterations},
                       {"warmup", row.warmup},
                       {"skipped", row.skipped},
                       {"step", Json::object({{"flops", known(row.timed.flops)},
                                              {"bytes", known(row.timed.bytes)},
                                              {"launches", known(row.timed.launches)}})},
                       {"timing", Json::object({{"seconds", known(timing_seconds(row, rate))}})},
                       {"check", Json::object({{"size", row.check_size},
                                               {"input_bytes", known(row.checked.input_bytes * row.ranks)},
                                               {"output_bytes", known(output_bytes(row))},
                                               {"random_numbers", known(row.checked.random_numbers)},
                                               {"seconds", known(check_seconds(row, rate))}})},
                       {"over", over}});
}

}  // namespace

Result<std::vector<PlannedBenchmark>> planned(const std::vector<Benchmark>& benchmarks, const Setup& setup,
                                              const RunOptions& options) {
  const auto estimate_request = [&](const Benchmark& benchmark, const std::string& size) {
    return Json::object({{"do", "estimate"},
                         {"benchmark", benchmark.name},
                         {"device", setup.device},
                         {"size", size},
                         {"ranks", std::int64_t{ranks_of(benchmark, options.ranks)}}});
  };
  std::vector<Json> requests;
  for (const Benchmark& benchmark : benchmarks) {
    requests.push_back(estimate_request(benchmark, setup.size));
    requests.push_back(estimate_request(benchmark, size_of_check(benchmark, setup.size)));
  }
  const Result<std::vector<Json>> answers = ask_in_passing(
      {options.worker, {}, false, static_cast<std::int64_t>(options.timeout_s * 1e9), options.cancelled}, requests);
  if (!answers) return answers.error();
  std::vector<PlannedBenchmark> out;
  for (std::size_t i = 0; i < benchmarks.size(); ++i) {
    const Benchmark& benchmark = benchmarks[i];
    out.push_back({benchmark.name, options.iterations > 0 ? options.iterations : benchmark.iterations,
                   options.warmup >= 0 ? options.warmup : benchmark.warmup, setups_of_check(benchmark),
                   steps_of_check(benchmark), size_of_check(benchmark, setup.size),
                   why_skipped(benchmark, setup, options.ranks), ranks_of(benchmark, options.ranks),
                   estimate_from_json((*answers)[2 * i]), estimate_from_json((*answers)[2 * i + 1])});
  }
  return out;
}

Result<AssumedRate> assumed_rate(const RunOptions& options, const MachinePeaks* peaks, const std::string& device,
                                 const std::string& gpu) {
  const bool cuda = device == "cuda";
  AssumedRate rate{cuda ? kCudaFlops_per_s : kCpuFlops_per_s, "by default",
                   cuda ? kCudaHalfFlops_per_s : kCpuFlops_per_s, cuda ? kCudaBytes_per_s : kCpuBytes_per_s,
                   cuda ? kCudaOperator_s : kCpuOperator_s};
  if (options.assumed_flops > 0) {
    rate.flops_per_s = rate.half_flops_per_s = options.assumed_flops;
    rate.source = "--assume-flops";
    return rate;
  }
  if (peaks == nullptr) return rate;
  const std::string name = cuda ? gpu : "host";
  rate.flops_per_s = rate.half_flops_per_s = peaks->best(name, "flops", "fp32");
  if (!(rate.flops_per_s > 0))
    return Error{ErrorCode::kNotFound, fmt::format("{}: no FLOP/s in fp32 of \"{}\"", options.peaks, name)};
  if (const double half = peaks->best(name, "flops", "bf16"); half > 0) rate.half_flops_per_s = half;
  if (const double bytes = peaks->best(name, "bandwidth", "copy"); bytes > 0) rate.bytes_per_s = bytes;
  rate.source = fmt::format("fp32 of {} in {}", name, options.peaks);
  return rate;
}

double check_seconds(const PlannedBenchmark& benchmark, const AssumedRate& rate) noexcept {
  return static_cast<double>(benchmark.setups_of_check) * benchmark.checked.random_numbers / kRandomNumbers_per_s +
         static_cast<double>(benchmark.steps_of_check) * benchmark.checked.flops /
             flops_per_s(benchmark.checked, rate) +
         benchmark.checked.waiting_s;
}

double timing_seconds(const PlannedBenchmark& benchmark, const AssumedRate& rate) noexcept {
  const Estimate& timed = benchmark.timed;
  // The host launches ahead of what its device does.
  const double step_s =
      timed.step_waiting_s +
      std::max(timed.launches * rate.launch_s, timed.flops / flops_per_s(timed, rate) + timed.bytes / rate.bytes_per_s);
  if (!(step_s > 0)) return 0;
  return kBothVariants * (timed.random_numbers / kRandomNumbers_per_s +
                          static_cast<double>(benchmark.iterations + benchmark.warmup) * step_s);
}

PlanOutcome plan_outcome(const std::vector<PlannedBenchmark>& rows, const Setup& setup, const RunOptions& options,
                         const AssumedRate& rate) {
  PlanOutcome out;
  Json all = Json::array();
  std::string over_text;
  std::int64_t setups = 0;
  for (const PlannedBenchmark& row : rows) {
    setups = std::max(setups, row.setups_of_check);
    const std::vector<std::string> over = over_limits(row, options, rate);
    out.text += row_text(row, setup, options, rate);
    for (const std::string& why : over) over_text += fmt::format("over the limit: {}: {}\n", row.name, why);
    all.push_back(row_of_plan(row, over, rate));
  }
  out.text += fmt::format(
      "assumed: {:.3g} FLOP/s ({}), {:.3g} in half precision, {:.3g} B/s, {:.0f} us a launch, {:.0e} random numbers a "
      "second in {} set-ups of a check\n",
      rate.flops_per_s, rate.source, rate.half_flops_per_s, rate.bytes_per_s, rate.launch_s * 1e6, kRandomNumbers_per_s,
      setups);
  out.text += over_text;
  out.exit_code = over_text.empty() ? kAllMet : kFailure;
  out.json = json_text(
      Json::object({{"schema_version", kPlanVersion},
                    {"kind", "rangefinder.bench.plan"},
                    {"device", setup.device},
                    {"size", setup.size},
                    {"profile", to_string(options.profile)},
                    {"assumed", Json::object({{"flops_per_s", rate.flops_per_s},
                                              {"source", rate.source},
                                              {"half_flops_per_s", rate.half_flops_per_s},
                                              {"bytes_per_s", rate.bytes_per_s},
                                              {"launch_s", rate.launch_s},
                                              {"random_numbers_per_s", kRandomNumbers_per_s}})},
                    {"limits", Json::object({{"output_bytes", options.disk_limit}, {"check_s", kCheckLimit_s}})},
                    {"rows", std::move(all)}}));
  return out;
}

}  // namespace rangefinder::bench
