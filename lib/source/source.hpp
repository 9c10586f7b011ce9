// SPDX-License-Identifier: MIT
#pragma once

#include "format/field_packer.hpp"
#include "format/layout.hpp"
#include "format/rows.hpp"

#include <rangefinder/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rangefinder::source {

/// Takes what sources produce. One instance a recording; every member may be called from any thread, except from inside
/// a signal handler, and none throws. Rows are packed and written before `write` returns.
class RowSink {
 public:
  virtual ~RowSink() = default;

  template <typename Row>
  void write(std::span<const Row> rows) noexcept {
    if (!rows.empty()) write_rows(Row::kKind, rows.data(), sizeof(Row), rows.size(), Row::kFields);
  }

  /// The same for rows that were packed as they came; forgets them.
  void write(format::FieldPacker& rows) noexcept {
    if (rows.rows() != 0) write_packed(rows);
  }

  /// The id of a text, for `name` columns. Kernel names are not bounded by the name table's limit.
  virtual format::NameId name(std::string_view text) noexcept = 0;
  /// Adds to a counter of CaptureHealth, by its number.
  virtual void count(std::uint32_t health_number, std::uint64_t n) noexcept = 0;
  /// A fact about the recording: "cuda_driver_version" = "13000". The last value of a key counts.
  virtual void meta(std::string_view key, std::string_view value) noexcept = 0;
  /// Takes a point for the clock table now.
  virtual void sample_clock() noexcept = 0;

 protected:
  virtual void write_rows(format::ChunkKind kind, const void* rows, std::size_t row_bytes, std::size_t count,
                          std::span<const format::Field> fields) noexcept = 0;
  /// Leaves `rows` empty.
  virtual void write_packed(format::FieldPacker& rows) noexcept = 0;
};

/// What a source can do at the moment, in words for people.
struct SourceState {
  bool working = false;
  std::string reason;  ///< why not, and what to do; empty while working
};

/// Produces records between start and stop. One call of start, flush and stop at a time; set_active and state come from
/// any thread at any time.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::string_view name() const noexcept = 0;
  /// Not working is no failure of the recording: the state says why. `sink` stays valid until `stop` has returned and
  /// `at_sink` is false.
  virtual SourceState start(RowSink& sink) noexcept = 0;
  /// False while the schedule has the recording switched off: deliver nothing.
  virtual void set_active(bool active) noexcept = 0;
  /// Delivers what is complete by now; returns after `deadline` at the latest.
  virtual void flush(std::chrono::steady_clock::time_point deadline) noexcept = 0;
  virtual void stop(std::chrono::steady_clock::time_point deadline) noexcept = 0;
  /// True while a thread of the source is inside of the sink although `stop` has returned: the disk does not answer.
  /// Another `stop` waits on.
  virtual bool at_sink() const noexcept { return false; }
  virtual SourceState state() const noexcept = 0;
  /// Whether it records what devices do: how DeviceState stands is up to those that do.
  virtual bool records_device_work() const noexcept { return true; }
  /// Ends with Session::release.
  virtual bool uses_cupti() const noexcept { return false; }
};

}  // namespace rangefinder::source
