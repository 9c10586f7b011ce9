// SPDX-License-Identifier: MIT
#include "analysis/breakdown.hpp"
#include "analysis/device_states.hpp"
#include "analysis/spans.hpp"
#include "analysis/step_rules.hpp"
#include "base/text.hpp"
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace rangefinder::html {
namespace {

using analysis::Span;

constexpr std::size_t kMostStepRows = 200'000;
constexpr std::int64_t kUsualGapNs = BreakdownOptions{}.usual_gap_ns;

struct StepTimes {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};
/// Of the steps by process and number; the first of each number.
using StepsByNumber = std::map<std::pair<ProcessIndex, std::int64_t>, StepTimes>;

StepsByNumber steps_of(const Timeline& timeline) {
  StepsByNumber out;
  const StepTable& steps = timeline.steps;
  for (std::uint32_t row = 0; row < steps.size(); ++row) {
    if (steps.thread[row] >= timeline.threads.size()) continue;
    out.try_emplace({timeline.threads[steps.thread[row]].process, steps.number[row]},
                    StepTimes{steps.begin_ns[row], steps.end_ns[row]});
  }
  return out;
}

/// When each process waited for its data: ranges that the view `steps` counts as that, on the threads that mark steps.
std::vector<std::vector<Span>> data_waits_of(const Timeline& timeline) {
  std::vector<bool> marks_steps(timeline.threads.size());
  for (const ThreadIndex thread : timeline.steps.thread)
    if (thread < marks_steps.size()) marks_steps[thread] = true;
  std::vector<std::uint8_t> known(timeline.string_count());
  const analysis::StepRules rules;
  const auto is_data = [&](StringId name) {
    std::uint8_t& one = known[static_cast<std::uint32_t>(name)];
    if (one == 0) one = rules.part_of(timeline.text(name)) == analysis::StepPart::kData ? 2 : 1;
    return one == 2;
  };
  std::vector<std::vector<Span>> waits(timeline.processes.size());
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    const ThreadIndex thread = ranges.thread[range];
    if (thread >= marks_steps.size() || !marks_steps[thread] || (ranges.flags[range] & kBeforeRecording) != 0) continue;
    const ProcessIndex process = timeline.threads[thread].process;
    if (process < waits.size() && ranges.begin_ns[range] < ranges.end_ns[range] && is_data(ranges.name[range]))
      waits[process].push_back({ranges.begin_ns[range], ranges.end_ns[range]});
  }
  for (std::vector<Span>& spans : waits) analysis::make_disjoint(spans);
  return waits;
}

/// What idle time of a device was data loading, by reason, per row.
struct Input {
  std::array<std::int64_t, 4> of_reason_ns{};
  std::int64_t sum() const noexcept { return of_reason_ns[0] + of_reason_ns[1] + of_reason_ns[2] + of_reason_ns[3]; }
};

constexpr std::uint8_t kFirstReason = static_cast<std::uint8_t>(analysis::DeviceIdle::kHostWait);

class Steps {
 public:
  Steps(const PageInput& input, PageOutput& output)
      : input_(input), timeline_(input.timeline), output_(output), times_(steps_of(input.timeline)) {}

  std::string json() {
    const bool by_step = !timeline_.steps.empty();
    take_rows(by_step ? BreakdownBy::kStep : BreakdownBy::kDevice);
    if (rows_.empty()) {
      output_.absent["steps"] = "The recording has neither device activity nor ranges.";
      return {};
    }
    if (by_step) find_input();
    const std::string parts = write_table();
    return "{" + std::string(by_step ? "" : "\"whole\":true,") + "\"parts\":" + parts + ",\"groups\":" + groups() +
           ",\"table\":" + table_.json(output_.blocks) + "}";
  }

 private:
  struct Row {
    BreakdownRow figures;
    StepTimes times;
    Input input;
  };

  void take_rows(BreakdownBy by) {
    BreakdownOptions options;
    options.by = by;
    std::uint64_t left_out = 0;
    for (const BreakdownRow& figures : analysis::breakdown(timeline_, input_.projection(), options)) {
      Row row{figures, {timeline_.begin_ns, timeline_.end_ns}, {}};
      if (by == BreakdownBy::kStep) {
        if (!figures.step) continue;  // outside of steps
        const auto found = times_.find({figures.process, *figures.step});
        if (found != times_.end()) row.times = found->second;
      }
      if (rows_.size() < kMostStepRows)
        rows_.push_back(row);
      else
        ++left_out;
    }
    if (left_out == 0) return;
    output_.left_out += left_out;
    output_.left_why.push_back(base::with_thousands(left_out) + " rows of steps were left out");
  }

  /// The rows of a device are one after the other, in order of time.
  std::size_t end_of_group(std::size_t first) const noexcept {
    std::size_t end = first + 1;
    while (end < rows_.size() && rows_[end].figures.process == rows_[first].figures.process &&
           rows_[end].figures.device == rows_[first].figures.device)
      ++end;
    return end;
  }

  void find_input() {
    const std::vector<std::vector<Span>> waits = data_waits_of(timeline_);
    if (std::all_of(waits.begin(), waits.end(), [](const auto& spans) { return spans.empty(); })) return;
    const std::vector<std::uint32_t>& owner = input_.projection().owner;
    analysis::DeviceStates states(timeline_, kUsualGapNs, [&](ActivityIndex activity) {
      return activity < owner.size() && owner[activity] == static_cast<std::uint32_t>(Unowned::kBefore);
    });
    for (std::size_t first = 0, end = 0; first < rows_.size(); first = end) {
      end = end_of_group(first);
      const BreakdownRow& group = rows_[first].figures;
      if (group.device == kNone || group.process >= waits.size()) continue;
      for (const Span& span : states.of(group.device))
        if (!analysis::is_work(span.kind) && span.kind < kFirstReason + 4)
          add_input(first, end, span, waits[group.process]);
    }
  }

  /// Of one idle stretch, what it shares with data loading and with each step.
  void add_input(std::size_t first, std::size_t end, const Span& idle, const std::vector<Span>& waits) {
    auto wait = std::upper_bound(waits.begin(), waits.end(), idle.begin,
                                 [](std::int64_t time, const Span& span) { return time < span.end; });
    for (; wait != waits.end() && wait->begin < idle.end; ++wait) {
      const std::int64_t from = std::max(wait->begin, idle.begin), to = std::min(wait->end, idle.end);
      const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto last = rows_.begin() + static_cast<std::ptrdiff_t>(end);
      auto row = std::upper_bound(begin, last, from,
                                  [](std::int64_t time, const Row& one) { return time < one.times.end_ns; });
      for (; row != last && row->times.begin_ns < to; ++row) {
        const std::int64_t shared_ns = std::min(to, row->times.end_ns) - std::max(from, row->times.begin_ns);
        if (shared_ns > 0) row->input.of_reason_ns[idle.kind - kFirstReason] += shared_ns;
      }
    }
  }

  struct Part {
    const char* column;
    const char* label;
    const char* role;
    std::int64_t (*value)(const Row& row);
  };
  static constexpr Part kParts[] = {
      {"computation_ns", "Computation", "computation", [](const Row& row) { return row.figures.computation_ns; }},
      {"exposed_communication_ns", "Exposed communication", "communication",
       [](const Row& row) { return row.figures.exposed_communication_ns; }},
      {"exposed_memcpy_ns", "Exposed copies", "copy", [](const Row& row) { return row.figures.exposed_memcpy_ns; }},
      {"input_ns", "Idle: input", "input", [](const Row& row) { return row.input.sum(); }},
      {"host_wait_ns", "Idle: host wait", "idle",
       [](const Row& row) { return row.figures.idle.host_wait_ns - row.input.of_reason_ns[0]; }},
      {"kernel_wait_ns", "Idle: kernel wait", "idle",
       [](const Row& row) { return row.figures.idle.kernel_wait_ns - row.input.of_reason_ns[1]; }},
      {"sync_wait_ns", "Idle: sync wait", "idle",
       [](const Row& row) { return row.figures.idle.sync_wait_ns - row.input.of_reason_ns[2]; }},
      {"other_idle_ns", "Idle: other", "idle",
       [](const Row& row) {
         return row.figures.device == kNone ? row.figures.idle_ns  // a host's idle time has no reason
                                            : row.figures.idle.other_ns - row.input.of_reason_ns[3];
       }},
  };

  /// Columns and parts, of the parts that are anywhere.
  std::string write_table() {
    const std::size_t step = table_.add("step", "delta"), begin = table_.add("begin_ns", "delta");
    const std::size_t total = table_.add("total_ns", "varint");
    for (const Row& row : rows_) {
      // Numbers below 0 are of no step() of ours.
      table_.delta(step, row.figures.step.value_or(0));
      table_.delta(begin, since(timeline_.begin_ns, row.times.begin_ns));
      table_.varint(total, row.figures.total_ns);
      table_.next_row();
    }
    std::string json;
    for (const Part& part : kParts) {
      if (std::none_of(rows_.begin(), rows_.end(), [&](const Row& row) { return part.value(row) > 0; })) continue;
      const std::size_t column = table_.add(part.column, "varint");
      for (const Row& row : rows_) table_.varint(column, part.value(row));
      json += (json.empty() ? "{\"column\":" : ",{\"column\":") + json_of(part.column) +
              ",\"label\":" + json_of(part.label) + ",\"role\":" + json_of(part.role) + "}";
    }
    return "[" + json + "]";
  }

  std::string groups() const {
    std::string json;
    for (std::size_t first = 0, end = 0; first < rows_.size(); first = end) {
      end = end_of_group(first);
      const BreakdownRow& group = rows_[first].figures;
      const std::string label =
          group.device != kNone ? device_label(timeline_, group.device) : process_label(timeline_, group.process);
      json += (json.empty() ? "{\"label\":" : ",{\"label\":") + json_of(label) +
              ",\"first_row\":" + std::to_string(first) + ",\"rows\":" + std::to_string(end - first) + "}";
    }
    return "[" + json + "]";
  }

  const PageInput& input_;
  const Timeline& timeline_;
  PageOutput& output_;
  StepsByNumber times_;
  std::vector<Row> rows_;
  TableData table_;
};

}  // namespace

std::string steps_section(const PageInput& input, PageOutput& output) { return Steps(input, output).json(); }

}  // namespace rangefinder::html
