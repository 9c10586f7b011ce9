// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "cli/command.hpp"
#include "cli/values.hpp"

#include <rangefinder/bench/harness.hpp>
#include <rangefinder/bench/measure_peaks.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace rangefinder::cli {
namespace {

struct PeakArguments {
  bench::PeakOptions options;
  std::string device = "auto";
  std::string out;
};

/// The worker that was named, or the one that is there; none for the host alone.
Result<std::string> worker_or_none(const PeakArguments& arguments) {
  if (arguments.device == "host") return std::string();
  std::error_code ignored;
  Result<std::string> found =
      bench::find_worker(arguments.options.worker, std::filesystem::read_symlink("/proc/self/exe", ignored).string());
  if (!found && arguments.device == "auto" && arguments.options.worker.empty()) return std::string();
  return found;
}

int run_measure_peaks(const Common& common, PeakArguments arguments) {
  Result<std::string> worker = worker_or_none(arguments);
  if (!worker) return fail(worker.error().with_context("measure-peaks"));
  arguments.options.worker = std::move(*worker);
  if (common.shows_progress() && common.terminal.stderr_is_tty)
    complain("measure-peaks: measuring, which takes some seconds");
  const Result<std::string> json = bench::measure_peaks(arguments.options);
  if (!json) return fail(json.error().with_context("measure-peaks"));
  if (!arguments.out.empty()) {
    if (Status status = base::write_whole_file(arguments.out, *json); !status.ok()) return fail(status.error());
  }
  if (common.json) {
    write_stdout(*json);
  } else if (!common.quiet) {
    const Result<std::string> text = bench::peaks_text(*json);
    if (!text) return fail(text.error());
    write_stdout(*text);
  }
  return kSuccess;
}

}  // namespace

void add_measure_peaks(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<PeakArguments>();
  CLI::App* verb = app.add_subcommand(
      "measure-peaks", "Measure peak throughput and bandwidth of this machine, for report --view roofline");
  takes_file(verb->add_option("-o,--output", arguments->out, "Where the JSON goes; report --peaks takes it"))
      ->type_name("FILE");
  takes_one_of(
      verb->add_option("--device", arguments->device,
                       "host, cuda, or auto: the host, and a device where there is a worker for it (default auto)"),
      {"auto", "host", "cuda"})
      ->type_name("DEVICE");
  verb->add_option("--worker", arguments->options.worker,
                   "The program that measures devices (default: RANGEFINDER_WORKER, else rangefinder-workloads beside "
                   "this one)")
      ->type_name("PATH");
  takes_number_above_0(verb->add_option("--seconds", arguments->options.seconds, "For each figure (default 0.5)"))
      ->type_name("S");
  takes_whole_number<unsigned>(
      verb->add_option("--threads", arguments->options.threads, "Of the host (default: all that may be used)"), 1)
      ->type_name("N");
  add_output(*verb, common);
  verb->callback([&common, &result, arguments] { result = run_measure_peaks(common, *arguments); });
}

}  // namespace rangefinder::cli
