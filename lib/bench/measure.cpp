// SPDX-License-Identifier: MIT
#include "bench/measure.hpp"

#include "base/file.hpp"
#include "bench/benchmark_json.hpp"
#include "bench/correctness_check.hpp"
#include "bench/profile.hpp"
#include "report/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kRounds = 5, kMaxRounds = 20, kStepsOfARound = 10, kProfiledSteps = 3;

Status append_samples(JsonView answer, VariantResult& variant, std::int64_t expected) {
  for (const JsonView each : answer["wall_ns"].items()) variant.wall_ns.push_back(each.number());
  for (const JsonView each : answer["cpu_ns"].items()) variant.cpu_ns.push_back(each.number());
  for (const JsonView each : answer["device_ns"].items()) variant.device_ns.push_back(each.number());
  const auto count = static_cast<std::size_t>(expected);
  if (answer["wall_ns"].items().size() == count && answer["cpu_ns"].items().size() == count) return {};
  return Error{ErrorCode::kUnreadable, fmt::format("the worker did not time {} steps", expected)};
}

/// Why the energy of a round is none of its steps; empty: it is.
std::string energy_missing_of(JsonView answer, bool flushed) {
  constexpr double kPeriods = 10;  // so that a reading too many or too few is less than a tenth
  if (!answer["energy_mj"].is_number()) return "the worker tells no energy of this device";
  if (flushed) return "what flushing the caches took is in it (--flush-cache)";
  const double period_ns = answer["energy_period_ns"].number(-1), round_ns = answer["energy_ns"].number();
  if (period_ns < 0) return "how often the sensor is read is not known (WorkerHooks::energy_period_ns)";
  if (round_ns >= kPeriods * period_ns) return {};
  return fmt::format("a round of steps takes {}, less than ten periods of the sensor ({}): more --iterations",
                     report::readable_time(std::llround(round_ns)), report::readable_time(std::llround(period_ns)));
}

/// Energy of all rounds, or why not.
void append_energy(JsonView answer, VariantResult& variant, bool flushed) {
  if (!variant.energy_missing.empty()) return;
  variant.energy_missing = energy_missing_of(answer, flushed);
  if (variant.energy_missing.empty())
    variant.energy_mj = variant.energy_mj.value_or(0) + answer["energy_mj"].integer();
  else
    variant.energy_mj.reset();
}

void read_memory(JsonView answer, VariantResult& variant, JsonView before) {
  const auto member = [&](const char* name) -> std::optional<std::int64_t> {
    if (!answer[name].is_number()) return std::nullopt;
    return answer[name].integer();
  };
  variant.peak_bytes = member("peak_bytes");
  variant.setup_bytes = member("setup_bytes");
  if (member("live_bytes") && before["live_bytes"].is_number())
    variant.growth_bytes = *member("live_bytes") - before["live_bytes"].integer();
}

/// A benchmark while it is measured: both workers and the row.
class Measurement {
 public:
  Measurement(const Benchmark& benchmark, const MeasureOptions& options) : options_(options) {
    row_.benchmark = benchmark;
    row_.setup = options.setup;
    row_.iterations = options.run.iterations > 0 ? options.run.iterations : benchmark.iterations;
    row_.warmup = options.run.warmup >= 0 ? options.run.warmup : benchmark.warmup;
    row_.tolerance = options.setup.device == "cuda" ? benchmark.optimized.cuda : benchmark.optimized.cpu;
  }

  Row run() {
    if (refused() || skipped()) return std::move(row_);
    if (Status status = all(); !status.ok()) row_.fail(status.error().message());
    for (Two& two : variants_) {
      if (two.process) two.process->quit();
    }
    return std::move(row_);
  }

 private:
  struct Two {
    const char* name;
    VariantResult* result;
    std::optional<WorkerProcess> process{};
    Json live{};  // before the timed steps
  };

  bool refused() {
    const Benchmark& benchmark = row_.benchmark;
    const bool cuda = row_.setup.device == "cuda";
    if (!looser(row_.tolerance, cuda ? benchmark.baseline.cuda : benchmark.baseline.cpu)) return false;
    row_.fail("refused: the optimized variant declares a looser tolerance than the baseline");
    return true;
  }

  bool skip(std::string reason) {
    row_.status = RowStatus::kSkipped;
    row_.reason = std::move(reason);
    return true;
  }

  bool skipped() {
    const Benchmark& benchmark = row_.benchmark;
    if (benchmark.least_ranks > options_.run.ranks)
      return skip(fmt::format("needs_world_size_{}", benchmark.least_ranks));
    if (std::find(benchmark.sizes.begin(), benchmark.sizes.end(), row_.setup.size) == benchmark.sizes.end())
      return skip("size_not_offered");
    if (!start(variants_[0])) return true;
    const Result<Json> answer = ask(variants_[0], request("skip", "baseline"), Doing::kOther);
    if (!answer) {
      row_.fail(answer.error().message());
      return true;
    }
    const std::string reason = JsonView(*answer)["skip"].text();
    return !reason.empty() && skip(reason);
  }

  bool start(Two& two, bool again = false) {
    two.result->log = options_.folder + "/" + two.name + ".log";
    const auto timeout = static_cast<std::int64_t>(options_.run.timeout_s * 1e9);
    Result<WorkerProcess> process =
        WorkerProcess::start({options_.run.worker, two.result->log, again, timeout, options_.run.cancelled});
    if (!process) {
      row_.fail(process.error().message());
      return false;
    }
    two.process.emplace(std::move(*process));
    return true;
  }

