// SPDX-License-Identifier: MIT
#include "analysis/nsight/api.hpp"
#include "report/nsight/columns.hpp"
#include "report/view.hpp"
#include "timeline/activity_names.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::report::nsight {
namespace {

constexpr int kMegabytePlaces = 3;

std::int64_t megabytes(std::uint64_t bytes) {
  return analysis::rounded_quotient(bytes, kBytesPerMegabyte, kMegabytePlaces);
}

// Nsight divides the second by the duration first, in integers: 1 MB in 6 us is 166666 MB/s.
std::optional<std::int64_t> throughput(std::uint64_t bytes, std::int64_t duration_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (duration_ns <= 0) return {};
  return analysis::rounded_quotient(static_cast<__int128>(bytes) * (kSecond / duration_ns), kBytesPerMegabyte,
                                    kMegabytePlaces);
}

/// An activity with the details of its kind; null: it is of the other kind.
struct ActivityRow {
  ActivityIndex activity;
  const KernelDetail* kernel = nullptr;
  const CopyDetail* copy = nullptr;
};

ActivityRow row_of(const Timeline& timeline, ActivityIndex activity) {
  static constexpr KernelDetail kNoKernelDetail;
  static constexpr CopyDetail kNoCopyDetail;
  const std::uint32_t row = timeline.activities.detail[activity];
  if (is_copy(timeline.activities.kind[activity]))
    return {activity, nullptr, row < timeline.copy_details.size() ? &timeline.copy_details[row] : &kNoCopyDetail};
  return {activity, row < timeline.kernel_details.size() ? &timeline.kernel_details[row] : &kNoKernelDetail};
}

void add_kernel_columns(ColumnsOf<ActivityRow>& columns) {
  const auto of_kernel = [](auto get) { return [get](const ActivityRow& row) { return figure_of(row.kernel, get); }; };
  const auto size = [=](const std::uint32_t(KernelDetail::*which)[3], std::size_t axis) {
    return of_kernel([which, axis](const KernelDetail& detail) { return (detail.*which)[axis]; });
  };
  const auto add_megabytes = [&](const char* title, auto bytes) {
    const auto get = [bytes](const KernelDetail& detail) { return megabytes(detail.*bytes); };
    columns.decimal(title, "MB", kMegabytePlaces, of_kernel(get));
  };
  columns.count("GrdX", size(&KernelDetail::grid, 0));
  columns.count("GrdY", size(&KernelDetail::grid, 1));
  columns.count("GrdZ", size(&KernelDetail::grid, 2));
  columns.count("BlkX", size(&KernelDetail::block, 0));
  columns.count("BlkY", size(&KernelDetail::block, 1));
  columns.count("BlkZ", size(&KernelDetail::block, 2));
  columns.count("Reg/Trd", of_kernel(&KernelDetail::registers_per_thread));
  add_megabytes("StcSMem", &KernelDetail::static_shared_bytes);
  add_megabytes("DymSMem", &KernelDetail::dynamic_shared_bytes);
}

void add_memory_columns(ColumnsOf<ActivityRow>& columns, const ActivityTable& activities) {
  using Row = ActivityRow;
  const auto bytes = [&](const Row& row) { return if_that(row.copy, megabytes(activities.bytes[row.activity])); };
  const auto rate = [&](const Row& row) {
    const std::int64_t duration = activities.end_ns[row.activity] - activities.begin_ns[row.activity];
    return row.copy ? throughput(activities.bytes[row.activity], duration) : std::nullopt;
  };
  // A memset's one memory stands under the source.
  const auto is_memset = [&](const Row& row) { return activities.kind[row.activity] == ActivityKind::kMemset; };
  const auto source = [=](const Row& row) {
    return figure_of(row.copy, is_memset(row) ? &CopyDetail::target_memory : &CopyDetail::source_memory);
  };
  const auto target = [=](const Row& row) {
    return figure_of(is_memset(row) ? nullptr : row.copy, &CopyDetail::target_memory);
  };
  const auto name = [](auto memory) {
    return [memory](const Row& row) -> std::optional<std::string_view> {
      const auto kind = memory(row);
      return kind ? std::optional(timeline::memory_name(*kind)) : std::nullopt;
    };
  };
  columns.decimal("Bytes", "MB", kMegabytePlaces, bytes);
  columns.decimal("Throughput", "MB/s", kMegabytePlaces, rate);
  columns.text("SrcMemKd", name(source));
  columns.text("DstMemKd", name(target));
}

}  // namespace

