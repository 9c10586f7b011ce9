// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/layout_memory.hpp"
#include "importer/kineto/scan.hpp"

#include <cstdint>
#include <string_view>

namespace rangefinder::importer::kineto {

/// A process or thread id. Kineto writes numbers, numbers as text ("25738"), and words ("Spans", "stream 7").
struct TrackId {
  enum class Form : std::uint8_t { kAbsent, kNumber, kText } form = Form::kAbsent;
  std::int64_t number = 0;
  RawText text;  ///< with kText

  bool is_number() const noexcept { return form == Form::kNumber; }
};

/// A number that fits a column of 32 bits, or the nearest that does.
std::uint32_t clamp_to_32(std::int64_t value) noexcept;

struct EventTime {
  enum class State : std::uint8_t { kAbsent, kExact, kRounded, kUnusable } state = State::kAbsent;
  std::int64_t ns = 0;

  bool usable() const noexcept { return state == State::kExact || state == State::kRounded; }
};

/// The members of `args` that some table has a column for. A bit of `present` says which were there.
struct EventArguments {
  enum Field : std::uint32_t {
    kExternalId = 1u << 0,
    kCorrelation = 1u << 1,
    kDevice = 1u << 2,
    kStream = 1u << 3,
    kContext = 1u << 4,
    kBytes = 1u << 5,
    kRegisters = 1u << 6,
    kSharedMemory = 1u << 7,
    kGraph = 1u << 8,
    kGraphNode = 1u << 9,
    kFromDevice = 1u << 10,
    kToDevice = 1u << 11,
    kGrid = 1u << 12,
    kBlock = 1u << 13,
    kSyncKind = 1u << 14,
    kName = 1u << 15,
    kUnfinished = 1u << 16,
    kCurrentExternalId = 1u << 17,  ///< the spelling since torch 1.12, which wins over the older one
    kSequence = 1u << 18,
    kForwardThread = 1u << 19,
    kInputs = 1u << 20,  ///< any of the three
    kForwardTime = 1u << 21,
    kItems = 1u << 22,
    kCapturedThread = 1u << 23,
    kCapturedTime = 1u << 24,
    kEventStream = 1u << 25,
    kCapturedRanges = 1u << 26,
    kGraphLaunch = 1u << 27,
    kSuspended = 1u << 28,
    kOpenedAgo = 1u << 29,
  };
  std::uint32_t present = 0;
  std::int64_t external_id = 0;
  std::int64_t correlation = 0;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::int64_t context = 0;
  std::int64_t bytes = 0;
  std::int64_t registers = 0;
  std::int64_t shared_memory = 0;
  std::int64_t graph = 0;
  std::int64_t graph_node = 0;
  std::int64_t sequence = 0;        ///< autograd's: of the node that runs, or of the next one that the thread makes
  std::int64_t forward_thread = 0;  ///< LibTorch's number of the thread that made the node; 0: no node runs
  std::int64_t items = 0;           ///< our own exports alone: of a step
  std::int64_t suspended = 0;       ///< likewise: 1: the range goes on in a later slice
  std::int64_t opened_ago = 0;      ///< there, the nanoseconds since the first slice of the range began
  std::int64_t event_stream = 0;    ///< of a wait: where the event was recorded; -1: not known
  /// Our own exports alone: when the node was made, absent where that is not known. forward_thread is a tid then.
  EventTime forward_time;
  /// Likewise: where a graph's node was made.
  std::int64_t captured_thread = 0;  ///< a tid
  EventTime captured_time;
  std::string_view captured_ranges;  ///< a list of names, outer ones first, where no events show these ranges
  std::int64_t from_device = 0;
  std::int64_t to_device = 0;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
  // Of an operator's inputs, as they stand in the text; empty where they are not there.
  std::string_view input_shapes;
  std::string_view input_types;
  std::string_view input_values;
  RawText sync_kind;
  RawText graph_launch;  ///< our own exports alone: "whole", "estimated part"
  RawText name;

  bool has(Field field) const noexcept { return (present & field) != 0; }
};

/// One event as it stands in the text; views into the window, gone with the next one.
struct Event {
  char phase = 0;  ///< 0: none
  RawText category;
  RawText name;
  TrackId process;
  TrackId thread;
  EventTime time;
  EventTime duration;
  std::string_view json;               ///< the whole object
  std::string_view members;            ///< of args, without its braces
  const char* arguments_at = nullptr;  ///< where args' value begins; null: none
  EventArguments arguments;
};

/// Reads events; the more alike they are, the faster.
class EventReader {
 public:
  /// The object at `cursor.at`. On anything but kOk the event is meaningless, and on kMore the cursor has not moved.
  Scan read(Cursor& cursor, Event& event) noexcept;

 private:
  /// Where in an event the reader is.
  struct Place {
    const char* at;
    LayoutMemory::Node node;
    EventStep step;  ///< the last one; kOpenEvent at the beginning
    bool in_arguments;
  };
  Scan take_new_stretch(Cursor& cursor, Place& place, Event& event) noexcept;

  LayoutMemory layouts_;
};

/// The number at the end of a text such as "stream 7" or "25738".
bool trailing_number(std::string_view text, std::int64_t& number) noexcept;

}  // namespace rangefinder::importer::kineto
