// SPDX-License-Identifier: MIT
#include "importer/kineto/event.hpp"

#include "base/scaled_decimal.hpp"
#include "importer/kineto/decimal.hpp"

#include <algorithm>
#include <cstring>

namespace rangefinder::importer::kineto {
std::uint32_t clamp_to_32(std::int64_t value) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 0xFFFFFFFF));
}

namespace {

// Brackets open around the members of an event and of its args: the trace, traceEvents, the event, args.
constexpr unsigned kEventDepth = 3;
constexpr unsigned kArgumentDepth = 4;

/// The first eight bytes of a name as a number: one comparison finds a key among many.
constexpr std::uint64_t pack(std::string_view text) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8 && i < text.size(); ++i)
    out |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return out;
}

std::uint64_t packed(std::string_view key) noexcept {
  std::uint64_t out = 0;
  std::memcpy(&out, key.data(), sizeof out);  // behind every window stand kPadding bytes
  return key.size() >= 8 ? out : key.empty() ? 0 : out & (~std::uint64_t{0} >> (64 - 8 * key.size()));
}

/// The text of a number or word, quoted or not; an empty text for arrays and objects, which are skipped.
Scan read_token(Cursor& cursor, const char*& at, unsigned depth, std::string_view& token) noexcept {
  token = {};
  const char* const begin = at;
  if (*at == '"') {
    RawText text;
    const Scan scan = read_string(cursor, at, text);
    if (scan == Scan::kOk && !text.escaped) token = text.bytes;
    return scan;
  }
  const bool composite = *at == '{' || *at == '[';
  const Scan scan = skip_value(cursor, at, depth);
  if (scan == Scan::kOk && !composite) token = {begin, static_cast<std::size_t>(at - begin)};
  return scan;
}

[[gnu::noinline]] Scan read_unusual_time(Cursor& cursor, const char*& at, unsigned depth, EventTime& out) noexcept {
  std::string_view token;
  const Scan scan = read_token(cursor, at, depth, token);
  if (scan != Scan::kOk) return scan;
  const base::ScaledDecimal decimal = base::scaled_decimal(token, 3);
  out.ns = decimal.value;
  out.state = token == "null"   ? EventTime::State::kAbsent
              : !decimal.valid  ? EventTime::State::kUnusable
              : decimal.rounded ? EventTime::State::kRounded
                                : EventTime::State::kExact;
  return Scan::kOk;
}

inline Scan read_time(Cursor& cursor, const char*& at, unsigned depth, EventTime& out) noexcept {
  const char* const end = read_plain_micros(at, out.ns);
  if (end == nullptr) return read_unusual_time(cursor, at, depth, out);
  if (end >= cursor.end) return Scan::kMore;
  out.state = EventTime::State::kExact;
  at = end;
  return Scan::kOk;
}

[[gnu::noinline]] Scan read_unusual_integer(Cursor& cursor, const char*& at, unsigned depth, std::int64_t& out,
                                            bool& found) noexcept {
  std::string_view token;
  const Scan scan = read_token(cursor, at, depth, token);
  const base::ScaledDecimal decimal = base::scaled_decimal(token, 0);
  found = decimal.valid && !decimal.rounded;
  if (found) out = decimal.value;
  return scan;
}

/// Whole numbers in any spelling; what is none of them leaves `found` false.
inline Scan read_integer(Cursor& cursor, const char*& at, unsigned depth, std::int64_t& out, bool& found) noexcept {
  const char* const end = read_plain_integer(at, out);
  if (end == nullptr) return read_unusual_integer(cursor, at, depth, out, found);
  if (end >= cursor.end) return Scan::kMore;
  found = true;
  at = end;
  return Scan::kOk;
}

