// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::importer::kineto {

/// True for JSON, and for gzip of JSON as far as the bytes tell. Some hundred bytes are plenty.
bool looks_like_kineto(base::ByteView first_bytes);

/// Reads a torch.profiler (Kineto) Chrome trace, plain or gzip: an object with traceEvents, or one array of events.
///
/// Times are nanoseconds of the trace's own epoch, exactly ts * 1000; baseTimeNanoseconds becomes
/// Timeline::realtime_offset_ns. source_row is the event's position in traceEvents.
///
/// Damage: a trace that is cut off, or damaged from some place on, gives the events that were whole before it, a note
/// that names the place, and CaptureHealth::damaged_chunks and damaged_bytes; with LoadOptions::strict it is an error
/// (kIncomplete). Nothing whole before it, nesting past 256, a single value past 64 MiB and unpacking past the limits
/// are errors (kUnreadable) in any case. Memory: the tables; the text passes through a window of a megabyte.
Result<Timeline> import_kineto(const std::string& path, const LoadOptions& options = {});

/// A gpu_user_annotation row. The timeline has no table for them: projections make them anew.
struct GpuAnnotation {
  std::string name;
  DeviceIndex device = kNone;
  std::int64_t stream = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t external_id = -1;
};

/// What an import saw besides the timeline.
struct ImportDetails {
  std::uint64_t text_bytes = 0;
  std::uint64_t events = 0;
  bool keep_gpu_annotations = false;  ///< in: whether to fill the next
  std::vector<GpuAnnotation> gpu_annotations;
};

/// The same with the details; and from bytes in memory, `name` standing for the file in messages.
Result<Timeline> import_kineto(const std::string& path, const LoadOptions& options, ImportDetails& details);
Result<Timeline> import_kineto(base::ByteView bytes, const std::string& name, const LoadOptions& options,
                               ImportDetails& details);

}  // namespace rangefinder::importer::kineto

namespace rangefinder::importer {
using kineto::import_kineto;
using kineto::looks_like_kineto;
}  // namespace rangefinder::importer
