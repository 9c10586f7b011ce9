// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "exporter/chrome/export_notes.hpp"

#include <cstdint>
#include <string_view>

namespace rangefinder::chrome {

/// One end of an arrow: the row of a slice, and the slice.
struct FlowEnd {
  std::string_view ids;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Arrows from launches to activities and from forward to backward, in torch.profiler's form. Both ends or none:
/// viewers warn of halves, and bind an end to the slice that is open at its time, so both times must lie inside their
/// slices and not run backwards.
class FlowWriter {
 public:
  FlowWriter(EventWriter& writer, ExportNotes& notes) noexcept : writer_(writer), notes_(notes) {}

  /// `id` 0: one of our own, above those of correlations.
  void arrow(std::uint64_t id, const FlowEnd& from, const FlowEnd& to);
  /// From where the forward pass made a node to where the node ran.
  void forward_backward(const FlowEnd& from, const FlowEnd& to);
  void missing() noexcept { notes_.add(ExportNotes::kFlowWithoutSlice); }

 private:
  void end(char phase, std::string_view kind, std::uint64_t id, const FlowEnd& slice, std::int64_t time_ns);

  EventWriter& writer_;
  ExportNotes& notes_;
  std::uint64_t next_id_ = std::uint64_t{1} << 32;
  std::uint64_t next_forward_id_ = 1;
};

}  // namespace rangefinder::chrome
