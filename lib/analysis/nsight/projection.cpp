// SPDX-License-Identifier: MIT
#include "analysis/nsight/projection.hpp"

#include "analysis/nsight/containment.hpp"
#include "analysis/nsight/order.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::analysis::nsight {
namespace {

// Launches that started something, by thread.
RowsByThread working_launches(const Timeline& timeline, const LaunchWork& work) {
  std::vector<ThreadIndex> thread_of(timeline.launches.size(), kNone);
  for (std::size_t i = 0; i < thread_of.size(); ++i)
    if (work.operations[i] != 0) thread_of[i] = timeline.launches.thread[i];
  return group_by_thread(timeline.threads.size(), thread_of);
}

// The work of all launches that no range is around: one row for the whole timeline. Its thread is that of the launch
// whose work ends last, of several the first.
class OutsideRow {
 public:
  void add(const Timeline& timeline, const LaunchWork& work, LaunchIndex launch) {
    const std::int64_t first = work.first_ns[launch], last = work.last_ns[launch];
    if (row_.launches == 0 || last > row_.last_ns) row_.thread = timeline.launches.thread[launch];
    row_.first_ns = row_.launches == 0 ? first : std::min(row_.first_ns, first);
    row_.last_ns = row_.launches == 0 ? last : std::max(row_.last_ns, last);
    ++row_.launches;
  }
  const ProjectedRow& row() const noexcept { return row_; }

 private:
  ProjectedRow row_;
};

class GpuProjection {
 public:
  GpuProjection(const Timeline& timeline, LaunchWork work)
      : timeline_(timeline),
        work_(std::move(work)),
        ranges_(choose_ranges(timeline, RangeChoice::kLaunching)),
        inside_(ranges_.size()) {}

  std::vector<ProjectedRow> run() {
    std::vector<ThreadIndex> thread_of(ranges_.size());
    for (std::size_t i = 0; i < ranges_.size(); ++i) thread_of[i] = timeline_.ranges.thread[ranges_[i]];
    const RowsByThread ranges_by_thread = group_by_thread(timeline_.threads.size(), thread_of);
    const RowsByThread launches_by_thread = working_launches(timeline_, work_);
    for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread)
      if (!launches_by_thread.of(thread).empty()) project(ranges_by_thread.of(thread), launches_by_thread.of(thread));
    return rows();
  }

 private:
  void project(std::span<const std::uint32_t> ranges, std::span<const std::uint32_t> launches);
  std::vector<ProjectedRow> rows() const;

  const Timeline& timeline_;
  LaunchWork work_;
  std::vector<RangeIndex> ranges_;
  std::vector<ContainedWork> inside_;
  OutsideRow outside_;
};

void GpuProjection::project(std::span<const std::uint32_t> ranges, std::span<const std::uint32_t> launches) {
  std::vector<base::Interval> containers, causes;
  std::vector<CausedWork> caused;
  for (const std::uint32_t range : ranges) containers.push_back(interval_of(timeline_, ranges_[range]));
  caused.reserve(launches.size());
  causes.reserve(launches.size());
  for (const std::uint32_t launch : launches) {
    causes.push_back(cause_of(timeline_, LaunchIndex(launch)));
    caused.push_back({causes.back(), work_.first_ns[launch], work_.last_ns[launch]});
  }
  const std::vector<ContainedWork> sums = work_inside(containers, caused);
  for (std::size_t i = 0; i < ranges.size(); ++i) inside_[ranges[i]] = sums[i];
  const std::vector<bool> owned = any_around(containers, causes);
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (!owned[i]) outside_.add(timeline_, work_, LaunchIndex(launches[i]));
}

std::vector<ProjectedRow> GpuProjection::rows() const {
  // A range around one that has work has it too: leaving out those without work changes no parent.
  std::vector<RangeIndex> with_work;
  std::vector<ProjectedRow> out;
  const std::uint32_t skipped = outside_.row().launches != 0 ? 1 : 0;
  if (skipped != 0) out.push_back(outside_.row());
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    if (inside_[i].count != 0) with_work.push_back(ranges_[i]);
  const Nesting nesting = nest(timeline_, with_work);
  std::size_t at = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (inside_[i].count == 0) continue;
    ProjectedRow row;
    row.range = ranges_[i];
    row.thread = timeline_.ranges.thread[row.range];
    row.first_ns = inside_[i].first_ns;
    row.last_ns = inside_[i].last_ns;
    row.launches = inside_[i].count;
    row.level = nesting.level[at];
    row.children = nesting.children[at];
    if (nesting.parent[at] != kNone) row.around = nesting.parent[at] + skipped;
    if (row.level != kNone) row.parent = row.around;
    out.push_back(row);
    ++at;
  }
  return out;
}

}  // namespace

LaunchWork launch_work(const Timeline& timeline) {
  LaunchWork work;
  const std::size_t launches = timeline.launches.size();
  work.first_ns.assign(launches, 0);
  work.last_ns.assign(launches, 0);
  work.operations.assign(launches, 0);
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex i{0}; i < activities.size(); ++i) {
    if (activities.kind[i] == ActivityKind::kGraph) continue;  // in no report of Nsight's
    const LaunchIndex launch = activities.launch[i];
    if (launch >= launches || timeline.launches.source[launch] == LaunchSource::kUnknown) continue;
    const bool first = work.operations[launch]++ == 0;
    work.first_ns[launch] = first ? activities.begin_ns[i] : std::min(work.first_ns[launch], activities.begin_ns[i]);
    work.last_ns[launch] = first ? activities.end_ns[i] : std::max(work.last_ns[launch], activities.end_ns[i]);
  }
  return work;
}

