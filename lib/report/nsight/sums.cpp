// SPDX-License-Identifier: MIT
#include "report/nsight/sums.hpp"

#include "analysis/nsight/device.hpp"
#include "analysis/nsight/ranges.hpp"
#include "report/nsight/columns.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace rangefinder::report::nsight {
namespace {

using analysis::nsight::CudaSums;
using analysis::nsight::RangeChoice;
using analysis::nsight::RangeSumRow;
using analysis::nsight::RangeSums;
using analysis::nsight::SumOf;
using analysis::nsight::SumParts;
using analysis::nsight::SumRow;

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

class CudaTable final : public Sums {
 public:
  CudaTable(const CudaSumView& view, const Timeline& timeline, const ViewOptions& options, std::size_t most_kept)
      : view_(view),
        timeline_(timeline),
        naming_(naming_of(options)),
        sums_(timeline, view.parts, view.what, naming_, most_kept) {}

  void add(const std::function<bool(RangeIndex)>&) override { sums_.add(); }
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
  bool is_exact() const noexcept override { return sums_.is_exact(); }
  std::string precision() const override { return sums_.precision(); }
  std::uint64_t memory_bytes() const noexcept override { return sums_.memory_bytes(); }

 private:
  const CudaSumView& view_;
  const Timeline& timeline_;
  analysis::nsight::KernelNaming naming_;
  CudaSums sums_;
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

class RangeTable final : public Sums {
 public:
  RangeTable(const RangeSumView& view, const Timeline& timeline, std::size_t most_kept)
      : view_(view), timeline_(timeline), sums_(timeline, view.choice, most_kept) {}

  void add(const std::function<bool(RangeIndex)>& ends_here) override {
    for (RangeIndex range{0}; range < timeline_.ranges.size(); ++range)
      if (ends_here(range)) sums_.add(range);
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
  bool is_exact() const noexcept override { return sums_.is_exact(); }
  std::string precision() const override { return sums_.precision(); }
  std::uint64_t memory_bytes() const noexcept override { return sums_.memory_bytes(); }

 private:
  const RangeSumView& view_;
  const Timeline& timeline_;
  RangeSums sums_;
};

template <typename Views>
const auto* view_named(const Views& views, std::string_view name) noexcept {
  const auto* const found =
      std::find_if(std::begin(views), std::end(views), [&](const auto& view) { return view.name == name; });
  return found != std::end(views) ? found : nullptr;
}

Table whole(std::string_view view, const ProjectedTimeline& projected, const ViewOptions& options) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  const std::unique_ptr<Sums> sums = make_sums(view, projected.timeline(), options, kAll);
  sums->add([](RangeIndex) { return true; });
  return sums->table();
}

}  // namespace

std::unique_ptr<Sums> make_sums(std::string_view view, const Timeline& timeline, const ViewOptions& options,
                                std::size_t most_kept) {
  if (const auto* const cuda = view_named(kCudaSumViews, view))
    return std::make_unique<CudaTable>(*cuda, timeline, options, most_kept);
  if (const auto* const ranges = view_named(kRangeSumViews, view))
    return std::make_unique<RangeTable>(*ranges, timeline, most_kept);
  return nullptr;
}

bool has_sums(std::string_view view) noexcept {
  return view_named(kCudaSumViews, view) != nullptr || view_named(kRangeSumViews, view) != nullptr;
}

// ---- of a loaded timeline -----------------------------------------------------------------------------------------

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

Result<Table> make_cuda_gpu_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_gpu_sum", projected, options);
}

Result<Table> make_cuda_api_gpu_sum(const ProjectedTimeline& projected, const ViewOptions& options) {
  return whole("cuda_api_gpu_sum", projected, options);
}

}  // namespace rangefinder::report::nsight
