// SPDX-License-Identifier: MIT
#include "analysis/steps.hpp"

#include "analysis/spans.hpp"
#include "analysis/warm_up.hpp"
#include "projection/figures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace rangefinder::analysis {
namespace {

using projection::minus;
using projection::plus;

// Times come from files: of those within this, each difference is a number.
constexpr std::int64_t kFarthest = (std::int64_t{1} << 62) - 1;
bool is_time(std::int64_t time_ns) noexcept { return time_ns >= -kFarthest && time_ns <= kFarthest; }

constexpr std::uint8_t kWholeStep = 0xFE;  // older traces have it among the operators
constexpr std::uint8_t kUnread = 0xFF;
std::uint8_t kind_of(StepPart part) noexcept { return static_cast<std::uint8_t>(part); }

/// What is read from the tables about one process that has steps.
struct ProcessSpans {
  std::vector<std::pair<ThreadIndex, Span>> named;  // parts of the host's time
  std::vector<Span> operators;                      // of the host's thread
  std::vector<Span> nodes;
  std::vector<Span> recompute;
  std::vector<Span> device;
  std::vector<std::int64_t> skips;
  ThreadIndex host_thread = kNone;
  bool named_forward = false;
  bool named_backward = false;
  bool has_device = false;
};

class StepFinder {
 public:
  StepFinder(const Timeline& timeline, const Projection& projection, const StepRules& rules)
      : timeline_(timeline), projection_(projection), rules_(rules) {}

  StepAnalysis run() {
    find_steps();
    if (result_.steps.empty()) return std::move(result_);
    read_ranges();
    read_marks();
    read_nodes();
    choose_host_threads();
    read_operators();
    read_activities();
    for (std::size_t first = 0; first < result_.steps.size();) {
      std::size_t last = first;
      while (last < result_.steps.size() && result_.steps[last].process == result_.steps[first].process) ++last;
      const std::span<StepFigures> steps(result_.steps.data() + first, last - first);
      fill(steps, spans_[steps.front().process]);
      first = last;
    }
    read_memory();
    return std::move(result_);
  }

 private:
  ProcessSpans* process_of(ThreadIndex thread) {
    if (thread >= timeline_.threads.size()) return nullptr;
    return process(timeline_.threads[thread].process);
  }
  ProcessSpans* process(ProcessIndex index) {
    const auto found = spans_.find(index);
    return found == spans_.end() ? nullptr : &found->second;
  }

  std::uint8_t part_of(StringId name);
  void find_steps();
  void read_ranges();
  void read_marks();
  void read_nodes();
  void read_operators();
  void read_activities();
  void read_memory();
  void choose_host_threads();
  void fill(std::span<StepFigures> steps, ProcessSpans& spans);
  void fill_host(std::span<StepFigures> steps, ProcessSpans& spans);
  void fill_device(std::span<StepFigures> steps, ProcessSpans& spans);
  void find_skipped(std::span<StepFigures> steps, ProcessSpans& spans);
  void find_warm_up(std::span<StepFigures> steps);
  void account(std::span<const StepFigures> steps);

  const Timeline& timeline_;
  const Projection& projection_;
  const StepRules& rules_;
  StepAnalysis result_;
  std::map<ProcessIndex, ProcessSpans> spans_;
  std::vector<std::uint8_t> parts_;                            // by name: few names, many ranges
  std::vector<std::uint32_t> named_ranges_, operator_ranges_;  // by thread
};

void StepFinder::find_steps() {
  const StepTable& table = timeline_.steps;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.thread[row] >= timeline_.threads.size()) continue;
    if (!is_time(table.begin_ns[row]) || !is_time(table.end_ns[row]) || table.end_ns[row] < table.begin_ns[row])
      continue;
    StepFigures step;
    step.process = timeline_.threads[table.thread[row]].process;
    step.number = table.number[row];
    step.begin_ns = table.begin_ns[row];
    step.end_ns = table.end_ns[row];
    step.items = table.items[row];
    ProcessSpans& spans = spans_[step.process];
    if (spans.host_thread == kNone) spans.host_thread = table.thread[row];
    result_.steps.push_back(step);
  }
  std::stable_sort(result_.steps.begin(), result_.steps.end(), [](const StepFigures& a, const StepFigures& b) {
    if (a.process != b.process) return a.process < b.process;
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns < b.end_ns;
  });
  for (std::size_t i = 1; i < result_.steps.size(); ++i) {
    StepFigures& before = result_.steps[i - 1];
    if (before.process == result_.steps[i].process) before.end_ns = std::min(before.end_ns, result_.steps[i].begin_ns);
  }
}

