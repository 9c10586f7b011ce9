// SPDX-License-Identifier: MIT
#include "session/capture_writer.hpp"

#include "base/health_numbers.hpp"
#include "buffer/category_text.hpp"
#include "buffer/name_table.hpp"
#include "buffer/thread_names.hpp"
#include "format/chunk.hpp"
#include "session/options.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace rangefinder::session {
namespace {

using detail::ExtraKind;
using detail::RecordKind;
using format::ChunkKind;

// Of one chunk of names: a reader holds a whole chunk unpacked.
constexpr std::size_t kMaxTextBytes = std::size_t{4} << 20;

/// Notes what has not been noted. Seen is what was: where there was no memory for it, the next time tries again.
template <typename Note>
void once(std::vector<bool>& seen, std::uint32_t id, Note note) {
  if (id >= seen.size()) seen.resize(std::max<std::size_t>(std::size_t{id} + 1, seen.size() * 2));
  if (seen[id]) return;
  note();
  seen[id] = true;
}

bool has_name(std::uint64_t word) noexcept {
  switch (detail::word_kind(word)) {
    case RecordKind::kBegin:
    case RecordKind::kEnd:
    case RecordKind::kMark:
    case RecordKind::kCounter:
    case RecordKind::kAsyncBegin:
    case RecordKind::kForeignEnd:
    case RecordKind::kNodeBegin:
    case RecordKind::kOperator:
    case RecordKind::kCollective:
      return true;
    case RecordKind::kExtra:
      return detail::word_aux(word) == static_cast<std::uint32_t>(ExtraKind::kText);
    default:
      return false;
  }
}

bool has_category(std::uint64_t word) noexcept {
  const RecordKind kind = detail::word_kind(word);
  return kind == RecordKind::kBegin || kind == RecordKind::kMark || kind == RecordKind::kAsyncBegin;
}

}  // namespace

CaptureWriter::CaptureWriter(std::unique_ptr<ChunkOutput> output, clock::Clock& clock)
    : output_(std::move(output)), clock_(clock) {}

void CaptureWriter::append_chunk(format::ChunkHeader& header, format::ColumnWriter& columns) {
  payload_.clear();
  columns.finish(payload_);
  chunk_.clear();
  header.version = format::kChunkVersion;
  header.sequence = output_->next_sequence();
  format::append_chunk(chunk_, header, payload_);
}

bool CaptureWriter::put_chunk(format::ChunkHeader header, format::ColumnWriter& columns) {
  append_chunk(header, columns);
  if (ended_) return false;
  Status status = output_->put(header, chunk_);
  if (const std::uint64_t overwritten = output_->overwritten(); overwritten != overwritten_) {
    buffer::Recorder::instance().count(health::ring_overwritten, overwritten - overwritten_);
    overwritten_ = overwritten;
  }
  if (status.ok()) return true;
  buffer::Recorder::instance().count(health::chunks_not_written, 1);
  if (status_.ok()) status_ = std::move(status);
  return false;
}

bool CaptureWriter::put_fields(ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                               std::span<const format::Field> fields, std::uint64_t subject) {
  format::FieldPacker packer(kind, fields, row_bytes);
  packer.add(rows, count);
  return put_packed(packer, subject);
}

bool CaptureWriter::put_packed(format::FieldPacker& rows, std::uint64_t subject) {
  format::ChunkHeader header = rows.header();
  header.subject = subject;
  rows.finish(columns_);
  return put_chunk(header, columns_);
}

// ---- what others refer to ---------------------------------------------------------------------------------------

void CaptureWriter::want_name(std::uint32_t id) {
  if (id == 0) return;
  once(named_, id, [&] { pending_names_.push_back({id, {}, std::string(buffer::names().text(id))}); });
}

void CaptureWriter::want_category(std::uint32_t id) {
  if (id != 0) once(categorised_, id, [&] { note_category(id); });
}

