// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "importer/capture/capture_loader.hpp"
#include "importer/capture/operator_texts.hpp"
#include "timeline/autograd_names.hpp"
#include "timeline/engine_threads.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace rangefinder::importer {

void CaptureLoader::on_range(const AssembledRange& range) {
  // Keys count from 1 in the order in which ranges began: the row is known, whenever the range ends.
  RangeTable& table = out_.ranges;
  const std::size_t row = first_range_ + range.key - 1;
  if (row >= table.size()) {
    const std::size_t size = row + 1;
    table.name.resize(size);
    table.domain.resize(size);
    table.category.resize(size);
    table.kind.resize(size);
    table.style.resize(size);
    table.flags.resize(size);
    table.thread.resize(size);
    table.end_thread.resize(size);
    table.begin_ns.resize(size);
    table.end_ns.resize(size);
    table.source_row.resize(size, -1);
    table.external_id.resize(size, -1);
    under_.resize(range.key);
  }
  under_[range.key - 1] = range.under;
  const std::string_view category = reader_.category(range.category);
  table.name[row] = name(range.name);
  table.domain[row] = out_.intern(reader_.domain(range.category));
  table.category[row] = out_.intern(category);
  table.kind[row] = category == "operator" ? RangeKind::kOperator : RangeKind::kAnnotation;
  table.style[row] = range.start_end ? RangeStyle::kStartEnd : RangeStyle::kScoped;
  table.flags[row] =
      static_cast<std::uint8_t>((range.unfinished ? kUnfinished : 0) | (range.ended_elsewhere ? kEndedElsewhere : 0) |
                                (range.suspended ? kSuspended : 0) | (range.resumed ? kResumed : 0) |
                                (is_before(range.begin_ticks, range.end_ticks) ? kBeforeRecording : 0));
  if (range.resumed) {
    if (row >= table.opened_ns.size()) table.opened_ns.resize(row + 1, kNoTime);
    table.opened_ns[row] = host_time(range.instance_begin_ticks);
  }
  table.thread[row] = thread_of(range.thread);
  table.end_thread[row] = thread_of(range.end_thread);
  table.begin_ns[row] = host_time(range.begin_ticks);
  table.end_ns[row] = host_time(range.end_ticks);
  last_ticks_ = std::max(last_ticks_, range.end_ticks);
}

void CaptureLoader::on_not_resumed(std::uint64_t range) {
  std::uint8_t& flags = out_.ranges.flags[first_range_ + range - 1];
  flags = static_cast<std::uint8_t>((flags & ~kSuspended) | kUnfinished);
}

void CaptureLoader::on_launch(const AssembledLaunch& launch) {
  LaunchTable& table = out_.launches;
  table.process.push_back(process_);
  table.correlation.push_back(launch.correlation);
  table.thread.push_back(thread_of(launch.thread));
  table.time_ns.push_back(host_time(launch.ticks));
  table.source.push_back(LaunchSource::kCallback);
  table.range.push_back(kNone);
  table.call.push_back(kNone);
  launch_keys_.push_back(launch.range);
  last_ticks_ = std::max(last_ticks_, launch.ticks);
}

void CaptureLoader::on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t id, std::uint32_t category) {
  const auto row = static_cast<std::uint32_t>(out_.marks.size());
  if (thread >= last_mark_.size()) last_mark_.resize(thread + 1, kNone);
  last_mark_[thread] = kNone;
  if (is_before(ticks, ticks)) return;
  last_mark_[thread] = row;
  out_.marks.name.push_back(name(id));
  out_.marks.category.push_back(out_.intern(reader_.category(category)));
  out_.marks.thread.push_back(thread_of(thread));
  out_.marks.time_ns.push_back(host_time(ticks));
  out_.marks.source_row.push_back(-1);
  last_ticks_ = std::max(last_ticks_, ticks);
}

void CaptureLoader::on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t id,
                               const AssembledValue& value) {
  if (is_before(ticks, ticks)) return;
  CounterTable& table = out_.counters;
  table.name.push_back(name(id));
  table.thread.push_back(thread_of(thread));
  table.time_ns.push_back(host_time(ticks));
  const bool is_double = value.kind == detail::ExtraKind::kDouble;
  double number = 0;
  if (is_double) std::memcpy(&number, &value.bits, sizeof number);
  table.number.push_back(is_double ? number : static_cast<double>(static_cast<std::int64_t>(value.bits)));
  table.integer.push_back(static_cast<std::int64_t>(value.bits));
  table.is_integer.push_back(!is_double);
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
    attachment.row = static_cast<std::uint32_t>(first_range_ + value.range - 1);
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
  cpu_counts_.emplace_back(static_cast<RangeIndex>(first_range_ + range - 1), counts);
}

