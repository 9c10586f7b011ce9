// SPDX-License-Identifier: MIT
#include "advice/inputs.hpp"

#include "advice/host_causes.hpp"
#include "advice/parallel_work.hpp"
#include "analysis/step_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace rangefinder::advice {
namespace {

/// Times of one process that tell what is no input.
struct ProcessTimes {
  ThreadIndex stepper = kNone;
  std::vector<Frame> steps;
  std::vector<RangeIndex> ranges;       // of the thread that marks the steps, by begin; outer ones first
  std::vector<std::int64_t> launches;   // by any thread
  std::vector<std::int64_t> calls;      // CUDA's, by that thread
  std::vector<std::int64_t> operators;  // of that thread
  std::vector<std::pair<std::int64_t, std::int64_t>> others;  // ranges of other threads; each with the first end behind
};

class FirstRanges {
 public:
  explicit FirstRanges(Context& context) : context_(context), timeline_(context.timeline()) {}

  /// Of the processes that are not `named`.
  std::vector<RangeIndex> find(const std::vector<bool>& named) {
    for (const auto& [process, thread] : step_threads(timeline_))
      if (!named[process]) processes_[process].stepper = thread;
    choose_other_threads();
    if (processes_.empty() || !context_.frames().are_steps()) return {};
    read_times();
    for (const Frame& frame : context_.frames().all())
      if (const auto times = processes_.find(frame.process); times != processes_.end())
        times->second.steps.push_back(frame);
    std::vector<RangeIndex> found;
    for (const auto& [process, times] : processes_) add_inputs(process, times, found);
    return found;
  }

 private:
  bool is_annotation(RangeIndex row) const {
    return timeline_.ranges.kind[row] == RangeKind::kAnnotation &&
           (timeline_.ranges.flags[row] & kBeforeRecording) == 0;
  }
  void choose_other_threads();
  void read_times();
  void add_inputs(ProcessIndex process, const ProcessTimes& times, std::vector<RangeIndex>& found);
  std::optional<RangeIndex> first_range(const Frame& frame, const ProcessTimes& times);
  bool may_be_input(RangeIndex range, const ProcessTimes& times);
  ProcessTimes* times_of(ThreadIndex thread) {
    if (thread >= timeline_.threads.size()) return nullptr;
    const auto found = processes_.find(timeline_.threads[thread].process);
    return found != processes_.end() ? &found->second : nullptr;
  }

  Context& context_;
  const Timeline& timeline_;
  std::map<ProcessIndex, ProcessTimes> processes_;
  const analysis::StepRules rules_;
  std::map<StringId, bool> has_other_part_;
};

/// Where the thread that marks the steps opens no ranges, the one that opens most.
void FirstRanges::choose_other_threads() {
  std::vector<std::size_t> counts(timeline_.threads.size());
  for (RangeIndex row{0}; row < timeline_.ranges.size(); ++row)
    if (is_annotation(row) && timeline_.ranges.thread[row] < counts.size()) ++counts[timeline_.ranges.thread[row]];
  for (auto& [process, times] : processes_) {
    if (counts[times.stepper] > 0) continue;
    for (ThreadIndex thread{0}; thread < counts.size(); ++thread)
      if (timeline_.threads[thread].process == process && counts[thread] > counts[times.stepper])
        times.stepper = thread;
  }
}

void FirstRanges::read_times() {
  const RangeTable& ranges = timeline_.ranges;
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    const bool is_operator = ranges.kind[row] == RangeKind::kOperator;
    if ((!is_operator && ranges.kind[row] != RangeKind::kAnnotation) || (ranges.flags[row] & kBeforeRecording) != 0)
      continue;
    ProcessTimes* const times = times_of(ranges.thread[row]);
    if (times == nullptr) continue;
    if (ranges.thread[row] != times->stepper)
      times->others.emplace_back(ranges.begin_ns[row], ranges.end_ns[row]);
    else if (is_operator)
      times->operators.push_back(ranges.begin_ns[row]);
    else
      times->ranges.push_back(row);
  }
  const CallTable& calls = timeline_.calls;
  for (CallIndex call{0}; call < calls.size(); ++call)
    if (ProcessTimes* const times = times_of(calls.thread[call]);
        times != nullptr && calls.thread[call] == times->stepper)
      times->calls.push_back(calls.begin_ns[call]);
  const LaunchTable& launches = timeline_.launches;
  for (LaunchIndex launch{0}; launch < launches.size(); ++launch)
    if (ProcessTimes* const times = times_of(launches.thread[launch]))
      times->launches.push_back(launches.time_ns[launch]);
  for (auto& [process, times] : processes_) {
    std::sort(times.ranges.begin(), times.ranges.end(), [&](RangeIndex a, RangeIndex b) {
      if (ranges.begin_ns[a] != ranges.begin_ns[b]) return ranges.begin_ns[a] < ranges.begin_ns[b];
      return ranges.end_ns[a] != ranges.end_ns[b] ? ranges.end_ns[a] > ranges.end_ns[b] : a < b;
    });
    for (std::vector<std::int64_t>* column : {&times.launches, &times.calls, &times.operators})
      std::sort(column->begin(), column->end());
    std::sort(times.others.begin(), times.others.end());
    std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
    for (auto other = times.others.rbegin(); other != times.others.rend(); ++other)
      other->second = first_end = std::min(first_end, other->second);
  }
}

