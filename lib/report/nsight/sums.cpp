// SPDX-License-Identifier: MIT
#include "report/nsight/sums.hpp"

#include "analysis/nsight/api.hpp"
#include "analysis/nsight/device.hpp"
#include "analysis/nsight/nvtx_kernels.hpp"
#include "analysis/nsight/projection.hpp"
#include "analysis/nsight/ranges.hpp"
#include "report/nsight/columns.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace rangefinder::report::nsight {
namespace {

using analysis::nsight::CudaSums;
using analysis::nsight::KernelExecutionSum;
using analysis::nsight::KernelExecutionSums;
using analysis::nsight::NvtxKernelRow;
using analysis::nsight::NvtxKernelSums;
using analysis::nsight::ProjectedSumRow;
using analysis::nsight::ProjectionSums;
using analysis::nsight::RangeChoice;
using analysis::nsight::RangeSumRow;
using analysis::nsight::RangeSums;
using analysis::nsight::RowsOfWindow;
using analysis::nsight::SumOf;
using analysis::nsight::SumParts;
using analysis::nsight::SumRow;

/// What a table of any of them is made of.
template <typename Analysis>
class SumsBy : public Sums {
 public:
  bool is_exact() const noexcept final { return sums_.is_exact(); }
  std::string precision() const final { return sums_.precision(); }
  std::uint64_t memory_bytes() const noexcept final { return sums_.memory_bytes(); }

 protected:
  template <typename... Choices>
  explicit SumsBy(const Timeline& timeline, const Choices&... choices)
      : timeline_(timeline), sums_(timeline, choices...) {}

  const Timeline& timeline_;
  Analysis sums_;
};

// ---- calls and activities ---------------------------------------------------------------------------------------

struct CudaSumView {
  std::string_view name;
  SumParts parts;
  const char* count;
  const char* operation;
  bool category = false;
  SumOf what = SumOf::kDuration;
};

constexpr CudaSumView kCudaSumViews[] = {
    {"cuda_gpu_kern_sum", {.kernels = true}, "Instances", "Name"},
    {"cuda_gpu_mem_time_sum", {.memory = true}, "Count", "Operation"},
    {"cuda_gpu_mem_size_sum", {.memory = true}, "Count", "Operation", false, SumOf::kBytes},
    {"cuda_api_sum", {.calls = true}, "Num Calls", "Name"},
    {"cuda_gpu_sum", {.kernels = true, .memory = true}, "Instances", "Operation", true},
    {"cuda_api_gpu_sum", {.calls = true, .kernels = true, .memory = true}, "Instances", "Operation", true},
};

void add_sizes(ColumnsOf<SumRow>& columns, const char* count) {
  constexpr int kPlaces = 3;
  const auto add_megabytes = [&](const char* title, auto get) {
    columns.decimal(title, "MB", kPlaces, [get](const SumRow& row) { return get(row.spread); });
  };
  const auto scaled = [](__int128 bytes) { return analysis::rounded_quotient(bytes, kBytesPerMegabyte, kPlaces); };
  add_megabytes("Total", [scaled](const Spread& spread) { return scaled(spread.total); });
  columns.count(count, [](const SumRow& row) { return row.spread.count; });
  add_megabytes("Avg", [](const Spread& spread) { return spread.mean(kPlaces, kBytesPerMegabyte); });
  add_megabytes("Med", [](const Spread& spread) { return spread.median(kPlaces, kBytesPerMegabyte); });
  add_megabytes("Min", [scaled](const Spread& spread) { return scaled(spread.min); });
  add_megabytes("Max", [scaled](const Spread& spread) { return scaled(spread.max); });
  add_megabytes("StdDev", [](const Spread& spread) { return spread.standard_deviation(kPlaces, kBytesPerMegabyte); });
}

class CudaTable final : public SumsBy<CudaSums> {
 public:
  CudaTable(const CudaSumView& view, const Timeline& timeline, const ViewOptions& options, std::size_t most_kept)
      : SumsBy(timeline, view.parts, view.what, naming_of(options), most_kept),
        view_(view),
        naming_(naming_of(options)) {}

  Status add_whole() override {
    sums_.add(timeline_.calls.size());
    return {};
  }
  Status add(const RowsOfWindow& window) override {
    sums_.add(window.own_calls);
    return {};
  }
  Table table() const override {
    const std::vector<SumRow> rows = sums_.rows();
    const auto name = [this](const SumRow& row) { return text_of(sums_.labels(), row.name); };
    ColumnsOf<SumRow> columns(timeline_);
    if (view_.what == SumOf::kBytes) {
      add_sizes(columns, view_.count);
    } else {
      __int128 total = 0;
      for (const SumRow& row : rows) total += row.spread.total;
      add_time_sum(columns, view_.count, &SumRow::spread, total);
    }
    if (view_.category)
      columns.text("Category", [](const SumRow& row) { return analysis::nsight::category_name(row.category); });
    if (view_.parts.kernels)
      add_kernel(columns, view_.operation, naming_, name).naming_rows();
    else
      columns.text(view_.operation, name).naming_rows();
    return columns.table_of(rows);
  }

