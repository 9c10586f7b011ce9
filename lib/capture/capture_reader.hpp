// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "capture/name_list.hpp"
#include "clock/clock_table.hpp"
#include "format/chunk.hpp"
#include "format/host_events.hpp"
#include "format/rows.hpp"

#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::capture {

struct LiveContent;

/// Receives the events of a capture in the order of the file: a thread's host events in the order in which it wrote
/// them; device records late and unordered, as they were delivered. Spans are valid during the call.
class CaptureVisitor {
 public:
  virtual ~CaptureVisitor() = default;
  virtual void on_host_events(const format::HostEvents&) {}
  virtual void on_kernels(std::span<const format::KernelRow>) {}
  virtual void on_memcpys(std::span<const format::MemcpyRow>) {}
  virtual void on_memsets(std::span<const format::MemsetRow>) {}
  virtual void on_api_calls(std::span<const format::ApiRow>) {}
  virtual void on_syncs(std::span<const format::SyncRow>) {}
  virtual void on_overheads(std::span<const format::OverheadRow>) {}
  virtual void on_device_samples(std::span<const format::DeviceSampleRow>) {}
  virtual void on_allocations(std::span<const format::AllocationRow>) {}
  virtual void on_jits(std::span<const format::JitRow>) {}
  /// Asked behind each chunk; an error ends the visit.
  virtual Status goes_on() { return {}; }
  virtual void on_graph_nodes(std::span<const format::GraphNodeRow>) {}
  virtual void on_range_metrics(std::span<const format::RangeMetricRow>) {}
  virtual void on_metric_samples(std::span<const format::MetricSampleRow>) {}
  virtual void on_graph_launches(std::span<const format::GraphLaunchRow>) {}
};

/// A chunk's place and size, for `info` and `check`.
struct ChunkEntry {
  std::uint64_t offset;
  format::ChunkHeader header;
};

/// What is wrong with a file, place first.
struct Finding {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string text;
};

/// One opened capture. Opening reads all that is small (names, threads, clock points, devices, health) and notes where
/// the rest is; `visit` then streams it, so that memory does not grow with the capture.
///
/// Damage: a chunk whose checksum fails is skipped and counted (health().damaged_*), and reading goes on at the next
/// whole one. A capture whose writer died has no end chunk; what its live file holds beyond the capture is read too,
/// and a last chunk that was cut off counts as damage only where there is no live file that holds it whole.
///
/// A file that is cut short while it is read ends the reading with an error: see file_status().
class CaptureReader {
 public:
  static Result<CaptureReader> open(const std::string& path);

  const format::FileHeader& header() const noexcept { return header_; }
  const clock::ClockTable& clock() const noexcept { return *clock_; }
  std::int64_t monotonic_of_ticks(std::uint64_t ticks) const noexcept { return clock_->monotonic_of_ticks(ticks); }
  std::int64_t monotonic_of_realtime(std::int64_t ns) const noexcept { return clock_->monotonic_of_realtime(ns); }

  /// Empty for id 0 and for ids that the file does not hold.
  std::string_view name(format::NameId id) const noexcept {
    const std::string* const found = names_.find(id);
    return found != nullptr ? std::string_view(*found) : std::string_view{};
  }
  bool has_name(format::NameId id) const noexcept { return names_.find(id) != nullptr; }
  /// For people: "(unnamed)" for id 0, "<lost name #5>" for an id that the file does not hold.
  std::string name_or_placeholder(format::NameId id) const;
  const NameList& names() const noexcept { return names_; }
  /// From here on ids are the reader's: of threads that only the live file names.
  static constexpr format::NameId kFirstOwnName = 1u << 31;
  const std::vector<std::pair<std::string, std::string>>& metadata() const noexcept { return metadata_; }
  std::string_view metadata(std::string_view key) const noexcept;
  /// Its device records come from a script, not from a GPU.
  bool simulated() const noexcept;
  const std::vector<format::ThreadRow>& threads() const noexcept { return threads_; }
  const std::vector<format::DeviceRow>& devices() const noexcept { return devices_; }
  const std::vector<format::ContextRow>& contexts() const noexcept { return contexts_; }
  const std::vector<format::StreamRow>& streams() const noexcept { return streams_; }
  const std::vector<format::WindowRow>& windows() const noexcept { return windows_; }
  const CaptureHealth& health() const noexcept { return health_; }

