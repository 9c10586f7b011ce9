// SPDX-License-Identifier: MIT
#include "timeline/capture_timeline.hpp"

#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "timeline/capture_loader.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::timeline {
namespace {

using capture::CaptureReader;

// Zstandard makes next to nothing of what repeats exactly, as the times of a simulation may: real recordings unpack to
// some 20 times their size, the tightest made-up one to 9,000 times.
constexpr std::uint64_t kFreeUnpackedBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostUnpackedPerByte = 16384;

/// Refuses what would fill the memory, before it does.
Status check_size(const CaptureReader& reader, std::uint64_t& unpacked, const LoadOptions& options) {
  const std::uint64_t bytes = reader.unpacked_bytes();
  unpacked += bytes;
  if (bytes > kFreeUnpackedBytes && (bytes - kFreeUnpackedBytes) / kMostUnpackedPerByte > reader.file_bytes()) {
    return Error(ErrorCode::kUnreadable, reader.path() + ": claims to unpack from " +
                                             std::to_string(reader.file_bytes()) + " to " + std::to_string(bytes) +
                                             " bytes; no recording does");
  }
  if (options.max_unpacked_bytes != 0 && unpacked > options.max_unpacked_bytes) {
    return Error(ErrorCode::kUnreadable, reader.path() + ": unpacks to " + std::to_string(unpacked) +
                                             " bytes, more than the limit of " +
                                             std::to_string(options.max_unpacked_bytes));
  }
  return {};
}

}  // namespace

Result<Timeline> load_captures(const std::vector<std::string>& paths, const LoadOptions& options) {
  Timeline timeline;
  timeline.format = InputFormat::kCapture;
  timeline.range_end = RangeEnd::kOpen;
  timeline.sources = paths;
  std::string first_host;
  std::uint64_t unpacked = 0;
  for (const std::string& path : paths) {
    Result<CaptureReader> reader = CaptureReader::open(path);
    if (!reader) return std::move(reader).error();
    if (Status status = check_size(*reader, unpacked, options); !status.ok()) return std::move(status).error();
    std::int64_t shift = 0;
    if (timeline.realtime_offset_ns == kNoTime) {
      timeline.realtime_offset_ns = reader->clock().realtime_offset_ns();
      first_host = reader->metadata("host");
    } else if (reader->metadata("host") != first_host) {
      shift = reader->clock().realtime_offset_ns() - timeline.realtime_offset_ns;
      timeline.notes.push_back(std::string(base::file_name(path)) + ": recorded on another host (" +
                               std::string(reader->metadata("host")) +
                               "); aligned by wall clock, as well as those agree");
    }
    CaptureLoader(*reader, timeline, shift).load(options);
  }
  std::stable_sort(
      timeline.attachments.begin(), timeline.attachments.end(),
      [](const Attachment& a, const Attachment& b) { return std::pair(a.target, a.row) < std::pair(b.target, b.row); });
  join_launches(timeline);
  measure_extent(timeline);
  if (options.strict && !timeline.health.complete())
    return Error(ErrorCode::kIncomplete, paths.front() + ": the recording is incomplete; see `rangefinder check`");
  return timeline;
}

}  // namespace rangefinder::timeline
