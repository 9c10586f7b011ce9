// SPDX-License-Identifier: MIT
#include "bench/worker_server.hpp"

#include "bench/benchmark_json.hpp"
#include "bench/read_clock.hpp"
#include "bench/stack_sampler.hpp"
#include "bench/tensor_file.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rangefinder::bench {
namespace {

const Benchmark& benchmark_named(std::string_view name) {
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.name == name) return benchmark;
  }
  throw std::runtime_error("no benchmark \"" + std::string(name) + "\"");
}

Setup setup_of(JsonView request) {
  return {request["device"].text("cpu"),
          request["size"].text("cpu"),
          static_cast<std::uint64_t>(request["seed"].integer(42)),
          static_cast<unsigned>(request["rank"].integer()),
          static_cast<unsigned>(request["ranks"].integer(1)),
          request["store"].text()};
}

const VariantSpec& spec_named(const Benchmark& benchmark, const std::string& variant) {
  if (variant == "reference") return benchmark.reference;
  return variant == "optimized" ? benchmark.optimized : benchmark.baseline;
}

ProfileLevel level_named(const std::string& name) {
  for (const ProfileLevel level : {ProfileLevel::kMinimal, ProfileLevel::kDeep, ProfileLevel::kRoofline}) {
    if (to_string(level) == name) return level;
  }
  return ProfileLevel::kNone;
}

}  // namespace

struct WorkerServer::Times {
  Json wall_ns = Json::array();
  Json cpu_ns = Json::array();
  Json device_ns = Json::array();
  Json answer() {
    return Json::object(
        {{"wall_ns", std::move(wall_ns)}, {"cpu_ns", std::move(cpu_ns)}, {"device_ns", std::move(device_ns)}});
  }
};

Json WorkerServer::answer(JsonView request) {
  try {
    const std::string device = request["device"].text(setup_.device);
    const std::int64_t energy = energy_mj(device), begin = wall_ns();
    Json out = dispatch(request);
    out["request_ns"] = wall_ns() - begin;
    if (energy >= 0) out["request_energy_mj"] = energy_mj(device) - energy;
    if (const std::int64_t start = std::exchange(start_ns_, 0); start > 0) out["start_ns"] = start;
    return out;
  } catch (const std::exception& error) {
    const std::int64_t failed_ns = read_clock(CLOCK_MONOTONIC);
    // LibTorch's errors carry a stack: the row has the first line, the log all of it.
    const std::string message = error.what();
    std::fprintf(stderr, "%s\n", message.c_str());
    return Json::object({{"error", message.substr(0, message.find('\n'))}, {"failed_ns", failed_ns}});
  } catch (...) {
    return Json::object(
        {{"error", "an exception that is no std::exception"}, {"failed_ns", read_clock(CLOCK_MONOTONIC)}});
  }
}

Json WorkerServer::dispatch(JsonView request) {
  checked_.reset();
  const std::string what = request["do"].text();
  if (what == "describe") return describe();
  if (what == "skip") return skip(request);
  if (what == "estimate") return estimate(request);
  if (what == "check") return check(request);
  if (what == "open") return open(request);
  if (what == "run") return run(request);
  if (what == "memory") return memory();
  if (what == "profile") return profile(request);
  if (what == "finish") return finish();
  if (what == "measure_peaks") return measure_peaks(request);
  if (what == "reset_peak") {
    if (hooks_.reset_peak) hooks_.reset_peak(setup_.device);
  } else if (what != "quit") {
    throw std::runtime_error("unknown request \"" + what + "\"");
  }
  return Json::object();
}

Json WorkerServer::describe() const {
  Json all = Json::array();
  for (const Benchmark& benchmark : benchmarks()) all.push_back(to_json(benchmark));
  const DeviceFacts cuda = hooks_.cuda ? hooks_.cuda() : DeviceFacts{};
  return Json::object(
      {{"benchmarks", std::move(all)},
       {"torch", hooks_.torch_version},
       {"cuda", hooks_.cuda_version},
       {"driver", hooks_.driver_version},
       {"gpu",
        Json::object({{"name", cuda.name}, {"count", std::int64_t{cuda.count}}, {"capability", cuda.capability}})}});
}