void CaptureWriter::note_category(std::uint32_t id) {
  const buffer::CategoryText parts = buffer::parts_of_category(buffer::categories().text(id));
  const std::string number = std::to_string(id);
  if (parts.colour) pending_meta_.push_back({0, "colour:" + number, std::string(*parts.colour)});
  if (parts.domain) pending_meta_.push_back({0, "domain:" + number, std::string(*parts.domain)});
  pending_meta_.push_back({0, "category:" + number, std::string(parts.category)});
}

void CaptureWriter::want_words(std::span<const std::uint64_t> words) {
  for (const std::uint64_t word : words) {
    if (has_name(word)) want_name(detail::word_id(word));
    if (has_category(word)) want_category(detail::word_category(word));
  }
}

void CaptureWriter::note_thread(const Thread& thread) {
  once(threads_, thread.index, [&] {
    const std::uint32_t name = buffer::names().intern(thread.name, true).id;
    want_name(name);
    const format::ThreadRow row{thread.index, thread.tid, name};
    rows_of_threads_.insert_or_assign(thread.tid, row);
    pending_threads_.push_back(row);
    given_names_ = 0;
  });
}

/// Names that the program gave to its threads take the place of the system's, also of threads that are known already.
void CaptureWriter::note_given_names() {
  const std::uint32_t given = buffer::given_thread_names();
  if (given_names_ == given) return;
  for (auto& [tid, row] : rows_of_threads_) {
    const std::uint32_t name = buffer::given_thread_name(tid);
    if (name == 0 || name == row.name) continue;
    want_name(name);
    pending_threads_.push_back({row.index, row.tid, name});
    row.name = name;
  }
  given_names_ = given;
}

void CaptureWriter::put_pending() {
  {
    const std::lock_guard lock(queue_mutex_);
    pending_meta_.insert(pending_meta_.end(), queued_meta_.begin(), queued_meta_.end());
    queued_meta_.clear();
    pending_windows_.insert(pending_windows_.end(), queued_windows_.begin(), queued_windows_.end());
    queued_windows_.clear();
  }
  note_given_names();
  if (!pending_names_.empty()) put_pending_text(ChunkKind::kNames, pending_names_);
  if (!pending_meta_.empty()) put_pending_text(ChunkKind::kMeta, pending_meta_);
  if (!pending_threads_.empty()) put_pending_threads();
  if (!pending_windows_.empty()) put_pending_windows();
}

/// Writes rows off the front; what the output refuses stays. On a full disk each chunk of events tries again, with few
/// rows: packing all of them each time in vain would hold up the stop for seconds.
void CaptureWriter::put_pending_text(ChunkKind kind, std::vector<format::TextRow>& rows) {
  constexpr std::size_t kRowsOnTrial = 64;
  std::size_t done = 0;
  while (done < rows.size()) {
    std::size_t end = done;
    for (std::size_t bytes = 0; end < rows.size() && end - done < text_rows_ && (end == done || bytes < kMaxTextBytes);
         ++end)
      bytes += rows[end].key.size() + rows[end].text.size();
    format::pack_text(std::span(rows).subspan(done, end - done), columns_);
    format::ChunkHeader header{};
    header.kind = static_cast<std::uint16_t>(kind);
    header.rows = static_cast<std::uint32_t>(end - done);
    const bool taken = put_chunk(header, columns_);
    text_rows_ = taken ? std::min<std::size_t>(2 * text_rows_, format::kMaxRows) : kRowsOnTrial;
    if (!taken) break;
    done = end;
  }
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(done));
}

/// A chunk a thread: a flight recorder gives up those of threads that it holds nothing of.
void CaptureWriter::put_pending_threads() {
  std::size_t done = 0;
  while (done < pending_threads_.size()) {
    const format::ThreadRow& row = pending_threads_[done];
    if (!put_fields(ChunkKind::kThreads, &row, sizeof row, 1, format::ThreadRow::kFields, row.index)) break;
    ++done;
  }
  pending_threads_.erase(pending_threads_.begin(), pending_threads_.begin() + static_cast<std::ptrdiff_t>(done));
}