std::uint8_t StepFinder::part_of(StringId name) {
  std::uint8_t& known = parts_[static_cast<std::size_t>(name)];
  if (known == kUnread) {
    const std::string_view text = timeline_.text(name);
    known = text.starts_with("ProfilerStep#") ? kWholeStep : kind_of(rules_.part_of(text));
  }
  return known;
}

void StepFinder::read_ranges() {
  const RangeTable& ranges = timeline_.ranges;
  parts_.assign(timeline_.string_count(), kUnread);
  named_ranges_.assign(timeline_.threads.size(), 0);
  operator_ranges_.assign(timeline_.threads.size(), 0);
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    const bool is_operator = ranges.kind[row] == RangeKind::kOperator;
    if (!is_operator && ranges.kind[row] != RangeKind::kAnnotation) continue;
    if ((ranges.flags[row] & kBeforeRecording) != 0) continue;
    ProcessSpans* const spans = process_of(ranges.thread[row]);
    if (spans == nullptr || !is_time(ranges.begin_ns[row]) || !is_time(ranges.end_ns[row])) continue;
    operator_ranges_[ranges.thread[row]] += is_operator ? 1 : 0;
    const std::uint8_t known = part_of(ranges.name[row]);
    if (known >= kind_of(StepPart::kNone)) continue;
    const auto part = static_cast<StepPart>(known);
    const Span span{ranges.begin_ns[row], ranges.end_ns[row], known};
    if (part == StepPart::kSkipped) {
      spans->skips.push_back(span.begin);
    } else if (part == StepPart::kRecompute) {
      spans->recompute.push_back({span.begin, span.end});
    } else if (ranges.thread[row] == ranges.end_thread[row]) {
      spans->named.emplace_back(ranges.thread[row], span);
      ++named_ranges_[ranges.thread[row]];
      spans->named_forward = spans->named_forward || part == StepPart::kForward;
      spans->named_backward = spans->named_backward || part == StepPart::kBackward;
    }
  }
}

void StepFinder::read_marks() {
  const MarkTable& marks = timeline_.marks;
  for (std::size_t row = 0; row < marks.size(); ++row) {
    ProcessSpans* const spans = process_of(marks.thread[row]);
    if (spans != nullptr && part_of(marks.name[row]) == kind_of(StepPart::kSkipped))
      spans->skips.push_back(marks.time_ns[row]);
  }
}

void StepFinder::read_nodes() {
  const AutogradNodeTable& nodes = timeline_.autograd_nodes;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    ProcessSpans* const spans = process_of(nodes.thread[row]);
    if (spans != nullptr && is_time(nodes.begin_ns[row]) && is_time(nodes.end_ns[row]))
      spans->nodes.push_back({nodes.begin_ns[row], nodes.end_ns[row], kind_of(StepPart::kBackward)});
  }
}

/// A rangefinder export, read again, has its steps on a track of their own: there, the thread that does the work
/// counts.
void StepFinder::choose_host_threads() {
  for (auto& [index, spans] : spans_) {
    const auto work_of = [&](ThreadIndex thread) { return std::pair(named_ranges_[thread], operator_ranges_[thread]); };
    if (work_of(spans.host_thread) > std::pair(0u, 0u)) continue;
    for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread) {
      if (timeline_.threads[thread].process == index && work_of(thread) > work_of(spans.host_thread))
        spans.host_thread = thread;
    }
  }
}

void StepFinder::read_operators() {
  const RangeTable& ranges = timeline_.ranges;
  const auto wanted = [](const auto& spans) { return !spans.second.named_forward && !spans.second.nodes.empty(); };
  if (std::none_of(spans_.begin(), spans_.end(), wanted)) return;
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    if (ranges.kind[row] != RangeKind::kOperator || part_of(ranges.name[row]) == kWholeStep) continue;
    ProcessSpans* const spans = process_of(ranges.thread[row]);
    if (spans == nullptr || spans->named_forward || spans->nodes.empty() || spans->host_thread != ranges.thread[row] ||
        !is_time(ranges.begin_ns[row]) || !is_time(ranges.end_ns[row]))
      continue;
    spans->operators.push_back({ranges.begin_ns[row], ranges.end_ns[row], kind_of(StepPart::kForward)});
  }
}