Json WorkerServer::skip(JsonView request) const {
  const Benchmark& benchmark = benchmark_named(request["benchmark"].text());
  const Setup setup = setup_of(request);
  std::string reason;
  if (setup.device == "cuda" && (!hooks_.cuda || hooks_.cuda().count == 0))
    reason = "no_cuda_device";
  else if (std::find(benchmark.devices.begin(), benchmark.devices.end(), setup.device) == benchmark.devices.end())
    reason = setup.device == "cpu" ? "no_cuda_device" : "feature_not_built";
  else if (benchmark.skip)
    reason = benchmark.skip(setup);
  return Json::object({{"skip", reason}});
}

Json WorkerServer::estimate(JsonView request) const {
  const Benchmark& benchmark = benchmark_named(request["benchmark"].text());
  return to_json(benchmark.estimate ? benchmark.estimate(setup_of(request)) : Estimate{});
}

Variant& WorkerServer::make(JsonView request, const Setup& setup, std::unique_ptr<Variant>& out) {
  const Benchmark& benchmark = benchmark_named(request["benchmark"].text());
  const VariantSpec& description = spec_named(benchmark, request["variant"].text());
  if (!description.make) throw std::runtime_error("benchmark \"" + benchmark.name + "\" has no such variant");
  at(RankDoing::kSetup);
  if (hooks_.before_setup) hooks_.before_setup(setup);
  out = description.make();
  if (!out) throw std::runtime_error("benchmark \"" + benchmark.name + "\" made no variant");
  out->setup(setup);
  out->synchronize();
  at(RankDoing::kNothing);
  return *out;
}

void WorkerServer::at(RankDoing doing, std::int64_t step) const noexcept {
  if (progress_ != nullptr) progress_->set(doing, static_cast<std::uint64_t>(step));
}

Json WorkerServer::check(JsonView request) {
  Variant& variant = make(request, setup_of(request), checked_);
  Json answer = Json::object();
  {
    at(RankDoing::kInputs);
    const std::vector<TensorView> inputs = variant.inputs();
    answer["inputs"] = fingerprint(inputs);
    answer["input_bytes"] = byte_count(inputs);
  }
  const std::int64_t perturb_after = request["perturb_after"].integer(-1);
  for (std::int64_t step = 0; step < request["steps"].integer(1); ++step) {
    if (step == perturb_after) {
      at(RankDoing::kPerturbation, step + 1);
      variant.perturb();
    }
    at(RankDoing::kStep, step + 1);
    variant.step();
  }
  variant.synchronize();
  at(RankDoing::kOutputs);
  add_outputs(request, variant, answer);
  at(RankDoing::kNothing);
  checked_.reset();
  return answer;
}

void WorkerServer::add_outputs(JsonView request, Variant& variant, Json& answer) {
  const std::vector<TensorView> outputs = variant.outputs();
  const std::uint64_t bytes = byte_count(outputs);
  if (const std::string file = request["file"].text(); !file.empty()) {
    const auto limit = static_cast<std::uint64_t>(request["disk_limit"].integer());
    if (bytes > limit)
      throw std::runtime_error(
          fmt::format("its outputs take {} bytes of disk, and the limit is {}: give --disk-limit more, or the "
                      "benchmark a check_size",
                      bytes, limit));
    write_tensors(outputs, file).value();
  }
  answer["outputs"] = fingerprint(outputs);
  answer["output_bytes"] = bytes;
}

Json WorkerServer::open(JsonView request) {
  variant_.reset();
  setup_ = setup_of(request);
  make(request, setup_, variant_);
  energy_period_ns_ = hooks_.energy_period_ns ? hooks_.energy_period_ns(setup_.device) : -1;
  setup_bytes_ = hooks_.live_bytes ? hooks_.live_bytes(setup_.device) : 0;
  return Json::object();
}

Variant& WorkerServer::timed() {
  if (!variant_) throw std::runtime_error("no variant is open");
  return *variant_;
}

void WorkerServer::timed_step(Variant& variant, Times& times) const {
  const bool spans = hooks_.begin_device_span && hooks_.end_device_span && hooks_.device_span_ns;
  if (spans) hooks_.begin_device_span(setup_.device);
  const std::int64_t cpu = cpu_ns(), wall = wall_ns();
  variant.step();
  if (spans) hooks_.end_device_span(setup_.device);
  variant.synchronize();
  times.wall_ns.push_back(wall_ns() - wall);
  times.cpu_ns.push_back(cpu_ns() - cpu);
  if (!spans) return;
  if (const std::int64_t device = hooks_.device_span_ns(setup_.device); device >= 0) times.device_ns.push_back(device);
}

