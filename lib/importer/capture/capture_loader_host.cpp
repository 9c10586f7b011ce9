// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "importer/capture/capture_loader.hpp"
#include "importer/capture/operator_texts.hpp"
#include "timeline/autograd_names.hpp"
#include "timeline/graph_launch.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace rangefinder::importer {

const CaptureLoader::Category& CaptureLoader::category_of(std::uint32_t id) {
  if (id >= categories_.size()) categories_.resize(std::size_t{id} + 1);  // 16 bits
  std::optional<Category>& known = categories_[id];
  if (!known) {
    const std::string_view text = facts_.category(id);
    known = {out_.intern(facts_.domain(id)), out_.intern(text),
             text == "operator" ? RangeKind::kOperator : RangeKind::kAnnotation};
  }
  return *known;
}

RangeRow CaptureLoader::range_row(const AssembledRange& range) {
  const Category& category = category_of(range.category);
  return {.name = name(range.name),
          .domain = category.domain,
          .category = category.name,
          .kind = category.kind,
          .style = range.start_end ? RangeStyle::kStartEnd : RangeStyle::kScoped,
          .flags = flags_of(range),
          .thread = thread_of(range.thread),
          .end_thread = thread_of(range.end_thread),
          .begin_ns = range.key < first_key_ ? carried_begin(range.key) : host_time(range.begin_ticks),
          .end_ns = host_time(range.end_ticks),
          .opened_ns = range.resumed ? host_time(range.instance_begin_ticks) : kNoTime};
}

void CaptureLoader::on_range(const AssembledRange& range) {
  // Keys count from 1 in the order in which ranges began: the row is known, whenever the range ends.
  RangeTable& table = out_.ranges;
  const RangeIndex row = row_of(range.key);
  range_count_ = std::max(range_count_, std::size_t{row} + 1);
  if (row >= table.size()) {  // by many rows at once: a table has a column for each member
    constexpr std::size_t kMoreRows = 1024;
    table.grow_to(std::size_t{row} + kMoreRows);
    under_.resize(table.size() - first_row_);
  }
  if (range.key >= first_key_) under_[row - first_row_] = range.under;
  const RangeRow ended = range_row(range);
  table.set(row, ended);
  if (windowed_.found_ends != nullptr && range.key < first_key_)
    windowed_.found_ends->ends.insert_or_assign(range.key, RangeEnds::End{ended.end_ns, ended.flags, ended.opened_ns});
  last_ticks_ = std::max(last_ticks_, range.end_ticks);
}

std::uint8_t CaptureLoader::flags_of(const AssembledRange& range) const noexcept {
  const RangeEnds* const known = windowed_.known_ends;
  const bool is_left = range.suspended && known != nullptr && known->never_resumed.contains(range.key);
  const bool is_suspended = range.suspended && !is_left;
  return static_cast<std::uint8_t>((range.unfinished || is_left ? kUnfinished : 0) |
                                   (range.ended_elsewhere ? kEndedElsewhere : 0) | (is_suspended ? kSuspended : 0) |
                                   (range.resumed ? kResumed : 0) |
                                   (is_before(range.begin_ticks, range.end_ticks) ? kBeforeRecording : 0));
}

void CaptureLoader::on_not_resumed(std::uint64_t range) {
  if (windowed_.found_ends != nullptr) windowed_.found_ends->never_resumed.insert(range);
  const RangeIndex row = row_of(range);
  if (row >= out_.ranges.size()) return;  // of an earlier window
  out_.ranges.set_flags(row, static_cast<std::uint8_t>((out_.ranges.flags[row] & ~kSuspended) | kUnfinished));
}

void CaptureLoader::on_launch(const AssembledLaunch& launch) {
  LaunchTable& table = out_.launches;
  table.append({.process = process_,
                .correlation = launch.correlation,
                .thread = thread_of(launch.thread),
                .time_ns = host_time(launch.ticks),
                .source = LaunchSource::kCallback});
  launch_keys_.push_back(launch.range);
  if (store_ != nullptr) {
    launch_is_graph_.push_back(timeline::is_graph_launch(launch.callback));
    launch_nodes_.push_back(running_node(launch.thread));
  }
  last_ticks_ = std::max(last_ticks_, launch.ticks);
}