Scan read_track_id(Cursor& cursor, const char*& at, TrackId& id) noexcept {
  const bool quoted = *at == '"';
  RawText text;
  if (quoted) {
    if (const Scan scan = read_string(cursor, at, text); scan != Scan::kOk) return scan;
    const base::ScaledDecimal decimal = base::scaled_decimal(text.bytes, 0);
    const bool number = decimal.valid && !decimal.rounded;
    id.form = number ? TrackId::Form::kNumber : TrackId::Form::kText;
    id.number = decimal.value;
    id.text = text;
    return Scan::kOk;
  }
  bool found = false;
  const Scan scan = read_integer(cursor, at, kEventDepth, id.number, found);
  id.form = found ? TrackId::Form::kNumber : TrackId::Form::kAbsent;
  return scan;
}

/// A string; anything else is skipped and leaves the text empty.
Scan read_text(Cursor& cursor, const char*& at, unsigned depth, RawText& out) noexcept {
  if (*at == '"') return read_string(cursor, at, out);
  out = {};
  return skip_value(cursor, at, depth);
}

/// [x, y, z]; fewer leave zeros, more are ignored.
Scan read_triple(Cursor& cursor, const char*& at, std::uint32_t (&out)[3], bool& found) noexcept {
  found = *at == '[';
  if (!found) return skip_value(cursor, at, kArgumentDepth);
  std::size_t count = 0;
  std::fill(std::begin(out), std::end(out), 0u);
  return for_each_element(cursor, at, [&](const char*& element) {
    std::int64_t value = 0;
    bool number = false;
    const Scan scan = read_integer(cursor, element, kArgumentDepth + 1, value, number);
    if (number && count < 3) out[count++] = clamp_to_32(value);
    return scan;
  });
}

/// "false", false: a range that was still open when the recording stopped.
Scan read_finished(Cursor& cursor, const char*& at, EventArguments& out) noexcept {
  std::string_view token;
  const Scan scan = read_token(cursor, at, kArgumentDepth, token);
  if (token == "false" || token == "False") out.present |= EventArguments::kUnfinished;
  return scan;
}

EventStep member_step(std::string_view key) noexcept {
  switch (packed(key)) {
    case pack("ph"):
      return EventStep::kPhase;
    case pack("cat"):
      return EventStep::kCategory;
    case pack("name"):
      return EventStep::kName;
    case pack("pid"):
      return EventStep::kProcess;
    case pack("tid"):
      return EventStep::kThread;
    case pack("ts"):
      return EventStep::kTime;
    case pack("dur"):
      return EventStep::kDuration;
    case pack("args"):
      return EventStep::kOpenArguments;
    default:
      return EventStep::kOtherMember;
  }
}

struct ArgumentKey {
  std::string_view text;
  EventStep step;
};

constexpr ArgumentKey kArgumentKeys[] = {
    {"External id", EventStep::kExternalId},
    {"external id", EventStep::kOldExternalId},
    {"correlation", EventStep::kCorrelation},
    {"device", EventStep::kDevice},
    {"stream", EventStep::kStream},
    {"context", EventStep::kContext},
    {"bytes", EventStep::kBytes},
    {"registers per thread", EventStep::kRegisters},
    {"shared memory", EventStep::kSharedMemory},
    {"graph id", EventStep::kGraph},
    {"graph node id", EventStep::kGraphNode},
    {"fromDevice", EventStep::kFromDevice},
    {"toDevice", EventStep::kToDevice},
    {"Sequence number", EventStep::kSequence},
    {"Fwd thread id", EventStep::kForwardThread},
    {"items", EventStep::kItems},
    {"suspended", EventStep::kSuspended},
    {"opened ns ago", EventStep::kOpenedAgo},
    {"wait_on_stream", EventStep::kEventStream},
    {"Forward ts", EventStep::kForwardTime},
    {"Captured tid", EventStep::kCapturedThread},
    {"Captured ts", EventStep::kCapturedTime},
    {"Captured in", EventStep::kCapturedRanges},
    {"graph launch", EventStep::kGraphLaunch},
    {"grid", EventStep::kGrid},
    {"block", EventStep::kBlock},
    {"cuda_sync_kind", EventStep::kSyncKind},
    {"name", EventStep::kArgumentName},
    {"finished", EventStep::kFinished},
    {"Input Dims", EventStep::kInputShapes},
    {"Input dims", EventStep::kInputShapes},
    {"Input type", EventStep::kInputTypes},
    {"Concrete Inputs", EventStep::kInputValues},
};

