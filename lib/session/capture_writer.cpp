// SPDX-License-Identifier: MIT
#include "session/capture_writer.hpp"

#include "buffer/health_numbers.hpp"
#include "buffer/name_table.hpp"
#include "format/chunk.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace rangefinder::session {
namespace {

using detail::ExtraKind;
using detail::Record;
using detail::RecordKind;
using format::ChunkKind;

/// Sets the bit; true when it was not set.
bool first_time(std::vector<bool>& seen, std::uint32_t id) {
  if (id >= seen.size()) seen.resize(std::max<std::size_t>(id + 1, seen.size() * 2));
  if (seen[id]) return false;
  seen[id] = true;
  return true;
}

bool has_name(const Record& record) noexcept {
  switch (detail::word_kind(record.word)) {
    case RecordKind::kBegin:
    case RecordKind::kEnd:
    case RecordKind::kMark:
    case RecordKind::kCounter:
    case RecordKind::kAsyncBegin:
    case RecordKind::kForeignEnd: return true;
    case RecordKind::kExtra: return detail::word_aux(record.word) == static_cast<std::uint32_t>(ExtraKind::kText);
    default: return false;
  }
}

bool has_category(const Record& record) noexcept {
  const RecordKind kind = detail::word_kind(record.word);
  return kind == RecordKind::kBegin || kind == RecordKind::kMark || kind == RecordKind::kAsyncBegin;
}

}  // namespace

CaptureWriter::CaptureWriter(std::unique_ptr<ChunkOutput> output, clock::Clock& clock)
    : output_(std::move(output)), clock_(clock) {}

bool CaptureWriter::put_chunk(format::ChunkHeader header) {
  payload_.clear();
  columns_.finish(payload_);
  chunk_.clear();
  header.sequence = output_->next_sequence();
  format::append_chunk(chunk_, header, payload_);
  Status status = output_->put(header, chunk_);
  if (const std::uint64_t overwritten = output_->overwritten(); overwritten != overwritten_) {
    buffer::Recorder::instance().count(health::kRingOverwritten, overwritten - overwritten_);
    overwritten_ = overwritten;
  }
  if (status.ok()) return true;
  ++lost_chunks_;
  buffer::Recorder::instance().count(health::kChunksNotWritten, 1);
  if (status_.ok()) status_ = std::move(status);
  return false;
}

void CaptureWriter::put_fields(ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                               std::span<const format::Field> fields) {
  format::pack_fields(fields, rows, row_bytes, count, columns_);
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(kind);
  header.rows = static_cast<std::uint32_t>(count);
  if (!put_chunk(header)) buffer::Recorder::instance().count(health::kRecordsNotWritten, count);
}

template <typename Row>
void CaptureWriter::put_rows(std::span<const Row> rows) {
  put_fields(Row::kKind, rows.data(), sizeof(Row), rows.size(), Row::kFields);
}

void CaptureWriter::put_text(ChunkKind kind, std::span<const format::TextRow> rows) {
  format::pack_text(rows, columns_);
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(kind);
  header.rows = static_cast<std::uint32_t>(rows.size());
  put_chunk(header);
}

void CaptureWriter::want_name(std::uint32_t id) {
  if (id == 0 || !first_time(named_, id)) return;
  pending_names_.push_back({id, {}, std::string(buffer::names().text(id))});
}

void CaptureWriter::want_category(std::uint32_t id) {
  if (id == 0 || !first_time(categorised_, id)) return;
  pending_meta_.push_back({0, "category:" + std::to_string(id), std::string(buffer::categories().text(id))});
}

void CaptureWriter::note_thread(const Thread& thread) {
  if (!first_time(threads_, thread.index)) return;
  const std::uint32_t name = buffer::names().intern(thread.name, true).id;
  want_name(name);
  pending_threads_.push_back({thread.index, thread.tid, name});
}

void CaptureWriter::put_pending() {
  if (!pending_names_.empty()) put_text(ChunkKind::kNames, pending_names_);
  if (!pending_meta_.empty()) put_text(ChunkKind::kMeta, pending_meta_);
  if (!pending_threads_.empty()) put_rows<format::ThreadRow>(pending_threads_);
  pending_names_.clear();
  pending_meta_.clear();
  pending_threads_.clear();
}

bool CaptureWriter::on_records(const Thread& thread, const format::HostRun& run, std::span<const Record> records) noexcept try {
  const std::lock_guard lock(mutex_);
  note_thread(thread);
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(ChunkKind::kHostEvents);
  header.rows = static_cast<std::uint32_t>(records.size());
  header.subject = run.thread;
  std::tie(header.first, header.last) = format::tick_span(records);
  for (const Record& record : records) {
    if (has_name(record)) want_name(detail::word_id(record.word));
    if (has_category(record)) want_category(detail::word_aux(record.word));
  }
  put_pending();
  packer_.pack(run, records, columns_);
  return put_chunk(header);
} catch (...) {  // no memory: the records are counted by the caller, the program goes on
  return false;
}

void CaptureWriter::write_rows(ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                               std::span<const format::Field> fields) noexcept try {
  const std::lock_guard lock(mutex_);
  put_pending();
  // Chunks of bounded size, so that a reader needs bounded memory.
  constexpr std::size_t kMost = 65536;
  const auto* first = static_cast<const std::byte*>(rows);
  for (std::size_t at = 0; at < count; at += kMost)
    put_fields(kind, first + at * row_bytes, row_bytes, std::min(kMost, count - at), fields);
} catch (...) {
  buffer::Recorder::instance().count(health::kRecordsNotWritten, count);
}

format::NameId CaptureWriter::name(std::string_view text) noexcept try {
  const std::uint32_t id = buffer::names().intern(text, true).id;
  const std::lock_guard lock(mutex_);
  want_name(id);
  return id;
} catch (...) {
  return 0;
}

void CaptureWriter::count(std::uint32_t health_number, std::uint64_t n) noexcept {
  buffer::Recorder::instance().count(health_number, n);
}

void CaptureWriter::meta(std::string_view key, std::string_view value) noexcept try {
  const std::lock_guard lock(mutex_);
  if (const auto known = meta_.find(key); known != meta_.end() && known->second == value) return;
  meta_.insert_or_assign(std::string(key), std::string(value));
  pending_meta_.push_back({0, std::string(key), std::string(value)});
  put_pending();
} catch (...) {
  buffer::Recorder::instance().count(health::kRecordsNotWritten, 1);
}

void CaptureWriter::sample_clock() noexcept {
  const clock::ClockPoint point = clock_.sample();
  const format::ClockRow row{point.ticks, point.monotonic_ns, point.realtime_ns, point.width_ns};
  write<format::ClockRow>({&row, 1});
}

void CaptureWriter::write_window(const format::WindowRow& window) noexcept { write<format::WindowRow>({&window, 1}); }

void CaptureWriter::write_health(const CaptureHealth& health) noexcept try {
  std::vector<format::HealthRow> rows;
  const auto before = written_health_.entries();
  const auto now = health.entries();
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].count != before[i].count) rows.push_back({now[i].number, now[i].count});
  }
  written_health_ = health;
  write<format::HealthRow>(rows);
} catch (...) {  // tried again at the next flush
}

void CaptureWriter::write_end() noexcept try {
  const std::lock_guard lock(mutex_);
  put_pending();
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(ChunkKind::kEnd);
  put_chunk(header);
} catch (...) {  // a capture without its end chunk reads as one whose program died
}

Status CaptureWriter::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::uint64_t CaptureWriter::lost_chunks() const noexcept {
  const std::lock_guard lock(mutex_);
  return lost_chunks_;
}

}  // namespace rangefinder::session
