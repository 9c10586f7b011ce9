// SPDX-License-Identifier: MIT
#include "capture/capture_reader.hpp"

#include "capture/live_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rangefinder::capture {
namespace {

using format::ChunkKind;

constexpr std::size_t kFirstOfLiveFile = sizeof(format::LiveHeader);
// Names and the like: of a real recording some 20 MiB at most. More only in proportion to the file, or a few kilobytes
// could fill the memory.
constexpr std::uint64_t kSmallBudget = std::uint64_t{256} << 20;
constexpr std::uint64_t kSmallBudgetPerByte = 64;

bool is_small(ChunkKind kind) noexcept {
  switch (kind) {
    case ChunkKind::kMeta:
    case ChunkKind::kNames:
    case ChunkKind::kThreads:
    case ChunkKind::kClock:
    case ChunkKind::kDevices:
    case ChunkKind::kContexts:
    case ChunkKind::kStreams:
    case ChunkKind::kHealth:
    case ChunkKind::kWindows:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<CaptureReader> CaptureReader::open(const std::string& path) {
  Result<base::InputFile> file = base::InputFile::open(path);
  if (!file) return std::move(file).error();
  CaptureReader reader;
  reader.path_ = path;
  reader.file_ = std::move(*file);
  if (reader.file_.size() == 0) {
    // A flight recorder that died left its name, and what it held in the live file.
    if (base::exists(path + ".live")) return open(path + ".live");
    return Error(ErrorCode::kUnreadable, path + ": the file is empty");
  }
  reader.budget_ = kSmallBudget + kSmallBudgetPerByte * reader.file_.size();
  const Result<base::ByteView> first = reader.file_.read(0, std::max(sizeof(format::FileHeader), kFirstOfLiveFile));
  if (!first) return first.error();
  if (is_live_file(*first)) {
    // The capture itself is gone, or never was: a flight recorder whose program died.
    Result<LiveContent> live = read_live_file(reader.file_);
    if (!live) return std::move(live).error();
    reader.header_ = live->header;
    reader.take_live(std::move(*live));
  } else {
    Result<format::FileHeader> header = format::read_file_header(*first);
    if (!header) return std::move(header).error().with_context(path);
    reader.header_ = *header;
    reader.scan();
    if (!reader.file_status_) return reader.file_status_.error();
    const bool has_live = !reader.clean_ && reader.find_live();
    if (const auto& tail = reader.cut_tail_) {
      if (has_live)
        reader.note(tail->offset, tail->bytes, tail->text + "; the live file holds what it was");
      else
        reader.damaged(tail->offset, tail->offset + tail->bytes, tail->text);
    }
    if (!reader.clean_ && !has_live) reader.note_missing_live();
  }
  reader.finish_small();
  if (!reader.file_status_) return reader.file_status_.error();
  return reader;
}

/// Keeps what went wrong: of a file that shrinks, what is missing is no damage.
Result<base::ByteView> CaptureReader::bytes_at(std::uint64_t offset, std::size_t count) {
  Result<base::ByteView> bytes = file_.read(offset, count);
  if (!bytes && file_status_.ok()) file_status_ = bytes.error();
  return bytes;
}

Result<format::ChunkView> CaptureReader::header_at(std::uint64_t offset) {
  const Result<base::ByteView> bytes = bytes_at(offset, sizeof(format::ChunkHeader));
  return bytes ? format::read_chunk_header(*bytes, offset, file_.size()) : Result<format::ChunkView>(bytes.error());
}

/// Where `payload_bytes` is known the chunk is read at once.
Result<format::ChunkView> CaptureReader::chunk_at(std::uint64_t offset, std::uint64_t payload_bytes) {
  const Result<base::ByteView> all = bytes_at(offset, sizeof(format::ChunkHeader) + payload_bytes);
  if (!all) return all.error();
  Result<format::ChunkView> chunk = format::read_chunk_header(*all, offset, file_.size());
  if (!chunk) return chunk;
  const Result<base::ByteView> payload = bytes_at(offset + sizeof(format::ChunkHeader), chunk->header.payload_bytes);
  if (!payload) return payload.error();
  if (Status whole = format::take_payload(*chunk, *payload); !whole) return std::move(whole).error();
  return chunk;
}

Result<format::ChunkView> CaptureReader::read(const ChunkEntry& entry) {
  return chunk_at(entry.offset, entry.header.payload_bytes);
}

/// The offset of the next whole header at or behind `from`; the file's size when there is none.
std::uint64_t CaptureReader::next_chunk(std::uint64_t from) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::uint64_t at = format::padded(from);
  while (at < file_.size() && file_.size() - at >= sizeof(format::ChunkHeader)) {
    const Result<base::ByteView> piece = bytes_at(at, kPiece);
    if (!piece) break;
    const std::uint64_t found = format::find_chunk(*piece, at, file_.size());
    if (found - at + sizeof(format::ChunkHeader) <= piece->size()) return found;
    at = found;
  }
  return file_.size();
}

void CaptureReader::scan() {
  std::uint64_t at = header_.header_bytes;
  while (at < file_.size() && file_status_.ok()) {
    Result<format::ChunkView> chunk = header_at(at);
    if (!chunk) {
      const std::uint64_t next = next_chunk(at + 8);
      skip_to(next, at, chunk.error());
      at = next;
      continue;
    }
    const std::uint64_t end = chunk->next_offset;
    const auto kind = static_cast<ChunkKind>(chunk->header.kind);
    if (chunk->header.version > format::kChunkVersion) {
      note(at, end - at, "chunk " + std::to_string(chunk->header.sequence) + ": of a newer version; not read");
      at = end;
      continue;
    }
    chunks_.push_back({at, chunk->header});
    if (kind == ChunkKind::kEnd) clean_ = true;
    if (is_small(kind)) {
      chunk = chunk_at(at);
      if (!chunk)
        damaged(at, end, chunk.error().message());
      else if (within_budget(*chunk))
        take(*chunk);
      else
        damaged(at, end,
                "chunk " + std::to_string(chunk->header.sequence) +
                    ": the file claims more names and facts than any recording has");
    }
    at = end;
  }
}

void CaptureReader::skip_to(std::uint64_t next, std::uint64_t from, const Error& why) {
  // The last thing a writer did that died may be half a chunk. Host records stand in the live file until their chunk is
  // whole; device records nowhere else.
  std::uint16_t kind = 0;
  constexpr std::size_t kKindAt = offsetof(format::ChunkHeader, kind);
  if (next - from >= kKindAt + sizeof kind) {
    const Result<base::ByteView> bytes = bytes_at(from + kKindAt, sizeof kind);
    if (!bytes) return;
    std::memcpy(&kind, bytes->data(), sizeof kind);
  }
  const auto chunk_kind = static_cast<ChunkKind>(kind);
  const bool of_device = format::holds_events(chunk_kind) && chunk_kind != ChunkKind::kHostEvents;
  if (why.code() == ErrorCode::kIncomplete && next == file_.size() && !of_device) {
    cut_tail_ = Finding{from, next - from, why.message()};
  } else {
    damaged(from, next, why.message());
  }
}

std::uint64_t CaptureReader::unpacked_bytes() const noexcept {
  const auto row_bytes = [](ChunkKind kind) -> std::uint64_t {
    switch (kind) {
      case ChunkKind::kHostEvents:
        return sizeof(detail::Record);
      case ChunkKind::kKernels:
        return sizeof(format::KernelRow);
      case ChunkKind::kMemcpys:
        return sizeof(format::MemcpyRow);
      case ChunkKind::kMemsets:
        return sizeof(format::MemsetRow);
      case ChunkKind::kApiCalls:
        return sizeof(format::ApiRow);
      case ChunkKind::kSyncs:
        return sizeof(format::SyncRow);
      case ChunkKind::kOverheads:
        return sizeof(format::OverheadRow);
      case ChunkKind::kGraphNodes:
        return sizeof(format::GraphNodeRow);
      case ChunkKind::kDeviceSamples:
        return sizeof(format::DeviceSampleRow);
      case ChunkKind::kRangeMetrics:
        return sizeof(format::RangeMetricRow);
      case ChunkKind::kMetricSamples:
        return sizeof(format::MetricSampleRow);
      case ChunkKind::kGraphLaunches:
        return sizeof(format::GraphLaunchRow);
      case ChunkKind::kAllocations:
        return sizeof(format::AllocationRow);
      case ChunkKind::kJits:
        return sizeof(format::JitRow);
      default:
        return 0;
    }
  };
  std::uint64_t total = 0;
  for (const ChunkEntry& entry : chunks_)
    total += entry.header.rows * row_bytes(static_cast<ChunkKind>(entry.header.kind));
  return total;
}

void CaptureReader::damaged(std::uint64_t offset, std::uint64_t end, std::string text) {
  if (!damaged_at_.insert(offset).second) return;
  health_.damaged_chunks += 1;
  health_.damaged_bytes += end - offset;
  note(offset, end - offset, std::move(text));
}

void CaptureReader::note(std::uint64_t offset, std::uint64_t bytes, std::string text) {
  if (findings_.size() < kMaxFindings) findings_.push_back({offset, bytes, std::move(text)});
}

template <typename Row, typename Use>
void CaptureReader::visit_rows(const format::ChunkView& chunk, Use use) {
  Result<std::vector<Row>> rows = format::unpack_rows<Row>(chunk.payload, chunk.header.rows, columns_);
  if (rows.ok())
    use(std::span<const Row>(*rows));
  else
    damaged(chunk.offset, chunk.next_offset, rows.error().message());
}

void CaptureReader::visit_chunk(const format::ChunkView& chunk, CaptureVisitor& visitor) {
  switch (static_cast<ChunkKind>(chunk.header.kind)) {
    case ChunkKind::kHostEvents: {
      Result<format::HostEvents> events = format::unpack_host_events(chunk.payload, chunk.header, columns_);
      if (events.ok())
        visitor.on_host_events(*events);
      else
        damaged(chunk.offset, chunk.next_offset, events.error().message());
      return;
    }
    case ChunkKind::kKernels:
      return visit_rows<format::KernelRow>(chunk, [&](auto rows) { visitor.on_kernels(rows); });
    case ChunkKind::kMemcpys:
      return visit_rows<format::MemcpyRow>(chunk, [&](auto rows) { visitor.on_memcpys(rows); });
    case ChunkKind::kMemsets:
      return visit_rows<format::MemsetRow>(chunk, [&](auto rows) { visitor.on_memsets(rows); });
    case ChunkKind::kApiCalls:
      return visit_rows<format::ApiRow>(chunk, [&](auto rows) { visitor.on_api_calls(rows); });
    case ChunkKind::kSyncs:
      return visit_rows<format::SyncRow>(chunk, [&](auto rows) { visitor.on_syncs(rows); });
    case ChunkKind::kOverheads:
      return visit_rows<format::OverheadRow>(chunk, [&](auto rows) { visitor.on_overheads(rows); });
    case ChunkKind::kGraphNodes:
      return visit_rows<format::GraphNodeRow>(chunk, [&](auto rows) { visitor.on_graph_nodes(rows); });
    case ChunkKind::kDeviceSamples:
      return visit_rows<format::DeviceSampleRow>(chunk, [&](auto rows) { visitor.on_device_samples(rows); });
    case ChunkKind::kRangeMetrics:
      return visit_rows<format::RangeMetricRow>(chunk, [&](auto rows) { visitor.on_range_metrics(rows); });
    case ChunkKind::kMetricSamples:
      return visit_rows<format::MetricSampleRow>(chunk, [&](auto rows) { visitor.on_metric_samples(rows); });
    case ChunkKind::kGraphLaunches:
      return visit_rows<format::GraphLaunchRow>(chunk, [&](auto rows) { visitor.on_graph_launches(rows); });
    case ChunkKind::kAllocations:
      return visit_rows<format::AllocationRow>(chunk, [&](auto rows) { visitor.on_allocations(rows); });
    case ChunkKind::kJits:
      return visit_rows<format::JitRow>(chunk, [&](auto rows) { visitor.on_jits(rows); });
    default:
      return;  // read when the file was opened, or of a newer version
  }
}

void CaptureReader::visit_one(const ChunkEntry& entry, CaptureVisitor& visitor) {
  if (!file_status_) return;
  Result<format::ChunkView> chunk = read(entry);
  if (chunk.ok())
    visit_chunk(*chunk, visitor);
  else if (file_status_.ok())
    damaged(entry.offset, entry.offset + sizeof entry.header + entry.header.payload_bytes, chunk.error().message());
}

Status CaptureReader::visit(CaptureVisitor& visitor, void (*progress)(void*, std::uint64_t, std::uint64_t),
                            void* progress_user) {
  for (const ChunkEntry& entry : chunks_) {
    if (is_small(static_cast<ChunkKind>(entry.header.kind))) continue;
    visit_one(entry, visitor);
    if (!file_status_) return file_status_;
    if (Status status = visitor.goes_on(); !status) return status;
    if (progress != nullptr) progress(progress_user, entry.offset, file_.size());
  }
  for (const format::HostEvents& events : live_) visitor.on_host_events(events);
  if (progress != nullptr) progress(progress_user, file_.size(), file_.size());
  return {};
}

}  // namespace rangefinder::capture
