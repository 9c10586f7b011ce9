// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/autograd.hpp"
#include "importer/kineto/begin_end.hpp"
#include "importer/kineto/captured_nodes.hpp"
#include "importer/kineto/category.hpp"
#include "importer/kineto/collectives.hpp"
#include "importer/kineto/device_tables.hpp"
#include "importer/kineto/event.hpp"
#include "importer/kineto/kineto_importer.hpp"
#include "importer/kineto/tracks.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <limits>
#include <string>

namespace rangefinder::importer::kineto {

/// Puts each event into the table that it belongs to.
class TableBuilder {
 public:
  TableBuilder(Timeline& timeline, const LoadOptions& options, ImportDetails* details);

  /// `source_row` is the event's position in traceEvents.
  void add(const Event& event, std::int64_t source_row);
  /// An element of traceEvents that is no object.
  void add_stray() { ++odd_.not_events; }
  Tracks& tracks() noexcept { return tracks_; }
  const Timeline& timeline() const noexcept { return timeline_; }

  /// Of events that are kept as text beside the tables.
  std::uint64_t kept_bytes() const noexcept { return foreign_bytes_ + pairs_.kept_bytes(); }

  /// Pairs, joins, bounds and notes; once, after the last event and all metadata.
  void finish();
  /// Events with a phase: what tells a trace from any other array.
  std::uint64_t events() const noexcept { return events_; }

 private:
  struct Interval {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
  };

  /// Kinds of event that no table holds. The first three are made anew by an export and never kept.
  enum class Untabled : std::uint8_t {
    kLaunchFlow,
    kGpuAnnotation,
    kDescription,
    kMemory,
    kForwardBackward,
    kSpan,
    kMarker,
    kCudaEvent,
    kOther,
  };
  static constexpr std::size_t kUntabled = 9;
  static constexpr std::size_t kRemade = 3;

  void add_complete(const Event& event, std::int64_t source_row);
  void add_range(const Event& event, std::int64_t source_row, RangeKind kind, std::size_t spelling);
  void add_step(const Event& event, ThreadIndex thread, const Interval& interval);
  void add_call(const Event& event, std::int64_t source_row, CallDomain domain);
  void add_activity(const Event& event, std::int64_t source_row, ActivityKind kind);
  void add_sync(const Event& event, std::int64_t source_row);
  void add_overhead(const Event& event, std::int64_t source_row);
  void add_gpu_annotation(const Event& event);
  void add_instant(const Event& event, std::int64_t source_row);
  void add_memory(const Event& event, std::int64_t source_row);
  void add_counter(const Event& event);
  void add_half(const Event& event, std::int64_t source_row);
  void add_flow(const Event& event);
  void add_description(const Event& event);
  void leave_out(const Event& event, Untabled what);
  void keep_event(const Event& event);

  bool interval(const Event& event, Interval& out);
  bool moment(const Event& event, std::int64_t& time_ns);
  void extend_to(std::int64_t begin_ns, std::int64_t end_ns) noexcept;
  StringId name_of(const RawText& text);
  StringId category_name(const Event& event, std::size_t spelling);
  void add_operator(const EventArguments& arguments);
  void keep_arguments(const Event& event, std::int64_t source_row);

  void finish_pairs();
  void finish_notes();

  Timeline& timeline_;
  const LoadOptions& options_;
  ImportDetails* details_;
  Tracks tracks_;
  DeviceTables device_tables_;
  BeginEndPairs pairs_;
  Autograd autograd_;
  CapturedNodes captured_nodes_;
  Collectives collectives_;
  std::array<StringId, kSpellings.size()> category_names_;
  std::string scratch_;
  std::uint64_t events_ = 0;
  std::uint64_t foreign_bytes_ = 0;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
  std::array<std::uint64_t, kUntabled> left_out_{};

  /// What is unusual about the input, for the notes.
  struct Oddities {
    std::uint64_t not_events = 0;
    std::uint64_t without_phase = 0;
    std::uint64_t without_time = 0;
    std::uint64_t negative_durations = 0;
    std::uint64_t rounded_times = 0;
    std::uint64_t unclean_names = 0;
    std::uint64_t counter_words = 0;
  } odd_;
};

}  // namespace rangefinder::importer::kineto