  Json request(const char* what, const char* variant) const {
    return Json::object({{"do", what},
                         {"benchmark", row_.benchmark.name},
                         {"variant", variant},
                         {"device", row_.setup.device},
                         {"size", row_.setup.size},
                         {"seed", static_cast<std::int64_t>(row_.setup.seed)}});
  }

  Json run_request(std::int64_t steps) const {
    return Json::object({{"do", "run"}, {"steps", steps}, {"flush", options_.run.flush_cache}});
  }

  Result<Json> ask(Two& two, const Json& what, Doing doing) {
    Result<Json> answer = two.process->ask(what);
    if (!answer) return std::move(answer).error().with_context(two.name);
    two.result->use.add(doing, *answer);
    return answer;
  }

  void part_done() { options_.progress(std::min(++part_, kBenchmarkParts)); }

  Status all() {
    if (!start(variants_[1])) return Error{ErrorCode::kIo, row_.reason};
    Setup setup = row_.setup;
    row_.checked_size = setup.size = size_of_check(row_.benchmark, setup.size);
    const CorrectnessCheck check(row_.benchmark, setup, options_.folder, options_.run.disk_limit,
                                 [&](bool optimized, const Json& what) {
                                   part_done();
                                   return ask(variants_[optimized ? 1 : 0], what, Doing::kCheck);
                                 });
    if (Status status = check.run(row_); !status.ok()) return status;
    row_.correct = true;
    for (const auto& step : {&Measurement::prepare, &Measurement::time, &Measurement::collect, &Measurement::profile}) {
      if (Status status = (this->*step)(); !status.ok()) return status;
    }
    return {};
  }

  Status prepare() {
    for (Two& two : variants_) {
      // Without a warm-up the first step's cost is the point (compilation, say): the correctness check must not have
      // paid it.
      if (row_.warmup == 0) {
        two.process->quit();
        if (!start(two, true)) return Error{ErrorCode::kIo, row_.reason};
      }
      if (Result<Json> answer = ask(two, request("open", two.name), Doing::kSetup); !answer) return answer.error();
      if (Result<Json> answer = ask(two, run_request(row_.warmup), Doing::kWarmUp); !answer) return answer.error();
      Result<Json> live = ask(two, Json::object({{"do", "memory"}}), Doing::kOther);
      if (!live) return live.error();
      two.live = std::move(*live);
      if (Result<Json> answer = ask(two, Json::object({{"do", "reset_peak"}}), Doing::kOther); !answer)
        return answer.error();
    }
    return {};
  }

  /// A B A B: what drifts meets both variants alike. More steps make more rounds, not longer ones.
  Status time() {
    const std::int64_t rounds =
        std::min(row_.iterations, std::clamp(row_.iterations / kStepsOfARound, kRounds, kMaxRounds));
    for (std::int64_t round = 0; round < rounds; ++round) {
      const std::int64_t steps = row_.iterations / rounds + (round < row_.iterations % rounds ? 1 : 0);
      for (Two& two : variants_) {
        const Result<Json> answer = ask(two, run_request(steps), Doing::kSteps);
        if (!answer) return answer.error();
        if (Status status = append_samples(*answer, *two.result, steps); !status.ok()) return status;
        append_energy(*answer, *two.result, options_.run.flush_cache);
      }
      if ((round + 1) * kRounds / rounds > round * kRounds / rounds) part_done();
    }
    return {};
  }

  Status collect() {
    for (Two& two : variants_) {
      const Result<Json> memory = ask(two, Json::object({{"do", "memory"}}), Doing::kOther);
      if (!memory) return memory.error();
      read_memory(*memory, *two.result, two.live);
    }
    return {};
  }

  Status profile() {
    for (Two& two : variants_) {
      if (options_.run.profile != ProfileLevel::kNone) {
        const std::string stem = options_.folder + "/" + two.name, capture = stem + ".rfcap";
        // Files of a worker's hooks: both variants give theirs the same names.
        std::error_code code;
        std::filesystem::create_directories(stem, code);
        if (code) return base::system_error("create", stem, code.value());
        const Result<Json> answer = ask(two,
                                        Json::object({{"do", "profile"},
                                                      {"level", to_string(options_.run.profile)},
                                                      {"steps", kProfiledSteps},
                                                      {"capture", capture},
                                                      {"folder", stem}}),
                                        Doing::kRecording);
        if (!answer) return answer.error();
        Result<ProfileResult> profiled =
            profile_of(capture, *answer, *two.result, options_.run.profile, options_.peaks);
        if (!profiled) return profiled.error();
        two.result->profile = std::move(*profiled);
      }
      const Result<Json> finish = ask(two, Json::object({{"do", "finish"}}), Doing::kOther);
      if (!finish) return finish.error();
      two.result->work = work_from_json(JsonView(*finish)["work"]);
      two.result->peak = flops_peak(two.result->work, options_.peaks, options_.device_name);
      for (const JsonView metric : JsonView(*finish)["metrics"].items())
        two.result->metrics.push_back(metric_from_json(metric));
      part_done();
    }
    return {};
  }

  const MeasureOptions& options_;
  Row row_;
  std::uint64_t part_ = 0;
  Two variants_[2] = {{"baseline", &row_.baseline}, {"optimized", &row_.optimized}};
};

}  // namespace

Row measure(const Benchmark& benchmark, const MeasureOptions& options) { return Measurement(benchmark, options).run(); }

}  // namespace rangefinder::bench