 private:
  const CudaSumView& view_;
  analysis::nsight::KernelNaming naming_;
};

// ---- kernels and the calls that launched them ---------------------------------------------------------------------

constexpr std::string_view kKernelExecutions = "cuda_kern_exec_sum";

class KernelExecutionTable final : public SumsBy<KernelExecutionSums> {
 public:
  KernelExecutionTable(const Timeline& timeline, const ViewOptions& options, std::size_t most_kept)
      : SumsBy(timeline, naming_of(options), most_kept), naming_(naming_of(options)) {}

  Status add_whole() override {
    sums_.add();
    return {};
  }
  Status add(const RowsOfWindow&) override { return add_whole(); }
  Table table() const override {
    using Row = KernelExecutionSum;
    const auto kernel = [this](const Row& row) { return text_of(sums_.labels(), row.kernel); };
    ColumnsOf<Row> columns(timeline_);
    add_thread(columns, timeline_, &Row::thread);
    columns.count("DevId", [this](const Row& row) { return timeline_.devices[row.device].id; });
    columns.count("Count", [](const Row& row) { return row.total.count; });
    columns.count("QCount", [](const Row& row) { return row.queue.count; });
    add_spread(columns, "T", &Row::total);
    add_spread(columns, "A", &Row::api);
    add_spread(columns, "Q", &Row::queue);
    add_spread(columns, "K", &Row::duration);
    columns.text("API Name", [this](const Row& row) { return text_of(sums_.labels(), row.call); });
    add_kernel(columns, "Kernel Name", naming_, kernel).naming_rows();
    return columns.table_of(sums_.rows());
  }

 private:
  analysis::nsight::KernelNaming naming_;
};

// ---- ranges -------------------------------------------------------------------------------------------------------

struct RangeSumView {
  std::string_view name;
  RangeChoice choice;
};

constexpr RangeSumView kRangeSumViews[] = {
    {"nvtx_sum", RangeChoice::kAll},
    {"nvtx_pushpop_sum", RangeChoice::kPushPop},
    {"nvtx_startend_sum", RangeChoice::kStartEnd},
};

class RangeTable final : public SumsBy<RangeSums> {
 public:
  RangeTable(const RangeSumView& view, const Timeline& timeline, std::size_t most_kept)
      : SumsBy(timeline, view.choice, most_kept), view_(view) {}

  Status add_whole() override {
    for (RangeIndex range{0}; range < timeline_.ranges.size(); ++range) sums_.add(range);
    return {};
  }
  Status add(const RowsOfWindow& window) override {
    for (RangeIndex range{0}; range < timeline_.ranges.size(); ++range)
      if (window.ends_here(range)) sums_.add(range);
    return {};
  }
  Table table() const override {
    const std::vector<RangeSumRow> rows = sums_.rows();
    __int128 total = 0;
    for (const RangeSumRow& row : rows) total += row.duration.total;
    ColumnsOf<RangeSumRow> columns(timeline_);
    add_time_sum(columns, "Instances", &RangeSumRow::duration, total);
    if (view_.choice == RangeChoice::kAll)
      columns.text("Style", [](const RangeSumRow& row) { return style_name(row.style); });
    columns.text("Range", [this](const RangeSumRow& row) { return text_of(sums_.labels(), row.name); }).naming_rows();
    return columns.table_of(rows);
  }

 private:
  const RangeSumView& view_;
};

// ---- ranges on the device -----------------------------------------------------------------------------------------

constexpr std::string_view kProjectedRanges = "nvtx_gpu_proj_sum";

class ProjectionTable final : public SumsBy<ProjectionSums> {
 public:
  ProjectionTable(const Timeline& timeline, std::size_t most_kept) : SumsBy(timeline, most_kept) {}

  Status add_whole() override {
    sums_.add_whole();
    return {};
  }
  Status add(const RowsOfWindow& window) override {
    sums_.add(window);
    return {};
  }
  Table table() const override {
    using Row = ProjectedSumRow;
    const auto level = [](const Row& row) -> std::optional<std::int64_t> {
      if (row.level.count == 0) return {};
      return row.level.mean(1);
    };
    ColumnsOf<Row> columns(timeline_);
    columns.text("Range", [this](const Row& row) { return text_of(sums_.labels(), row.name); });
    columns.text("Style", [](const Row& row) { return style_name(row.style); });
    columns.time("Total Proj Time", [](const Row& row) { return row.projected.total_saturated(); });
    columns.time("Total Range Time", [](const Row& row) { return row.range.total_saturated(); });
    columns.count("Range Instances", [](const Row& row) { return row.projected.count; });
    add_spread(columns, "Proj ", &Row::projected);
    columns.count("Total GPU Ops", [](const Row& row) { return row.launches.total_saturated(); });
    columns.decimal("Avg GPU Ops", "", 1, [](const Row& row) { return row.launches.mean(1); });
    columns.decimal("Avg Range Lvl", "", 1, level);
    columns.decimal("Avg Num Child", "", 1, [](const Row& row) { return row.children.mean(1); });
    return columns.table_of(sums_.rows());
  }
};

// ---- kernels by the ranges that launched them ---------------------------------------------------------------------

constexpr std::string_view kKernelsInRanges = "nvtx_kern_sum";

class KernelsInRangesTable final : public SumsBy<NvtxKernelSums> {
 public:
  KernelsInRangesTable(const Timeline& timeline, const ViewOptions& options, std::size_t most_kept)
      : SumsBy(timeline, naming_of(options).form, most_kept) {}

