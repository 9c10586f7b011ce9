// SPDX-License-Identifier: MIT
#include "bench/measure.hpp"

#include "base/file.hpp"
#include "bench/benchmark_json.hpp"
#include "bench/correctness_check.hpp"
#include "bench/profile.hpp"
#include "bench/rank_figures.hpp"
#include "bench/rank_group.hpp"
#include "report/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kRounds = 5, kMaxRounds = 20, kStepsOfARound = 10, kProfiledSteps = 3;

/// To those of a rank or of a variant.
template <typename Figures>
Status append_samples(JsonView answer, Figures& figures, std::int64_t expected) {
  for (const JsonView each : answer["wall_ns"].items()) figures.wall_ns.push_back(each.number());
  for (const JsonView each : answer["cpu_ns"].items()) figures.cpu_ns.push_back(each.number());
  for (const JsonView each : answer["device_ns"].items()) figures.device_ns.push_back(each.number());
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
void append_energy(const std::vector<Json>& answers, VariantResult& variant, bool flushed) {
  if (!variant.energy_missing.empty()) return;
  const JsonView answer = answers.front();
  variant.energy_missing = answers.size() > 1 ? "several ranks may share a device" : energy_missing_of(answer, flushed);
  if (variant.energy_missing.empty())
    variant.energy_mj = variant.energy_mj.value_or(0) + answer["energy_mj"].integer();
  else
    variant.energy_mj.reset();
}

void read_memory(JsonView answer, RankResult& rank, JsonView before) {
  const auto member = [&](const char* name) -> std::optional<std::int64_t> {
    if (!answer[name].is_number()) return std::nullopt;
    return answer[name].integer();
  };
  rank.peak_bytes = member("peak_bytes");
  rank.setup_bytes = member("setup_bytes");
  if (member("live_bytes") && before["live_bytes"].is_number())
    rank.growth_bytes = *member("live_bytes") - before["live_bytes"].integer();
}

Json request_of(const char* what) { return Json::object({{"do", what}}); }

/// A benchmark while it is measured: the processes of its variants, and the row.
class Measurement {
 public:
  Measurement(const Benchmark& benchmark, const MeasureOptions& options) : options_(options) {
    row_.benchmark = benchmark;
    row_.setup = options.setup;
    row_.ranks = ranks_of(benchmark, options.run.ranks);
    row_.iterations = options.run.iterations > 0 ? options.run.iterations : benchmark.iterations;
    row_.warmup = options.run.warmup >= 0 ? options.run.warmup : benchmark.warmup;
    row_.tolerance = options.setup.device == "cuda" ? benchmark.optimized.cuda : benchmark.optimized.cpu;
  }

  Row run() {
    if (refused() || skipped()) return std::move(row_);
    if (Status status = all(); !status.ok()) row_.fail(status.error().message());
    for (Processes* each : {&variants_[0], &variants_[1], &reference_}) {
      if (each->group) each->group->quit();
    }
    return std::move(row_);
  }

 private:
  /// Of a variant, or of the reference.
  struct Processes {
    const char* name;
    VariantResult* result;
    std::optional<RankGroup> group{};
    std::vector<Json> live{};  ///< of each rank, before the timed steps
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
    const Result<std::vector<Json>> answers = ask(variants_[0], request("skip", "baseline"), Doing::kOther);
    if (!answers) {
      row_.fail(answers.error().message());
      return true;
    }
    for (const Json& answer : *answers) {
      if (const std::string reason = JsonView(answer)["skip"].text(); !reason.empty()) return skip(reason);
    }
    return false;
  }

  bool start(Processes& processes, bool again = false) {
    processes.result->log = options_.folder + "/" + processes.name + ".log";
    const unsigned ranks = &processes == &reference_ ? 1 : row_.ranks;
    processes.result->ranks.resize(ranks);
    Result<RankGroup> group =
        RankGroup::start({options_.run.worker, processes.name, processes.result->log, again, ranks,
                          static_cast<std::int64_t>(options_.run.timeout_s * 1e9),
                          static_cast<std::int64_t>(options_.run.stall_s * 1e9), options_.run.cancelled});
    if (!group) {
      row_.fail(group.error().message());
      return false;
    }
    processes.group.emplace(std::move(*group));
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

  /// The same of all ranks, each with its number, and a file to meet in where a variant is made.
  Result<std::vector<Json>> ask(Processes& processes, const Json& what, Doing doing) {
    const unsigned ranks = processes.group->ranks();
    std::vector<Json> requests(ranks, what);
    const std::string store = JsonView(what).has("variant") ? processes.group->next_store() : std::string();
    for (unsigned rank = 0; ranks > 1 && rank < ranks; ++rank) {
      requests[rank]["rank"] = rank;
      requests[rank]["ranks"] = ranks;
      if (!store.empty()) requests[rank]["store"] = store;
      if (const std::string file = JsonView(what)["file"].text(); !file.empty())
        requests[rank]["file"] = outputs_path(file, rank, ranks);
    }
    return ask_each(processes, requests, doing);
  }

  Result<std::vector<Json>> ask_each(Processes& processes, const std::vector<Json>& requests, Doing doing) {
    std::vector<RankGroup*> idle;
    for (Processes* const each : {&variants_[0], &variants_[1], &reference_})
      if (each != &processes && each->group && each->group->alive()) idle.push_back(&*each->group);
    Result<std::vector<Json>> answers = processes.group->ask(requests, idle);
    if (!answers) return answers;
    const Json slowest = slowest_answer(*answers);
    processes.result->use.add(doing, slowest);
    return answers;
  }

  void part_done() { options_.progress(std::min(++part_, kBenchmarkParts)); }

  Status all() {
    if (!start(variants_[1])) return Error{ErrorCode::kIo, row_.reason};
    if (Status status = check(); !status.ok()) return status;
    for (const auto& step : {&Measurement::prepare, &Measurement::time, &Measurement::collect, &Measurement::profile}) {
      if (Status status = (this->*step)(); !status.ok()) return status;
    }
    return {};
  }

  Status check() {
    if (row_.benchmark.reference.make) {
      if (!start(reference_)) return Error{ErrorCode::kIo, row_.reason};
      row_.reference_log = reference_.result->log;
    }
    Setup setup = row_.setup;
    row_.checked_size = setup.size = size_of_check(row_.benchmark, setup.size);
    const auto ask_for_check = [&](Checked which, const Json& what) {
      part_done();
      return ask(which == Checked::kReference ? reference_ : variants_[which == Checked::kOptimized ? 1 : 0], what,
                 Doing::kCheck);
    };
    const CorrectnessCheck check(row_.benchmark, setup, options_.folder, options_.run.disk_limit, row_.ranks,
                                 ask_for_check);
    if (Status status = check.run(row_); !status.ok()) return status;
    row_.correct = true;
    if (reference_.group) reference_.group->quit();  // no more than what is timed shares the machine
    return {};
  }

  Status prepare() {
    for (Processes& each : variants_) {
      // Without a warm-up the first step's cost is the point (compilation, say): the correctness check must not have
      // paid it.
      if (row_.warmup == 0) {
        each.group->quit();
        if (!start(each, true)) return Error{ErrorCode::kIo, row_.reason};
      }
      if (auto answers = ask(each, request("open", each.name), Doing::kSetup); !answers) return answers.error();
      if (auto answers = ask(each, run_request(row_.warmup), Doing::kWarmUp); !answers) return answers.error();
      Result<std::vector<Json>> live = ask(each, request_of("memory"), Doing::kOther);
      if (!live) return live.error();
      each.live = std::move(*live);
      if (auto answers = ask(each, request_of("reset_peak"), Doing::kOther); !answers) return answers.error();
    }
    return {};
  }

  /// A B A B: what drifts meets both variants alike. More steps make more rounds, not longer ones.
  Status time() {
    const std::int64_t rounds =
        std::min(row_.iterations, std::clamp(row_.iterations / kStepsOfARound, kRounds, kMaxRounds));
    for (std::int64_t round = 0; round < rounds; ++round) {
      const std::int64_t steps = row_.iterations / rounds + (round < row_.iterations % rounds ? 1 : 0);
      for (Processes& each : variants_) {
        if (Status status = time_round(each, steps); !status.ok()) return status;
      }
      if ((round + 1) * kRounds / rounds > round * kRounds / rounds) part_done();
    }
    return {};
  }

  Status time_round(Processes& processes, std::int64_t steps) {
    const Result<std::vector<Json>> answers = ask(processes, run_request(steps), Doing::kSteps);
    if (!answers) return answers.error();
    VariantResult& result = *processes.result;
    for (std::size_t rank = 0; rank < answers->size(); ++rank) {
      if (Status status = append_samples((*answers)[rank], result.ranks[rank], steps); !status.ok()) return status;
    }
    append_energy(*answers, result, options_.run.flush_cache);
    return append_samples((*answers)[slowest_rank(*answers)], result, steps);
  }

  Status collect() {
    for (Processes& each : variants_) {
      const Result<std::vector<Json>> memory = ask(each, request_of("memory"), Doing::kOther);
      if (!memory) return memory.error();
      for (std::size_t rank = 0; rank < memory->size(); ++rank)
        read_memory((*memory)[rank], each.result->ranks[rank], each.live[rank]);
      add_up(*each.result);
    }
    return {};
  }

  Status profile() {
    for (Processes& each : variants_) {
      if (options_.run.profile != ProfileLevel::kNone) {
        if (Status status = record(each); !status.ok()) return status;
      }
      const Result<std::vector<Json>> finish = ask(each, request_of("finish"), Doing::kOther);
      if (!finish) return finish.error();
      VariantResult& result = *each.result;
      for (std::size_t rank = 0; rank < finish->size(); ++rank) {
        const JsonView answer = (*finish)[rank];
        result.ranks[rank].work = work_from_json(answer["work"]);
        for (const JsonView metric : answer["metrics"].items())
          result.ranks[rank].metrics.push_back(metric_from_json(metric));
      }
      add_up(result);
      result.peak = row_.ranks > 1 ? FlopsPeak{0, "several ranks: which of them share a device is not known"}
                                   : flops_peak(result.work, options_.peaks, options_.device_name);
      part_done();
    }
    return {};
  }

  /// Profiled steps of all ranks, each in a capture of its own; the tables of the row are of rank 0.
  Status record(Processes& processes) {
    const std::string stem = options_.folder + "/" + processes.name;
    std::vector<Json> requests;
    for (unsigned rank = 0; rank < row_.ranks; ++rank) {
      const std::string of_rank = row_.ranks > 1 ? fmt::format("{}/rank-{}", stem, rank) : stem;
      // Files of a worker's hooks: both variants, and all ranks, give theirs the same names.
      std::error_code code;
      std::filesystem::create_directories(of_rank, code);
      if (code) return base::system_error("create", of_rank, code.value());
      processes.result->ranks[rank].capture = of_rank + ".rfcap";
      requests.push_back(Json::object({{"do", "profile"},
                                       {"level", to_string(options_.run.profile)},
                                       {"steps", kProfiledSteps},
                                       {"capture", of_rank + ".rfcap"},
                                       {"folder", of_rank}}));
    }
    const Result<std::vector<Json>> answers = ask_each(processes, requests, Doing::kRecording);
    if (!answers) return answers.error();
    Result<ProfileResult> profiled = profile_of(processes.result->ranks.front().capture, answers->front(),
                                                *processes.result, options_.run.profile, options_.peaks);
    if (!profiled) return profiled.error();
    processes.result->profile = std::move(*profiled);
    return {};
  }

  const MeasureOptions& options_;
  Row row_;
  std::uint64_t part_ = 0;
  Processes variants_[2] = {{"baseline", &row_.baseline}, {"optimized", &row_.optimized}};
  VariantResult of_reference_;
  Processes reference_{"reference", &of_reference_};
};

}  // namespace

Row measure(const Benchmark& benchmark, const MeasureOptions& options) { return Measurement(benchmark, options).run(); }

}  // namespace rangefinder::bench
