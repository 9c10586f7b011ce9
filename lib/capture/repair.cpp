// SPDX-License-Identifier: MIT
#include "base/compress.hpp"
#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "format/field_packer.hpp"

#include <rangefinder/capture.hpp>

#include <algorithm>
#include <iterator>

namespace rangefinder {
namespace {

using capture::CaptureReader;
using format::ChunkKind;

/// Appends chunks to the new file, numbered anew.
class Rewriter {
 public:
  explicit Rewriter(base::AtomicFile& file) : file_(file) {}

  Status copy(const format::ChunkView& chunk) {
    records_ += is_event(chunk.header) ? chunk.header.rows : 0;
    return put(chunk.header, chunk.payload);
  }

  Status add(ChunkKind kind, std::uint32_t rows, std::uint64_t subject = 0, std::uint64_t first = 0,
             std::uint64_t last = 0) {
    base::Bytes payload;
    columns.finish(payload);
    format::ChunkHeader header{};
    header.kind = static_cast<std::uint16_t>(kind);
    header.rows = rows;
    header.subject = subject;
    header.first = first;
    header.last = last;
    records_ += is_event(header) ? rows : 0;
    return put(header, payload);
  }

  std::uint64_t records() const noexcept { return records_; }

 private:
  static bool is_event(const format::ChunkHeader& header) noexcept {
    return format::holds_events(static_cast<ChunkKind>(header.kind));
  }
  Status put(format::ChunkHeader header, base::ByteView payload) {
    header.sequence = sequence_++;
    buffer_.clear();
    format::append_chunk(buffer_, header, payload);
    return file_.write(buffer_);
  }

  base::AtomicFile& file_;
  base::Compressor compressor_;
  base::Bytes buffer_;
  std::uint64_t sequence_ = 0;
  std::uint64_t records_ = 0;

 public:
  format::ColumnWriter columns{compressor_};
};

/// In chunks within the limits of the format.
Status add_names(const CaptureReader& reader, Rewriter& out) {
  constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  std::vector<format::TextRow> rows;
  std::size_t bytes = 0;
  Status status;
  const auto write = [&] {
    if (rows.empty() || !status.ok()) return;
    format::pack_text(rows, out.columns);
    status = out.add(ChunkKind::kNames, static_cast<std::uint32_t>(rows.size()));
    rows.clear();
    bytes = 0;
  };
  reader.names().for_each([&](format::NameId id, const std::string& text) {
    rows.push_back({id, {}, text});
    bytes += text.size();
    if (rows.size() == format::kMaxRows || bytes >= kMaxBytes) write();
  });
  write();
  return status;
}

Status add_health(const CaptureReader& reader, Rewriter& out) {
  std::vector<format::HealthRow> rows;
  for (const CaptureHealth::Entry& entry : reader.health().entries()) {
    if (entry.count != 0) rows.push_back({entry.number, entry.count});
  }
  if (rows.empty()) return {};
  format::pack_rows<format::HealthRow>(rows, out.columns);
  return out.add(ChunkKind::kHealth, static_cast<std::uint32_t>(rows.size()));
}

Status add_live(const CaptureReader& reader, Rewriter& out) {
  Status status;
  // Threads that only the live file names; the rows of the others were copied.
  std::vector<format::ThreadRow> threads;
  const auto& all = reader.threads();
  std::copy_if(all.begin(), all.end(), std::back_inserter(threads),
               [](const format::ThreadRow& row) { return row.name >= CaptureReader::kFirstOwnName; });
  for (std::size_t at = 0; at < threads.size() && status.ok(); at += format::kMaxRows) {
    const auto part = std::span<const format::ThreadRow>(threads).subspan(
        at, std::min<std::size_t>(format::kMaxRows, threads.size() - at));
    format::pack_rows<format::ThreadRow>(part, out.columns);
    status = out.add(ChunkKind::kThreads, static_cast<std::uint32_t>(part.size()));
  }
  format::HostEventPacker packer;
  for (const format::HostEvents& events : reader.live_events()) {
    if (!status.ok()) return status;
    const auto [first, last] = format::tick_span(events.records);
    packer.pack(events.run, events.records, out.columns);
    status = out.add(ChunkKind::kHostEvents, static_cast<std::uint32_t>(events.records.size()), events.run.thread,
                     first, last);
  }
  return status;
}

}  // namespace

Result<std::uint64_t> repair_capture(const std::string& damaged, const std::string& repaired, bool replace) {
  Result<CaptureReader> reader = CaptureReader::open(damaged);
  if (!reader) return std::move(reader).error();
  Result<base::AtomicFile> file = base::AtomicFile::create(repaired, replace);
  if (!file) return std::move(file).error();
  const format::FileHeader header = format::sealed(reader->header());
  Status status = file->write(std::as_bytes(std::span(&header, 1)));
  Rewriter out(*file);
  // Names first and all at once: those that only the live file held stand before the records that need them.
  if (status.ok()) status = add_names(*reader, out);
  for (const capture::ChunkEntry& entry : reader->chunks()) {
    const auto kind = static_cast<ChunkKind>(entry.header.kind);
    if (kind == ChunkKind::kNames || kind == ChunkKind::kEnd || kind == ChunkKind::kHealth) continue;
    Result<format::ChunkView> chunk = reader->read(entry);
    if (status.ok() && chunk.ok()) status = out.copy(*chunk);
  }
  if (status.ok()) status = reader->file_status();
  if (status.ok()) status = add_live(*reader, out);
  if (status.ok()) status = add_health(*reader, out);
  if (status.ok()) status = out.add(ChunkKind::kEnd, 0);
  if (status.ok()) status = file->commit();
  if (!status.ok()) return std::move(status).error().with_context("repair");
  return out.records();
}

}  // namespace rangefinder