void CaptureLoader::on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t id, std::uint32_t category_id) {
  const auto row = static_cast<std::uint32_t>(out_.marks.size());
  if (thread >= last_mark_.size()) last_mark_.resize(thread + 1, kNone);
  last_mark_[thread] = kNone;
  if (is_before(ticks, ticks)) return;
  last_mark_[thread] = row;
  out_.marks.append({.name = name(id),
                     .category = category_of(category_id).name,
                     .thread = thread_of(thread),
                     .time_ns = host_time(ticks)});
  last_ticks_ = std::max(last_ticks_, ticks);
}

void CaptureLoader::on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t id,
                               const AssembledValue& value) {
  if (is_before(ticks, ticks)) return;
  const bool is_double = value.kind == detail::ExtraKind::kDouble;
  double number = 0;
  if (is_double) std::memcpy(&number, &value.bits, sizeof number);
  out_.counters.append({.name = name(id),
                        .thread = thread_of(thread),
                        .time_ns = host_time(ticks),
                        .number = is_double ? number : static_cast<double>(static_cast<std::int64_t>(value.bits)),
                        .integer = static_cast<std::int64_t>(value.bits),
                        .is_integer = !is_double});
  last_ticks_ = std::max(last_ticks_, ticks);
}

void CaptureLoader::on_value(std::uint32_t thread, const AssembledValue& value) {
  Attachment attachment;
  attachment.target = value.of == AssembledValue::Of::kMark ? Attachment::Target::kMark : Attachment::Target::kRange;
  if (attachment.target == Attachment::Target::kMark) {
    if (thread >= last_mark_.size() || last_mark_[thread] == kNone) return;
    attachment.row = last_mark_[thread];
  } else {
    if (value.range == 0) return;
    attachment.row = row_of(value.range);
  }
  switch (value.kind) {
    case detail::ExtraKind::kUnsigned:
      attachment.type = Attachment::Type::kUnsigned;
      break;
    case detail::ExtraKind::kSigned:
      attachment.type = Attachment::Type::kSigned;
      break;
    case detail::ExtraKind::kDouble:
      attachment.type = Attachment::Type::kDouble;
      break;
    case detail::ExtraKind::kText:
      attachment.type = Attachment::Type::kText;
      break;
    default:
      return;
  }
  attachment.bits = attachment.type == Attachment::Type::kText
                        ? static_cast<std::uint64_t>(name(static_cast<std::uint32_t>(value.bits)))
                        : value.bits;
  out_.attachments.push_back(attachment);
}

void CaptureLoader::on_cpu_counts(std::uint64_t range, const CpuCounts& counts) {
  // Ranges one inside the other mostly began and ended with the same counts, which take ten times what a range's does.
  if (cpu_counts_.empty() || cpu_counts_.back().count != counts.count) cpu_counts_.push_back(counts);
  cpu_counts_of_.emplace_back(row_of(range), static_cast<std::uint32_t>(cpu_counts_.size() - 1));
}

void CaptureLoader::add_cpu_counters() {
  const auto by_range = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::reverse(cpu_counts_of_.begin(), cpu_counts_of_.end());  // inner ranges end before those around them
  if (!std::is_sorted(cpu_counts_of_.begin(), cpu_counts_of_.end(), by_range))
    std::sort(cpu_counts_of_.begin(), cpu_counts_of_.end(), by_range);
  CpuCounterTable& table = out_.cpu_counters;
  table.reserve(table.size() + cpu_counts_of_.size());
  for (const auto& [range, counts] : cpu_counts_of_)
    table.append({.range = range, .counts = cpu_counts_[counts].count});
}

