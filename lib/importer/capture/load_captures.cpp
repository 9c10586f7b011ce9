// SPDX-License-Identifier: MIT
#include "importer/capture/load_captures.hpp"

#include "importer/capture/file_loader.hpp"
#include "importer/capture/job.hpp"
#include "timeline/collectives.hpp"
#include "timeline/finish.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::importer {
namespace {

using capture::CaptureReader;

// Zstandard compresses what repeats exactly to almost nothing, as the times of a simulation may: real recordings unpack
// to some 20 times their size, the tightest made-up one to 9,000 times.
constexpr std::uint64_t kFreeUnpackedBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxUnpackedPerByte = 16384;

/// All of them, by the wall clocks of their hosts, which `hosts` learns of.
Result<Timeline> read_captures(const std::vector<std::string>& paths, const LoadOptions& options, JobHosts& hosts) {
  Timeline timeline;
  timeline.format = InputFormat::kCapture;
  timeline.range_end = RangeEnd::kOpen;
  timeline.sources = paths;
  std::uint64_t unpacked = 0;
  for (const std::string& path : paths) {
    Result<CaptureReader> reader = CaptureReader::open(path);
    if (!reader) return std::move(reader).error();
    if (Status status = check_size(*reader, unpacked, options); !status.ok()) return std::move(status).error();
    const std::size_t process = timeline.processes.size();
    hosts.add(*reader);
    if (process == 0) timeline.realtime_offset_ns = reader->clock().realtime_offset_ns();
    FileLoader loader(*reader, timeline, hosts.shift_of_process(process), options);
    if (Status status = loader.load(); !status) return std::move(status).error();
    hosts.note_rows(timeline);
  }
  return timeline;
}

}  // namespace

Status check_size(const CaptureReader& reader, std::uint64_t& unpacked, const LoadOptions& options) {
  const std::uint64_t bytes = reader.unpacked_bytes();
  unpacked += bytes;
  if (bytes > kFreeUnpackedBytes && (bytes - kFreeUnpackedBytes) / kMaxUnpackedPerByte > reader.file_bytes()) {
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

Result<Timeline> load_captures(const std::vector<std::string>& paths, const LoadOptions& options) {
  JobHosts hosts;
  Result<Timeline> read = read_captures(paths, options, hosts);
  if (!read) return std::move(read).error();
  Timeline timeline = std::move(*read);
  if (options.align_hosts) hosts.align(timeline);
  hosts.describe(timeline);
  note_ranks(timeline);
  std::stable_sort(
      timeline.attachments.begin(), timeline.attachments.end(),
      [](const Attachment& a, const Attachment& b) { return std::pair(a.target, a.row) < std::pair(b.target, b.row); });
  timeline::sort_metrics(timeline);
  timeline::join_launches(timeline);
  timeline::join_collectives(timeline);
  timeline::measure_extent(timeline);
  if (options.strict && !timeline.health.complete())
    return Error(ErrorCode::kIncomplete, paths.front() + ": the recording is incomplete; see `rangefinder check`");
  return timeline;
}

}  // namespace rangefinder::importer
