// SPDX-License-Identifier: MIT
#pragma once

#include "buffer/recorder.hpp"
#include "clock/clock.hpp"
#include "format/columns.hpp"
#include "format/host_events.hpp"
#include "format/rows.hpp"
#include "session/chunk_output.hpp"
#include "source/source.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rangefinder::session {

/// Packs what threads and sources produce and gives it to an output. Names, threads and categories are written the
/// first time something refers to them, before it; what the output refuses of them is tried again with the next chunk.
///
/// Threads: any; one mutex, held while a chunk is packed and written, and one for facts and windows, which is not.
class CaptureWriter final : public buffer::HostSink, public source::RowSink {
 public:
  CaptureWriter(std::unique_ptr<ChunkOutput> output, clock::Clock& clock);

  bool on_records(const Thread& thread, const format::HostRun& run,
                  std::span<const detail::Record> records) noexcept override;
  void on_captured(const Thread& thread, const format::HostRun& run,
                   std::span<const detail::Record> records) noexcept override;

  format::NameId name(std::string_view text) noexcept override;
  void count(std::uint32_t health_number, std::uint64_t n) noexcept override;
  void meta(std::string_view key, std::string_view value) noexcept override;
  void sample_clock() noexcept override;

  void write_clock(const clock::ClockPoint& point) noexcept;
  /// Written by whoever writes next, as facts are: who steps does not wait for the disk.
  void write_window(const format::WindowRow& window) noexcept;
  void write_queued() noexcept;
  /// False when the output did not take it: what it holds of the counters is older then.
  bool write_health(const CaptureHealth& health) noexcept;
  /// The last chunk. What comes after it is refused and counted. False when the output did not take it.
  bool write_end() noexcept;
  /// Ends a file that can grow no more: its last events make room for the counters, which count them, and the end.
  bool write_end_over_events() noexcept;

  /// Calls `use` with the output, while nothing is written.
  template <typename Function>
  auto with_output(Function use) {
    const std::lock_guard lock(mutex_);
    return use(*output_);
  }
  /// The same, within a limit: false where the disk does not answer until `deadline`.
  template <typename Function>
  bool with_output(std::chrono::steady_clock::time_point deadline, Function use) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    while (!lock.owns_lock() && !lock.try_lock()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    use(*output_);
    return true;
  }
  /// The first failure of the output; it goes on being tried.
  Status status() const noexcept;

 protected:
  void write_rows(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                  std::span<const format::Field> fields) noexcept override;
  void write_packed(format::FieldPacker& rows) noexcept override;

 private:
  format::ChunkHeader pack_events(const format::HostRun& run, std::span<const detail::Record> records);
  void append_chunk(format::ChunkHeader& header, format::ColumnWriter& columns);
  bool put_chunk(format::ChunkHeader header, format::ColumnWriter& columns);
  bool put_fields(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                  std::span<const format::Field> fields, std::uint64_t subject = 0);
  bool put_packed(format::FieldPacker& rows, std::uint64_t subject = 0);
  void put_pending();
  bool put_health(const CaptureHealth& health);
  void put_pending_text(format::ChunkKind kind, std::vector<format::TextRow>& rows);
  void put_pending_threads();
  void put_pending_windows();
  void want_name(std::uint32_t id);
  void want_category(std::uint32_t id);
  void note_category(std::uint32_t id);
  void want_words(std::span<const std::uint64_t> words);
  void note_thread(const Thread& thread);
  void note_given_names();

  mutable std::mutex mutex_;
  std::unique_ptr<ChunkOutput> output_;
  clock::Clock& clock_;
  base::Compressor compressor_;
  format::ColumnWriter events_{compressor_};  // waits while the names that it refers to are written
  format::ColumnWriter columns_{compressor_};
  format::HostEventPacker packer_;
  base::Bytes payload_, chunk_;
  std::vector<bool> named_, categorised_, threads_;
  std::map<std::uint32_t, format::ThreadRow> rows_of_threads_;  // by the system's number, of its last thread
  std::uint32_t given_names_ = 0;                               // of which this many have been looked at
  std::vector<format::TextRow> pending_names_, pending_meta_;
  std::vector<format::ThreadRow> pending_threads_;
  std::vector<format::WindowRow> pending_windows_;
  CaptureHealth written_health_;
  Status status_;
  std::uint64_t overwritten_ = 0;
  bool ended_ = false;
  std::size_t text_rows_ = format::kMaxRows;  // of the next chunk of names or facts, at most

  std::mutex queue_mutex_;
  std::vector<format::TextRow> queued_meta_;
  std::vector<format::WindowRow> queued_windows_;
  std::map<std::string, std::string, std::less<>> meta_;
};

}  // namespace rangefinder::session