void WorkerServer::flush_cache(Variant& variant) const {
  if (!hooks_.flush_cache) throw std::runtime_error("--flush-cache: this worker has no hook that flushes caches");
  hooks_.flush_cache(setup_.device);
  variant.synchronize();
}

std::int64_t WorkerServer::energy_mj(const std::string& device) const {
  return hooks_.energy_mj ? hooks_.energy_mj(device) : -1;
}

Json WorkerServer::run(JsonView request) {
  Variant& variant = timed();
  variant.synchronize();
  const bool flush = request["flush"].boolean();
  const std::int64_t energy = energy_mj(setup_.device), begin = wall_ns();
  Times times;
  for (std::int64_t step = 0; step < request["steps"].integer(); ++step) {
    if (flush) flush_cache(variant);
    at(RankDoing::kStep, step + 1);
    timed_step(variant, times);
  }
  at(RankDoing::kNothing);
  Json out = times.answer();
  if (energy < 0) return out;
  out["energy_ns"] = wall_ns() - begin;
  out["energy_mj"] = energy_mj(setup_.device) - energy;
  out["energy_period_ns"] = energy_period_ns_;
  return out;
}

Json WorkerServer::memory() const {
  Json out = Json::object();
  if (hooks_.peak_bytes) out["peak_bytes"] = hooks_.peak_bytes(setup_.device);
  if (hooks_.live_bytes) {
    out["live_bytes"] = hooks_.live_bytes(setup_.device);
    out["setup_bytes"] = setup_bytes_;
  }
  return out;
}

Json WorkerServer::profile(JsonView request) {
  Variant& variant = timed();
  const ProfileLevel level = level_named(request["level"].text());
  SessionOptions options;
  options.output = request["capture"].text();
  options.cuda = setup_.device == "cuda";
  options.nvtx = false;
  options.metadata = {{"bench.profile", std::string(to_string(level))}};
  if (hooks_.begin_profile) hooks_.begin_profile(level);
  Session session(options);
  session.status().value();
  std::optional<Result<StackSampler>> sampler;
  if (level == ProfileLevel::kDeep) sampler.emplace(StackSampler::start());
  Times times;
  for (std::int64_t step = 0; step < request["steps"].integer(1); ++step) {
    at(RankDoing::kStep, step + 1);
    {
      ProfileRange range{"step"};
      timed_step(variant, times);
    }
    session.step();
  }
  at(RankDoing::kNothing);
  Json samples;
  if (sampler)
    samples = *sampler ? to_json((*sampler)->stop()) : Json::object({{"missing", sampler->error().message()}});
  session.stop().value();
  Json files = Json::array();
  if (hooks_.end_profile)
    for (const std::string& file : hooks_.end_profile(level, request["folder"].text())) files.push_back(file);
  Json out = times.answer();
  out["files"] = std::move(files);
  out["host_samples"] = std::move(samples);
  return out;
}

Json WorkerServer::measure_peaks(JsonView request) const {
  if (!hooks_.measure_peaks)
    throw std::runtime_error("this worker cannot measure peaks: set WorkerHooks::measure_peaks");
  Json all = Json::array();
  for (const PeakSamples& each : hooks_.measure_peaks(request["device"].text("cuda"), request["seconds"].number(0.5))) {
    Json samples = Json::array();
    for (const double sample : each.samples) samples.push_back(sample);
    all.push_back(Json::object({{"what", each.what}, {"type", each.type}, {"samples", std::move(samples)}}));
  }
  return Json::object({{"peaks", std::move(all)}});
}

Json WorkerServer::finish() {
  Variant& variant = timed();
  at(RankDoing::kFigures);
  Json metrics = Json::array();
  for (const Metric& metric : variant.metrics()) metrics.push_back(to_message(metric));
  Json out = Json::object({{"work", to_json(variant.work())}, {"metrics", std::move(metrics)}});
  at(RankDoing::kNothing);
  variant_.reset();
  return out;
}

std::int64_t WorkerServer::wall_ns() const { return hooks_.wall_ns ? hooks_.wall_ns() : read_clock(CLOCK_MONOTONIC); }

std::int64_t WorkerServer::cpu_ns() const {
  return hooks_.cpu_ns ? hooks_.cpu_ns() : read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace rangefinder::bench
