// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"
#include "base/file.hpp"
#include "bench/benchmark_json.hpp"
#include "bench/hardware.hpp"
#include "bench/measure.hpp"
#include "bench/results.hpp"
#include "bench/targets.hpp"

#include <rangefinder/bench/harness.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace rangefinder::bench {
namespace {

/// What is run, where, and against what.
struct Plan {
  RunOptions options;
  Description worker;
  std::vector<Benchmark> benchmarks;
  Setup setup;
  Provenance provenance;  ///< of the run; a row has its own iterations and warm-up
  std::string expectations_path;
};

Error wrong(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

Status check(const RunOptions& options) {
  constexpr std::array<std::string_view, 3> kDevices{"auto", "cpu", "cuda"};
  constexpr std::array<std::string_view, 4> kSizes{"", "smoke", "cpu", "gpu"};
  if (std::find(kDevices.begin(), kDevices.end(), options.device) == kDevices.end())
    return wrong("no device \"" + options.device + "\": auto, cpu or cuda");
  if (std::find(kSizes.begin(), kSizes.end(), options.size) == kSizes.end())
    return wrong("no size \"" + options.size + "\": smoke, cpu or gpu");
  if (options.iterations < 0 || options.iterations > 1'000'000 || options.warmup > 1'000'000)
    return wrong("iterations and warm-up are at most a million");
  if (!(options.timeout_s > 0 && options.timeout_s < 1e6)) return wrong("a timeout is more than 0 s and less than 1e6");
  if (options.ranks != 1) return wrong("this build runs one process per variant: --nproc 1");
  if ((options.accept_regressions || options.accept_provenance) && !options.update_expectations)
    return wrong("nothing is accepted without --update-expectations");
  if (options.validate && options.update_expectations)
    return wrong("--validate checks outputs only; leave it out to use --update-expectations");
  return {};
}

Result<Plan> make_plan(const RunOptions& options) {
  if (Status status = check(options); !status.ok()) return status.error();
  Plan plan;
  plan.options = options;
  Result<Description> description = describe(options.worker, options.cancelled);
  if (!description) return description.error();
  plan.worker = std::move(*description);
  Result<std::vector<Benchmark>> benchmarks = chosen(plan.worker.benchmarks, options.targets);
  if (!benchmarks) return benchmarks.error();
  plan.benchmarks = std::move(*benchmarks);
  plan.setup.device = options.device == "auto" ? (plan.worker.gpu.count > 0 ? "cuda" : "cpu") : options.device;
  const bool cuda = plan.setup.device == "cuda";
  plan.setup.size = !options.size.empty() ? options.size : cuda ? "gpu" : "cpu";
  plan.setup.seed = options.seed;
  // One process per variant uses one device, however many there are.
  const std::string key = cuda ? gpu_key(plan.worker.gpu.name, options.ranks) : base::cpu_key();
  plan.provenance = {commit_of("."),
                     key,
                     plan.setup.device,
                     plan.setup.size,
                     std::string(to_string(options.profile)),
                     options.flush_cache ? "flushed" : "warm",
                     utc_now(),
                     0,
                     0,
                     plan.worker.torch,
                     cuda ? plan.worker.cuda : "",
                     cuda ? plan.worker.driver : ""};
  plan.expectations_path = !options.expectations.empty() ? options.expectations : "expectations_" + key + ".json";
  return plan;
}

/// Sizes other than a device's own have entries of their own.
std::string example_name(const Plan& plan, const Benchmark& benchmark) {
  const std::string own = plan.setup.device == "cuda" ? "gpu" : "cpu";
  return plan.setup.size == own ? benchmark.name : benchmark.name + "@" + plan.setup.size;
}

Measured measured_of(const Plan& plan, const Row& row) {
  Provenance provenance = plan.provenance;
  provenance.iterations = row.iterations;
  provenance.warmup = row.warmup;
  return {example_name(plan, row.benchmark), std::string(to_string(row.benchmark.goal)), metrics_of(row), provenance};
}

Result<Row> run_benchmark(const Plan& plan, std::size_t index, const Expectations& expectations) {
  const Benchmark& benchmark = plan.benchmarks[index];
  const std::string folder = plan.options.out + "/" + benchmark.name;
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return base::system_error("create", folder, code.value());
  const auto progress = [&](std::uint64_t part) {
    if (plan.options.progress)
      plan.options.progress(index * kBenchmarkParts + part, plan.benchmarks.size() * kBenchmarkParts);
  };
  Row row;
  if (plan.options.cancelled && plan.options.cancelled()) {
    row.benchmark = benchmark;
    row.setup = plan.setup;
    row.fail("interrupted before it ran");
  } else {
    row = measure(benchmark, {plan.options, plan.setup, folder, progress});
  }
  decide(row, expectations, measured_of(plan, row), plan.options.validate);
  progress(kBenchmarkParts);
  return row;
}

/// Stores what passed, and what regressed where that is accepted. False: something asked for was not stored.
Result<bool> store(const Plan& plan, std::vector<Row>& rows, std::vector<std::string>& notes) {
  std::vector<Measured> measured;
  for (const Row& row : rows) {
    if (row.status == RowStatus::kPassed || row.status == RowStatus::kRegressed)
      measured.push_back(measured_of(plan, row));
  }
  const Result<UpdateReport> report =
      update_expectations(plan.expectations_path, plan.provenance.hardware_key, measured,
                          {plan.options.accept_regressions, plan.options.accept_provenance});
  if (!report) return report.error();
  for (const std::string& name : report->written) notes.push_back("stored: " + name);
  for (const std::string& why : report->refused) notes.push_back("not stored: " + why);
  for (Row& row : rows) {
    const bool written = std::find(report->written.begin(), report->written.end(), example_name(plan, row.benchmark)) !=
                         report->written.end();
    if (!written || row.status != RowStatus::kRegressed) continue;
    row.status = RowStatus::kPassed;
    row.reason = "accepted: " + row.reason;
  }
  return report->refused.empty();
}

/// Results of an earlier run get the next free number: results-1.json and results-1.md. A long run is not lost to the
/// next one.
Status keep_earlier(const std::string& folder, std::vector<std::string>& notes) {
  const auto path = [&](const std::string& number, const char* ending) {
    return folder + "/results" + number + ending;
  };
  if (!base::exists(path("", ".json"))) return {};
  std::string number;
  for (int i = 1; number.empty() || base::exists(path(number, ".json")) || base::exists(path(number, ".md")); ++i)
    number = "-" + std::to_string(i);
  for (const char* ending : {".json", ".md"}) {
    std::error_code code;
    std::filesystem::rename(path("", ending), path(number, ending), code);
    if (code && code != std::errc::no_such_file_or_directory)
      return base::system_error("rename", path("", ending), code.value());
  }
  notes.push_back("results of an earlier run are kept as " + path(number, ".json"));
  return {};
}

}  // namespace

Result<std::string> plan(const RunOptions& options) {
  const Result<Plan> plan = make_plan(options);
  if (!plan) return plan.error();
  std::string out;
  for (const Benchmark& benchmark : plan->benchmarks) {
    out += fmt::format("{}: {} {}, {} iterations after {} to warm up, profile {}\n", benchmark.name, plan->setup.device,
                       plan->setup.size, options.iterations > 0 ? options.iterations : benchmark.iterations,
                       options.warmup >= 0 ? options.warmup : benchmark.warmup, to_string(options.profile));
  }
  return out;
}

Result<RunOutcome> run(const RunOptions& options) {
  const Result<Plan> plan = make_plan(options);
  if (!plan) return plan.error();
  const Result<Expectations> expectations = Expectations::load(plan->expectations_path, plan->provenance.hardware_key);
  if (!expectations) return expectations.error();
  std::vector<Row> rows;
  for (std::size_t i = 0; i < plan->benchmarks.size(); ++i) {
    Result<Row> row = run_benchmark(*plan, i, *expectations);
    if (!row) return row.error();
    rows.push_back(std::move(*row));
  }
  RunOutcome outcome;
  bool stored = true;
  if (options.update_expectations) {
    const Result<bool> all = store(*plan, rows, outcome.notes);
    stored = all.ok() && *all;
    if (!all) outcome.notes.push_back("not stored: " + all.error().message());
  }
  outcome.exit_code = exit_code_of(rows);
  if (!stored && outcome.exit_code == kAllMet) outcome.exit_code = kFailure;
  if (Status status = keep_earlier(options.out, outcome.notes); !status.ok()) return status.error();
  outcome.json = json_text(results_json(rows, plan->provenance, options.worker, outcome.notes, outcome.exit_code));
  const Result<std::string> markdown = results_markdown(outcome.json);
  if (!markdown) return markdown.error();
  if (Status status = base::write_whole_file(options.out + "/results.json", outcome.json); !status.ok())
    return status.error();
  if (Status status = base::write_whole_file(options.out + "/results.md", *markdown); !status.ok())
    return status.error();
  return outcome;
}

}  // namespace rangefinder::bench
