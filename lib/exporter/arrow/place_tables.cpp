// SPDX-License-Identifier: MIT
// Tables that are few rows: all of them are copies.
#include "exporter/arrow/columns.hpp"
#include "exporter/arrow/tables.hpp"

#include <limits>
#include <utility>
#include <vector>

namespace rangefinder::arrow {
namespace {

/// Members of a vector of structs, as the columns of a table.
template <typename Row>
class Members {
 public:
  Members(std::shared_ptr<const Timeline> timeline, const std::vector<Row>& rows, std::shared_ptr<const Column> texts)
      : rows_(rows), columns_(std::move(timeline), rows.size(), std::move(texts)) {}

  template <typename Value, typename ValueOf>
  Members& number(const char* name, ValueOf value_of) {
    columns_.template computed<Value>(name, [&](std::size_t row) { return value_of(rows_[row]); });
    return *this;
  }
  /// Null where it is `missing`.
  template <typename Value, typename ValueOf>
  Members& number(const char* name, ValueOf value_of, Value missing) {
    std::vector<Value> values;
    values.reserve(rows_.size());
    for (const Row& row : rows_) values.push_back(static_cast<Value>(value_of(row)));
    columns_.numbers(name, Copied<Value>{values}, missing);
    return *this;
  }
  template <typename TextOf>
  Members& text(const char* name, TextOf text_of) {
    columns_.texts(name, [&](std::size_t row) { return std::string_view(text_of(rows_[row])); });
    return *this;
  }
  template <typename IsSet>
  Members& flag(const char* name, IsSet is_set) {
    columns_.flags_where(name, [&](std::size_t row) { return static_cast<bool>(is_set(rows_[row])); });
    return *this;
  }
  Batch take() && { return std::move(columns_).take(); }

 private:
  /// Looks like a column of the timeline whose rows do not stand where they could be pointed to.
  template <typename Value>
  struct Copied {
    using value_type = Value;
    const std::vector<Value>& values;
    Value operator[](std::size_t row) const noexcept { return values[row]; }
    const Value* contiguous(std::size_t) const noexcept { return nullptr; }
  };

