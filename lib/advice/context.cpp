// SPDX-License-Identifier: MIT
#include "advice/context.hpp"

#include "advice/copies.hpp"
#include "advice/host_causes.hpp"
#include "advice/products.hpp"
#include "advice/queue_waits.hpp"
#include "analysis/medians.hpp"
#include "analysis/spread.hpp"
#include "projection/project.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rangefinder::advice {

Context::Context(const Timeline& timeline, const AdviceOptions& options) : timeline_(timeline), options_(options) {
  options_.least_gain_permille = std::clamp<std::int64_t>(options_.least_gain_permille, 0, 1000);
}
Context::~Context() = default;

const Projection& Context::projection() {
  if (!projection_) projection_ = projection::project_without_streams(timeline_, options_.projection);
  return *projection_;
}

const analysis::StepAnalysis& Context::steps() {
  if (!steps_) steps_ = analysis::analyse_steps(timeline_, projection());
  return *steps_;
}

const Frames& Context::frames() {
  if (!frames_) frames_.emplace(timeline_, steps());
  return *frames_;
}

const CriticalPathGraph& Context::graph() {
  if (!graph_) {
    CriticalPathOptions wanted;
    wanted.projection = options_.projection;
    graph_.emplace(timeline_, wanted, projection().owner);
  }
  return *graph_;
}

const std::vector<CriticalWindow>& Context::windows() {
  if (windows_) return *windows_;
  windows_.emplace();
  if (!frames().are_steps()) {
    windows_->push_back(graph().whole());
    return *windows_;
  }
  std::set<std::pair<ProcessIndex, std::int64_t>> judged;
  for (const Frame& frame : frames().all()) judged.emplace(frame.process, frame.number);
  for (CriticalWindow& window : graph().steps())
    if (window.step && judged.count({window.process, *window.step}) != 0) windows_->push_back(std::move(window));
  return *windows_;
}

const std::vector<bool>& Context::counted_windows() {
  if (counted_windows_) return *counted_windows_;
  std::set<std::pair<ProcessIndex, std::int64_t>> first;
  for (const Frame& frame : frames().all())
    if (frame.is_first_quarter) first.emplace(frame.process, frame.number);
  std::vector<bool> counted;
  for (const CriticalWindow& window : windows())
    counted.push_back(!window.step || first.count({window.process, *window.step}) == 0);
  if (std::find(counted.begin(), counted.end(), true) == counted.end()) counted.assign(counted.size(), true);
  counted_windows_ = std::move(counted);
  return *counted_windows_;
}

const std::vector<analysis::Wait>& Context::waits() {
  if (waits_) return *waits_;
  waits_ = analysis::waits_of(timeline_);
  const std::vector<analysis::Wait> copies = waits_for_pageable_copies(timeline_);
  waits_->insert(waits_->end(), copies.begin(), copies.end());
  return *waits_;
}

const std::vector<analysis::AllocationCall>& Context::allocations() {
  if (!allocations_) allocations_ = analysis::allocation_calls(timeline_);
  return *allocations_;
}

const analysis::KernelFamilies& Context::families() {
  if (!families_) families_.emplace(timeline_);
  return *families_;
}

const analysis::PathTree& Context::paths() {
  if (!paths_)
    paths_ = analysis::range_tree(timeline_, projection(), options_.projection, {.numbers = true},
                                  analysis::HostSpread::kNotWanted);
  return *paths_;
}

const HostCauses& Context::host_causes() {
  if (!host_causes_) host_causes_ = std::make_unique<HostCauses>(find_host_causes(*this));
  return *host_causes_;
}

const std::vector<SmallCopies>& Context::small_copies() {
  if (!small_copies_) small_copies_ = small_copies_of(*this);
  return *small_copies_;
}

const std::vector<Product>& Context::products() {
  if (!products_) products_ = std::make_unique<std::vector<Product>>(products_of(*this));
  return *products_;
}

const Stragglers& Context::stragglers() {
  if (!stragglers_) {
    Result<Stragglers> found = find_stragglers(timeline_);
    if (found.ok()) {
      stragglers_ = std::move(*found);
    } else {
      stragglers_.emplace();
      stragglers_->abstained = found.error().message();
    }
  }
  return *stragglers_;
}

const std::vector<ActivityIndex>& Context::work() {
  if (work_) return *work_;
  work_.emplace();
  for (ActivityIndex row{0}; row < timeline_.activities.size(); ++row)
    if (frames().holds(timeline_, row)) work_->push_back(row);
  return *work_;
}

