// SPDX-License-Identifier: MIT
#include "analysis/nsight/device.hpp"
#include "report/view.hpp"
#include "report/views/nsight_columns.hpp"

namespace rangefinder::report {
namespace {

using namespace report::nsight;
using analysis::nsight::Labels;
using analysis::nsight::SumOf;
using analysis::nsight::SumParts;
using analysis::nsight::SumRow;

struct Wording {
  const char* count;
  const char* name;
  bool category = false;
};

Table time_table(const Timeline& timeline, const ViewOptions& options, const SumParts& parts, const Wording& words) {
  std::vector<Column> columns = time_sum_columns(words.count);
  if (words.category) columns.push_back(text_column("Category"));
  columns.push_back(parts.kernels ? kernel_column(words.name, options.kernel_naming.innermost_range)
                                  : text_column(words.name));
  const std::size_t name_column = columns.size() - 1;
  Table table(std::move(columns), name_column);
  Labels labels(timeline);
  const std::vector<SumRow> rows =
      analysis::nsight::cuda_sum(timeline, parts, SumOf::kDuration, options.kernel_naming, labels);
  __int128 total = 0;
  for (const SumRow& row : rows) total += row.spread.total;
  for (const SumRow& row : rows) {
    add_time_sum(table, row.spread, total);
    if (words.category) table.text(analysis::nsight::category_name(row.category));
    add_label(table, labels, row.name);
  }
  return table;
}

Result<Table> make_kernel_sum(const Subject& subject, const ViewOptions& options) {
  return time_table(subject.timeline(), options, {.kernels = true}, {"Instances", "Name"});
}
Result<Table> make_memory_time_sum(const Subject& subject, const ViewOptions& options) {
  return time_table(subject.timeline(), options, {.memory = true}, {"Count", "Operation"});
}
Result<Table> make_api_sum(const Subject& subject, const ViewOptions& options) {
  return time_table(subject.timeline(), options, {.calls = true}, {"Num Calls", "Name"});
}
Result<Table> make_gpu_sum(const Subject& subject, const ViewOptions& options) {
  return time_table(subject.timeline(), options, {.kernels = true, .memory = true}, {"Instances", "Operation", true});
}
Result<Table> make_api_gpu_sum(const Subject& subject, const ViewOptions& options) {
  return time_table(subject.timeline(), options, {.calls = true, .kernels = true, .memory = true},
                    {"Instances", "Operation", true});
}

Result<Table> make_memory_size_sum(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  constexpr int kPlaces = 3;
  const auto megabytes = [](const char* name) { return decimal_column(name, "MB", kPlaces); };
  constexpr std::size_t kOperation = 7;
  Table table({megabytes("Total"), count_column("Count"), megabytes("Avg"), megabytes("Med"), megabytes("Min"),
               megabytes("Max"), megabytes("StdDev"), text_column("Operation")},
              kOperation);
  Labels labels(timeline);
  for (const SumRow& row :
       analysis::nsight::cuda_sum(timeline, {.memory = true}, SumOf::kBytes, options.kernel_naming, labels)) {
    const auto scaled = [](__int128 bytes) { return analysis::rounded_quotient(bytes, kBytesPerMegabyte, kPlaces); };
    table.number(scaled(row.spread.total))
        .number(static_cast<std::int64_t>(row.spread.count))
        .number(row.spread.mean(kPlaces, kBytesPerMegabyte))
        .number(row.spread.median(kPlaces, kBytesPerMegabyte))
        .number(scaled(row.spread.min))
        .number(scaled(row.spread.max))
        .number(row.spread.standard_deviation(kPlaces, kBytesPerMegabyte))
        .text(labels.text(row.name));
  }
  return table;
}

constexpr std::string_view kAllSuffixes = "base mangled nvtx-name";

}  // namespace

namespace views_list {

extern const View cuda_gpu_kern_sum, cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, cuda_api_sum, cuda_gpu_sum,
    cuda_api_gpu_sum;
const View cuda_gpu_kern_sum{"cuda_gpu_kern_sum", "kernels by name", kNeedsActivities, kAllSuffixes, true,
                             make_kernel_sum};
const View cuda_gpu_mem_time_sum{
    "cuda_gpu_mem_time_sum", "time of copies and memsets by kind", kNeedsActivities, "", true, make_memory_time_sum};
const View cuda_gpu_mem_size_sum{
    "cuda_gpu_mem_size_sum", "bytes of copies and memsets by kind", kNeedsActivities, "", true, make_memory_size_sum};
const View cuda_api_sum{"cuda_api_sum", "CUDA API calls by name", kNeedsCalls, "", true, make_api_sum};
const View cuda_gpu_sum{"cuda_gpu_sum", "kernels, copies and memsets by name", kNeedsActivities, kAllSuffixes, true,
                        make_gpu_sum};
const View cuda_api_gpu_sum{"cuda_api_gpu_sum",
                            "CUDA API calls, kernels, copies and memsets by name",
                            kNeedsActivities | kNeedsCalls,
                            kAllSuffixes,
                            true,
                            make_api_gpu_sum};

}  // namespace views_list
}  // namespace rangefinder::report
