// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/detail/wrapping.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace rangefinder {

enum class RangeStyle : std::uint8_t {
  kScoped,    ///< pushed and popped on one thread
  kStartEnd,  ///< started and ended by handle; may overlap, may end on another thread
};

enum class RangeKind : std::uint8_t {
  kAnnotation,      ///< written by the program's author: ProfileRange, record_function, NVTX
  kOperator,        ///< a framework's operator
  kPythonFunction,  ///< Kineto's with_stack rows
  kOther,           ///< any other host slice of an imported trace, kept for export
};

/// Flags of a range.
enum RangeFlags : std::uint8_t {
  kUnfinished = 1,      ///< still open when the recording stopped; end_ns is the recording's end
  kEndedElsewhere = 2,  ///< ended on another thread
  kOwnerless = 4,       ///< never owns device activity (a framework's bookkeeping, a range without a known thread)
  /// Over before the recording, or what a flight recorder still holds of it, began; here since a CUDA graph was
  /// captured in it: it may own work of replays, and is no part of the recorded time, nor of counts and times of the
  /// host.
  kBeforeRecording = 8,
  /// Its code left the thread at the end (a coroutine) and came back: the range goes on in a later row, which is
  /// kResumed.
  kSuspended = 16,
  kResumed = 32,
};

struct RangeRow {
  using Table = class RangeTable;

  StringId name = StringId::kEmpty;
  StringId domain = StringId::kEmpty;    ///< NVTX domain; kEmpty is the default domain
  StringId category = StringId::kEmpty;  ///< ours, NVTX's or Kineto's
  RangeKind kind = RangeKind::kAnnotation;
  RangeStyle style = RangeStyle::kScoped;
  std::uint8_t flags = 0;  ///< RangeFlags
  ThreadIndex thread{};
  ThreadIndex end_thread{};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  /// Where the row came from: the event's position in `traceEvents`, Nsight's rowid, or -1.
  std::int64_t source_row = -1;
  /// Kineto's External id; -1 where there is none. Links operators, API calls and activities of imported traces.
  std::int64_t external_id = -1;
  std::int64_t opened_ns = kNoTime;  ///< of a kResumed row: when the first row of that range began
};

/// Ranges of host threads.
class RangeTable : public detail::Table<RangeTable, RangeRow> {
 public:
  TableColumn<&RangeRow::name> name;
  OptionalTableColumn<&RangeRow::domain> domain;
  TableColumn<&RangeRow::category> category;
  TableColumn<&RangeRow::kind> kind;
  OptionalTableColumn<&RangeRow::style> style;
  OptionalTableColumn<&RangeRow::flags> flags;
  TableColumn<&RangeRow::thread> thread;
  TableColumn<&RangeRow::end_thread> end_thread;
  TableColumn<&RangeRow::begin_ns> begin_ns;
  TableColumn<&RangeRow::end_ns> end_ns;
  OptionalTableColumn<&RangeRow::source_row> source_row;
  OptionalTableColumn<&RangeRow::external_id> external_id;
  OptionalTableColumn<&RangeRow::opened_ns> opened_ns;

  /// Whether the row counts as a run of its range: the last one of a range that was suspended, and none from before the
  /// recording.
  bool is_run(RangeIndex range) const noexcept { return (flags[range] & (kBeforeRecording | kSuspended)) == 0; }
  /// The host time of that run, with the time in which it was suspended. Files can claim any time: it wraps around.
  std::int64_t run_ns(RangeIndex range) const noexcept {
    const std::int64_t opened = (flags[range] & kResumed) != 0 ? opened_ns[range] : kNoTime;
    return detail::minus(end_ns[range], opened != kNoTime ? opened : begin_ns[range]);
  }

  /// Appends rows with default values up to `rows`, for input that gives ranges out of order; `set` fills them.
  void grow_to(std::size_t rows) { append_defaults(rows); }
  void set_name(RangeIndex range, StringId value) noexcept { name.values_[range] = value; }
  void set_kind(RangeIndex range, RangeKind value) noexcept { kind.values_[range] = value; }
  void set_flags(RangeIndex range, std::uint8_t value) { flags.set(range, value); }
  void set_end(RangeIndex range, std::int64_t value) noexcept { end_ns.values_[range] = value; }
  void set_labels(RangeIndex range, StringId of_domain, StringId of_category) {
    domain.set(range, of_domain);
    category.values_[range] = of_category;
  }

 private:
  friend detail::Table<RangeTable, RangeRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.name, self.domain, self.category, self.kind, self.style, self.flags, self.thread,
                    self.end_thread, self.begin_ns, self.end_ns, self.source_row, self.external_id, self.opened_ns);
  }
};

}  // namespace rangefinder