EventStep argument_step(std::string_view key) noexcept {
  for (const ArgumentKey& known : kArgumentKeys) {
    if (known.text == key) return known.step;
  }
  return EventStep::kOtherArgument;
}

/// Finds out what stands at `at`, behind a value or an opening bracket, and moves to the value or behind the bracket.
Scan find_step(Cursor& cursor, const char*& at, bool in_arguments, bool opened, EventStep& step) noexcept {
  const char* place = skip_space(at);
  if (!opened && *place == ',') {
    place = skip_space(place + 1);
    opened = true;  // a name must follow; a brace may
  }
  if (*place == '}') {
    step = in_arguments ? EventStep::kCloseArguments : EventStep::kCloseEvent;
    at = place + 1;
    return Scan::kOk;
  }
  if (*place != '"' || !opened)
    return unexpected(cursor, place, opened ? "a member's name in quotes" : "a comma or a closing brace");
  RawText key;
  if (const Scan scan = read_key(cursor, place, key); scan != Scan::kOk) return scan;
  if (place >= cursor.end) return Scan::kMore;
  step = in_arguments ? argument_step(key.bytes) : member_step(key.bytes);
  if (step == EventStep::kOpenArguments) {
    if (*place == '{') {
      ++place;
    } else {
      step = EventStep::kNoArguments;
    }
  }
  at = place;
  return Scan::kOk;
}

