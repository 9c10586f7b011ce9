// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Interleaved measurement: every case has a process of its own, one runs at a time, and they take turns round after
// round, so that a machine whose speed drifts moves all of them alike. What counts is the ratio to the floor of the
// same round.
namespace bench {

struct Case {
  std::string name;
  std::string what;                             ///< a word or two for the table
  std::function<void()> set_up = [] {};         ///< in the case's process, before its first round
  std::function<void()> thread_set_up = [] {};  ///< in each further thread
  std::function<void(std::uint64_t n)> run;     ///< n times what is measured
  std::uint64_t times = 1;                      ///< rounds of this case are so many times as long
  std::function<void()> between = [] {};        ///< after a round, not measured
  std::function<void(bool on)> turn = {};       ///< for `alternate`: what is measured on, or off
  std::function<std::string()> finish = [] { return std::string(); };  ///< a remark for the table
};

enum class Clock {
  kWall,
  kThread,   ///< CPU time of the thread that runs the loop: what else runs on the machine does not count
  kProcess,  ///< CPU time of the whole process, background threads and Case::between included
  kOthers,   ///< the same without the thread that runs the loop: what the background threads take
};

struct Options {
  int rounds = 60;
  std::uint64_t per_round = 20000;
  int threads = 1;
  std::string floor;  ///< name of the case that the others are divided by
  std::string only;   ///< run only cases whose name has this in it, and the floor
  int processes = 1;  ///< how often all of it is done, in new processes: where memory happens to lie moves figures too
  Clock clock = Clock::kWall;
};

struct Row {
  std::string name, what, remark;
  double min_ns = 0, median_ns = 0;
  double ratio = 0, ratio_low = 0, ratio_high = 0;  ///< median, 10th and 90th percentile of the rounds' ratios
  double sure_low = 0, sure_high = 0;               ///< where the median is with 95 % confidence
};

/// Runs the cases; a case that cannot start has a remark and no figures.
std::vector<Row> measure(const std::vector<Case>& cases, const Options& options);
/// Every case against itself: in one process, on one heap, blocks of it turned off and on take turns. What is on is
/// divided by the mean of the blocks before and after it. For what is smaller than the difference of two processes.
/// Case::between belongs to a block.
std::vector<Row> alternate(const std::vector<Case>& cases, const Options& options);
/// A Markdown table.
void print(const std::vector<Row>& rows, const Options& options);
/// One line: what was wanted, what came out, and whether that is met.
void print_target(const std::string& what, double limit, double found, const std::string& remark = {});
/// One of what was not measured: not met.
void print_unmeasured(const std::string& what);
/// The same for how often as long as its floor a row took; not met by a row that did not start.
void print_ratio(const std::string& what, double limit, const Row& row);

/// The same for what the row of that name takes beyond another one's (empty: in all), by the medians, in so many equal
/// parts; the least times beside it. Not met by a row that did not start.
void print_added(const std::string& what, double limit, const std::vector<Row>& rows, const std::string& name,
                 const std::string& beyond, double parts = 1);

/// The body of a range that costs nothing and that the compiler may neither drop nor merge.
#define BENCH_BODY asm volatile("" ::: "memory")
#define BENCH_LOOP(STATEMENT)               \
  [](std::uint64_t n) {                     \
    for (std::uint64_t i = 0; i < n; ++i) { \
      STATEMENT;                            \
      BENCH_BODY;                           \
    }                                       \
  }

/// 64 names that the compiler cannot see through.
const std::string& run_time_name(std::uint64_t i);

/// Pins the calling thread to a core, wrapping around.
void pin_to_core(int core);

/// What a benchmark's main returns: 1 once a target was not met.
int exit_code();

/// One line about the machine: processor, cores, load.
std::string machine();

}  // namespace bench