  const std::vector<Row>& rows_;
  TableColumns columns_;
};

using SharedTimeline = std::shared_ptr<const Timeline>;
using SharedTexts = std::shared_ptr<const Column>;

constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Batch processes(const SharedTimeline& timeline, SharedTexts texts) {
  Members<ProcessInfo> columns(timeline, timeline->processes, std::move(texts));
  columns.number<std::int64_t>("pid", [](const ProcessInfo& row) { return row.pid; })
      .text("name", [](const ProcessInfo& row) -> const std::string& { return row.name; })
      .text("host", [](const ProcessInfo& row) -> const std::string& { return row.host; })
      .number<std::int32_t>(
          "rank", [](const ProcessInfo& row) { return row.rank; }, -1)
      .number<std::int32_t>(
          "world_size", [](const ProcessInfo& row) { return row.world_size; }, -1)
      .number<std::int64_t>(
          "start_ns", [](const ProcessInfo& row) { return row.start_ns; }, kNoTime)
      .number<std::int64_t>(
          "seen_ns", [](const ProcessInfo& row) { return row.seen_ns; }, kNoTime)
      .flag("flight_recorder", [](const ProcessInfo& row) { return row.flight_recorder; });
  return std::move(columns).take();
}

Batch threads(const SharedTimeline& timeline, SharedTexts texts) {
  Members<ThreadInfo> columns(timeline, timeline->threads, std::move(texts));
  columns.number<std::uint32_t>("process", [](const ThreadInfo& row) { return std::uint32_t{row.process}; })
      .number<std::int64_t>("tid", [](const ThreadInfo& row) { return row.tid; })
      .text("name", [](const ThreadInfo& row) -> const std::string& { return row.name; })
      .flag("is_engine", [](const ThreadInfo& row) { return row.is_engine; });
  return std::move(columns).take();
}

Batch devices(const SharedTimeline& timeline, SharedTexts texts) {
  Members<DeviceInfo> columns(timeline, timeline->devices, std::move(texts));
  columns.number<std::uint32_t>("process", [](const DeviceInfo& row) { return std::uint32_t{row.process}; })
      .number<std::uint32_t>("id", [](const DeviceInfo& row) { return row.id; })
      .text("name", [](const DeviceInfo& row) -> const std::string& { return row.name; })
      .number<std::uint32_t>("compute_major", [](const DeviceInfo& row) { return row.compute_major; })
      .number<std::uint32_t>("compute_minor", [](const DeviceInfo& row) { return row.compute_minor; })
      .number<std::uint64_t>("memory_bytes", [](const DeviceInfo& row) { return row.memory_bytes; })
      .number<std::uint32_t>("multiprocessors", [](const DeviceInfo& row) { return row.multiprocessors; })
      .text("board", [](const DeviceInfo& row) -> const std::string& { return row.board; })
      .flag("mig", [](const DeviceInfo& row) { return row.mig; });
  return std::move(columns).take();
}

Batch streams(const SharedTimeline& timeline, SharedTexts texts) {
  Members<StreamInfo> columns(timeline, timeline->streams, std::move(texts));
  columns.number<std::uint32_t>("device", [](const StreamInfo& row) { return std::uint32_t{row.device}; })
      .number<std::uint32_t>("context", [](const StreamInfo& row) { return row.context; })
      .number<std::int64_t>("id", [](const StreamInfo& row) { return row.id; })
      .number<std::uint32_t>("green_context", [](const StreamInfo& row) { return row.green_context; });
  return std::move(columns).take();
}

Batch process_groups(const SharedTimeline& timeline, SharedTexts texts) {
  Members<ProcessGroupInfo> columns(timeline, timeline->process_groups, std::move(texts));
  columns
      .text("source",
            [](const ProcessGroupInfo& row) { return row.source == CollectiveSource::kNccl ? "nccl" : "c10d"; })
      .text("name", [](const ProcessGroupInfo& row) -> const std::string& { return row.name; })
      .text("description", [](const ProcessGroupInfo& row) -> const std::string& { return row.description; })
      .number<std::int32_t>(
          "size", [](const ProcessGroupInfo& row) { return row.size; }, 0);
  return std::move(columns).take();
}

Batch kernel_details(const SharedTimeline& timeline, SharedTexts texts) {
  Members<KernelDetail> columns(timeline, timeline->kernel_details, std::move(texts));
  const char* const grid[] = {"grid_x", "grid_y", "grid_z"};
  const char* const block[] = {"block_x", "block_y", "block_z"};
  const char* const cluster[] = {"cluster_x", "cluster_y", "cluster_z"};
  for (std::size_t i = 0; i < 3; ++i)
    columns.number<std::uint32_t>(grid[i], [i](const KernelDetail& row) { return row.grid[i]; });
  for (std::size_t i = 0; i < 3; ++i)
    columns.number<std::uint32_t>(block[i], [i](const KernelDetail& row) { return row.block[i]; });
  for (std::size_t i = 0; i < 3; ++i)
    columns.number<std::uint32_t>(cluster[i], [i](const KernelDetail& row) { return row.cluster[i]; });
  columns
      .number<std::uint32_t>("registers_per_thread", [](const KernelDetail& row) { return row.registers_per_thread; })
      .number<std::uint32_t>("static_shared_bytes", [](const KernelDetail& row) { return row.static_shared_bytes; })
      .number<std::uint32_t>("dynamic_shared_bytes", [](const KernelDetail& row) { return row.dynamic_shared_bytes; })
      .number<std::uint32_t>("local_bytes_per_thread",
                             [](const KernelDetail& row) { return row.local_bytes_per_thread; });
  return std::move(columns).take();
}

Batch copy_details(const SharedTimeline& timeline, SharedTexts texts) {
  Members<CopyDetail> columns(timeline, timeline->copy_details, std::move(texts));
  columns.number<std::uint32_t>("copy_kind", [](const CopyDetail& row) { return row.copy_kind; })
      .number<std::uint32_t>("source_memory", [](const CopyDetail& row) { return row.source_memory; })
      .number<std::uint32_t>("target_memory", [](const CopyDetail& row) { return row.target_memory; })
      .number<std::uint32_t>(
          "source_device", [](const CopyDetail& row) { return row.source_device; }, kNoRow)
      .number<std::uint32_t>(
          "target_device", [](const CopyDetail& row) { return row.target_device; }, kNoRow)
      .number<std::uint32_t>("value", [](const CopyDetail& row) { return row.value; })
      .flag("asynchronous", [](const CopyDetail& row) { return row.asynchronous; });
  return std::move(columns).take();
}

}  // namespace rangefinder::arrow