std::string_view trimmed(const char* begin, const char* end) noexcept {
  while (begin != end && is_space(*begin)) ++begin;
  while (begin != end && is_space(end[-1])) --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Where a whole number belongs, by its step.
struct NumberPlace {
  std::int64_t EventArguments::*value;
  std::uint32_t present;
};

constexpr NumberPlace kNumberPlaces[] = {
    {&EventArguments::external_id, EventArguments::kExternalId | EventArguments::kCurrentExternalId},
    {&EventArguments::correlation, EventArguments::kCorrelation},
    {&EventArguments::device, EventArguments::kDevice},
    {&EventArguments::stream, EventArguments::kStream},
    {&EventArguments::context, EventArguments::kContext},
    {&EventArguments::bytes, EventArguments::kBytes},
    {&EventArguments::registers, EventArguments::kRegisters},
    {&EventArguments::shared_memory, EventArguments::kSharedMemory},
    {&EventArguments::graph, EventArguments::kGraph},
    {&EventArguments::graph_node, EventArguments::kGraphNode},
    {&EventArguments::from_device, EventArguments::kFromDevice},
    {&EventArguments::to_device, EventArguments::kToDevice},
    {&EventArguments::sequence, EventArguments::kSequence},
    {&EventArguments::forward_thread, EventArguments::kForwardThread},
    {&EventArguments::items, EventArguments::kItems},
    {&EventArguments::suspended, EventArguments::kSuspended},
    {&EventArguments::opened_ago, EventArguments::kOpenedAgo},
    {&EventArguments::captured_thread, EventArguments::kCapturedThread},
    {&EventArguments::event_stream, EventArguments::kEventStream},
};
constexpr std::size_t kNumbers = std::size(kNumberPlaces);
static_assert(static_cast<std::size_t>(EventStep::kEventStream) - static_cast<std::size_t>(EventStep::kExternalId) +
                  1 ==
              kNumbers);

inline Scan read_number(Cursor& cursor, const char*& at, const NumberPlace& place, EventArguments& out) noexcept {
  bool found = false;
  std::int64_t number = 0;
  const Scan scan = read_integer(cursor, at, kArgumentDepth, number, found);
  if (found) {
    out.present |= place.present;
    out.*place.value = number;
  }
  return scan;
}

Scan triple_argument(Cursor& cursor, const char*& at, EventArguments& out, std::uint32_t field,
                     std::uint32_t (&value)[3]) noexcept {
  bool found = false;
  const Scan scan = read_triple(cursor, at, value, found);
  if (found) out.present |= field;
  return scan;
}

Scan text_argument(Cursor& cursor, const char*& at, EventArguments& out, std::uint32_t field, RawText& value) noexcept {
  out.present |= field;
  return read_text(cursor, at, kArgumentDepth, value);
}

/// Whatever it is, as it stands in the text.
Scan raw_argument(Cursor& cursor, const char*& at, EventArguments& out, std::uint32_t field,
                  std::string_view& value) noexcept {
  const char* const from = at;
  const Scan scan = skip_value(cursor, at, kArgumentDepth);
  if (scan != Scan::kOk) return scan;
  out.present |= field;
  value = trimmed(from, at);
  return scan;
}

Scan input_argument(Cursor& cursor, const char*& at, EventArguments& out,
                    std::string_view EventArguments::*value) noexcept {
  const char* const from = at;
  const Scan scan = skip_value(cursor, at, kArgumentDepth);
  if (scan != Scan::kOk) return scan;
  if (!out.has(EventArguments::kInputs)) out.input_shapes = out.input_types = out.input_values = {};
  out.present |= EventArguments::kInputs;
  out.*value = trimmed(from, at);
  return scan;
}

/// The value of an argument that is no plain number.
Scan read_argument(Cursor& cursor, const char*& at, EventStep step, EventArguments& out) noexcept {
  using F = EventArguments;
  switch (step) {
    case EventStep::kOldExternalId:
      return out.has(F::kCurrentExternalId)
                 ? skip_value(cursor, at, kArgumentDepth)
                 : read_number(cursor, at, {&EventArguments::external_id, F::kExternalId}, out);
    case EventStep::kGrid:
      return triple_argument(cursor, at, out, F::kGrid, out.grid);
    case EventStep::kBlock:
      return triple_argument(cursor, at, out, F::kBlock, out.block);
    case EventStep::kSyncKind:
      return text_argument(cursor, at, out, F::kSyncKind, out.sync_kind);
    case EventStep::kArgumentName:
      return text_argument(cursor, at, out, F::kName, out.name);
    case EventStep::kFinished:
      return read_finished(cursor, at, out);
    case EventStep::kForwardTime:
      out.present |= F::kForwardTime;
      return read_time(cursor, at, kArgumentDepth, out.forward_time);
    case EventStep::kCapturedTime:
      out.present |= F::kCapturedTime;
      return read_time(cursor, at, kArgumentDepth, out.captured_time);
    case EventStep::kGraphLaunch:
      return text_argument(cursor, at, out, F::kGraphLaunch, out.graph_launch);
    case EventStep::kCapturedRanges:
      return raw_argument(cursor, at, out, F::kCapturedRanges, out.captured_ranges);
    case EventStep::kInputShapes:
      return input_argument(cursor, at, out, &F::input_shapes);
    case EventStep::kInputTypes:
      return input_argument(cursor, at, out, &F::input_types);
    case EventStep::kInputValues:
      return input_argument(cursor, at, out, &F::input_values);
    default:
      return skip_value(cursor, at, kArgumentDepth);
  }
}

/// What stands behind a stretch: the value of a member, or nothing behind a bracket.
inline Scan read_value(Cursor& cursor, const char*& at, EventStep step, Event& event) noexcept {
  const auto number = static_cast<std::size_t>(step) - static_cast<std::size_t>(EventStep::kExternalId);
  if (number < kNumbers) return read_number(cursor, at, kNumberPlaces[number], event.arguments);
  switch (step) {
    case EventStep::kName:
      return read_text(cursor, at, kEventDepth, event.name);
    case EventStep::kProcess:
      return read_track_id(cursor, at, event.process);
    case EventStep::kThread:
      return read_track_id(cursor, at, event.thread);
    case EventStep::kTime:
      return read_time(cursor, at, kEventDepth, event.time);
    case EventStep::kDuration:
      return read_time(cursor, at, kEventDepth, event.duration);
    case EventStep::kOtherMember:
    case EventStep::kNoArguments:
      return skip_value(cursor, at, kEventDepth);
    case EventStep::kOtherArgument:
      return skip_value(cursor, at, kArgumentDepth);
    case EventStep::kOpenArguments:
      event.arguments_at = at - 1;
      return Scan::kOk;
    case EventStep::kCloseArguments:
      event.members = trimmed(event.arguments_at + 1, at - 1);
      return Scan::kOk;
    case EventStep::kCloseEvent:
      return Scan::kOk;
    default:
      return read_argument(cursor, at, step, event.arguments);
  }
}

void store_kind(Event& event, EventStep step, const RawText& value) noexcept {
  if (step == EventStep::kPhase) {
    event.phase = value.bytes.size() == 1 ? value.bytes.front() : '\0';
  } else {
    event.category = value;
  }
}

void clear(Event& event) noexcept {
  event.phase = 0;
  event.category = event.name = {};
  event.process.form = event.thread.form = TrackId::Form::kAbsent;
  event.time.state = event.duration.state = EventTime::State::kAbsent;
  event.members = {};
  event.arguments_at = nullptr;
  event.arguments.present = 0;
}

}  // namespace

