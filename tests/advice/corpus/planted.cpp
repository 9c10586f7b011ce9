// SPDX-License-Identifier: MIT
#include "advice/corpus/planted.hpp"

#include "advice/corpus/judge.hpp"
#include "base/intervals.hpp"
#include "support/catch.hpp"
#ifdef RANGEFINDER_CORPUS_RECORDS
#include "advice/corpus/recorder.hpp"
#endif

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

namespace rangefinder::testing::corpus {
namespace {

/// Work begins after its launch and ends before the next of its stream begins; calls and ranges of a thread nest.
std::vector<std::string> impossible(const Program& program) {
  std::vector<std::string> found;
  std::map<std::uint32_t, std::int64_t> launched;
  for (const ProgramCall& call : program.calls) launched[call.correlation] = call.begin_ns;
  std::map<std::int64_t, std::int64_t> free_ns;
  for (const ProgramWork& work : program.works) {
    if (launched.count(work.correlation) == 0) found.push_back(work.name + " without a launch");
    if (work.begin_ns <= launched[work.correlation]) found.push_back(work.name + " before its launch");
    if (work.end_ns <= work.begin_ns) found.push_back(work.name + " takes no time");
    if (work.begin_ns < free_ns[work.stream]) found.push_back(work.name + " while its stream is busy");
    free_ns[work.stream] = work.end_ns;
  }
  std::map<std::size_t, std::vector<const ProgramRange*>> by_thread;
  for (const ProgramRange& range : program.ranges) by_thread[range.thread].push_back(&range);
  for (auto& [thread, ranges] : by_thread) {
    std::vector<std::int64_t> open;
    for (const ProgramRange* range : ranges) {
      while (!open.empty() && open.back() <= range->begin_ns) open.pop_back();
      if (!open.empty() && range->end_ns > open.back()) found.push_back(range->name + " ends after what it is in");
      open.push_back(range->end_ns);
    }
  }
  for (std::size_t i = 1; i < program.steps.size(); ++i)
    if (program.steps[i].begin_ns != program.steps[i - 1].end_ns) found.emplace_back("a gap between steps");
  return found;
}

/// Time in which the device did anything, and in which it only communicated, of a step; the median step's, so that a
/// slow one does not count.
struct DeviceShares {
  double busy = 0, exposed = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

DeviceShares shares_of(const Program& program) {
  std::vector<double> busy, exposed;
  for (std::size_t i = program.steps.size() / 4; i < program.steps.size(); ++i) {
    const ProgramStep& step = program.steps[i];
    std::vector<base::Interval> all, own;
    for (const ProgramWork& work : program.works) {
      const base::Interval span{std::max(work.begin_ns, step.begin_ns), std::min(work.end_ns, step.end_ns)};
      if (span.begin >= span.end) continue;
      all.push_back(span);
      if (work.collective < 0) own.push_back(span);
    }
    const auto length = static_cast<double>(step.end_ns - step.begin_ns);
    const auto any = static_cast<double>(base::sort_and_union_length(all));
    busy.push_back(any / length);
    exposed.push_back((any - static_cast<double>(base::sort_and_union_length(own))) / length);
  }
  return {median(busy), median(exposed)};
}

/// Waits for events of a known stream.
[[maybe_unused]] std::size_t waits_for_streams(const Timeline& timeline) {
  std::size_t waits = 0;
  for (std::size_t row = 0; row < timeline.syncs.size(); ++row)
    if (timeline.syncs.event_stream[row] != kNone) ++waits;
  return waits;
}

/// A device that is always busy with what is its own.
void check_healthy(const char* half, const std::string& name, const Program& program, std::int64_t step_ns) {
  const DeviceShares shares = shares_of(program);
  std::printf("%-9s   healthy  %8.3f ms  busy %5.1f %%, exposed %4.1f %%  %s\n", half,
              static_cast<double>(step_ns) / 1e6, 100 * shares.busy, 100 * shares.exposed, name.c_str());
  if (!program.has_device) return;
  // Between two kernels of a graph there is a gap too.
  CHECK(shares.busy > (program.works.back().graph != 0 ? 0.8 : 0.97));
  CHECK(shares.exposed < 0.008);
}

}  // namespace

void check_planted(const char* half, const std::vector<AdviceCase>& cases) {
  const std::uint64_t seed = corpus_seed();
  std::size_t healthy = 0;
  std::set<std::string> known;
  for (const AdviceCase& one : cases) {
    INFO(half << ": " << one.name);
    CHECK(known.insert(one.name).second);
    const std::vector<Program> job = one.simulate(seed, Planted::all());
    for (const Program& program : job)
      for (const std::string& what : impossible(program)) FAIL_CHECK(what);
    healthy += one.causes.empty() ? 1 : 0;
    const std::int64_t step_ns = mean_step_ns(job);
    std::int64_t before_ns = step_ns;
    for (std::size_t cause = 0; cause < one.causes.size(); ++cause) {
      const std::int64_t gain_ns = true_gain_ns(one, seed, cause);
      std::printf("%-9s %6.1f %% of %8.3f ms  %-24s %s\n", half,
                  100 * static_cast<double>(gain_ns) / static_cast<double>(step_ns), static_cast<double>(step_ns) / 1e6,
                  to_string(one.causes[cause].rule), one.name.c_str());
      CHECK(gain_ns >= step_ns / 20);
      CHECK(gain_ns <= step_ns * 13 / 20);
      CHECK(gain_ns <= before_ns);
      before_ns = gain_ns;
    }
    if (one.causes.empty()) check_healthy(half, one.name, job.front(), step_ns);
  }
  if (sanitized()) return;  // a part of the half
  CHECK(3 * healthy >= cases.size());
  CHECK(cases.size() >= 32);
}

void check_recordings([[maybe_unused]] const std::vector<AdviceCase>& cases) {
#ifdef RANGEFINDER_CORPUS_RECORDS
  for (const AdviceCase& one : cases) {
    if (!one.recorded) continue;
    INFO(one.name);
    const std::vector<Program> job = one.simulate(corpus_seed(), Planted::all());
    const Timeline built = timeline_of(job), read = recorded(job);
    CHECK(read.activities.size() == built.activities.size());
    CHECK(read.calls.size() == built.calls.size());
    CHECK(read.ranges.size() == built.ranges.size());
    CHECK(read.operators.size() == built.operators.size());
    CHECK(read.syncs.size() == built.syncs.size());
    CHECK(waits_for_streams(read) == waits_for_streams(built));
    CHECK(read.cuda_allocations.size() == built.cuda_allocations.size());
    CHECK(read.overheads.size() == built.overheads.size());
    CHECK(read.collectives.size() == built.collectives.size());
    CHECK(read.steps.size() == built.steps.size());
    CHECK(read.health.entries().size() > 0);
    for (const CaptureHealth::Entry& entry : read.health.entries()) {
      INFO(entry.name << " " << entry.count);
      CHECK((entry.count == 0 || std::string(entry.name) == "unfinished_ranges"));
    }
    std::int64_t built_ns = 0, read_ns = 0;
    for (std::size_t i = 0; i < built.activities.size(); ++i)
      built_ns += built.activities.end_ns[i] - built.activities.begin_ns[i];
    for (std::size_t i = 0; i < read.activities.size(); ++i)
      read_ns += read.activities.end_ns[i] - read.activities.begin_ns[i];
    CHECK(read_ns == built_ns);
  }
#endif
}

}  // namespace rangefinder::testing::corpus
