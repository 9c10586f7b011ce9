// SPDX-License-Identifier: MIT
#include "analysis/kernel_sequences.hpp"
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// `sequences`: short kernels that follow each other and could be fused, or put into a CUDA graph. `:summary`: short
// kernels by operator and name.
namespace rangefinder::report {
namespace {

using analysis::KernelFamilies;
using analysis::KernelSequence;
using analysis::ShortKernels;
using analysis::ShortKernelTotal;

/// "aten::mul x2, aten::add, and 3 more"; names in the order of the first of each.
std::string operators_of(const Timeline& timeline, const KernelFamilies& families, const KernelSequence& sequence) {
  constexpr std::size_t kMostNames = 4;
  std::vector<std::pair<StringId, std::uint64_t>> names;
  std::uint64_t more = 0;
  for (const ActivityIndex kernel : sequence.first) {
    const RangeIndex by = families.operator_of(kernel);
    if (by >= timeline.ranges.size()) continue;
    const StringId name = timeline.ranges.name[by];
    const auto known = std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == name; });
    if (known != names.end())
      ++known->second;
    else if (names.size() < kMostNames)
      names.emplace_back(name, 1);
    else
      ++more;
  }
  std::string text;
  for (const auto& [name, count] : names) {
    text.append(text.empty() ? "" : ", ").append(timeline.text(name));
    if (count > 1) text += " x" + std::to_string(count);
  }
  if (more != 0) text += ", and " + std::to_string(more) + " more";
  return text;
}

Table table_of_sequences(const ProjectedTimeline& projected, const KernelFamilies& families,
                         const ShortKernels& kernels) {
  using Row = KernelSequence;
  const Timeline& timeline = projected.timeline();
  const std::int64_t all_ns = projected.projection().account.total.gpu_sum_ns;
  const auto in_all = [](const Row& row) { return row.count * row.first.size(); };
  const auto share = [all_ns](const Row& row) { return common::share(row.kernel_ns, all_ns); };
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", common::range_or_reason<Row>);
  columns.text("Operators", [&](const Row& row) { return operators_of(timeline, families, row); }).if_any().if_room(3);
  columns.count("Kernels", [](const Row& row) { return row.first.size(); });
  columns.count("Count", &Row::count);
  columns.time("GPU sum", &Row::kernel_ns);
  columns.percent("Share", share).if_room(4);
  columns.time("Kernel avg", [&](const Row& row) { return common::mean(row.kernel_ns, in_all(row)); }).if_room(1);
  columns.time("Graph gain", &Row::gap_ns);
  columns.time("Fusion gain", &Row::fusion_ns);
  columns.count("Fusible", &Row::fusible).if_room(5);
  columns.time("Launch calls", &Row::launch_ns).if_room(2).if_any();
  columns.kernel("First kernel", [&](const Row& row) { return timeline.activities.name[row.first.front()]; })
      .if_room(6);
  return columns.table_of(analysis::kernel_sequences(timeline, projected.projection(), families, kernels));
}

Table table_of_kernels(const ProjectedTimeline& projected, const KernelFamilies& families,
                       const ShortKernels& kernels) {
  using Row = ShortKernelTotal;
  const Timeline& timeline = projected.timeline();
  const std::int64_t all_ns = projected.projection().account.total.gpu_sum_ns;
  ColumnsOf<Row> columns(timeline);
  columns.text("Operator", &Row::operator_name);
  columns.kernel("Kernel", &Row::kernel);
  columns.text("Family", [](const Row& row) { return analysis::word_of(row.family); }).if_room(2);
  columns.count("Count", &Row::count);
  columns.time("GPU sum", &Row::gpu_sum_ns);
  columns.percent("Share", [all_ns](const Row& row) { return common::share(row.gpu_sum_ns, all_ns); }).if_room(1);
  columns.time("Avg", [](const Row& row) { return common::mean(row.gpu_sum_ns, row.count); });
  return columns.table_of(analysis::short_kernel_totals(timeline, families, kernels));
}

/// "sequences: 12 of 40 kernels are short (their mean is below 10,000 ns): 3.1 % of the time of kernels"
void add_note(const Timeline& timeline, const ShortKernels& kernels, Table& table) {
  const ActivityTable& activities = timeline.activities;
  std::uint64_t all = 0, brief = 0;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    all += activities.kind[activity] == ActivityKind::kKernel ? 1 : 0;
    brief += kernels.has(activity) ? 1 : 0;
  }
  if (all == 0) return;
  table.note("sequences: " + base::with_thousands(brief) + " of " + base::with_thousands(all) +
             " kernels are short: the mean of their name and size is below " +
             base::with_thousands(static_cast<std::uint64_t>(kernels.limit_ns())) + " ns");
}

}  // namespace

Result<Table> make_sequences(const ProjectedTimeline& projected, const ViewOptions& options) {
  const KernelFamilies families(projected.timeline());
  const ShortKernels kernels(projected.timeline(), families);
  Table table = options.is(kSummary) ? table_of_kernels(projected, families, kernels)
                                     : table_of_sequences(projected, families, kernels);
  add_note(projected.timeline(), kernels, table);
  return table;
}

}  // namespace rangefinder::report