void CaptureLoader::add_cpu_counters() {
  std::sort(cpu_counts_.begin(), cpu_counts_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  CpuCounterTable& table = out_.cpu_counters;
  for (const auto& [range, counts] : cpu_counts_) {
    table.range.push_back(range);
    for (std::size_t event = 0; event < kCpuEvents; ++event) table.value[event].push_back(counts.count[event]);
  }
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
  MemoryTable& table = out_.memory;
  table.thread.push_back(thread_of(memory.thread));
  table.time_ns.push_back(host_time(memory.ticks));
  table.action.push_back(memory.action);
  table.device.push_back(memory.device);
  table.address.push_back(memory.address());
  table.bytes.push_back(memory.bytes());
  // Less than nothing is no total.
  table.allocated.push_back(std::max<std::int64_t>(memory.allocated(), -1));
  table.reserved.push_back(std::max<std::int64_t>(memory.reserved(), -1));
  table.stream.push_back(memory.stream());
  table.pool.push_back(memory.pool());
  table.source_row.push_back(-1);
  last_ticks_ = std::max(last_ticks_, memory.ticks);
}

void CaptureLoader::on_node(const AssembledNode& node) {
  nodes_.push_back(node);
  last_ticks_ = std::max(last_ticks_, node.end_ticks);
}

void CaptureLoader::add_nodes() {
  std::stable_sort(nodes_.begin(), nodes_.end(), [](const AssembledNode& a, const AssembledNode& b) {
    return std::tie(a.thread, a.begin_ticks, b.end_ticks) < std::tie(b.thread, b.begin_ticks, a.end_ticks);
  });
  NodeTable& table = out_.nodes;
  const std::size_t first = table.size();
  for (const AssembledNode& node : nodes_) {
    table.thread.push_back(thread_of(node.thread));
    table.begin_ns.push_back(host_time(node.begin_ticks));
    table.end_ns.push_back(host_time(node.end_ticks));
    table.sequence.push_back(node.sequence);
    const NodeOrigins::Origin* const origin = node_origins_.find(node);
    table.made_on.push_back(origin != nullptr ? thread_of(origin->thread) : kNone);
    // Behind the record at that time: a range that it opened is open, one that it closed is not.
    table.made_ns.push_back(origin != nullptr ? moved(host_time(origin->ticks), 1) : kNoTime);
    table.range.push_back(node.range != 0 ? static_cast<RangeIndex>(first_range_ + node.range - 1) : kNone);
    table.name.push_back(name(node.name));
  }
  timeline::last_until_the_next(
      table, first, [&](ThreadIndex thread) { return timeline::is_engine_thread(out_.threads[thread].name); });
}

void CaptureLoader::on_operator(const AssembledOperator& facts) { operators_.push_back(facts); }

void CaptureLoader::add_operators(bool with_texts) {
  const auto row_of = [&](std::uint64_t key) { return static_cast<RangeIndex>(first_range_ + key - 1); };
  const auto name_of = [&](std::uint64_t key) { return out_.text(out_.ranges.name[row_of(key)]); };
  for (std::size_t i = 0, recorded = operators_.size(); i < recorded; ++i) {
    AssembledOperator outer = operators_[i];
    if (outer.made_on == 0 || outer.parent == 0 || !timeline::evaluates(name_of(outer.parent), name_of(outer.range)))
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
    table.range.push_back(row_of(facts.range));
    table.sequence.push_back(facts.sequence);
    table.made_on.push_back(facts.made_on);
    const InputTexts texts = with_texts ? input_texts(facts.inputs) : InputTexts{};
    table.shapes.push_back(texts.shapes);
    table.types.push_back(texts.types);
    table.values.push_back(texts.values);
  }
}

CaptureLoader::InputTexts CaptureLoader::input_texts(std::uint32_t id) {
  const auto [found, added] = input_texts_.try_emplace(id);
  if (added && id != 0) {
    const OperatorInputs inputs = split_inputs(reader_.name(id));
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
    out_.steps.number.push_back(step.number);
    out_.steps.thread.push_back(step.thread);
    out_.steps.begin_ns.push_back(step.time_ns);
    out_.steps.end_ns.push_back(next.time_ns);
    out_.steps.items.push_back(next.items);
  }
}

/// Which row each launch belongs to. A range that ended on another thread may be closed by a record that stood further
/// on in the file than the launches after its end: those belong to what is under it.
void CaptureLoader::add_launch_ranges() {
  const RangeTable& ranges = out_.ranges;
  for (std::size_t i = 0; i < launch_keys_.size(); ++i) {
    const std::int64_t time = out_.launches.time_ns[first_launch_ + i];
    std::uint64_t key = launch_keys_[i];
    for (; key != 0; key = under_[key - 1]) {
      const std::size_t row = first_range_ + key - 1;
      const bool elsewhere = (ranges.flags[row] & kEndedElsewhere) != 0;
      if (ranges.end_ns[row] > time || (ranges.end_ns[row] == time && !elsewhere)) break;
    }
    out_.launches.range[first_launch_ + i] = key != 0 ? static_cast<RangeIndex>(first_range_ + key - 1) : kNone;
  }
}

}  // namespace rangefinder::importer