void StepFinder::read_activities() {
  const ActivityTable& activities = timeline_.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.stream[row] >= timeline_.streams.size()) continue;
    const DeviceIndex device = timeline_.streams[activities.stream[row]].device;
    if (device >= timeline_.devices.size()) continue;
    ProcessSpans* const spans = process(timeline_.devices[device].process);
    if (spans == nullptr) continue;
    spans->has_device = true;
    if (!is_time(activities.begin_ns[row]) || !is_time(activities.end_ns[row])) continue;
    const Span span{activities.begin_ns[row], activities.end_ns[row]};
    spans->device.push_back(span);
    const LaunchIndex launch = projection_.place_of(timeline_, row);
    if (launch < projection_.pass.size() && projection_.pass[launch] == Pass::kRecompute)
      spans->recompute.push_back(span);
  }
}

void StepFinder::fill(std::span<StepFigures> steps, ProcessSpans& spans) {
  fill_host(steps, spans);
  fill_device(steps, spans);
  find_skipped(steps, spans);
  find_warm_up(steps);
  account(steps);
  spans = {};
}

void StepFinder::fill_host(std::span<StepFigures> steps, ProcessSpans& spans) {
  std::vector<Span> parts;
  for (const auto& [thread, span] : spans.named)
    if (thread == spans.host_thread) parts.push_back(span);
  make_disjoint(parts);
  const auto add = [&](std::vector<Span> more, std::span<const Span> not_in) {
    make_disjoint(more);
    std::vector<Span> left = without(more, parts);
    if (!not_in.empty()) left = without(left, not_in);
    parts.insert(parts.end(), left.begin(), left.end());
    make_disjoint(parts);
  };
  make_disjoint(spans.nodes);
  if (!spans.named_backward) add(spans.nodes, {});
  add(std::move(spans.operators), spans.nodes);
  std::vector<Span> lost;  // already
  for (const Span& span : parts) {
    const auto part = static_cast<StepPart>(span.kind);
    if (part == StepPart::kData || part == StepPart::kCheckpoint) lost.push_back(span);
  }
  make_disjoint(spans.recompute);
  const std::vector<Span> recompute = without(spans.recompute, lost);
  for (StepFigures& step : steps) step.other_ns = step.step_ns();
  for_each_overlap<StepFigures>(steps, parts, [&](std::size_t i, const Span& span, std::int64_t length) {
    steps[i].part_ns[span.kind] += length;
    steps[i].other_ns -= length;
  });
  for_each_overlap<StepFigures>(steps, recompute, [&](std::size_t i, const Span&, std::int64_t length) {
    steps[i].part_ns[kind_of(StepPart::kRecompute)] += length;
  });
}

void StepFinder::fill_device(std::span<StepFigures> steps, ProcessSpans& spans) {
  if (!spans.has_device) return;
  make_disjoint(spans.device);
  for (StepFigures& step : steps) step.device_busy_ns = 0;
  for_each_overlap<StepFigures>(
      steps, spans.device, [&](std::size_t i, const Span&, std::int64_t length) { steps[i].device_busy_ns += length; });
}

void StepFinder::find_skipped(std::span<StepFigures> steps, ProcessSpans& spans) {
  for (const std::int64_t time : spans.skips) {
    const auto after = std::upper_bound(steps.begin(), steps.end(), time,
                                        [](std::int64_t t, const StepFigures& step) { return t < step.begin_ns; });
    if (after == steps.begin() || time >= (after - 1)->end_ns) continue;
    StepFigures& step = *(after - 1);
    result_.skipped += step.skipped ? 0 : 1;
    step.skipped = true;
  }
}

void StepFinder::find_warm_up(std::span<StepFigures> steps) {
  std::vector<std::int64_t> times;
  for (const StepFigures& step : steps) times.push_back(step.step_ns());
  const std::size_t warm_up = warm_up_steps(times);
  for (StepFigures& step : steps.first(warm_up)) step.warm_up = true;
  result_.warm_up += warm_up;
}

