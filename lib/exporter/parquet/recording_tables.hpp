// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/parquet/hive.hpp"
#include "exporter/parquet/range_paths.hpp"
#include "exporter/parquet/row_file.hpp"
#include "exporter/parquet/step_marks.hpp"
#include "exporter/parquet/summary.hpp"
#include "projection/window_rows.hpp"

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace rangefinder::parquet {

/// The tables of one process, window by window: detail as it comes, summaries at the end.
class RecordingTables {
 public:
  struct Options {
    std::string root;
    Partition partition;
    ProcessIndex process{0};
    ProjectionOptions projection;
    bool detail = true;
    bool replace = false;
  };
  /// `steps` is filled before each window is added. `timeline`: that of all windows. All three outlive it.
  RecordingTables(const rf_parquet_writer& writer, const Timeline& timeline, const StepMarks& steps, Options options);

  /// What the recording is known to lack: columns of all rows that are written from here on, and so of the last rows of
  /// each file. `finish` takes that of the timeline.
  void set_losses(const CaptureHealth& health, std::int64_t clock_error_ns);
  /// A window, or all of a recording. `own_calls`: the first so many calls are the window's.
  void add(const projection::WindowRows& window, std::size_t own_calls);
  /// Behind the last window: writes what is left. Files get their names with `take_names`.
  Status finish(std::int64_t begin_ns, std::int64_t end_ns);
  Status take_names();

  std::uint64_t activities() const noexcept { return summary_.account().total.gpu_ops; }
  std::uint64_t rows() const noexcept;

 private:
  using CollectiveKey = std::tuple<std::int64_t, std::uint32_t, std::int64_t, std::uint8_t, std::uint8_t>;

  RowFile& file(const std::string& table, const std::string& name, const std::vector<Field>& fields,
                std::vector<int> sorted_by);
  std::vector<TextOf> texts_of(const std::vector<Field>& fields) const;
  RowFile& activities_of(DeviceIndex device);
  bool is_ours(ThreadIndex thread) const noexcept;
  std::int64_t word(std::string_view text);
  std::int64_t owner_word(std::uint32_t owner) const noexcept;
  std::uint32_t path_of(const projection::WindowRows& window, RangeIndex range);

  void add_activities(const projection::WindowRows& window);
  std::vector<ActivityIndex> activities_in_order() const;
  void add_activity(const projection::WindowRows& window, ActivityIndex row, const StreamInfo& stream);
  void add_calls(std::size_t own_calls);
  void add_ranges(const projection::WindowRows& window);
  void add_collectives();
  void write_collective(const CollectiveRow& row);
  void write_cells(const Summary::Cells& cells);
  void write_steps();
  void write_kernels();
  void write_recording(std::int64_t begin_ns, std::int64_t end_ns);
  void write_health();

  const rf_parquet_writer& writer_;
  const Timeline& timeline_;
  const StepMarks& steps_;
  Options options_;
  Status folders_;                                         // what went wrong where they were created
  std::map<std::string, std::unique_ptr<RowFile>> files_;  // by path
  std::vector<RowFile*> activity_files_;                   // by device
  std::vector<std::int64_t> losses_ = {0, 0};              // of set_losses, for files to come
  RowFile* calls_ = nullptr;
  RowFile* ranges_ = nullptr;
  RowFile* collectives_ = nullptr;
  Summary summary_;
  RangePaths paths_;
  std::vector<std::uint32_t> path_of_range_;  // of the window at hand
  std::vector<RangeIndex> chain_;
  std::vector<std::int8_t> communication_;                                         // by name: -1 not looked at
  std::vector<std::string> words_;                                                 // texts that are not the timeline's
  std::array<std::int64_t, 4> kind_words_{}, range_kind_words_{}, owner_words_{};  // their positions
  std::array<std::int64_t, 3> domain_words_{};
  std::map<CollectiveKey, CollectiveRow> pending_collectives_;
};

/// The schema's version, which docs/reference/parquet-schema.md describes.
inline constexpr std::int32_t kSchemaVersion = 1;

}  // namespace rangefinder::parquet
