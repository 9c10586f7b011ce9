// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/nesting.hpp"
#include "exporter/chrome/step_events.hpp"
#include "exporter/chrome/timeline_export.hpp"
#include "exporter/chrome/timeline_spans.hpp"

#include <rangefinder/detail/cells.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rangefinder::chrome {

/// A slice of another tool, written back on its row.
struct ForeignSlice {
  TrackId track = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::string head;
  std::string arguments;  ///< members of args; empty: none
};

/// Every slice of a timeline: collected by row, put in order, written.
class TimelineSlices {
 public:
  explicit TimelineSlices(TimelineExport& shared)
      : shared_(shared), spans_(shared), step_events_(shared.writer, shared.layout.table(), shared.options) {}

  void write(const std::vector<ForeignSlice>& foreign,
             const std::function<void(std::uint64_t, std::uint64_t)>& progress);

  /// Where a slice was written; kNoTrack: it was not.
  TrackId track_of_call(CallIndex call) const noexcept { return call_tracks_[call]; }
  TrackId track_of_activity(ActivityIndex activity) const noexcept { return activity_tracks_[activity]; }
  TrackId track_of_range(RangeIndex range) const noexcept { return range_tracks_[range]; }
  TrackId track_of_node(std::uint32_t node) const noexcept { return node_tracks_[node]; }

 private:
  enum class Kind : std::uint8_t {
    kRange,
    kCall,
    kOverhead,
    kActivity,
    kSpan,  ///< of a range on a stream's row
    kSync,
    kStep,
    kNode,
    kForeign
  };
  struct Entry {
    Kind kind;
    std::uint32_t row;
  };
  /// The slices of a track in order of kind, then row.
  struct TrackSlices {
    struct Part {
      Kind kind;
      std::size_t end;  ///< in `rows`
    };
    std::vector<Part> parts;
    detail::Cells<std::uint32_t> rows;

    Entry at(std::size_t position) const noexcept {
      auto part = parts.begin();
      while (part->end <= position) ++part;
      return {part->kind, rows[position]};
    }
  };

  void collect(const std::vector<ForeignSlice>& foreign);
  void collect_ranges();
  void collect_device_rows();
  void collect_spans();
  void collect_steps();
  void add(TrackId track, Kind kind, std::size_t row, std::int64_t begin_ns, std::int64_t end_ns);
  TrackId track_of_sync(std::uint32_t row);
  /// Slices lie end to end there.
  TrackId flat(TrackId track);
  void place(TrackId track, const TrackSlices& all, const std::vector<ForeignSlice>& foreign);
  /// The positions in `all` in the order in which they are written, without those of spans that go beside the row.
  std::vector<std::uint32_t> in_order(const TrackSlices& all, bool is_flat, const std::vector<ForeignSlice>& foreign,
                                      std::vector<Placed>& cut) const;
  Placed placed(const Entry& entry, const std::vector<ForeignSlice>& foreign) const;
  void write_slice(Kind kind, std::uint32_t row, TrackId track, const std::vector<ForeignSlice>& foreign);
  void write_range(RangeIndex row, TrackId track);
  void write_operator(RangeIndex range);
  void write_call(CallIndex row, TrackId track);
  void write_activity(ActivityIndex row, TrackId track);
  void write_sync(std::uint32_t row, TrackId track);
  void write_span(const StreamFigures& figures, const analysis::PassTimes* passes, TrackId track);
  void write_step(std::uint32_t row, TrackId track);
  void write_node(std::uint32_t row, TrackId track);
  bool write_kept_arguments(std::int64_t source_row);

  TimelineExport& shared_;
  TimelineSpans spans_;
  StepEvents step_events_;
  std::vector<TrackSlices> tracks_;  // by track
  std::size_t slices_ = 0;           // of all of them
  std::vector<bool> flat_tracks_;
  std::vector<TrackId> call_tracks_, activity_tracks_, range_tracks_, node_tracks_;
  std::vector<RangeIndex> call_ranges_;  ///< that was open when the call launched something
  KernelTexts kernel_texts_;
  std::string scratch_;
};

}  // namespace rangefinder::chrome