Scan EventReader::read(Cursor& cursor, Event& event) noexcept {
  clear(event);
  if (*cursor.at != '{') return unexpected(cursor, cursor.at, "an object");
  const char* at = cursor.at + 1;
  LayoutMemory::Node node = layouts_.root();
  EventStep step = EventStep::kOpenEvent;
  bool in_arguments = false;
  while (step != EventStep::kCloseEvent) {
    Scan scan = Scan::kOk;
    if (const LayoutMemory::Node next = LayoutMemory::follow(node, at); next != nullptr) [[likely]] {
      const char* const from = at;
      node = next;
      step = next->step;
      at += next->length;
      if (step <= EventStep::kCategory) {
        const char* const value = from + next->value_at;
        store_kind(event, step, {{value + 1, static_cast<std::size_t>(at - value - 2)}, false});
      } else {
        scan = read_value(cursor, at, step, event);
      }
    } else {
      Place place{at, node, step, in_arguments};
      scan = take_new_stretch(cursor, place, event);
      at = place.at;
      node = place.node;
      step = place.step;
    }
    if (scan != Scan::kOk) [[unlikely]]
      return scan;
    if (step == EventStep::kOpenArguments) in_arguments = true;
    if (step == EventStep::kCloseArguments) in_arguments = false;
  }
  event.json = {cursor.at, static_cast<std::size_t>(at - cursor.at)};
  cursor.at = at;
  return Scan::kOk;
}

/// Takes the text apart, and remembers how it was laid out.
[[gnu::noinline]] Scan EventReader::take_new_stretch(Cursor& cursor, Place& place, Event& event) noexcept {
  const char* const from = place.at;
  const bool opened = place.step == EventStep::kOpenEvent || place.step == EventStep::kOpenArguments;
  if (const Scan scan = find_step(cursor, place.at, place.in_arguments, opened, place.step); scan != Scan::kOk)
    return scan;
  const char* const value = place.at;
  if (place.step > EventStep::kCategory) {
    // What stands before args that are no object also stands before args that are one.
    const bool telling = place.step != EventStep::kNoArguments;
    place.node = telling ? layouts_.learn(place.node, from, value, place.step, value) : nullptr;
    return read_value(cursor, place.at, place.step, event);
  }
  // The value is part of the stretch, unless it has to be looked at anew each time.
  RawText text;
  if (const Scan scan = read_text(cursor, place.at, kEventDepth, text); scan != Scan::kOk) return scan;
  const bool plain = *value == '"' && !text.escaped;
  place.node = plain ? layouts_.learn(place.node, from, place.at, place.step, value) : nullptr;
  store_kind(event, place.step, text);
  return Scan::kOk;
}

bool trailing_number(std::string_view text, std::int64_t& number) noexcept {
  std::size_t begin = text.size();
  while (begin != 0 && is_digit(text[begin - 1])) --begin;
  if (begin == text.size()) return false;
  const base::ScaledDecimal decimal = base::scaled_decimal(text.substr(begin), 0);
  if (decimal.valid) number = decimal.value;
  return decimal.valid;
}

}  // namespace rangefinder::importer::kineto
