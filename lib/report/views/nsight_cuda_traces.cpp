// SPDX-License-Identifier: MIT
#include "analysis/nsight/api.hpp"
#include "report/view.hpp"
#include "report/views/nsight_columns.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::report {
namespace {

using namespace report::nsight;
using analysis::nsight::Labels;

constexpr int kMegabytePlaces = 3;

std::int64_t megabytes(std::uint64_t bytes) {
  return analysis::rounded_quotient(bytes, kBytesPerMegabyte, kMegabytePlaces);
}

// Nsight divides the second by the duration first, in integers: 1 MB in 6 us is 166666 MB/s.
bool throughput(std::uint64_t bytes, std::int64_t duration_ns, std::int64_t& megabytes_per_second) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (duration_ns <= 0) return false;
  megabytes_per_second = analysis::rounded_quotient(static_cast<__int128>(bytes) * (kSecond / duration_ns),
                                                    kBytesPerMegabyte, kMegabytePlaces);
  return true;
}

void add_kernel(Table& table, const KernelDetail& detail) {
  for (const std::uint32_t size : detail.grid) table.number(size);
  for (const std::uint32_t size : detail.block) table.number(size);
  table.number(detail.registers_per_thread)
      .number(megabytes(detail.static_shared_bytes))
      .number(megabytes(detail.dynamic_shared_bytes));
  table.null().null().null().null();
}

void add_memory_operation(Table& table, const Timeline& timeline, ActivityIndex activity) {
  const ActivityTable& activities = timeline.activities;
  const std::uint32_t row = activities.detail[activity];
  const CopyDetail detail = row < timeline.copy_details.size() ? timeline.copy_details[row] : CopyDetail{};
  for (int column = 0; column < 9; ++column) table.null();
  std::int64_t rate = 0;
  const bool timed =
      throughput(activities.bytes[activity], activities.end_ns[activity] - activities.begin_ns[activity], rate);
  table.number(megabytes(activities.bytes[activity])).optional(timed, rate);
  // A memset's one memory stands under the source.
  if (activities.kind[activity] == ActivityKind::kMemset)
    table.text(timeline::memory_name(detail.target_memory)).null();
  else
    table.text(timeline::memory_name(detail.source_memory)).text(timeline::memory_name(detail.target_memory));
}

Result<Table> make_gpu_trace(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  std::vector<Column> columns{timestamp_column("Start"), time_column("Duration"), count_column("CorrId")};
  for (const char* size : {"GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Reg/Trd"})
    columns.push_back(count_column(size));
  for (const char* memory : {"StcSMem", "DymSMem", "Bytes"})
    columns.push_back(decimal_column(memory, "MB", kMegabytePlaces));
  columns.push_back(decimal_column("Throughput", "MB/s", kMegabytePlaces));
  for (const char* text : {"SrcMemKd", "DstMemKd", "Device"}) columns.push_back(text_column(text));
  for (const char* id : {"Ctx", "GreenCtx", "Strm"}) columns.push_back(count_column(id));
  columns.push_back(kernel_column("Name", options.kernel_naming.innermost_range));
  const std::size_t name_column = columns.size() - 1;
  Table table(std::move(columns), name_column);

  Labels labels(timeline);
  const std::vector<analysis::nsight::Label> names =
      analysis::nsight::activity_labels(timeline, options.kernel_naming, labels);
  const ActivityTable& activities = timeline.activities;
  for (const ActivityIndex activity : analysis::nsight::activities_by_begin(timeline)) {
    table.number(activities.begin_ns[activity])
        .number(activities.end_ns[activity] - activities.begin_ns[activity])
        .number(static_cast<std::int64_t>(activities.correlation[activity]));
    if (!is_copy(activities.kind[activity])) {
      const std::uint32_t row = activities.detail[activity];
      add_kernel(table, row < timeline.kernel_details.size() ? timeline.kernel_details[row] : KernelDetail{});
    } else {
      add_memory_operation(table, timeline, activity);
    }
    const StreamInfo& stream = timeline.streams[activities.stream[activity]];
    const DeviceInfo& device = timeline.devices[stream.device];
    table.text((device.name.empty() ? "" : device.name + " ") + "(" + std::to_string(device.id) + ")")
        .number(stream.context)
        .optional(stream.green_context != 0, stream.green_context)
        .number(stream.id)
        .text(labels.text(names[activity]));
  }
  return table;
}

Result<Table> make_api_trace(const Subject& subject, const ViewOptions&) {
  const Timeline& timeline = subject.timeline();
  constexpr std::size_t kName = 2;
  Table table({timestamp_column("Start"), time_column("Duration"), text_column("Name"), count_column("Result"),
               count_column("CorrID"), count_column("Pid"), count_column("Tid"), count_column("T-Pri"),
               text_column("Thread Name")},
              kName);
  Labels labels(timeline);
  const CallTable& calls = timeline.calls;
  for (const CallIndex call : analysis::nsight::calls_by_begin(timeline)) {
    const ThreadIndex index = calls.thread[call];
    const ThreadInfo thread = index < timeline.threads.size() ? timeline.threads[index] : ThreadInfo{};
    table.number(calls.begin_ns[call])
        .number(calls.end_ns[call] - calls.begin_ns[call])
        .text(labels.text(labels.call(call)))
        .number(calls.result[call])
        .number(static_cast<std::int64_t>(calls.correlation[call]));
    add_thread(table, timeline, index)
        .optional(thread.priority.has_value(), thread.priority.value_or(0))
        .text(thread.name);
  }
  return table;
}

}  // namespace

namespace views_list {

extern const View cuda_gpu_trace, cuda_api_trace;
const View cuda_gpu_trace{
    "cuda_gpu_trace", "every kernel, copy and memset", kNeedsActivities, "base mangled nvtx-name", true,
    make_gpu_trace};
const View cuda_api_trace{"cuda_api_trace", "every CUDA API call", kNeedsCalls, "", true, make_api_trace};

}  // namespace views_list
}  // namespace rangefinder::report