void CaptureLoader::on_step(const AssembledStep& step) {
  if (step.thread >= last_step_.size()) last_step_.resize(step.thread + 1, kNone);
  last_step_[step.thread] = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back({step.number, thread_of(step.thread), host_time(step.ticks), 0, step.recorded});
  last_ticks_ = std::max(last_ticks_, step.ticks);
}

void CaptureLoader::on_step_items(std::uint32_t thread, std::uint64_t items) {
  if (thread < last_step_.size() && last_step_[thread] < steps_.size()) steps_[last_step_[thread]].items = items;
}

void CaptureLoader::on_memory(const AssembledMemory& memory) {
  if (is_before(memory.ticks, memory.ticks)) return;
  AllocatorEventTable& table = out_.allocator_events;
  // Less than nothing is no total.
  table.append({.thread = thread_of(memory.thread),
                .time_ns = host_time(memory.ticks),
                .action = memory.action,
                .device = memory.device,
                .address = memory.address(),
                .bytes = memory.bytes(),
                .allocated = std::max<std::int64_t>(memory.allocated(), -1),
                .reserved = std::max<std::int64_t>(memory.reserved(), -1),
                .stream = memory.stream(),
                .pool = memory.pool()});
  last_ticks_ = std::max(last_ticks_, memory.ticks);
}

void CaptureLoader::on_sequence(const AssembledSequence& sequence) {
  node_origins_.add(sequence, store_ != nullptr ? running_node(sequence.thread) : 0);
  if (store_ != nullptr)
    new_origins_.push_back({sequence.range, running_node(sequence.thread), host_time(sequence.ticks)});
}

void CaptureLoader::on_node_begin(const AssembledNode& node) {
  last_ticks_ = std::max(last_ticks_, node.begin_ticks);
  if (store_ == nullptr) return;
  RunningNodes& running = running_nodes(node.thread);
  running.numbers.push_back(++last_node_);
  running.done = 0;
}

void CaptureLoader::on_node(const AssembledNode& node) {
  nodes_.push_back({node});
  last_ticks_ = std::max(last_ticks_, node.end_ticks);
  if (store_ == nullptr) return;
  RunningNodes& running = running_nodes(node.thread);
  nodes_.back().number = running.done = running.numbers.back();
  running.numbers.pop_back();
  nodes_.back().outer = running.numbers.empty() ? 0 : running.numbers.back();
  running.depth = running.numbers.size();
}

void CaptureLoader::add_nodes() {
  std::stable_sort(nodes_.begin(), nodes_.end(), [](const Node& a, const Node& b) {
    return std::tie(a.node.thread, a.node.begin_ticks, b.node.end_ticks) <
           std::tie(b.node.thread, b.node.begin_ticks, a.node.end_ticks);
  });
  AutogradNodeTable& table = out_.autograd_nodes;
  for (const auto& [node, number, outer] : nodes_) {
    const NodeOrigins::Origin* const origin = node_origins_.find(node);
    const bool is_done = node.end_ticks != kStillOpen;
    // `forward_ns` is behind the record at that time: a range that it opened is open, one that it closed is not.
    table.append({.thread = thread_of(node.thread),
                  .begin_ns = host_time(node.begin_ticks),
                  .end_ns = is_done ? host_time(node.end_ticks) : kLatest,
                  .sequence = node.sequence,
                  .forward_thread = origin != nullptr ? thread_of(origin->thread) : kNone,
                  .forward_ns = origin != nullptr ? moved(host_time(origin->ticks), 1) : kNoTime,
                  .name = name(node.name),
                  .range = node.range != 0 ? row_of(node.range) : kNone});
    if (store_ != nullptr)
      node_facts_.push_back(
          {number, outer, origin != nullptr ? origin->range : 0, origin != nullptr ? origin->node : 0, is_done});
  }
}

void CaptureLoader::on_operator(const AssembledOperator& facts) { operators_.push_back(facts); }