  /// The writer ended the file itself.
  bool ended_cleanly() const noexcept { return clean_; }
  /// What its reader should know where it did not: what is missing, and how to keep what is there. Else empty.
  std::string end_note() const;
  const std::vector<ChunkEntry>& chunks() const noexcept { return chunks_; }
  /// At most kMaxFindings; health() counts all.
  const std::vector<Finding>& findings() const noexcept { return findings_; }
  static constexpr std::size_t kMaxFindings = 100;
  std::uint64_t file_bytes() const noexcept { return file_.size(); }
  const std::string& path() const noexcept { return path_; }
  /// What all events of the file take when they are unpacked, as its headers say. A small file can claim much.
  std::uint64_t unpacked_bytes() const noexcept;

  /// A chunk with its payload checked; valid until another one is read.
  Result<format::ChunkView> read(const ChunkEntry& entry);
  /// What the system said when chunks could not be read, or that the file became shorter. Chunks that fail later are
  /// not counted as damage.
  const Status& file_status() const noexcept { return file_status_; }
  /// What only the live file holds, by thread, then block.
  const std::vector<format::HostEvents>& live_events() const noexcept { return live_; }

  /// Streams every event, and answers with file_status(). A chunk that cannot be unpacked is counted like a damaged
  /// one. `progress` may be null.
  Status visit(CaptureVisitor& visitor, void (*progress)(void*, std::uint64_t, std::uint64_t) = nullptr,
               void* progress_user = nullptr);

  /// The same for one of `chunks()`, in whatever order the caller needs them.
  void visit_one(const ChunkEntry& entry, CaptureVisitor& visitor);

  /// Category names: the recorder interns them as `category:<number>` metadata.
  std::string_view category(std::uint32_t id) const noexcept {
    return id < categories_.size() ? categories_[id] : std::string_view{};
  }
  /// The NVTX domain that the category is of; `domain:<number>` metadata. Empty: the default domain.
  std::string_view domain(std::uint32_t category) const noexcept {
    return category < domains_.size() ? domains_[category] : std::string_view{};
  }
  /// "#rrggbb" of what the program gave a colour; `colour:<number>` metadata.
  std::string_view colour(std::uint32_t category) const noexcept {
    return category < colours_.size() ? colours_[category] : std::string_view{};
  }

 private:
  CaptureReader() = default;
  void scan();
  std::uint64_t next_chunk(std::uint64_t from);
  Result<format::ChunkView> header_at(std::uint64_t offset);
  Result<format::ChunkView> chunk_at(std::uint64_t offset, std::uint64_t payload_bytes = 0);
  Result<base::ByteView> bytes_at(std::uint64_t offset, std::size_t count);
  void skip_to(std::uint64_t next, std::uint64_t from, const Error& why);
  void take(const format::ChunkView& chunk);
  void take_fact(std::string& key, std::string& value);
  bool within_budget(const format::ChunkView& chunk) noexcept;
  void damaged(std::uint64_t offset, std::uint64_t end, std::string text);
  void note(std::uint64_t offset, std::uint64_t bytes, std::string text);
  bool find_live();
  void note_missing_live();
  void drop_what_the_capture_holds(LiveContent& live);
  void take_live(LiveContent live);
  void finish_small();
  void visit_chunk(const format::ChunkView& chunk, CaptureVisitor& visitor);
  template <typename Row, typename Use>
  void visit_rows(const format::ChunkView& chunk, Use use);

  std::string path_;
  base::InputFile file_;
  Status file_status_;
  format::FileHeader header_{};
  std::vector<ChunkEntry> chunks_;
  std::vector<Finding> findings_;
  NameList names_;
  std::vector<std::string> categories_;
  std::vector<std::string> domains_, colours_;  // by category
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<format::ThreadRow> threads_;
  std::vector<format::DeviceRow> devices_;
  std::vector<format::ContextRow> contexts_;
  std::vector<format::StreamRow> streams_;
  std::vector<format::WindowRow> windows_;
  std::vector<clock::ClockPoint> clock_points_;
  std::unique_ptr<clock::ClockTable> clock_;
  std::vector<format::HostEvents> live_;  // what only the live file holds
  std::map<std::uint32_t, std::uint64_t> recorded_health_;
  CaptureHealth health_;
  bool clean_ = false;
  std::set<std::uint64_t> damaged_at_;  // counted once, however often a chunk is visited
  std::uint64_t budget_ = 0;            // that small chunks may still unpack to
  std::optional<Finding> cut_tail_;     // the writer died while it wrote a chunk that the live file holds too
  format::ColumnReader columns_;
};

}  // namespace rangefinder::capture