std::int64_t Context::step_ns() {
  if (step_ns_) return *step_ns_;
  analysis::Sum sum;
  for (std::size_t i = 0; i < windows().size(); ++i)
    if (counted_windows()[i]) sum.add(windows()[i].length_ns());
  step_ns_ = sum.count == 0 ? 0 : sum.mean(0);
  return *step_ns_;
}

std::size_t Context::steps_that_count() {
  if (!frames().are_steps()) return 0;
  return static_cast<std::size_t>(std::count(counted_windows().begin(), counted_windows().end(), true));
}

std::int64_t Context::least_gain_ns() {
  return static_cast<std::int64_t>(static_cast<double>(step_ns()) * static_cast<double>(options_.least_gain_permille) /
                                   1000);
}

/// Waits for room in a queue are left out: they are as long as the device makes them. That the host does not wait there
/// changes no step that the device bounds.
std::vector<std::int64_t> Context::lengths_with(Change change) {
  if (!queue_waits_) {
    queue_waits_.emplace();
    queue_waits_->skip_host(queue_waits(timeline_));
  }
  change.add(*queue_waits_);
  change.finish();
  return graph().times(windows(), [&change](const CriticalSegment& segment) { return change.scale(segment); });
}

std::int64_t Context::gain_ns(Change& change) {
  Change nothing;
  return gain_beside_ns(nothing, change);
}

std::int64_t Context::gain_beside_ns(Change& first, Change& change) {
  change.finish();
  if (change.empty() || windows().empty()) return 0;
  const std::int64_t count = std::count(counted_windows().begin(), counted_windows().end(), true);
  if (change.most_ns() / count < least_gain_ns() / 2) return 0;  // a median is at most twice the mean
  if (!recorded_ns_) recorded_ns_ = lengths_with(Change());
  std::vector<std::int64_t> before = *recorded_ns_;
  Change both = change;
  if (!first.empty()) {
    first.finish();
    before = lengths_with(first);
    both.add(first);
  }
  const std::vector<std::int64_t> after = lengths_with(std::move(both));
  analysis::Sum sum;
  std::vector<double> gains;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!counted_windows()[i]) continue;
    sum.add(detail::minus(before[i], after[i]));
    gains.push_back(static_cast<double>(detail::minus(before[i], after[i])));
  }
  const std::int64_t gain = std::max(sum.mean(0), static_cast<std::int64_t>(analysis::median_of(gains)));
  return gain > 0 && gain >= least_gain_ns() ? std::min(gain, step_ns()) : 0;
}

std::int64_t Context::gain_at_pace_ns(Change& change) {
  change.finish();
  if (change.empty() || windows().empty()) return 0;
  if (!recorded_ns_) recorded_ns_ = lengths_with(Change());
  const std::vector<std::int64_t> after = lengths_with(change);
  analysis::Sum before;
  std::map<ProcessIndex, analysis::Sum> of_rank;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!counted_windows()[i]) continue;
    before.add((*recorded_ns_)[i]);
    of_rank[windows()[i].process].add(after[i]);
  }
  std::int64_t slowest_ns = 0;
  for (const auto& [process, sum] : of_rank) slowest_ns = std::max(slowest_ns, sum.mean(0));
  const std::int64_t gain = detail::minus(before.mean(0), slowest_ns);
  return gain > 0 && gain >= least_gain_ns() ? std::min(gain, step_ns()) : 0;
}

std::string Context::path_of(RangeIndex range) {
  if (range >= timeline_.ranges.size()) return {};
  const analysis::PathTree& tree = paths();
  constexpr std::size_t kMostNames = 24;
  std::vector<std::uint32_t> groups;
  std::uint32_t group_at = tree.group_of[range];
  for (; group_at != kNone && groups.size() < kMostNames; group_at = tree.groups.rows[group_at].parent)
    groups.push_back(group_at);
  std::string path(group_at != kNone ? "..." : "");
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    constexpr std::string_view kTorchStep = "ProfilerStep#";  // each has a number of its own
    const std::string_view name = tree.groups.name(timeline_, *group);
    path.append(path.empty() ? "" : "/").append(name.starts_with(kTorchStep) ? "ProfilerStep#*" : name);
  }
  return path;
}

}  // namespace rangefinder::advice