void CaptureLoader::add_operators(bool with_texts) {
  const auto name_of = [&](std::uint64_t key) {
    const RangeIndex row = row_of(key);
    return row < out_.ranges.size() ? out_.text(out_.ranges.name[row]) : std::string_view{};
  };
  for (std::size_t i = 0, recorded = operators_.size(); i < recorded; ++i) {
    AssembledOperator outer = operators_[i];
    if (outer.forward_thread == 0 || outer.parent == 0 ||
        !timeline::evaluates(name_of(outer.parent), name_of(outer.range)))
      continue;
    outer.range = outer.parent;
    outer.inputs = 0;
    operators_.push_back(outer);
  }
  // Of several rows of one range, which only a damaged file has, the first counts: no row is worth more than another.
  std::stable_sort(operators_.begin(), operators_.end(),
                   [](const AssembledOperator& a, const AssembledOperator& b) { return a.range < b.range; });
  const auto same_range = [](const AssembledOperator& a, const AssembledOperator& b) { return a.range == b.range; };
  operators_.erase(std::unique(operators_.begin(), operators_.end(), same_range), operators_.end());
  OperatorTable& table = out_.operators;
  for (const AssembledOperator& facts : operators_) {
    const InputTexts texts = with_texts ? input_texts(facts.inputs) : InputTexts{};
    table.append({.range = row_of(facts.range),
                  .sequence = facts.sequence,
                  .forward_thread_id = facts.forward_thread,
                  .shapes = texts.shapes,
                  .types = texts.types,
                  .values = texts.values});
  }
}

CaptureLoader::InputTexts CaptureLoader::input_texts(std::uint32_t id) {
  const auto [found, added] = input_texts_.try_emplace(id);
  if (added && id != 0) {
    const OperatorInputs inputs = split_inputs(facts_.name(id));
    if (inputs.shapes.empty()) ++out_.health.lost_names;
    const auto compact = [&](std::string_view list) {
      std::string text;
      base::append_compact_json(text, list);
      return out_.intern(text);
    };
    found->second = {compact(inputs.shapes), compact(inputs.types), compact(inputs.values)};
  }
  return found->second;
}

void CaptureLoader::add_steps() {
  // A step ends where the next one is noted; the one that nothing follows was never finished.
  std::stable_sort(steps_.begin(), steps_.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
    const StepRecord& step = steps_[i];
    const StepRecord& next = steps_[i + 1];
    // What was noted last before a pause is the end of a step only. Older captures do not say so, but numbers jump
    // where the schedule left steps out.
    if (!step.recorded || next.number != step.number + 1) continue;
    out_.steps.append({.number = step.number,
                       .thread = step.thread,
                       .begin_ns = step.time_ns,
                       .end_ns = next.time_ns,
                       .items = next.items});
  }
}

/// Behind all events: rows that stand ready go.
void CaptureLoader::end_ranges() {
  out_.ranges.cut_to(range_count_);
  under_.resize(out_.ranges.size() - first_row_);
}

/// Which row each launch belongs to. A range that ended on another thread may be closed by a record that stood further
/// on in the file than the launches after its end: those belong to what is under it.
void CaptureLoader::add_launch_ranges() {
  const RangeTable& ranges = out_.ranges;
  for (std::size_t i = 0; i < launch_keys_.size(); ++i) {
    const std::int64_t time = out_.launches.time_ns[first_launch_ + i];
    std::uint64_t& key = launch_keys_[i];
    while (key != 0) {
      if (row_of(key) == kNone) recall_ranges(key);  // windows: it is over since an earlier one
      const RangeIndex row = row_of(key);
      if (row == kNone) break;
      const bool elsewhere = (ranges.flags[row] & kEndedElsewhere) != 0;
      if (ranges.end_ns[row] > time || (ranges.end_ns[row] == time && !elsewhere)) break;
      key = under_[row - first_row_];
    }
    if (key != 0) out_.launches.set_range(static_cast<LaunchIndex>(first_launch_ + i), row_of(key));
  }
}

}  // namespace rangefinder::importer
