// SPDX-License-Identifier: MIT
#pragma once

#include "base/health_numbers.hpp"
#include "format/field_packer.hpp"
#include "format/rows.hpp"
#include "source/cupti/activity_reader.hpp"
#include "source/cupti/activity_windows.hpp"
#include "source/cupti/callback_ids.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/device_clock.hpp"
#include "source/cupti/graph_replays.hpp"
#include "source/source.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::source::cupti {

/// Kernel names by the pointer that CUPTI gives. The text is compared in each buffer: after a module is unloaded the
/// same address can hold another name.
class KernelNames {
 public:
  format::NameId id(const char* name, RowSink& sink) {
    Recent& recent = recent_[reinterpret_cast<std::uintptr_t>(name) / 16 % recent_.size()];
    if (recent.name != name || recent.buffer != buffer_) recent = {name, buffer_, look_up(name, sink)};
    return recent.id;
  }
  void begin_buffer() noexcept { ++buffer_; }
  void clear() noexcept {
    known_.clear();
    begin_buffer();
  }

 private:
  struct Known {
    std::string text;
    format::NameId id;
  };
  struct Recent {
    const char* name = nullptr;
    std::uint64_t buffer = 0;
    format::NameId id = 0;
  };
  format::NameId look_up(const char* name, RowSink& sink);

  static constexpr std::size_t kMax = 1u << 16;
  std::unordered_map<const char*, Known> known_;
  std::array<Recent, 256> recent_;
  std::uint64_t buffer_ = 1;
};

/// Devices, contexts and streams announced in this process: CUPTI says each once, every recording needs them.
class DeviceObjects {
 public:
  struct Device {
    format::DeviceRow row;
    std::string name;
  };
  bool add(Device device);  // false: known already, nothing new
  bool add(const format::ContextRow& context);
  bool add(const format::StreamRow& stream);
  /// Where a stream of that number is; false where there is none, or one in each of several contexts.
  bool find_stream(std::uint32_t stream, std::uint32_t& device, std::uint32_t& context) const;
  void write_all(RowSink& sink) const;

 private:
  static constexpr std::size_t kMaxStreams = 1u << 16;
  std::map<std::uint32_t, Device> devices_;
  std::map<std::uint32_t, format::ContextRow> contexts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, format::StreamRow> streams_;
};

/// The stream that each event was recorded on last, by the number that CUPTI gives to a recording of an event and to
/// the waits for it.
class EventStreams {
 public:
  struct Place {
    std::uint32_t context = 0;  // 0: not known
    std::uint32_t stream = 0;
  };
  static constexpr std::size_t kMax = 1u << 16;  // numbers grow: the oldest go
  void add(std::uint64_t number, Place place);
  Place find(std::uint64_t number) const;

 private:
  std::map<std::uint64_t, Place> places_;
};

/// Rows of one kind on their way to the sink, packed a few at a time.
template <typename Row>
class RowBuffer {
 public:
  /// The place of the next row, for `added`.
  Row& next() noexcept { return rows_[count_]; }
  void added(RowSink& sink) {
    if (++count_ == rows_.size()) pack(sink);
  }
  void add(const Row& row, RowSink& sink) {
    next() = row;
    added(sink);
  }
  void write(RowSink& sink) {
    pack(sink);
    sink.write(packer_);
  }

 private:
  static constexpr std::size_t kRows = 8192;  // of a chunk
  void pack(RowSink& sink) {
    const std::size_t count = std::exchange(count_, 0);
    try {
      packer_.add(std::span<const Row>(rows_.data(), count));
    } catch (const std::exception&) {  // no memory
      sink.count(health::records_not_written, count);
    }
    if (packer_.rows() >= kRows) sink.write(packer_);
  }

  format::FieldPacker packer_ = format::FieldPacker::of<Row>();
  std::array<Row, 64> rows_;
  std::size_t count_ = 0;
};

/// Turns activity buffers into rows. Used by one thread.
class ActivityDecoder {
 public:
  ActivityDecoder(const CuptiApi& api, const CallbackNames& runtime, const CallbackNames& driver);

