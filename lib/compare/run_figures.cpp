// SPDX-License-Identifier: MIT
#include "compare/run_figures.hpp"

#include "analysis/device_states.hpp"
#include "analysis/host_states.hpp"
#include "analysis/kernel_families.hpp"
#include "analysis/memory.hpp"
#include "compare/counting_work.hpp"
#include "compare/host_places.hpp"
#include "compare/path_numbers.hpp"
#include "compare/run_cells.hpp"
#include "compare/run_steps.hpp"
#include "projection/project.hpp"

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/analysis/collectives.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::compare {
namespace {

using analysis::DeviceIdle;
using analysis::Span;
using detail::plus;

/// Work that goes on for more steps than these is seen, in further ones, only where it counts: what is hidden there is
/// left out. Else a file with many activities that never end could ask for any amount of time.
constexpr std::size_t kMostStepsOfWork = 16;

ProjectionOptions of_annotations(ProjectionOptions options) noexcept {
  options.annotations = true;
  options.operators = false;
  return options;
}

/// Numbers texts in the order in which they are asked for.
class Numbering {
 public:
  explicit Numbering(std::size_t keys) : numbers_(keys, kNone) {}
  template <typename TextOf>
  std::uint32_t of(std::size_t key, std::vector<std::string>& texts, TextOf text_of) {
    if (numbers_[key] == kNone) {
      numbers_[key] = static_cast<std::uint32_t>(texts.size());
      texts.emplace_back(text_of());
    }
    return numbers_[key];
  }

 private:
  std::vector<std::uint32_t> numbers_;
};

/// A text of Timeline::metadata, which are JSON.
std::string text_of_fact(std::string_view json) {
  const bool is_quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return std::string(is_quoted ? json.substr(1, json.size() - 2) : json);
}

std::string joined(const std::set<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

constexpr std::size_t kCollectiveKinds = static_cast<std::size_t>(CollectiveKind::kBarrier) + 1;

class RunReader {
 public:
  RunReader(const Timeline& timeline, const RunOptions& options)
      : timeline_(timeline),
        projection_(projection::project_owners(timeline, of_annotations(options.projection))),
        paths_(timeline, projection_),
        steps_(timeline, projection_, run_),
        families_(timeline),
        places_(timeline, paths_),
        states_(timeline, BreakdownOptions().usual_gap_ns,
                [this](ActivityIndex row) {
                  return projection_.owner[row] == static_cast<std::uint32_t>(Unowned::kBefore);
                }),
        known_cells_(timeline.activities.size(), kNone),
        operator_numbers_(timeline.string_count()),
        family_numbers_(analysis::kKernelFamilies),
        collective_numbers_(kCollectiveKinds) {
    run_.paths = paths_.nodes;
  }

  Run read() && {
    for (DeviceIndex device{0}; device < timeline_.devices.size(); ++device)
      if (!states_.activities_of(device).empty()) read_device(device);
    const analysis::HostStates host(timeline_);
    for (const ProcessIndex process : host.processes()) read_host(process, host.of(process));
    read_calls();
    std::move(cells_).fill(timeline_, run_);
    read_memory();
    add_facts();
    return std::move(run_);
  }

 private:
  void read_device(DeviceIndex device);
  void read_works(std::span<const StepFrame> frames, std::span<const ActivityIndex> activities);
  void read_counting_work(std::span<const StepFrame> frames, std::span<const ActivityIndex> activities);
  void read_idle(ProcessIndex process, std::span<const StepFrame> frames, DeviceIndex device);
  void read_host(ProcessIndex process, const std::vector<Span>& states);
  void add_host_time(std::uint32_t step, ThreadIndex thread, ThreadIndex operator_thread, std::int64_t begin_ns,
                     std::int64_t end_ns);
  void read_calls();
  void count_run(RangeIndex range, std::vector<bool>& of_several_steps);
  void count_operator(RangeIndex range);
  void add_place(std::span<const StepFrame> frames);
  void read_memory();
  void add_facts();

  CellKey place_of(ActivityIndex activity);
  std::uint32_t cell_of(ActivityIndex activity);
  std::uint32_t operator_number(StringId name);
  ThreadIndex launching_thread(ActivityIndex activity) const noexcept;

  const Timeline& timeline_;
  Run run_;
  Projection projection_;
  PathNumbers paths_;
  RunSteps steps_;
  analysis::KernelFamilies families_;
  HostPlaces places_;
  analysis::DeviceStates states_;
  RunCells cells_;
  std::vector<std::uint32_t> known_cells_;  // by activity; kNone: not asked for yet
  Numbering operator_numbers_, family_numbers_, collective_numbers_;
  std::int64_t busy_ns_ = 0;           // of all devices
  std::int64_t busy_in_steps_ns_ = 0;  // of that
  bool left_out_process_ = false;
};

std::uint32_t RunReader::operator_number(StringId name) {
  const std::string_view text = timeline_.text(name);
  if (is_step_name(text)) return kNone;
  return operator_numbers_.of(static_cast<std::size_t>(name), run_.operators, [&] { return text; });
}

/// The path and operator that the activity counts for.
CellKey RunReader::place_of(ActivityIndex activity) {
  const std::uint32_t owner = projection_.owner[activity];
  const RangeIndex by = families_.operator_of(activity);
  return {.path = owner < paths_.of_range.size() ? paths_.of_range[owner] : std::uint32_t{kNone},
          .op = by < timeline_.ranges.size() ? operator_number(timeline_.ranges.name[by]) : std::uint32_t{kNone}};
}

std::uint32_t RunReader::cell_of(ActivityIndex activity) {
  std::uint32_t& known = known_cells_[activity];
  if (known != kNone) return known;
  CellKey key = place_of(activity);
  key.kernel = timeline_.activities.name[activity];
  const analysis::KernelFamily family = families_.of(activity);
  key.kernel_family = family_numbers_.of(static_cast<std::size_t>(family), run_.kernel_families,
                                         [&] { return analysis::word_of(family); });
  const CollectiveIndex collective = timeline_.activities.collective[activity];
  if (collective < timeline_.collectives.size()) {
    const CollectiveKind kind = timeline_.collectives.kind[collective];
    if (static_cast<std::size_t>(kind) < kCollectiveKinds)
      key.collective =
          collective_numbers_.of(static_cast<std::size_t>(kind), run_.collectives, [&] { return to_string(kind); });
  }
  return known = cells_.cell(key);
}

ThreadIndex RunReader::launching_thread(ActivityIndex activity) const noexcept {
  const LaunchIndex launch = timeline_.activities.launch[activity];
  return launch < timeline_.launches.size() ? timeline_.launches.thread[launch] : ThreadIndex(kNone);
}

void RunReader::add_place(std::span<const StepFrame> frames) {
  for (const StepFrame& frame : frames) ++run_.steps[frame.step].places;
}

void RunReader::read_device(DeviceIndex device) {
  const ProcessIndex process = timeline_.devices[device].process;
  const std::span<const StepFrame> frames = steps_.of(process);
  left_out_process_ = left_out_process_ || frames.empty();
  add_place(frames);
  run_.hardware.devices.push_back(timeline_.devices[device].name);
  const std::span<const ActivityIndex> activities = states_.activities_of(device);
  read_works(frames, activities);
  read_counting_work(frames, activities);
  read_idle(process, frames, device);
}

/// Counts activities, and all of their time as hidden.
void RunReader::read_works(std::span<const StepFrame> frames, std::span<const ActivityIndex> activities) {
  std::size_t first = 0;
  for (const ActivityIndex activity : activities) {
    const std::int64_t begin_ns = states_.begin_ns(activity);
    while (first < frames.size() && frames[first].end_ns <= begin_ns) ++first;
    if (first == frames.size()) return;
    const std::uint32_t cell = cell_of(activity);
    if (frames[first].begin_ns <= begin_ns) ++cells_.at(frames[first].step, cell).ops;
    const std::span<const StepFrame> some = frames.subspan(first, std::min(kMostStepsOfWork, frames.size() - first));
    std::size_t of_some = 0;
    for_each_frame(some, of_some, begin_ns, states_.end_ns(activity),
                   [&](std::size_t at, std::int64_t from, std::int64_t to) {
                     Amounts& amounts = cells_.at(some[at].step, cell);
                     amounts.work_ns = plus(amounts.work_ns, to - from);
                     amounts.hidden_ns = plus(amounts.hidden_ns, to - from);
                   });
  }
}

/// Takes from what is hidden what is not.
void RunReader::read_counting_work(std::span<const StepFrame> frames, std::span<const ActivityIndex> activities) {
  std::size_t first = 0;
  CountingWork sweep(states_, [&](ActivityIndex activity, WorkClass work, std::int64_t begin_ns, std::int64_t end_ns) {
    busy_ns_ = plus(busy_ns_, end_ns - begin_ns);
    while (first < frames.size() && frames[first].end_ns <= begin_ns) ++first;
    if (first == frames.size() || frames[first].begin_ns >= end_ns) return;
    const std::size_t first_of_all = frame_from(frames, states_.begin_ns(activity));
    const std::uint32_t cell = cell_of(activity);
    for_each_frame(frames, first, begin_ns, end_ns, [&](std::size_t at, std::int64_t from, std::int64_t to) {
      Amounts& amounts = cells_.at(frames[at].step, cell);
      const bool was_seen = at - first_of_all < kMostStepsOfWork;
      std::int64_t& sum = was_seen ? amounts.hidden_ns : amounts.work_ns;
      sum = plus(sum, was_seen ? from - to : to - from);
      busy_in_steps_ns_ = plus(busy_in_steps_ns_, to - from);
      RunStep& step = run_.steps[frames[at].step];
      std::int64_t& of_class = work == WorkClass::kComputation     ? step.computation_ns
                               : work == WorkClass::kCommunication ? step.exposed_communication_ns
                                                                   : step.exposed_memcpy_ns;
      of_class = plus(of_class, to - from);
    });
  });
  sweep.run(activities);
}

void RunReader::read_idle(ProcessIndex process, std::span<const StepFrame> frames, DeviceIndex device) {
  const std::span<const ActivityIndex> activities = states_.activities_of(device);
  const ThreadIndex thread = steps_.thread_of(process);
  std::size_t first = 0, next = 0;
  for (const Span& span : states_.of(device)) {
    if (analysis::is_work(span.kind)) continue;
    while (next < activities.size() && states_.begin_ns(activities[next]) < span.end) ++next;
    const bool waits_for_host = static_cast<DeviceIdle>(span.kind) == DeviceIdle::kHostWait;
    const ActivityIndex after = next < activities.size() ? activities[next] : ActivityIndex(kNone);
    for_each_frame(frames, first, span.begin, span.end, [&](std::size_t at, std::int64_t from, std::int64_t to) {
      if (waits_for_host) {
        const ThreadIndex launches = after == kNone ? ThreadIndex(kNone) : launching_thread(after);
        return add_host_time(frames[at].step, thread, launches, from, to);
      }
      const CellKey place = after == kNone ? CellKey() : place_of(after);
      Amounts& amounts = cells_.at(frames[at].step, cells_.cell(place));
      amounts.idle_ns = plus(amounts.idle_ns, to - from);
    });
  }
}

/// Of a process without work on a device: all of its time.
void RunReader::read_host(ProcessIndex process, const std::vector<Span>& states) {
  const std::span<const StepFrame> frames = steps_.of(process);
  left_out_process_ = left_out_process_ || frames.empty();
  add_place(frames);
  const ThreadIndex thread = steps_.thread_of(process);
  for (const StepFrame& frame : frames) add_host_time(frame.step, thread, thread, frame.begin_ns, frame.end_ns);
  std::size_t first = 0;
  for (const Span& span : states) {
    if (!analysis::is_work(span.kind)) continue;
    for_each_frame(frames, first, span.begin, span.end, [&](std::size_t at, std::int64_t from, std::int64_t to) {
      RunStep& step = run_.steps[frames[at].step];
      const bool computes = (span.kind & analysis::kComputing) != 0;
      std::int64_t& sum = computes ? step.computation_ns : step.exposed_communication_ns;
      sum = plus(sum, to - from);
    });
  }
}

/// For the path that `thread` is in, and the operator that `operator_thread` is in.
void RunReader::add_host_time(std::uint32_t step, ThreadIndex thread, ThreadIndex operator_thread,
                              std::int64_t begin_ns, std::int64_t end_ns) {
  const auto operators = places_.operators_of(operator_thread);
  for_each_place(
      places_.paths_of(thread), begin_ns, end_ns, [&](std::uint32_t path, std::int64_t from, std::int64_t to) {
        for_each_place(operators, from, to, [&](std::uint32_t name, std::int64_t begin, std::int64_t end) {
          const std::uint32_t op = name == kNone ? std::uint32_t{kNone} : operator_number(static_cast<StringId>(name));
          Amounts& amounts = cells_.at(step, cells_.cell({.path = path, .op = op}));
          amounts.host_ns = plus(amounts.host_ns, end - begin);
        });
      });
}

void RunReader::read_calls() {
  const RangeTable& ranges = timeline_.ranges;
  std::vector<bool> of_several_steps(run_.paths.size());
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (ranges.thread[range] >= timeline_.threads.size() || !ranges.is_run(range)) continue;
    if (ranges.kind[range] == RangeKind::kAnnotation && paths_.is_named[range]) count_run(range, of_several_steps);
    if (ranges.kind[range] == RangeKind::kOperator) count_operator(range);
  }
  cells_.forget_calls(of_several_steps);
}

void RunReader::count_run(RangeIndex range, std::vector<bool>& of_several_steps) {
  const RangeTable& ranges = timeline_.ranges;
  const std::span<const StepFrame> frames = steps_.of(timeline_.threads[ranges.thread[range]].process);
  const std::size_t at = frame_from(frames, ranges.begin_ns[range]);
  if (at == frames.size()) return;
  const std::uint32_t path = paths_.of_range[range];
  const bool begins_inside = frames[at].begin_ns <= ranges.begin_ns[range];
  const bool ends_inside = ranges.end_ns[range] <= frames[at].end_ns;
  if (begins_inside && ends_inside)
    ++cells_.at(frames[at].step, cells_.cell({.path = path})).calls;
  else if (begins_inside || ranges.end_ns[range] > frames[at].begin_ns)
    of_several_steps[path] = true;
}

/// Where the thread that marks steps is meanwhile, as the host's time counts.
void RunReader::count_operator(RangeIndex range) {
  const RangeTable& ranges = timeline_.ranges;
  const ProcessIndex process = timeline_.threads[ranges.thread[range]].process;
  const std::span<const StepFrame> frames = steps_.of(process);
  const std::size_t at = frame_from(frames, ranges.begin_ns[range]);
  if (at == frames.size() || ranges.begin_ns[range] < frames[at].begin_ns) return;
  const std::uint32_t op = operator_number(ranges.name[range]);
  if (op == kNone) return;
  std::uint32_t path = kNone;
  for_each_place(places_.paths_of(steps_.thread_of(process)), ranges.begin_ns[range], plus(ranges.begin_ns[range], 1),
                 [&](std::uint32_t place, std::int64_t, std::int64_t) { path = place; });
  ++cells_.at(frames[at].step, cells_.cell({.path = path, .op = op})).calls;
}

void RunReader::read_memory() {
  std::vector<analysis::PlaceMemory> places = analysis::memory_of_places(timeline_);
  std::erase_if(places, [](const analysis::PlaceMemory& place) { return place.place.device < 0; });
  const auto most = std::max_element(places.begin(), places.end(),
                                     [](const auto& a, const auto& b) { return a.peak_bytes < b.peak_bytes; });
  if (most == places.end()) return;
  const analysis::PeakComposition peak = analysis::peak_composition(analysis::RangeNesting(timeline_), *most);
  // A step has another name in each run.
  const auto name_of = [this](const analysis::PeakShare& share) {
    const std::string_view name = timeline_.text(share.range);
    return is_step_name(name) ? std::string() : std::string(name);
  };
  for (const bool by_operator : {false, true}) {
    for (const analysis::PeakShare& share : by_operator ? peak.by_operator : peak.by_range)
      run_.peak_memory.push_back({by_operator, name_of(share), share.bytes});
    if (peak.earlier_bytes != 0) run_.peak_memory.push_back({by_operator, {}, peak.earlier_bytes});
  }
}

void RunReader::add_facts() {
  std::sort(run_.hardware.devices.begin(), run_.hardware.devices.end());
  std::set<std::string> cpus, drivers;
  for (const auto& [key, value] : timeline_.metadata) {
    if (key == "cpu_key") cpus.insert(text_of_fact(value));
    if (key == "nvml_driver_version") drivers.insert(text_of_fact(value));
  }
  run_.hardware.cpu = joined(cpus);
  run_.hardware.driver = joined(drivers);
  if (!run_.has_steps && !run_.steps.empty())
    run_.notes.emplace_back("the input has no steps (call session.step()): all of it counts as one");
  if (run_.steps.empty()) run_.notes.emplace_back("the input has neither device activity nor ranges");
  if (left_out_process_) run_.notes.emplace_back("processes without steps are left out");
  if (const std::int64_t outside = detail::minus(busy_ns_, busy_in_steps_ns_); busy_ns_ > 0 && outside > busy_ns_ / 100)
    run_.notes.push_back(std::to_string(outside / (busy_ns_ / 100 + 1)) +
                         " % of the time in which devices were busy lie outside of steps, and are left out");
}

}  // namespace

Run figures_of(const Timeline& timeline, const RunOptions& options) { return RunReader(timeline, options).read(); }

}  // namespace rangefinder::compare