void CaptureWriter::put_pending_windows() {
  if (put_fields(ChunkKind::kWindows, pending_windows_.data(), sizeof pending_windows_.front(), pending_windows_.size(),
                 format::WindowRow::kFields))
    pending_windows_.clear();
}

// ---- what is written --------------------------------------------------------------------------------------------

format::ChunkHeader CaptureWriter::pack_events(const format::HostRun& run, std::span<const detail::Record> records) {
  events_.clear();  // of a chunk that there was no memory for
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(ChunkKind::kHostEvents);
  header.rows = static_cast<std::uint32_t>(records.size());
  header.subject = run.thread;
  std::tie(header.first, header.last) = packer_.pack(run, records, events_);
  return header;
}

bool CaptureWriter::on_records(const Thread& thread, const format::HostRun& run,
                               std::span<const detail::Record> records) noexcept try {
  const std::lock_guard lock(mutex_);
  columns_.clear();
  const format::ChunkHeader header = pack_events(run, records);
  note_thread(thread);
  want_words(packer_.words());
  put_pending();
  return put_chunk(header, events_);
} catch (...) {  // no memory: the records are counted by the caller, the program goes on
  buffer::Recorder::instance().count(health::chunks_not_written, 1);
  return false;
}

/// Refers to nothing that the run does not.
void CaptureWriter::on_captured(const Thread&, const format::HostRun& run,
                                std::span<const detail::Record> records) noexcept try {
  const std::lock_guard lock(mutex_);
  if (ended_ || !output_->forgets()) return;
  format::ChunkHeader header = pack_events(run, records);
  append_chunk(header, events_);
  output_->leave_behind(header, chunk_);
} catch (...) {  // no memory: goes with all else
}

void CaptureWriter::write_rows(ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                               std::span<const format::Field> fields) noexcept {
  std::size_t done = 0;
  try {
    const std::lock_guard lock(mutex_);
    if (ended_) return;  // a source that was not waited for any longer; that is counted
    columns_.clear();
    put_pending();
    const auto* first = static_cast<const std::byte*>(rows);
    while (done < count) {
      const std::size_t part = std::min<std::size_t>(format::kMaxRows, count - done);
      if (!put_fields(kind, first + done * row_bytes, row_bytes, part, fields)) break;
      done += part;
    }
  } catch (...) {  // no memory: the rest is counted, the program goes on
    buffer::Recorder::instance().count(health::chunks_not_written, 1);
  }
  if (done < count && format::holds_events(kind))
    buffer::Recorder::instance().count(health::records_not_written, count - done);
}

void CaptureWriter::write_packed(format::FieldPacker& rows) noexcept {
  const format::ChunkHeader header = rows.header();
  bool taken = false;
  try {
    const std::lock_guard lock(mutex_);
    if (ended_) return rows.clear();  // as above
    columns_.clear();
    put_pending();
    taken = put_packed(rows);
  } catch (...) {  // no memory: they are counted, the program goes on
    buffer::Recorder::instance().count(health::chunks_not_written, 1);
  }
  rows.clear();
  if (!taken && format::holds_events(static_cast<format::ChunkKind>(header.kind)))
    buffer::Recorder::instance().count(health::records_not_written, header.rows);
}

format::NameId CaptureWriter::name(std::string_view text) noexcept try {
  const std::uint32_t id = buffer::names().intern(text, true).id;
  const std::lock_guard lock(mutex_);
  want_name(id);
  return id;
} catch (...) {  // no memory: what it names has no name
  buffer::Recorder::instance().count(health::records_not_written, 1);
  return 0;
}

void CaptureWriter::count(std::uint32_t health_number, std::uint64_t n) noexcept {
  buffer::Recorder::instance().count(health_number, n);
}