  /// Before the first buffer of a recording. `trust_thread_ids`: CUPTI gives the system's ids.
  void begin(RowSink& sink, bool noisy_api_filter, bool trust_thread_ids, const LaunchThreads* threads);
  /// How far the buffer is zeros then.
  std::size_t decode(std::uint8_t* data, std::size_t valid);
  /// Hands over what is gathered, rows and counts.
  void finish();

  DeviceClock& clock() noexcept { return clock_; }
  ActivityWindows& windows() noexcept { return windows_; }
  GraphReplays& graphs() noexcept { return graphs_; }
  /// Records of any kind decoded in this recording.
  std::uint64_t records() const noexcept { return records_; }
  /// Work of CUDA graphs came in this recording.
  bool saw_graphs() const noexcept { return saw_graphs_.load(std::memory_order_relaxed); }
  /// Kernels came, and none said when it was queued.
  bool never_queued() const noexcept { return saw_kernels_ && !saw_queued_; }

 private:
  struct Tally {
    std::uint64_t untimed = 0, invalid = 0, unknown_kinds = 0, truncated = 0, disagreements = 0;
  };
  struct Times {
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  void on_record(const RawRecord& record);
  void on_kernel(const RawRecord& record);
  void on_memcpy(const RawRecord& record);
  void on_peer_memcpy(const RawRecord& record);
  void on_memset(const RawRecord& record);
  void on_graph_launch(const RawRecord& record);
  void on_api(const RawRecord& record, format::ApiDomain domain);
  void on_sync(const RawRecord& record);
  void on_event(const RawRecord& record);
  void on_overhead(const RawRecord& record);
  void on_allocation(const RawRecord& record);
  void on_jit(const RawRecord& record);
  void on_device(const RawRecord& record);
  void on_context(const RawRecord& record);
  void on_stream(const RawRecord& record);
  /// False: no times, or impossible ones; counted.
  bool times(std::uint64_t start, std::uint64_t end, Times& out);
  bool convert_times(std::uint64_t start, std::uint64_t end, Times& out);
  /// False outside the recording, too.
  bool device_times(std::uint64_t start, std::uint64_t end, std::uint32_t correlation, Times& out);
  bool host_times(std::uint64_t start, std::uint64_t end, Times& out);
  /// What the rows of all device work have in common; false where `device_times` is. Rows are filled in where they lie:
  /// no field is left out.
  template <typename Row, typename Record>
  bool fill_device_row(const Record& r, Row& row);
  template <typename Record>
  bool fill_memcpy_row(const Record& r, format::MemcpyRow& row);
  format::NameId api_name(format::ApiDomain domain, std::uint32_t id);
  format::NameId ask_api_name(format::ApiDomain domain, std::uint32_t id);

  const CuptiApi& api_;
  const CallbackNames& runtime_names_;
  const CallbackNames& driver_names_;
  RecordSizes sizes_;
  DeviceClock clock_;
  ActivityWindows windows_;
  GraphReplays graphs_;
  DeviceObjects objects_;
  EventStreams events_;
  /// Waits for events whose recording has not come: another thread's buffer may bring it.
  std::vector<std::pair<std::uint64_t, format::SyncRow>> event_waits_;
  KernelNames kernel_names_;
  std::vector<bool> runtime_noise_;
  std::vector<bool> driver_noise_;
  std::vector<format::NameId> api_name_ids_[3];

  RowSink* sink_ = nullptr;
  bool filter_noise_ = false;
  bool trust_thread_ids_ = false;
  const LaunchThreads* threads_ = nullptr;
  Tally tally_;
  std::uint64_t records_ = 0;
  std::atomic<bool> saw_graphs_{false};  // read by who stops the recording
  bool saw_kernels_ = false;
  bool saw_queued_ = false;

  RowBuffer<format::KernelRow> kernels_;
  RowBuffer<format::MemcpyRow> memcpys_;
  RowBuffer<format::MemsetRow> memsets_;
  RowBuffer<format::GraphLaunchRow> graph_launches_;
  RowBuffer<format::ApiRow> apis_;
  RowBuffer<format::SyncRow> syncs_;
  RowBuffer<format::OverheadRow> overheads_;
  RowBuffer<format::AllocationRow> allocations_;
  RowBuffer<format::JitRow> jits_;
};

}  // namespace rangefinder::source::cupti
