// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "exporter/arrow/batch.hpp"
#include "exporter/arrow/tables.hpp"
#include "projection/split_graph_launches.hpp"
#include "report/projected_timeline.hpp"
#include "report/table.hpp"
#include "report/view.hpp"

#include <rangefinder/arrow.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder {
namespace arrow {

std::span<const TableKind> table_kinds() {
  static constexpr std::array kKinds = {
      TableKind{"activities", "kernels, copies and memsets on devices", activities},
      TableKind{"calls", "calls of the CUDA API on host threads", calls},
      TableKind{"launches", "where activities were launched: thread, time and range", launches},
      TableKind{"ranges", "ranges and operators of host threads", ranges},
      TableKind{"steps", "iterations: session.step(), ProfilerStep", steps},
      TableKind{"collectives", "a process' part of each collective, send and receive", collectives},
      TableKind{"syncs", "waits for devices, streams and events", syncs},
      TableKind{"overheads", "time that the profiler itself took", overheads},
      TableKind{"marks", "instants with a name", marks},
      TableKind{"counters", "samples of user counter tracks", counters},
      TableKind{"autograd_nodes", "nodes of the backward pass as they ran", autograd_nodes},
      TableKind{"graph_nodes", "nodes of CUDA graphs, and where they were made", graph_nodes},
      TableKind{"operators", "shapes, types and values of the inputs of operators", operators},
      TableKind{"cuda_allocations", "allocations by calls of CUDA", cuda_allocations},
      TableKind{"allocator_events", "allocations by LibTorch's allocators", allocator_events},
      TableKind{"sensor_samples", "power, clocks, temperature and utilization of devices", sensor_samples},
      TableKind{"processes", "the processes of the job", processes},
      TableKind{"threads", "their threads", threads},
      TableKind{"devices", "their devices", devices},
      TableKind{"streams", "the streams of devices", streams},
      TableKind{"process_groups", "process groups of PyTorch and communicators of NCCL", process_groups},
      TableKind{"kernel_details", "how kernels were launched: grid, block, shared memory", kernel_details},
      TableKind{"copy_details", "between which memories copies went", copy_details}};
  return kKinds;
}

namespace {

Result<std::shared_ptr<const Column>> texts_of(const Timeline& timeline) {
  TextColumn texts;
  for (std::uint32_t id = 0; id < timeline.string_count(); ++id) texts.add(timeline.text(StringId{id}));
  if (texts.is_too_long())
    return Error(ErrorCode::kTooLarge, "arrow: names take more than the 2 GiB that a dictionary can hold");
  return std::make_shared<const Column>(std::move(texts).take(""));
}

const TableKind* find_kind(std::string_view name) noexcept {
  for (const TableKind& kind : table_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

Error no_such_table(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TableKind& kind : table_kinds()) names.push_back(kind.name);
  std::string message = "no table \"" + base::printable(name) + "\"";
  if (const std::string_view near = base::nearest(name, names); !near.empty())
    message += "; did you mean \"" + std::string(near) + "\"?";
  return Error(ErrorCode::kNotFound, std::move(message));
}

// ---- views -----------------------------------------------------------------------------------------------------

Column text_column(const report::Table& table, std::size_t at, std::string name, bool& too_long) {
  TextColumn texts;
  Bits valid(table.row_count());
  std::int64_t null_count = 0;
  std::string buffer;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (table.is_null(row, at)) {
      ++null_count;
      texts.add({});
      continue;
    }
    valid.set(row);
    texts.add(table.text_at(row, at, buffer));
  }
  too_long = too_long || texts.is_too_long();
  Column column = std::move(texts).take(std::move(name));
  column.nullable = true;
  column.null_count = null_count;
  if (null_count != 0) column.buffers[0] = valid.buffer();
  return column;
}

template <typename Value, typename ValueOf>
Column number_column(const report::Table& table, std::size_t at, std::string name, const char* format,
                     ValueOf value_of) {
  Column column{.name = std::move(name),
                .format = format,
                .length = static_cast<std::int64_t>(table.row_count()),
                .nullable = true};
  std::vector<Value> values(table.row_count());
  Bits valid(table.row_count());
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    if (table.is_null(row, at)) {
      ++column.null_count;
      continue;
    }
    valid.set(row);
    values[row] = value_of(table.number_at(row, at));
  }
  column.buffers = {column.null_count != 0 ? valid.buffer() : Buffer{}, buffer_of(std::move(values))};
  return column;
}

Column view_column(const report::Table& table, std::size_t at, std::string name, bool& too_long) {
  const report::Column& column = table.columns()[at];
  if (report::is_text(column.type)) return text_column(table, at, std::move(name), too_long);
  if (column.type == report::ColumnType::kReal)
    return number_column<double>(table, at, std::move(name), "g",
                                 [](std::int64_t cell) { return report::real_of_cell(cell); });
  if (column.places != 0) {
    const double scale = std::pow(10.0, column.places);
    return number_column<double>(table, at, std::move(name), "g",
                                 [scale](std::int64_t cell) { return static_cast<double>(cell) / scale; });
  }
  return number_column<std::int64_t>(table, at, std::move(name), "l", [](std::int64_t cell) { return cell; });
}

Result<Batch> batch_of(const report::Table& table) {
  Batch batch;
  batch.rows = static_cast<std::int64_t>(table.row_count());
  const std::vector<std::string> keys = report::unique_keys(table.columns());
  bool too_long = false;
  for (std::size_t at = 0; at < keys.size(); ++at) batch.columns.push_back(view_column(table, at, keys[at], too_long));
  if (too_long) return Error(ErrorCode::kTooLarge, "arrow: the texts of a column take more than 2 GiB");
  return batch;
}

}  // namespace
}  // namespace arrow

std::vector<ArrowTableInfo> arrow_tables() {
  std::vector<ArrowTableInfo> tables;
  for (const arrow::TableKind& kind : arrow::table_kinds()) tables.push_back({kind.name, kind.description});
  return tables;
}

Status export_arrow_table(const std::shared_ptr<const Timeline>& timeline, std::string_view table,
                          ArrowArrayStream* out) {
  const arrow::TableKind* const kind = arrow::find_kind(table);
  if (kind == nullptr) return arrow::no_such_table(table);
  Result<std::shared_ptr<const arrow::Column>> texts = arrow::texts_of(*timeline);
  if (!texts) return std::move(texts).error();
  arrow::give_stream(kind->make(timeline, std::move(*texts)), {}, out);
  return {};
}

Status export_arrow_view(const Timeline& timeline, const ReportOptions& options, ArrowArrayStream* out) {
  report::ViewOptions wanted{options};
  const Result<const report::View*> view = report::find_view(options.view, wanted);
  if (!view) return view.error();
  std::optional<Timeline> divided;
  if (!(*view)->compatible) divided = projection::with_split_graph_launches(timeline, options.projection);
  const report::ProjectedTimeline projected(divided ? *divided : timeline, options.projection);
  Result<report::Table> table = report::make_table(**view, projected, wanted);
  if (!table) return std::move(table).error();
  Result<arrow::Batch> batch = arrow::batch_of(*table);
  if (!batch) return std::move(batch).error();
  arrow::give_stream(std::move(*batch), {}, out);
  return {};
}

}  // namespace rangefinder