void CaptureWriter::meta(std::string_view key, std::string_view value) noexcept try {
  const std::lock_guard lock(queue_mutex_);
  if (const auto known = meta_.find(key); known != meta_.end() && known->second == value) return;
  queued_meta_.push_back({0, std::string(key), std::string(value)});
  meta_.insert_or_assign(std::string(key), std::string(value));
} catch (...) {
  buffer::Recorder::instance().count(health::records_not_written, 1);
}

void CaptureWriter::sample_clock() noexcept { write_clock(clock_.sample()); }

void CaptureWriter::write_clock(const clock::ClockPoint& point) noexcept {
  const format::ClockRow row{point.ticks, point.monotonic_ns, point.realtime_ns, point.width_ns};
  write<format::ClockRow>({&row, 1});
}

void CaptureWriter::write_window(const format::WindowRow& window) noexcept try {
  const std::lock_guard lock(queue_mutex_);
  queued_windows_.push_back(window);
} catch (...) {
  buffer::Recorder::instance().count(health::records_not_written, 1);
}

void CaptureWriter::write_queued() noexcept try {
  {
    const std::lock_guard lock(queue_mutex_);
    if (queued_meta_.empty() && queued_windows_.empty()) return;
  }
  const std::lock_guard lock(mutex_);
  columns_.clear();
  put_pending();
} catch (...) {  // no memory: it waits for the next chunk
}

bool CaptureWriter::write_health(const CaptureHealth& health) noexcept try {
  const std::lock_guard lock(mutex_);
  const auto before = written_health_.entries();
  const auto now = health.entries();
  bool changed = false;
  for (std::size_t i = 0; i < now.size(); ++i) changed = changed || now[i].count != before[i].count;
  if (!changed) return true;
  columns_.clear();
  put_pending();
  return put_health(health);
} catch (...) {  // no memory: tried again at the next flush
  return false;
}

bool CaptureWriter::put_health(const CaptureHealth& health) {
  std::vector<format::HealthRow> rows;
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.count != 0) rows.push_back({entry.number, entry.count});
  }
  if (!put_fields(ChunkKind::kHealth, rows.data(), sizeof rows.front(), rows.size(), format::HealthRow::kFields))
    return false;
  written_health_ = health;
  return true;
}

bool CaptureWriter::write_end_over_events() noexcept try {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> rows = output_->take_back_events();
  if (!rows) return false;
  auto& recorder = buffer::Recorder::instance();
  recorder.count(health::chunks_not_written, 1);
  recorder.count(health::records_not_written, *rows);
  columns_.clear();
  ended_ = false;
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(ChunkKind::kEnd);
  const bool taken = put_health(recorder.health()) && put_chunk(header, columns_);
  ended_ = true;
  return taken;
} catch (...) {  // a capture without its end chunk reads as one whose program died
  return false;
}

bool CaptureWriter::write_end() noexcept try {
  const std::lock_guard lock(mutex_);
  columns_.clear();
  put_pending();
  // What has just been refused counts, too.
  const auto before = written_health_.entries();
  const auto now = buffer::Recorder::instance().health().entries();
  const bool changed = !std::equal(now.begin(), now.end(), before.begin(),
                                   [](const auto& a, const auto& b) { return a.count == b.count; });
  if (changed && !put_health(buffer::Recorder::instance().health())) return false;
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(ChunkKind::kEnd);
  const bool taken = put_chunk(header, columns_);
  ended_ = true;
  if (Status status = output_->check(); !status.ok()) {
    buffer::Recorder::instance().count(health::chunks_not_written, 1);
    if (status_.ok()) status_ = std::move(status);
  }
  return taken;
} catch (...) {  // a capture without its end chunk reads as one whose program died
  return false;
}

Status CaptureWriter::status() const noexcept {
  const std::lock_guard lock(mutex_);
  return copy_of(status_);
}

}  // namespace rangefinder::session