  Status add_whole() override { return sums_.add_whole(); }
  Status add(const RowsOfWindow& window) override { return sums_.add(window); }
  Table table() const override {
    using Row = NvtxKernelRow;
    const auto range = [this](const Row& row) { return if_that(row.in_range, text_of(sums_.labels(), row.name)); };
    const auto style = [](const Row& row) { return if_that(row.in_range, style_name(row.style)); };
    ColumnsOf<Row> columns(timeline_);
    columns.text("NVTX Range", range);
    columns.text("Style", style);
    add_thread(columns, timeline_, &Row::thread);
    columns.count("NVTX Inst", &Row::instances);
    columns.count("Kern Inst", [](const Row& row) { return row.duration.count; });
    columns.time("Total Time", [](const Row& row) { return row.duration.total_saturated(); });
    add_spread(columns, "", &Row::duration);
    columns.kernel("Kernel Name", [this](const Row& row) { return text_of(sums_.labels(), row.kernel); });
    return columns.table_of(sums_.rows());
  }
};

template <typename Views>
const auto* view_named(const Views& views, std::string_view name) noexcept {
  const auto* const found =
      std::find_if(std::begin(views), std::end(views), [&](const auto& view) { return view.name == name; });
  return found != std::end(views) ? found : nullptr;
}

Result<Table> whole(std::string_view view, const ProjectedTimeline& projected, const ViewOptions& options) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const std::unique_ptr<Sums> sums = make_sums(view, projected.timeline(), options, kAll);
  if (Status added = sums->add_whole(); !added.ok()) return std::move(added).error();
  return sums->table();
}

}  // namespace

std::unique_ptr<Sums> make_sums(std::string_view view, const Timeline& timeline, const ViewOptions& options,
                                std::size_t most_kept) {
  if (const auto* const cuda = view_named(kCudaSumViews, view))
    return std::make_unique<CudaTable>(*cuda, timeline, options, most_kept);
  if (const auto* const ranges = view_named(kRangeSumViews, view))
    return std::make_unique<RangeTable>(*ranges, timeline, most_kept);
  if (view == kKernelExecutions) return std::make_unique<KernelExecutionTable>(timeline, options, most_kept);
  if (view == kProjectedRanges) return std::make_unique<ProjectionTable>(timeline, most_kept);
  if (view == kKernelsInRanges) return std::make_unique<KernelsInRangesTable>(timeline, options, most_kept);
  return nullptr;
}

bool has_sums(std::string_view view) noexcept {
  return view_named(kCudaSumViews, view) != nullptr || view_named(kRangeSumViews, view) != nullptr ||
         view == kKernelExecutions || view == kProjectedRanges || view == kKernelsInRanges;
}

bool needs_launch_calls(std::string_view view, const ViewOptions& options) noexcept {
  return options.is(kNvtxName) || view == kKernelExecutions || view == kProjectedRanges || view == kKernelsInRanges;
}

// ---- of a loaded timeline -----------------------------------------------------------------------------------------

Result<Table> make_nvtx_gpu_proj_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole(kProjectedRanges, projected, options);
}

Result<Table> make_nvtx_kern_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole(kKernelsInRanges, projected, options);
}

Result<Table> make_nvtx_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("nvtx_sum", projected, options);
}

Result<Table> make_nvtx_pushpop_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("nvtx_pushpop_sum", projected, options);
}

Result<Table> make_nvtx_startend_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("nvtx_startend_sum", projected, options);
}

Result<Table> make_cuda_gpu_kern_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_gpu_kern_sum", projected, options);
}

Result<Table> make_cuda_gpu_mem_time_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_gpu_mem_time_sum", projected, options);
}

Result<Table> make_cuda_gpu_mem_size_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_gpu_mem_size_sum", projected, options);
}

Result<Table> make_cuda_api_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_api_sum", projected, options);
}

Result<Table> make_cuda_kern_exec_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole(kKernelExecutions, projected, options);
}

Result<Table> make_cuda_gpu_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_gpu_sum", projected, options);
}

Result<Table> make_cuda_api_gpu_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_api_gpu_sum", projected, options);
}

}  // namespace rangefinder::report::nsight
