// SPDX-License-Identifier: MIT
#include "importer/kineto/table_builder.hpp"

#include "base/scaled_decimal.hpp"
#include "base/text.hpp"
#include "importer/kineto/json_text.hpp"
#include "importer/kineto/memory_events.hpp"
#include "timeline/call_launches.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rangefinder::importer::kineto {
namespace {

// No text has this id while a trace is read: a marker for "not interned yet".
constexpr auto kNotYet = static_cast<StringId>(0xFFFFFFFFu);
constexpr std::string_view kStepName = "ProfilerStep#";

std::int64_t external_id(const Event& event) noexcept {
  return event.arguments.has(EventArguments::kExternalId) ? event.arguments.external_id : -1;
}

std::uint64_t correlation(const Event& event) noexcept {
  return event.arguments.has(EventArguments::kCorrelation) ? static_cast<std::uint64_t>(event.arguments.correlation)
                                                           : 0;
}

std::uint64_t not_negative(std::int64_t value) noexcept { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

}  // namespace

TableBuilder::TableBuilder(Timeline& timeline, const LoadOptions& options, ImportDetails* details)
    : timeline_(timeline),
      options_(options),
      details_(details),
      tracks_(timeline),
      device_tables_(timeline),
      autograd_(timeline),
      captured_nodes_(timeline),
      collectives_(timeline) {
  category_names_.fill(kNotYet);
}

void TableBuilder::add(const Event& event, std::int64_t source_row) {
  events_ += event.phase != 0 ? 1 : 0;
  switch (event.phase) {
    case 'X':
      return add_complete(event, source_row);
    case 'B':
    case 'E':
      return add_half(event, source_row);
    case 's':
    case 't':
    case 'f':
      return add_flow(event);
    case 'i':
    case 'I':
    case 'R':
      return add_instant(event, source_row);
    case 'C':
      return add_counter(event);
    case 'M':
      return add_description(event);
    case 0:
      ++odd_.without_phase;
      return;
    default:
      return leave_out(event, Untabled::kOther);
  }
}

void TableBuilder::add_complete(const Event& event, std::int64_t source_row) {
  const std::size_t spelling = find_spelling(event.category.bytes);
  switch (category_of(spelling)) {
    case Category::kOperator:
      return add_range(event, source_row, RangeKind::kOperator, spelling);
    case Category::kAnnotation:
      return add_range(event, source_row, RangeKind::kAnnotation, spelling);
    case Category::kPythonFunction:
      return add_range(event, source_row, RangeKind::kPythonFunction, spelling);
    case Category::kRuntimeCall:
      return add_call(event, source_row, CallDomain::kRuntime);
    case Category::kDriverCall:
      return add_call(event, source_row, CallDomain::kDriver);
    case Category::kKernel:
      return add_activity(event, source_row, ActivityKind::kKernel);
    case Category::kMemcpy:
      return add_activity(event, source_row, ActivityKind::kMemcpy);
    case Category::kMemset:
      return add_activity(event, source_row, ActivityKind::kMemset);
    case Category::kSync:
      return add_sync(event, source_row);
    case Category::kOverhead:
      return add_overhead(event, source_row);
    case Category::kGpuAnnotation:
      return add_gpu_annotation(event);
    case Category::kCudaEvent:
      return leave_out(event, Untabled::kCudaEvent);
    case Category::kSpan:
      return leave_out(event, Untabled::kSpan);
    case Category::kLaunchFlow:
    case Category::kForwardBackward:
    case Category::kOther:
      return add_range(event, source_row, RangeKind::kOther, kNoSpelling);
  }
}

bool TableBuilder::interval(const Event& event, Interval& out) {
  std::int64_t duration = event.duration.ns;
  if (!event.time.usable() || !event.duration.usable() ||
      __builtin_add_overflow(event.time.ns, std::max<std::int64_t>(duration, 0), &out.end_ns)) {
    ++odd_.without_time;
    return false;
  }
  odd_.negative_durations += duration < 0 ? 1 : 0;
  odd_.rounded_times += event.time.state == EventTime::State::kRounded ? 1 : 0;
  odd_.rounded_times += event.duration.state == EventTime::State::kRounded ? 1 : 0;
  out.begin_ns = event.time.ns;
  extend_to(out.begin_ns, out.end_ns);
  return true;
}

bool TableBuilder::moment(const Event& event, std::int64_t& time_ns) {
  if (!event.time.usable()) {
    ++odd_.without_time;
    return false;
  }
  odd_.rounded_times += event.time.state == EventTime::State::kRounded ? 1 : 0;
  time_ns = event.time.ns;
  extend_to(time_ns, time_ns);
  return true;
}

void TableBuilder::extend_to(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  first_ns_ = std::min(first_ns_, begin_ns);
  last_ns_ = std::max(last_ns_, end_ns);
}

StringId TableBuilder::name_of(const RawText& text) {
  const std::uint32_t before = timeline_.string_count();
  const StringId id = timeline_.intern(meaning(text, scratch_));
  // Looked at once per name, not once per event.
  if (timeline_.string_count() != before && is_unclean(timeline_.text(id))) ++odd_.unclean_names;
  return id;
}

StringId TableBuilder::category_name(const Event& event, std::size_t spelling) {
  if (spelling == kNoSpelling) return name_of(event.category);
  StringId& id = category_names_[spelling];
  if (id == kNotYet) id = timeline_.intern(kSpellings[spelling].text);
  return id;
}

void TableBuilder::keep_arguments(const Event& event, std::int64_t source_row) {
  if (options_.keep_arguments && !event.members.empty()) timeline_.arguments.add(source_row, event.members);
}

void TableBuilder::leave_out(const Event& event, Untabled what) {
  ++left_out_[static_cast<std::size_t>(what)];
  if (static_cast<std::size_t>(what) >= kRemade) keep_event(event);
}

void TableBuilder::keep_event(const Event& event) {
  if (!options_.keep_arguments) return;
  constexpr std::uint64_t kPerText = 2 * sizeof(ForeignEvent) + 16;  // a vector's reserve, and malloc's header
  timeline_.foreign.push_back({std::string(event.json)});
  foreign_bytes_ += event.json.size() + kPerText;
}

void TableBuilder::add_range(const Event& event, std::int64_t source_row, RangeKind kind, std::size_t spelling) {
  Interval times;
  if (!interval(event, times)) return;
  const bool unfinished = event.arguments.has(EventArguments::kUnfinished);
  const ThreadIndex thread = tracks_.thread(event);
  timeline_.health.unfinished_ranges += unfinished ? 1 : 0;
  const bool suspended = event.arguments.has(EventArguments::kSuspended) && event.arguments.suspended != 0;
  std::int64_t opened_ns = 0, run_ns = 0;
  const bool resumed = event.arguments.has(EventArguments::kOpenedAgo) && event.arguments.opened_ago >= 0 &&
                       !__builtin_sub_overflow(times.begin_ns, event.arguments.opened_ago, &opened_ns) &&
                       !__builtin_sub_overflow(times.end_ns, opened_ns, &run_ns);
  timeline_.ranges.append({.name = name_of(event.name),
                           .category = category_name(event, spelling),
                           .kind = kind,
                           .flags = static_cast<std::uint8_t>((unfinished ? kUnfinished : 0) |
                                                              (suspended ? kSuspended : 0) | (resumed ? kResumed : 0)),
                           .thread = thread,
                           .end_thread = thread,
                           .begin_ns = times.begin_ns,
                           .end_ns = times.end_ns,
                           .source_row = source_row,
                           .external_id = external_id(event),
                           .opened_ns = resumed ? opened_ns : kNoTime});
  keep_arguments(event, source_row);
  if (kind == RangeKind::kOperator || kind == RangeKind::kAnnotation)
    collectives_.add_slice(event, thread, times.begin_ns, times.end_ns);
  if (kind == RangeKind::kOperator) {
    autograd_.add(event.arguments, event.name.bytes);
    add_operator(event.arguments);
  }
  if (event.name.bytes.starts_with(kStepName)) add_step(event, thread, times);
}

/// Of the last range.
void TableBuilder::add_operator(const EventArguments& arguments) {
  using F = EventArguments;
  const bool wants_texts = options_.operator_inputs && arguments.has(F::kInputs);
  if (!wants_texts && !arguments.has(F::kSequence)) return;
  // Equal shapes are equal texts, however the file is indented.
  const auto text = [&](std::string_view list) {
    if (!wants_texts) return StringId::kEmpty;
    scratch_.clear();
    base::append_compact_json(scratch_, list);
    return timeline_.intern(scratch_);
  };
  timeline_.operators.append(
      {.range = static_cast<RangeIndex>(timeline_.ranges.size() - 1),
       .sequence = arguments.has(F::kSequence) ? std::max<std::int64_t>(arguments.sequence, -1) : -1,
       .forward_thread_id = arguments.has(F::kForwardThread) ? not_negative(arguments.forward_thread) : 0,
       .shapes = text(arguments.input_shapes),
       .types = text(arguments.input_types),
       .values = text(arguments.input_values)});
}

void TableBuilder::add_step(const Event& event, ThreadIndex thread, const Interval& times) {
  const std::string_view number = event.name.bytes.substr(kStepName.size());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return;
  timeline_.steps.append(
      {.number = value,
       .thread = thread,
       .begin_ns = times.begin_ns,
       .end_ns = times.end_ns,
       .items = event.arguments.has(EventArguments::kItems) ? not_negative(event.arguments.items) : 0});
}

void TableBuilder::add_call(const Event& event, std::int64_t source_row, CallDomain domain) {
  Interval times;
  if (!interval(event, times)) return;
  CallTable& calls = timeline_.calls;
  calls.append({.name = name_of(event.name),
                .domain = domain,
                .thread = tracks_.thread(event),
                .begin_ns = times.begin_ns,
                .end_ns = times.end_ns,
                .correlation = correlation(event),
                .external_id = external_id(event),
                .source_row = source_row});
  keep_arguments(event, source_row);
}

void TableBuilder::add_activity(const Event& event, std::int64_t source_row, ActivityKind kind) {
  using F = EventArguments;
  Interval times;
  if (!interval(event, times)) {
    ++timeline_.health.invalid_activities;
    return;
  }
  const EventArguments& arguments = event.arguments;
  if (kind == ActivityKind::kKernel && arguments.has(F::kGraphLaunch)) kind = ActivityKind::kGraph;
  const StringId name = name_of(event.name);
  const bool estimated = kind == ActivityKind::kGraph && meaning(arguments.graph_launch, scratch_) == "estimated part";
  timeline_.activities.append(
      {.kind = kind,
       .name = name,
       .stream = tracks_.stream(event),
       .begin_ns = times.begin_ns,
       .end_ns = times.end_ns,
       .correlation = correlation(event),
       .bytes = kind != ActivityKind::kKernel && arguments.has(F::kBytes) ? not_negative(arguments.bytes) : 0,
       .detail = kind == ActivityKind::kKernel  ? device_tables_.kernel_detail(arguments)
                 : kind == ActivityKind::kGraph ? kNone
                                                : device_tables_.copy_detail(name, arguments),
       .graph_node = arguments.has(F::kGraphNode) ? not_negative(arguments.graph_node) : 0,
       .graph = arguments.has(F::kGraph) ? static_cast<std::uint32_t>(not_negative(arguments.graph)) : 0,
       .external_id = external_id(event),
       .source_row = source_row,
       .estimated = estimated});
  captured_nodes_.add(arguments);
  if (kind == ActivityKind::kKernel)
    collectives_.add_kernel(event, static_cast<ActivityIndex>(timeline_.activities.size() - 1));
  keep_arguments(event, source_row);
}

void TableBuilder::add_sync(const Event& event, std::int64_t source_row) {
  using F = EventArguments;
  Interval times;
  if (!interval(event, times)) return;
  const EventArguments& arguments = event.arguments;
  const std::uint32_t by_argument =
      arguments.has(F::kSyncKind) ? sync_type_of_name(meaning(arguments.sync_kind, scratch_)) : 0;
  // -1 stands for "none": a wait for an event or a context is on no stream.
  const std::int64_t stream = arguments.has(F::kStream) ? arguments.stream : event.thread.number;
  const bool on_device = arguments.has(F::kDevice) ? arguments.device >= 0 : event.process.number >= 0;
  const bool knows_event = on_device && arguments.has(F::kEventStream) && arguments.event_stream >= 0;
  const auto context = arguments.has(F::kContext) ? static_cast<std::uint32_t>(arguments.context) : 0;
  timeline_.syncs.append(
      {.type = by_argument != 0 ? by_argument : sync_type_of_name(meaning(event.name, scratch_)),
       .stream = on_device && stream >= 0 ? tracks_.stream(event) : kNone,
       .device = on_device ? tracks_.device_of(event) : kNone,
       .begin_ns = times.begin_ns,
       .end_ns = times.end_ns,
       .correlation = correlation(event),
       .source_row = source_row,
       .event_stream =
           knows_event ? tracks_.stream(tracks_.device_of(event), context, arguments.event_stream) : kNone});
  keep_arguments(event, source_row);
}

void TableBuilder::add_overhead(const Event& event, std::int64_t source_row) {
  Interval times;
  if (!interval(event, times)) return;
  OverheadTable& overheads = timeline_.overheads;
  overheads.append({.name = name_of(event.name),
                    .thread = tracks_.thread_or_none(event),
                    .begin_ns = times.begin_ns,
                    .end_ns = times.end_ns,
                    .source_row = source_row});
  keep_arguments(event, source_row);
}

void TableBuilder::add_gpu_annotation(const Event& event) {
  leave_out(event, Untabled::kGpuAnnotation);
  if (details_ == nullptr || !details_->keep_gpu_annotations) return;
  if (!event.time.usable() || !event.duration.usable()) return;
  GpuAnnotation row;
  row.name = meaning(event.name, scratch_);
  row.device = tracks_.device_of(event);
  row.stream = event.thread.number;
  row.begin_ns = event.time.ns;
  if (__builtin_add_overflow(event.time.ns, event.duration.ns, &row.end_ns)) return;
  row.external_id = external_id(event);
  details_->gpu_annotations.push_back(std::move(row));
}

void TableBuilder::add_instant(const Event& event, std::int64_t source_row) {
  if (is_memory_event(event.name.bytes)) return add_memory(event, source_row);
  // "Iteration Start" and "Record Window End" stand on tracks that are words, or on none.
  if (!event.process.is_number()) return leave_out(event, Untabled::kMarker);
  std::int64_t time_ns = 0;
  if (!moment(event, time_ns)) return;
  MarkTable& marks = timeline_.marks;
  marks.append({.name = name_of(event.name),
                .category = name_of(event.category),
                .thread = tracks_.thread(event),
                .time_ns = time_ns,
                .source_row = source_row});
  keep_arguments(event, source_row);
}

/// A row of a table, and kept as it is for an export, since the table does not have all of it.
void TableBuilder::add_memory(const Event& event, std::int64_t source_row) {
  if (!event.process.is_number() ||
      !add_memory_event(event, tracks_.thread(event), source_row, timeline_.allocator_events))
    return leave_out(event, Untabled::kMemory);
  keep_event(event);
}

void TableBuilder::add_counter(const Event& event) {
  std::int64_t time_ns = 0;
  if (event.arguments_at == nullptr || !moment(event, time_ns)) return leave_out(event, Untabled::kOther);
  const ThreadIndex thread = tracks_.thread(event);
  Cursor cursor{event.arguments_at, event.json.data() + event.json.size(), ""};
  const char* at = cursor.at;
  const std::string series(meaning(event.name, scratch_));
  for_each_member(cursor, at, [&](const RawText& key, const char*& value) {
    const char* const begin = value;
    const Scan scan = skip_value(cursor, value, 0);
    std::string_view token(begin, static_cast<std::size_t>(value - begin));
    if (token.size() > 1 && token.front() == '"') token = token.substr(1, token.size() - 2);
    const base::ScaledDecimal integer = base::scaled_decimal(token, 0);
    double number = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
    if (error != std::errc() || end != token.data() + token.size() || !std::isfinite(number)) {
      ++odd_.counter_words;
      return scan;
    }
    std::string key_scratch;
    const std::string_view label = meaning(key, key_scratch);
    const bool named_by_event = label == "value" || label == series;
    timeline_.counters.append({.name = timeline_.intern(named_by_event ? series : series + ": " + std::string(label)),
                               .thread = thread,
                               .time_ns = time_ns,
                               .number = number,
                               .integer = integer.value,
                               .is_integer = integer.valid && !integer.rounded});
    return scan;
  });
}

void TableBuilder::add_half(const Event& event, std::int64_t source_row) {
  if (!event.time.usable()) {
    ++odd_.without_time;
    return;
  }
  extend_to(event.time.ns, event.time.ns);
  pairs_.add(event, tracks_.thread(event), source_row);
}

void TableBuilder::add_flow(const Event& event) {
  switch (category_of(find_spelling(event.category.bytes))) {
    case Category::kLaunchFlow:
      return leave_out(event, Untabled::kLaunchFlow);
    case Category::kForwardBackward:
      return leave_out(event, Untabled::kForwardBackward);
    default:
      return leave_out(event, Untabled::kOther);
  }
}

void TableBuilder::add_description(const Event& event) {
  const std::string_view name = event.name.bytes;
  if (name == "process_name") {
    tracks_.name_process(event);
  } else if (name == "thread_name") {
    tracks_.name_thread(event);
  } else if (name != "process_labels" && name != "process_sort_index" && name != "thread_sort_index") {
    return leave_out(event, Untabled::kOther);
  }
  leave_out(event, Untabled::kDescription);
}

void TableBuilder::finish() {
  finish_pairs();
  tracks_.finish();
  autograd_.finish();
  timeline::make_launches_of_calls(timeline_, timeline::CorrelationScope::kFile);
  captured_nodes_.finish();
  collectives_.finish();
  timeline_.arguments.sort();
  if (first_ns_ <= last_ns_) {
    timeline_.begin_ns = first_ns_;
    timeline_.end_ns = last_ns_;
  }
  finish_notes();
}

void TableBuilder::finish_pairs() {
  const auto complete = [&](const Event& event, std::int64_t source_row) { add_complete(event, source_row); };
  timeline_.health.unmatched_ends += pairs_.pair_up(last_ns_, complete);
}

void TableBuilder::finish_notes() {
  static constexpr std::array<std::string_view, kUntabled> kNames{
      "launch flows",   "GPU annotation rows", "track descriptions", "memory instants", "forward-backward links",
      "profiler spans", "recording markers",   "CUDA event rows",    "other events"};
  std::string left_out;
  for (std::size_t i = 0; i < (options_.keep_arguments ? kRemade : kUntabled); ++i) {
    if (left_out_[i] == 0) continue;
    left_out += (left_out.empty() ? "" : ", ") + base::with_thousands(left_out_[i]) + " " + std::string(kNames[i]);
  }
  if (!left_out.empty()) timeline_.notes.push_back("not kept: " + left_out);

  const auto note = [&](std::uint64_t count, std::string_view text) {
    if (count != 0) timeline_.notes.push_back(base::with_thousands(count) + " " + std::string(text));
  };
  note(odd_.not_events, "elements of traceEvents are no objects; skipped");
  note(odd_.without_phase, "events have no phase (ph); skipped");
  note(odd_.without_time, "events have no time that can be used (ts, dur); skipped");
  note(odd_.negative_durations, "durations are negative; taken as 0");
  note(odd_.rounded_times, "times have digits below a nanosecond; rounded, half to even");
  note(odd_.unclean_names, "names hold control bytes or are not UTF-8; kept as they are");
  note(odd_.counter_words, "counter values are no numbers; skipped");
  if (tracks_.calling_processes() > 1)
    note(tracks_.calling_processes(),
         "processes call the device in this file; correlation ids are taken as common to all");
}

}  // namespace rangefinder::importer::kineto
