// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/bench/harness.hpp>
#include <rangefinder/bench/lab.hpp>

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace rangefinder::cli {
namespace {

using base::printable;

constexpr std::uint64_t kMaxSteps = 1'000'000'000;
constexpr std::uint64_t kMaxRanks = 1024;
constexpr std::uint64_t kMaxResultsBytes = std::uint64_t{256} << 20;

std::atomic<bool> interrupted{false};

/// An interrupt ends the workers and leaves what was measured; a second one ends us as ever.
class InterruptWatch {
 public:
  InterruptWatch() {
    struct sigaction watch {};
    watch.sa_handler = [](int) { interrupted.store(true, std::memory_order_relaxed); };
    watch.sa_flags = SA_RESETHAND;
    for (std::size_t i = 0; i < 2; ++i) ::sigaction(kSignals[i], &watch, &before_[i]);
  }
  ~InterruptWatch() {
    for (std::size_t i = 0; i < 2; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM};
  struct sigaction before_[2]{};
};

struct BenchArguments {
  bench::RunOptions run;
  std::string worker;
  std::string format = "table";
  bool dry_run = false;
  std::vector<std::string> files;
  std::string out;
};

int wrong_use(const Error& error) {
  complain("bench: " + error.message());
  return bench::kWrongUse;
}

Result<std::string> worker_of(const BenchArguments& arguments) {
  std::error_code ignored;
  return bench::find_worker(arguments.worker, std::filesystem::read_symlink("/proc/self/exe", ignored).string());
}

bench::TextStyle style_of(const Common& common) {
  return {common.terminal.utf8, common.terminal.colour(common.colour), common.terminal.width};
}

int list_targets(const Common& common, const BenchArguments& arguments) {
  const Result<std::string> worker = worker_of(arguments);
  if (!worker) return wrong_use(worker.error());
  const Result<std::vector<bench::Benchmark>> benchmarks = bench::list_targets(*worker, arguments.run.targets);
  if (!benchmarks) return wrong_use(benchmarks.error());
  if (common.json) {
    write_stdout(bench::targets_json(*benchmarks));
    return bench::kAllMet;
  }
  for (const bench::Benchmark& benchmark : *benchmarks) {
    std::string devices;
    for (const std::string& device : benchmark.devices) devices += (devices.empty() ? "" : ",") + device;
    constexpr std::string_view kGoals[] = {"speed", "throughput", "memory"};
    write_stdout(fmt::format("{:<28} {:<5} {:<10} {:<8} {} rank{} {}\n", printable(benchmark.name),
                             printable(benchmark.chapter), kGoals[static_cast<std::size_t>(benchmark.goal)],
                             printable(devices), benchmark.least_ranks, benchmark.least_ranks == 1 ? " " : "s",
                             printable(benchmark.purpose)));
  }
  return bench::kAllMet;
}

int show(const Common& common, const BenchArguments& arguments, const bench::RunOutcome& outcome) {
  const Result<std::string> table = bench::results_table(outcome.json, style_of(common));
  const Result<std::string> markdown = bench::results_markdown(outcome.json);
  if (!table) return fail(table.error());
  if (!markdown) return fail(markdown.error());
  if (common.json || arguments.format == "json") {
    // Whoever reads the JSON has stdout for itself.
    write_stdout(outcome.json);
    if (!common.quiet) std::fputs(table->c_str(), stderr);
    return outcome.exit_code;
  }
  if (arguments.format != "markdown") write_stdout(*table);
  if (arguments.format != "table") write_stdout(*markdown);
  return outcome.exit_code;
}

/// Runs with progress, until an interrupt.
template <typename Run>
Result<bench::RunOutcome> watched(const Common& common, bench::RunOptions& options, Run run) {
  const InterruptWatch watch;
  Progress progress(common.terminal, common.shows_progress(), "bench");
  options.cancelled = [] { return interrupted.load(std::memory_order_relaxed); };
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.show(done, total); };
  return run(options);
}

int run_bench(const Common& common, BenchArguments arguments) {
  const Result<std::string> worker = worker_of(arguments);
  if (!worker) return wrong_use(worker.error());
  bench::RunOptions& options = arguments.run;
  options.worker = *worker;
  if (arguments.dry_run) {
    const Result<bench::PlanOutcome> plan = bench::plan(options);
    if (!plan) return wrong_use(plan.error());
    write_stdout(common.json || arguments.format == "json" ? plan->json : plan->text);
    return plan->exit_code;
  }
  const Result<bench::RunOutcome> outcome = watched(common, options, bench::run);
  if (!outcome) return wrong_use(outcome.error());
  return show(common, arguments, *outcome);
}

int run_lab(const Common& common, BenchArguments arguments) {
  const Result<std::string> worker = worker_of(arguments);
  if (!worker) return wrong_use(worker.error());
  bench::RunOptions& options = arguments.run;
  options.worker = *worker;
  const Result<bench::RunOutcome> outcome = watched(common, options, bench::lab);
  if (!outcome) return wrong_use(outcome.error());
  const Result<std::string> text = bench::lab_text(outcome->json, style_of(common));
  if (!text) return fail(text.error());
  if (common.json) {
    write_stdout(outcome->json);
    if (!common.quiet) std::fputs(text->c_str(), stderr);
  } else {
    write_stdout(*text);
    if (!common.quiet) write_stdout(fmt::format("\n{0}/lab.md, {0}/lab.html\n", printable(options.out)));
  }
  return outcome->exit_code;
}

using Comparison = bench::PerformanceComparison;

std::string verdict_of(const Comparison::Row& row) {
  std::string out(bench::to_string(row.verdict));
  if (row.candidate <= 0) out += ", the candidate has no rate of it";
  if (row.verdict == Comparison::Verdict::kUnclear)
    out += fmt::format(
        ", the baseline variant is slower too (x{:.3g}): measure again, or look at what both variants share",
        row.control);
  return out;
}

std::string comparison_text(const Comparison& comparison) {
  std::string out;
  for (const Comparison::Row& row : comparison.rows) {
    const std::string interval = row.high > 0 ? fmt::format(" [{:.3g}, {:.3g}]", row.low, row.high) : "";
    out += fmt::format("{:<28} {:.6g} -> {:.6g} {}, x{:.3g}{}: {}\n", row.name.empty() ? "-" : printable(row.name),
                       row.baseline, row.candidate, printable(row.unit), row.ratio, interval, verdict_of(row));
  }
  return out;
}

int compare_perf(const Common& common, const BenchArguments& arguments) {
  if (arguments.files.size() != 2) {
    complain("bench compare-perf: two files of results, the baseline's first");
    return bench::kFailure;
  }
  const auto comparison = bench::compare_performance(arguments.files[0], arguments.files[1]);
  if (!comparison) {
    complain("bench compare-perf: " + comparison.error().message());
    return bench::kFailure;
  }
  if (common.json)
    write_stdout(bench::comparison_json(*comparison));
  else if (!common.quiet)
    write_stdout(comparison_text(*comparison));
  return comparison->kept ? bench::kAllMet : bench::kRegression;
}

int report(const BenchArguments& arguments) {
  const Result<base::Bytes> json = base::read_whole_file(arguments.files.front(), kMaxResultsBytes);
  if (!json) return wrong_use(json.error());
  const Result<std::string> text = bench::recommendations(std::string(base::as_text(*json)));
  if (!text) return wrong_use(text.error().with_context(arguments.files.front()));
  if (arguments.out.empty()) {
    write_stdout(*text);
    return bench::kAllMet;
  }
  if (Status status = base::write_whole_file(arguments.out, *text); !status.ok()) return wrong_use(status.error());
  return bench::kAllMet;
}

using Shared = std::shared_ptr<BenchArguments>;

void add_worker(CLI::App& verb, const Shared& arguments) {
  verb.add_option(
          "--worker", arguments->worker,
          "The program with the benchmarks (default: RANGEFINDER_WORKER, else rangefinder-workloads beside this one)")
      ->type_name("PATH");
}

void add_profile(CLI::App& verb, const Shared& arguments, const std::string& by_default) {
  using bench::ProfileLevel;
  add_choice<ProfileLevel>(
      verb, "--profile", arguments->run.profile,
      {{"none", ProfileLevel::kNone},
       {"minimal", ProfileLevel::kMinimal},
       {"deep", ProfileLevel::kDeep},
       {"roofline", ProfileLevel::kRoofline}},
      "What to record in steps of their own: none, minimal, deep or roofline (default " + by_default + ")")
      ->type_name("LEVEL");
  takes_file(verb.add_option("--peaks", arguments->run.peaks,
                             "The file that `rangefinder measure-peaks` wrote: tells compute-bound from memory-bound "
                             "kernels, MFU, and --dry-run how fast steps are"))
      ->type_name("FILE");
}

/// How long steps are measured, where, and what becomes of it: of everything that runs benchmarks.
void add_steps(CLI::App& verb, const Shared& arguments) {
  bench::RunOptions& run = arguments->run;
  takes_one_of(verb.add_option("--device", run.device, "auto, cpu or cuda (default auto)"), {"auto", "cpu", "cuda"})
      ->type_name("DEVICE");
  takes_one_of(verb.add_option("--size", run.size, "smoke, cpu or gpu (default: the device's own)"),
               {"smoke", "cpu", "gpu"})
      ->type_name("SIZE");
  takes_whole_number(
      verb.add_option("--iterations", run.iterations, "Timed steps per variant (default: each benchmark's own)"), 1,
      kMaxSteps)
      ->type_name("N");
  takes_whole_number(verb.add_option("--warmup", run.warmup,
                                     "Steps before them; 0 counts what is done once (default: each benchmark's own)"),
                     0, kMaxSteps)
      ->type_name("N");
  takes_whole_number<std::uint64_t>(verb.add_option("--seed", run.seed, "Of inputs and weights (default 42)"), 0)
      ->type_name("S");
  takes_number_above_0(verb.add_option("--timeout-s", run.timeout_s, "For each answer of a worker (default 600)"))
      ->type_name("T");
  takes_number_above_0(
      verb.add_option("--time-limit", run.time_limit_s,
                      "Begin no benchmark that could end later, one of each family first; exit code 5 (default: none)"))
      ->type_name("SECONDS");
  verb.add_flag("--resume", run.resume, "Go on with the results in --out: run only what is missing or failed");
  verb.add_option("--disk-limit", run.disk_limit,
                  "Fail benchmarks whose outputs take more than SIZE of disk while compared (default 8GiB)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE");
  verb.add_option("--out", run.out, "Where results, logs, captures and traces go (default bench-out)")
      ->type_name("FOLDER");
}

void add_measuring(CLI::App& verb, const Shared& arguments) {
  bench::RunOptions& run = arguments->run;
  add_steps(verb, arguments);
  verb.add_flag("--flush-cache", run.flush_cache, "Fill caches with something else before each step, untimed");
  takes_number_above_0(verb.add_option("--carbon-intensity", run.carbon_intensity,
                                       "Grams of CO2e per kWh of electricity: tell the grams of the devices' energy"))
      ->type_name("G");
  takes_whole_number(
      verb.add_option("--nproc", run.ranks,
                      "Processes (ranks) per variant of benchmarks that take several, on this machine (default 1)"),
      1, kMaxRanks)
      ->type_name("N");
  takes_number_above_0(
      verb.add_option("--stall-s", run.stall_s, "End ranks that all sleep for T seconds in the same step (default 7)"))
      ->type_name("T");
  verb.add_flag("--validate", run.validate, "Check outputs only, neither goals nor expectations");
  takes_one_of(verb.add_option("--format", arguments->format,
                               "table, json, markdown, or both: table and Markdown (default table)"),
               {"table", "json", "markdown", "both"})
      ->type_name("FORMAT");
  CLI::Option* const dry_run =
      verb.add_flag("--dry-run", arguments->dry_run,
                    "Say what would run and take; exit code 1 for outputs over --disk-limit and checks over a minute");
  takes_number_above_0(
      verb.add_option(
          "--assume-flops", run.assumed_flops,
          "With --dry-run: FLOP/s that steps reach (default: by --peaks, else 1e10 on a CPU, 3e13 on a GPU)"))
      ->needs(dry_run)
      ->type_name("RATE");
}

void add_expectations(CLI::App& verb, const Shared& arguments) {
  bench::RunOptions& run = arguments->run;
  verb.add_option(
          "--expectations", run.expectations,
          "What this machine reached before, or a folder with expectations_KEY.json (default: the working folder)")
      ->type_name("FILE");
  verb.add_flag("--ratios", run.ratios,
                "Compare and store ratios of this processor's family, not this machine's figures; CPU only");
  verb.add_flag("--update-expectations", run.update_expectations, "Store what is new, as good, or better");
  verb.add_flag("--accept-regressions", run.accept_regressions, "Store what is worse, too");
  verb.add_flag("--accept-provenance", run.accept_provenance, "Replace what was measured under other conditions");
}

CLI::App* add_nested(CLI::App& bench, const char* name, const char* description, Common& common) {
  CLI::App* verb = bench.add_subcommand(name, description);
  add_output(*verb, common);
  return verb;
}

void add_runs(CLI::App& bench, Common& common, int& result) {
  // `compare` is `run` under the name that people look for when they have one benchmark in mind.
  const std::pair<const char*, const char*> verbs[] = {{"run", "Check, time and compare benchmarks"},
                                                       {"compare", "The same for some benchmarks by name"}};
  for (const auto& [name, description] : verbs) {
    auto arguments = std::make_shared<BenchArguments>();
    CLI::App* verb = add_nested(bench, name, description, common);
    const bool compares = std::string_view(name) == "compare";
    verb->add_option(
            compares ? "--examples" : "--targets", arguments->run.targets,
            "Names, chapters, chapter:name, with * and ?, or all" + std::string(compares ? "" : " (default all)"))
        ->delimiter(',')
        ->required(compares)
        ->type_name("T,...");
    add_worker(*verb, arguments);
    add_profile(*verb, arguments, "none");
    add_measuring(*verb, arguments);
    add_expectations(*verb, arguments);
    verb->callback([&common, &result, arguments] { result = run_bench(common, *arguments); });
  }
}

void add_lab(CLI::App& bench, Common& common, int& result) {
  auto arguments = std::make_shared<BenchArguments>();
  arguments->run = bench::lab_options();
  CLI::App* verb =
      add_nested(bench, "lab", "Run changes that add up, and write one page of them: lab.md and lab.html", common);
  verb->add_option("--targets", arguments->run.targets,
                   "Names, chapters, chapter:name, with * and ? (default optimization_summary*)")
      ->delimiter(',')
      ->type_name("T,...");
  add_worker(*verb, arguments);
  add_profile(*verb, arguments, "minimal");
  add_steps(*verb, arguments);
  verb->callback([&common, &result, arguments] { result = run_lab(common, *arguments); });
}

}  // namespace

void add_bench(CLI::App& app, Common& common, int& result) {
  CLI::App* bench = app.add_subcommand(
      "bench", "A/B benchmarks of baseline and optimized workloads, with correctness checks and a regression gate");
  bench->require_subcommand(1);
  bench->footer(
      "Exit codes: 0 all met; 1 wrong output or failed run; 2 regression or goal not met; 3 wrong use;\n"
      "4 everything skipped; 5 out of time, go on with --resume. compare-perf: 0 kept up or unclear, 2 fell behind, 1 "
      "wrong use.\n"
      "Workloads are in a worker, a program that is not installed: build the examples (rangefinder-workloads),\n"
      "or your own (docs/how-to/add-a-workload.md).");
  auto list = std::make_shared<BenchArguments>();
  CLI::App* targets = add_nested(*bench, "list-targets", "Show the worker's benchmarks", common);
  list->run.targets.clear();
  targets->add_option("--chapter", list->run.targets, "Of one chapter, or that fit another target")
      ->type_name("TARGET");
  add_worker(*targets, list);
  targets->callback([&common, &result, list] { result = list_targets(common, *list); });

  add_runs(*bench, common, result);
  add_lab(*bench, common, result);

  auto two = std::make_shared<BenchArguments>();
  CLI::App* perf =
      add_nested(*bench, "compare-perf", "Say whether a candidate keeps 95 % of a baseline's rates", common);
  perf->add_option("FILE", two->files, "Results of the baseline, then of the candidate")->type_name("");
  perf->callback([&common, &result, two] { result = compare_perf(common, *two); });

  auto one = std::make_shared<BenchArguments>();
  CLI::App* said = add_nested(*bench, "report", "Write recommendations from measured rows, Markdown", common);
  said->add_option("FILE", one->files, "results.json of a run")->required()->expected(1)->type_name("");
  said->add_option("-o,--output", one->out, "The file to write (default: stdout)")->type_name("OUT");
  said->callback([&result, one] { result = report(*one); });
}

}  // namespace rangefinder::cli