base::Interval cause_of(const Timeline& timeline, LaunchIndex launch) noexcept {
  const CallIndex call = timeline.launches.call[launch];
  if (call < timeline.calls.size()) return {timeline.calls.begin_ns[call], timeline.calls.end_ns[call]};
  return {timeline.launches.time_ns[launch], timeline.launches.time_ns[launch]};
}

std::vector<ProjectedRow> gpu_projection(const Timeline& timeline) {
  return GpuProjection(timeline, launch_work(timeline)).run();
}

ProjectionSums::Instance ProjectionSums::instance_of(const ProjectedRow& row) {
  const base::Interval interval = interval_of(timeline_, row.range);
  const auto style = static_cast<std::uint8_t>(timeline_.ranges.style[row.range]);
  return {groups_.of(labels_.range(row.range), style),
          row.level,
          0,
          0,
          row.first_ns,
          row.last_ns,
          interval.end - interval.begin};
}

void ProjectionSums::take(const Instance& instance) {
  projected_.add(instance.group, instance.last_ns - instance.first_ns);
  if (instance.group >= sums_.size()) sums_.resize(instance.group + 1);
  ProjectedSumRow& sum = sums_[instance.group];
  sum.range.add(instance.range_ns);
  sum.launches.add(static_cast<std::int64_t>(instance.launches));
  if (instance.level != kNone) sum.level.add(instance.level);
  sum.children.add(instance.children);
}

void ProjectionSums::add_whole() {
  const std::vector<ProjectedRow> rows = gpu_projection(timeline_);
  projected_.reserve(rows.size());
  for (const ProjectedRow& row : rows) {
    if (row.range == kNone) continue;
    Instance instance = instance_of(row);
    instance.launches = row.launches;
    instance.children = row.children;
    take(instance);
  }
}

void ProjectionSums::add(const RowsOfWindow& window) {
  std::erase_if(instances_, [&](const auto& entry) {
    if (window.is_kept(entry.first)) return false;
    take(entry.second);
    return true;
  });
  merge(window);
  for (RangeIndex range{0}; range < timeline_.ranges.size() && !instances_.empty(); ++range) {
    if (!window.ends_here(range)) continue;
    const auto found = instances_.find(window.key_of(range));
    const base::Interval interval = interval_of(timeline_, range);
    if (found != instances_.end()) found->second.range_ns = interval.end - interval.begin;
  }
  if (!window.is_last) return;
  for (const auto& [key, instance] : instances_) take(instance);
  instances_.clear();
}

/// What the window adds to the ranges that its work is in.
void ProjectionSums::merge(const RowsOfWindow& window) {
  LaunchWork work = launch_work(timeline_), repeated = work;
  bool any_repeated = false;
  for (LaunchIndex launch{0}; launch < work.operations.size(); ++launch) {
    if (!window.has_brought_before(launch)) repeated.operations[launch] = 0;
    any_repeated = any_repeated || repeated.operations[launch] != 0;
  }
  const std::vector<ProjectedRow> rows = GpuProjection(timeline_, std::move(work)).run();
  std::vector<bool> is_new(rows.size(), false);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].range == kNone) continue;
    const auto [found, added] = instances_.try_emplace(window.key_of(rows[row].range));
    Instance& instance = found->second;
    if (added) instance = instance_of(rows[row]);
    is_new[row] = added;
    instance.first_ns = std::min(instance.first_ns, rows[row].first_ns);
    instance.last_ns = std::max(instance.last_ns, rows[row].last_ns);
    instance.launches += rows[row].launches;
  }
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (is_new[row] && rows[row].around != kNone)
      ++instances_.find(window.key_of(rows[rows[row].around].range))->second.children;
  if (!any_repeated) return;
  for (const ProjectedRow& row : GpuProjection(timeline_, std::move(repeated)).run())
    if (row.range != kNone) instances_.find(window.key_of(row.range))->second.launches -= row.launches;
}

std::vector<ProjectedSumRow> ProjectionSums::rows() const {
  std::vector<ProjectedSumRow> rows = sums_;
  for (std::size_t group = 0; group < rows.size(); ++group) {
    rows[group].name = groups_.all()[group].name;
    rows[group].style = static_cast<RangeStyle>(groups_.all()[group].kind);
  }
  projected_.fill(rows, &ProjectedSumRow::projected);
  order_by_total(rows, labels_, [](const ProjectedSumRow& row) { return row.projected.total; });
  return rows;
}

std::uint64_t ProjectionSums::memory_bytes() const noexcept {
  constexpr std::uint64_t kEntryBytes = 96;  // of a map
  return projected_.memory_bytes() + groups_.memory_bytes() + sums_.capacity() * sizeof(ProjectedSumRow) +
         instances_.size() * kEntryBytes;
}

}  // namespace rangefinder::analysis::nsight