std::int64_t first_from(const std::vector<std::int64_t>& times, std::int64_t begin_ns) {
  const auto found = std::lower_bound(times.begin(), times.end(), begin_ns);
  return found != times.end() ? *found : std::numeric_limits<std::int64_t>::max();
}

/// Nothing is computed or launched in it, and no other thread works for it alone.
bool FirstRanges::may_be_input(RangeIndex range, const ProcessTimes& times) {
  const std::int64_t begin_ns = timeline_.ranges.begin_ns[range], end_ns = timeline_.ranges.end_ns[range];
  if (first_from(times.calls, begin_ns) < end_ns || first_from(times.operators, begin_ns) < end_ns) return false;
  const auto other = std::lower_bound(times.others.begin(), times.others.end(),
                                      std::pair(begin_ns, std::numeric_limits<std::int64_t>::min()));
  if (other != times.others.end() && other->second <= end_ns) return false;
  const StringId name = timeline_.ranges.name[range];
  const auto [known, is_new] = has_other_part_.try_emplace(name, false);
  if (is_new) {
    const std::string_view text = timeline_.text(name);
    known->second = rules_.part_of(text) != analysis::StepPart::kNone || is_compilation(text);
  }
  return !known->second;
}

std::optional<RangeIndex> FirstRanges::first_range(const Frame& frame, const ProcessTimes& times) {
  const RangeTable& ranges = timeline_.ranges;
  const std::int64_t until_ns =
      std::min({frame.end_ns, first_from(times.launches, frame.begin_ns), first_from(times.operators, frame.begin_ns)});
  const auto first =
      std::lower_bound(times.ranges.begin(), times.ranges.end(), frame.begin_ns,
                       [&](RangeIndex row, std::int64_t time_ns) { return ranges.begin_ns[row] < time_ns; });
  for (auto row = first; row != times.ranges.end() && ranges.begin_ns[*row] < until_ns; ++row)
    if (ranges.end_ns[*row] <= until_ns && may_be_input(*row, times)) return *row;
  return std::nullopt;
}

/// A range that nearly each step begins with, and that is nowhere else.
void FirstRanges::add_inputs(ProcessIndex process, const ProcessTimes& times, std::vector<RangeIndex>& found) {
  constexpr std::size_t kLeastSteps = 3;
  const RangeTable& ranges = timeline_.ranges;
  std::map<StringId, std::size_t> counts;
  std::vector<RangeIndex> firsts;
  const std::size_t steps = times.steps.size();
  for (const Frame& frame : times.steps) {
    if (const std::optional<RangeIndex> first = first_range(frame, times)) {
      firsts.push_back(*first);
      ++counts[ranges.name[*first]];
    }
  }
  const auto common =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (common == counts.end() || common->second < kLeastSteps || common->second < steps - steps / 10) return;
  const auto all = std::count_if(times.ranges.begin(), times.ranges.end(), [&](RangeIndex row) {
    return ranges.name[row] == common->first && context_.frames().at(process, ranges.begin_ns[row]) != Frames::kNoFrame;
  });
  if (static_cast<std::size_t>(all) > steps) return;
  for (const RangeIndex row : firsts)
    if (ranges.name[row] == common->first) found.push_back(row);
}

}  // namespace

std::vector<RangeIndex> input_ranges(Context& context) {
  enum class Kind : std::uint8_t { kUnread, kInput, kOther };
  const Timeline& timeline = context.timeline();
  const RangeTable& ranges = timeline.ranges;
  std::vector<Kind> kinds(timeline.string_count(), Kind::kUnread);
  std::vector<bool> named(timeline.processes.size());
  const analysis::StepRules rules;
  std::vector<RangeIndex> inputs;
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    if (ranges.kind[row] != RangeKind::kAnnotation && ranges.kind[row] != RangeKind::kOperator) continue;
    if ((ranges.flags[row] & kBeforeRecording) != 0 || ranges.thread[row] >= timeline.threads.size()) continue;
    Kind& kind = kinds[static_cast<std::size_t>(ranges.name[row])];
    if (kind == Kind::kUnread)
      kind = rules.part_of(timeline.text(ranges.name[row])) == analysis::StepPart::kData ? Kind::kInput : Kind::kOther;
    if (kind != Kind::kInput) continue;
    inputs.push_back(row);
    named[timeline.threads[ranges.thread[row]].process] = true;
  }
  const std::vector<RangeIndex> firsts = FirstRanges(context).find(named);
  inputs.insert(inputs.end(), firsts.begin(), firsts.end());
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

}  // namespace rangefinder::advice