/// Each stretch of time has one reason to be lost: that of the step as a whole comes after those of its parts.
void StepFinder::account(std::span<const StepFigures> steps) {
  std::vector<std::int64_t> steady;
  for (const StepFigures& step : steps)
    if (!step.warm_up && !step.skipped) steady.push_back(step.working_ns());
  const std::int64_t usual = percentiles_of(std::move(steady)).p50;
  Goodput& goodput = result_.goodput;
  const auto add = [](std::int64_t& to, std::int64_t value) { to = plus(to, value); };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepFigures& step = steps[i];
    add(goodput.wall_ns, step.step_ns());
    add(goodput.data_ns, step.part(StepPart::kData));
    add(goodput.checkpoint_ns, step.part(StepPart::kCheckpoint));
    add(goodput.recompute_ns, step.part(StepPart::kRecompute));
    const std::int64_t working = step.working_ns();
    const std::int64_t slower = step.warm_up && !step.skipped ? std::max<std::int64_t>(0, working - usual) : 0;
    add(step.skipped ? goodput.skipped_ns : goodput.useful_ns, working - slower);
    add(goodput.warm_up_ns, slower);
    if (!step.warm_up && !step.skipped && step.items != 0) {
      result_.useful_items += step.items;
      add(result_.useful_items_ns, step.step_ns());
    }
    // Numbers jump where the schedule left steps out: that time was not recorded.
    if (i == 0 || steps[i - 1].number == std::numeric_limits<std::int64_t>::max() ||
        step.number != steps[i - 1].number + 1)
      continue;
    const std::int64_t between = step.begin_ns - steps[i - 1].end_ns;
    add(goodput.between_ns, between);
    add(goodput.wall_ns, between);
  }
}

void StepFinder::read_memory() {
  const AllocatorEventTable& memory = timeline_.allocator_events;
  std::map<std::pair<ProcessIndex, std::int32_t>, std::vector<std::pair<std::int64_t, std::int64_t>>> allocated;
  for (std::size_t row = 0; row < memory.size(); ++row) {
    if (memory.device[row] < 0 || memory.allocated[row] < 0 || memory.thread[row] >= timeline_.threads.size()) continue;
    const ProcessIndex process = timeline_.threads[memory.thread[row]].process;
    if (spans_.count(process) == 0) continue;
    allocated[{process, memory.device[row]}].emplace_back(memory.time_ns[row], memory.allocated[row]);
  }
  for (auto& [place, values] : allocated) {
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t next = 0;
    std::int64_t held = kNotKnown;  // by now
    const auto of_process = [](const StepFigures& step, ProcessIndex process) { return step.process < process; };
    auto step = std::lower_bound(result_.steps.begin(), result_.steps.end(), place.first, of_process);
    for (; step != result_.steps.end() && step->process == place.first; ++step) {
      for (; next < values.size() && values[next].first < step->begin_ns; ++next) held = values[next].second;
      std::int64_t most = held;
      for (; next < values.size() && values[next].first < step->end_ns; ++next)
        most = std::max(most, held = values[next].second);
      step->peak_bytes = std::max(step->peak_bytes, most);
    }
  }
}

}  // namespace

StepAnalysis analyse_steps(const Timeline& timeline, const Projection& projection, const StepRules& rules) {
  return StepFinder(timeline, projection, rules).run();
}

Percentiles percentiles_of(std::vector<std::int64_t> values) {
  values.erase(std::remove(values.begin(), values.end(), kNotKnown), values.end());
  if (values.empty()) return {};
  const auto at = [&](std::size_t percent) {
    const std::size_t rank = (values.size() * percent + 99) / 100;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
    std::nth_element(values.begin(), place, values.end());
    return *place;
  };
  return {at(50), at(95), at(99)};
}

std::int64_t items_per_second_tenths(std::uint64_t items, std::int64_t time_ns) noexcept {
  if (items == 0 || time_ns <= 0) return 0;
  const double tenths = static_cast<double>(items) * 1e10 / static_cast<double>(time_ns);
  constexpr double kMax = 9e18;
  return tenths < kMax ? std::llround(tenths) : static_cast<std::int64_t>(kMax);
}

}  // namespace rangefinder::analysis