Result<Table> make_cuda_gpu_trace(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = ActivityRow;
  const Timeline& timeline = projected.timeline();
  const ActivityTable& activities = timeline.activities;
  const analysis::nsight::KernelNaming naming = naming_of(options);
  Labels labels(timeline);
  const std::vector<Label> names = analysis::nsight::activity_labels(timeline, naming, labels);
  const auto duration = [&](const Row& row) {
    return activities.end_ns[row.activity] - activities.begin_ns[row.activity];
  };
  const auto stream = [&](const Row& row) -> const StreamInfo& {
    return timeline.streams[activities.stream[row.activity]];
  };
  const auto device = [&](const Row& row) {
    const DeviceInfo& info = timeline.devices[stream(row).device];
    return (info.name.empty() ? "" : info.name + " ") + "(" + std::to_string(info.id) + ")";
  };
  ColumnsOf<Row> columns(timeline);
  columns.timestamp("Start", [&](const Row& row) { return activities.begin_ns[row.activity]; });
  columns.time("Duration", duration);
  columns.count("CorrId", [&](const Row& row) { return activities.correlation[row.activity]; });
  add_kernel_columns(columns);
  add_memory_columns(columns, activities);
  columns.text("Device", device);
  columns.count("Ctx", [&](const Row& row) { return stream(row).context; });
  columns.count("GreenCtx",
                [&](const Row& row) { return if_that(stream(row).green_context != 0, stream(row).green_context); });
  columns.count("Strm", [&](const Row& row) { return stream(row).id; });
  add_kernel(columns, "Name", naming, [&](const Row& row) {
    return text_of(labels, names[row.activity]);
  }).naming_rows();
  Table table = columns.table();
  for (const ActivityIndex activity : analysis::nsight::activities_by_begin(timeline))
    columns.add_row(table, row_of(timeline, activity));
  return table;
}

Result<Table> make_cuda_api_trace(const ProjectedTimeline& projected, const ViewOptions&) {
  using Row = CallIndex;
  const Timeline& timeline = projected.timeline();
  const CallTable& calls = timeline.calls;
  Labels labels(timeline);
  const auto thread_of = [&](Row call) { return calls.thread[call]; };
  const auto thread = [&](Row call) -> const ThreadInfo* {
    const ThreadIndex index = thread_of(call);
    return index < timeline.threads.size() ? &timeline.threads[index] : nullptr;
  };
  const auto thread_name = [&](Row call) { return thread(call) ? std::string_view(thread(call)->name) : ""; };
  ColumnsOf<Row> columns(timeline);
  columns.timestamp("Start", [&](Row call) { return calls.begin_ns[call]; });
  columns.time("Duration", [&](Row call) { return calls.end_ns[call] - calls.begin_ns[call]; });
  columns.text("Name", [&](Row call) { return text_of(labels, labels.call(call)); }).naming_rows();
  columns.count("Result", [&](Row call) { return calls.result[call]; });
  columns.count("CorrID", [&](Row call) { return calls.correlation[call]; });
  add_thread(columns, timeline, thread_of, "Pid", "Tid");
  columns.count("T-Pri", [&](Row call) { return figure_of(thread(call), &ThreadInfo::priority); });
  columns.text("Thread Name", thread_name);
  return columns.table_of(analysis::nsight::calls_by_begin(timeline));
}

}  // namespace rangefinder::report::nsight
