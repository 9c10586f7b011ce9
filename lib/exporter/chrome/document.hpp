// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/export_notes.hpp"
#include "exporter/chrome/text_output.hpp"
#include "exporter/chrome/time_base.hpp"

#include <rangefinder/health.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::chrome {

using JsonMembers = std::vector<std::pair<std::string, std::string>>;  // key, value as JSON text

/// What stands around the events.
struct DocumentFacts {
  std::vector<DeviceInfo> devices;
  /// Members of the input's own document, or facts of a capture that torch.profiler would put at the top.
  JsonMembers members;
  /// The same that only we know; under "rangefinder".
  JsonMembers own;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::string trace_name;
  bool simulated = false;
};

/// What is known when all events are written.
struct DocumentEnd {
  CaptureHealth health;
  std::vector<std::string> notes;
  std::int64_t clock_error_ns = 0;
  const Account* account = nullptr;  ///< null: nothing was projected
};

/// Up to the first event.
void write_document_begin(TextOutput& out, const DocumentFacts& facts, const TimeBase& base, ExportNotes& export_notes);
/// From behind the last one.
void write_document_end(TextOutput& out, const DocumentFacts& facts, const DocumentEnd& end,
                        const ExportNotes& export_notes);

/// "complete", or "INCOMPLETE: 12 ranges dropped: ..., ...": one line for people.
std::string health_line(const CaptureHealth& health);

inline constexpr std::string_view kSimulatedText = "SIMULATED device activity: made up by a script, no GPU was used";

}  // namespace rangefinder::chrome
