// SPDX-License-Identifier: MIT
#include "exporter/parquet/summary.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace rangefinder::parquet {
namespace {

Account::Part& part_of(Account& account, std::uint32_t owner) noexcept {
  if (owner == static_cast<std::uint32_t>(Unowned::kOutside)) return account.outside;
  if (owner == static_cast<std::uint32_t>(Unowned::kBefore)) return account.before;
  if (owner == static_cast<std::uint32_t>(Unowned::kUnknown)) return account.unknown;
  return account.owned;
}

void count(Account::Part& part, std::int64_t length_ns) noexcept {
  ++part.gpu_ops;
  part.gpu_sum_ns = projection::plus(part.gpu_sum_ns, length_ns);
}

/// Finds gpu_inclusive_ns, and adds cells for paths that are around others and have nothing of their own. A path has a
/// higher number than the one around it, so that from the last cell of a step on each is whole before it is added to
/// that, which comes later.
void add_inclusive(Summary::Cells& cells, const RangePaths& paths) {
  for (auto at = cells.rbegin(); at != cells.rend(); ++at) {
    const auto& [step, owner] = at->first;
    Summary::CellFigures& figures = at->second;
    figures.gpu_inclusive_ns = projection::plus(figures.gpu_inclusive_ns, figures.gpu_sum_ns);
    if (owner >= paths.size() || paths.parent(owner) == kNone) continue;
    Summary::CellFigures& around = cells[{step, paths.parent(owner)}];
    around.gpu_inclusive_ns = projection::plus(around.gpu_inclusive_ns, figures.gpu_inclusive_ns);
  }
}

}  // namespace

void Summary::add(const SummedActivity& activity) {
  const projection::Interval interval(activity.begin_ns, activity.end_ns);
  const std::int64_t length_ns = interval.length();
  count(account_.total, length_ns);
  count(part_of(account_, activity.owner), length_ns);

  const Cell cell{activity.step, activity.owner};
  if (last_figures_ == nullptr || cell != last_cell_) {
    last_cell_ = cell;
    last_figures_ = &cells_[cell];
  }
  ++last_figures_->gpu_ops;
  last_figures_->gpu_sum_ns = projection::plus(last_figures_->gpu_sum_ns, length_ns);
  last_figures_->bytes += activity.bytes;
  last_figures_->launch_delay_ns = projection::plus(last_figures_->launch_delay_ns, activity.launch_delay_ns);

  if (activity.step != kNoTime) {
    if (last_step_figures_ == nullptr || activity.step != last_step_) {
      last_step_ = activity.step;
      last_step_figures_ = &steps_[activity.step];
    }
    ++last_step_figures_->gpu_ops;
    last_step_figures_->gpu_sum_ns = projection::plus(last_step_figures_->gpu_sum_ns, length_ns);
    last_step_figures_->busy.add(interval);
    if (!activity.communication) last_step_figures_->work.add(interval);
  }

  KernelFigures& figures = kernel({activity.kind, activity.name, activity.communication});
  ++figures.gpu_ops;
  figures.gpu_sum_ns = projection::plus(figures.gpu_sum_ns, length_ns);
  figures.least_ns = std::min(figures.least_ns, length_ns);
  figures.most_ns = std::max(figures.most_ns, length_ns);
  figures.bytes += activity.bytes;
}

Summary::KernelFigures& Summary::kernel(const KernelKey& key) {
  const auto name = static_cast<std::size_t>(key.name);
  if (name >= known_kernels_.size()) known_kernels_.resize(name + 1);
  KnownKernel& known = known_kernels_[name];
  if (known.figures == nullptr || known.key != key) known = {key, &kernels_[key]};
  return *known.figures;
}

void Summary::add_run(std::int64_t step, std::uint32_t path, std::int64_t host_ns) {
  CellFigures& figures = cells_[{step, path}];
  ++figures.runs;
  figures.host_ns = projection::plus(figures.host_ns, host_ns);
}

void Summary::add_step(std::int64_t number, std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t items) {
  StepFigures& step = steps_[number];
  step.finished = true;
  step.begin_ns = begin_ns;
  step.end_ns = end_ns;
  step.items = items;
}

Summary::Cells Summary::take_before(Cells::iterator end, const RangePaths& paths) {
  last_figures_ = nullptr;
  Cells taken;
  if (end == cells_.end())
    taken.swap(cells_);
  else
    while (cells_.begin() != end) taken.insert(taken.end(), cells_.extract(cells_.begin()));
  add_inclusive(taken, paths);
  return taken;
}

Summary::Cells Summary::take_all(const RangePaths& paths) { return take_before(cells_.end(), paths); }

Summary::Cells Summary::take_earlier(const RangePaths& paths) {
  constexpr int kKeptSteps = 16;
  auto end = cells_.end();
  for (int i = 0; i < kKeptSteps && end != cells_.begin(); ++i)
    end = cells_.lower_bound({std::prev(end)->first.step, 0});
  return take_before(end, paths);
}

}  // namespace rangefinder::parquet
