// SPDX-License-Identifier: MIT
#include "analysis/nsight/projection.hpp"

#include "analysis/nsight/containment.hpp"
#include "analysis/nsight/order.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>

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
  explicit GpuProjection(const Timeline& timeline)
      : timeline_(timeline),
        work_(launch_work(timeline)),
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
    if (row.level != kNone && nesting.parent[at] != kNone) row.parent = nesting.parent[at] + skipped;
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

std::vector<ProjectedRow> gpu_projection(const Timeline& timeline) { return GpuProjection(timeline).run(); }

std::vector<ProjectedSumRow> gpu_projection_sum(const Timeline& timeline, Labels& labels) {
  std::vector<ProjectedRow> rows = gpu_projection(timeline);
  std::erase_if(rows, [](const ProjectedRow& row) { return row.range == kNone; });
  const auto key = [&](const ProjectedRow& row) {
    return std::uint64_t{labels.range(row.range)} << 8 | static_cast<std::uint8_t>(timeline.ranges.style[row.range]);
  };
  projection::FlatMap groups;
  for (const ProjectedRow& row : rows) groups.find_or_set(key(row), static_cast<std::uint32_t>(groups.size()));
  std::vector<ProjectedSumRow> sums(groups.size());  // large, and as many as there are names
  GroupedSamples projected;
  projected.reserve(rows.size());
  for (const ProjectedRow& row : rows) {
    const std::uint32_t group = groups.find(key(row));
    const base::Interval interval = interval_of(timeline, row.range);
    projected.add(group, row.last_ns - row.first_ns);
    ProjectedSumRow& sum = sums[group];
    sum.name = labels.range(row.range);
    sum.style = timeline.ranges.style[row.range];
    sum.range.add(interval.end - interval.begin);
    sum.launches.add(static_cast<std::int64_t>(row.launches));
    if (row.level != kNone) sum.level.add(row.level);
    sum.children.add(row.children);
  }
  rows = {};
  projected.each_spread(sums.size(), [&](std::size_t group, const Spread& spread) { sums[group].projected = spread; });
  order_by_total(sums, labels, [](const ProjectedSumRow& row) { return row.projected.total; });
  return sums;
}

}  // namespace rangefinder::analysis::nsight
