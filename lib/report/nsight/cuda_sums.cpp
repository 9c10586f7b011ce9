// SPDX-License-Identifier: MIT
#include "analysis/nsight/device.hpp"
#include "report/nsight/columns.hpp"
#include "report/view.hpp"

#include <vector>

namespace rangefinder::report::nsight {
namespace {

using analysis::nsight::SumOf;
using analysis::nsight::SumParts;
using analysis::nsight::SumRow;

struct Wording {
  const char* count;
  const char* name;
  bool category = false;
};

Table time_table(const Timeline& timeline, const ViewOptions& options, const SumParts& parts, const Wording& words) {
  const analysis::nsight::KernelNaming naming = naming_of(options);
  Labels labels(timeline);
  const std::vector<SumRow> rows = analysis::nsight::cuda_sum(timeline, parts, SumOf::kDuration, naming, labels);
  __int128 total = 0;
  for (const SumRow& row : rows) total += row.spread.total;
  const auto name = [&](const SumRow& row) { return text_of(labels, row.name); };
  ColumnsOf<SumRow> columns(timeline);
  add_time_sum(columns, words.count, &SumRow::spread, total);
  if (words.category)
    columns.text("Category", [](const SumRow& row) { return analysis::nsight::category_name(row.category); });
  if (parts.kernels)
    add_kernel(columns, words.name, naming, name).naming_rows();
  else
    columns.text(words.name, name).naming_rows();
  return columns.table_of(rows);
}

}  // namespace

Result<Table> make_cuda_gpu_kern_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return time_table(projected.timeline(), options, {.kernels = true}, {"Instances", "Name"});
}

Result<Table> make_cuda_gpu_mem_time_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return time_table(projected.timeline(), options, {.memory = true}, {"Count", "Operation"});
}

Result<Table> make_cuda_gpu_mem_size_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  constexpr int kPlaces = 3;
  ColumnsOf<SumRow> columns(timeline);
  const auto add_megabytes = [&](const char* title, auto get) {
    columns.decimal(title, "MB", kPlaces, [get](const SumRow& row) { return get(row.spread); });
  };
  const auto scaled = [](__int128 bytes) { return analysis::rounded_quotient(bytes, kBytesPerMegabyte, kPlaces); };
  Labels labels(timeline);
  add_megabytes("Total", [scaled](const Spread& spread) { return scaled(spread.total); });
  columns.count("Count", [](const SumRow& row) { return row.spread.count; });
  add_megabytes("Avg", [](const Spread& spread) { return spread.mean(kPlaces, kBytesPerMegabyte); });
  add_megabytes("Med", [](const Spread& spread) { return spread.median(kPlaces, kBytesPerMegabyte); });
  add_megabytes("Min", [scaled](const Spread& spread) { return scaled(spread.min); });
  add_megabytes("Max", [scaled](const Spread& spread) { return scaled(spread.max); });
  add_megabytes("StdDev", [](const Spread& spread) { return spread.standard_deviation(kPlaces, kBytesPerMegabyte); });
  columns.text("Operation", [&](const SumRow& row) { return text_of(labels, row.name); }).naming_rows();
  return columns.table_of(
      analysis::nsight::cuda_sum(timeline, {.memory = true}, SumOf::kBytes, naming_of(options), labels));
}

Result<Table> make_cuda_api_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return time_table(projected.timeline(), options, {.calls = true}, {"Num Calls", "Name"});
}

Result<Table> make_cuda_gpu_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return time_table(projected.timeline(), options, {.kernels = true, .memory = true}, {"Instances", "Operation", true});
}

Result<Table> make_cuda_api_gpu_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return time_table(projected.timeline(), options, {.calls = true, .kernels = true, .memory = true},
                    {"Instances", "Operation", true});
}

}  // namespace rangefinder::report::nsight
