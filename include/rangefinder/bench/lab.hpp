// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/harness.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <string>

// One page of a machine: what changes to a program bring when they add up, and where the time of the baseline goes;
// docs/how-to/make-a-lab-page.md.
namespace rangefinder::bench {

/// Options of `lab` as the command has them: the benchmarks `optimization_summary*`, ranges and device activity
/// recorded. Without a profile the page knows neither causes nor bottlenecks.
///
///   rangefinder::bench::RunOptions options = rangefinder::bench::lab_options();
///   options.worker = "./rangefinder-workloads";
///   const rangefinder::bench::RunOutcome outcome = rangefinder::bench::lab(options).value();
RANGEFINDER_EXPORT RunOptions lab_options();

/// Runs benchmarks as `run` does, and leaves the page of their results in `out`: lab.md and lab.html. Of failed
/// benchmarks, too: the page says what failed.
///
/// Errors:  those of `run`; kIo.
/// Threads: as `run`.
RANGEFINDER_EXPORT Result<RunOutcome> lab(const RunOptions& options);

/// The page in two forms. The HTML is one file that loads nothing and runs nothing, and fits a narrow window.
struct LabPage {
  std::string markdown;
  std::string html;
};

/// The page of results that `run` gave or wrote: machine and software, the table of rows, causes of the baseline's
/// time, bottlenecks, what was not measured and why. `command`: how they were made; empty: the page does not tell.
/// Rows stand in the order in which their changes add up (Benchmark::series, Benchmark::builds_on).
///
/// Errors: kUnreadable, kUnsupported for what is no results document.
RANGEFINDER_EXPORT Result<LabPage> lab_page(const std::string& json, const std::string& command = {});

/// The same for a terminal, without machine and software.
RANGEFINDER_EXPORT Result<std::string> lab_text(const std::string& json, const TextStyle& style);

/// The command line that runs with these options.
RANGEFINDER_EXPORT std::string lab_command(const RunOptions& options);

}  // namespace rangefinder::bench
