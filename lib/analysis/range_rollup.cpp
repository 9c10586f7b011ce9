// SPDX-License-Identifier: MIT
#include "analysis/range_rollup.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace rangefinder::analysis {
namespace {

void add(DeviceFigures& total, const DeviceFigures& one) noexcept {
  if (one.gpu_ops == 0) return;
  total.first_ns = total.gpu_ops == 0 ? one.first_ns : std::min(total.first_ns, one.first_ns);
  total.last_ns = total.gpu_ops == 0 ? one.last_ns : std::max(total.last_ns, one.last_ns);
  total.gpu_ops += one.gpu_ops;
  total.gpu_sum_ns += one.gpu_sum_ns;
  total.gpu_busy_ns += one.gpu_busy_ns;
  total.any_busy_ns += one.any_busy_ns;
  total.bytes += one.bytes;
  total.launch_delay_ns += one.launch_delay_ns;
}

class Rollup {
 public:
  Rollup(const Timeline& timeline, const Projection& projection, GroupBy group_by, const Folding& folding)
      : timeline_(timeline),
        projection_(projection),
        by_path_(group_by == GroupBy::kPath),
        folding_(folding),
        pass_times_(pass_times_of_ranges(timeline, projection)),
        estimated_(estimated_times_of_ranges(timeline, projection)),
        conditional_(conditional_ops_of_ranges(timeline, projection)),
        group_of_(timeline.ranges.size(), kNone) {}

  void take(RangeIndex range) {
    const std::uint32_t group = group_of(range);
    const RangeIndex parent = projection_.parent[range];
    group_of_[range] = group != kNone || parent == kNone ? group : group_of_[parent];
    if (group == kNone) return;
    RangeGroup& total = groups_[group];
    const RangeTable& ranges = timeline_.ranges;
    const bool is_deepest = projection_.depth[range] == folding_.most_depth;
    add(total.exclusive, is_deepest ? projection_.inclusive[range] : projection_.exclusive[range]);
    const bool is_run = ranges.is_run(range);
    total.count += is_run ? 1 : 0;
    total.unfinished += (ranges.flags[range] & kUnfinished) != 0 ? 1 : 0;
    const bool is_inside_its_like = !by_path_ && inside_its_like(range);
    if (is_run && (!is_inside_its_like || ranges.style[range] == RangeStyle::kStartEnd)) {
      const std::int64_t host = ranges.run_ns(range);
      total.host_min_ns = total.host_count == 0 ? host : std::min(total.host_min_ns, host);
      total.host_max_ns = std::max(total.host_max_ns, host);
      total.host_ns += host;
      ++total.host_count;
    }
    if (is_inside_its_like) return;
    const DeviceFigures& inclusive = projection_.inclusive[range];
    add(total.inclusive, inclusive);
    for (std::size_t pass = 0; pass < kPasses && !pass_times_.empty(); ++pass)
      total.pass_ns[pass] += pass_times_[range][pass];
    if (!estimated_.empty()) total.estimated_ns += estimated_[range];
    if (!conditional_.empty()) total.conditional_ops += conditional_[range];
    if (inclusive.gpu_ops != 0) total.span_ns += inclusive.gpu_span_ns();
  }

  std::vector<RangeGroup> groups() && { return std::move(groups_); }
  const std::vector<std::uint32_t>& group_of_ranges() const noexcept { return group_of_; }

 private:
  std::uint32_t group_of(RangeIndex range) {
    const RangeIndex parent = projection_.parent[range];
    const std::uint32_t parent_group = by_path_ && parent != kNone ? group_of_[parent] : kNone;
    if (projection_.depth[range] > folding_.most_depth) return kNone;
    const StringId name = timeline_.ranges.name[range];
    const std::uint64_t key = std::uint64_t{parent_group} << 32 | key_of(name);
    const auto [found, added] = by_key_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
    if (added) {
      RangeGroup group;
      group.name = name;
      if (folding_.numbers) group.folded = folded_name(timeline_.text(name));
      if (group.folded == timeline_.text(name)) group.folded.clear();
      group.parent = parent_group;
      group.depth = parent_group == kNone ? 0 : groups_[parent_group].depth + 1;
      groups_.push_back(group);
    }
    return found->second;
  }

  /// Names that are shown as one have one number.
  std::uint32_t key_of(StringId name) {
    if (!folding_.numbers) return static_cast<std::uint32_t>(name);
    const auto [found, added] = key_of_name_.try_emplace(static_cast<std::uint32_t>(name), 0);
    if (added)
      found->second =
          key_of_folded_.try_emplace(folded_name(timeline_.text(name)), static_cast<std::uint32_t>(name)).first->second;
    return found->second;
  }

  bool inside_its_like(RangeIndex range) const noexcept {
    const StringId name = timeline_.ranges.name[range];
    for (RangeIndex up = projection_.parent[range]; up != kNone; up = projection_.parent[up]) {
      if (timeline_.ranges.name[up] == name) return true;
    }
    return false;
  }

  const Timeline& timeline_;
  const Projection& projection_;
  bool by_path_;
  Folding folding_;
  std::unordered_map<std::uint32_t, std::uint32_t> key_of_name_;
  std::unordered_map<std::string, std::uint32_t> key_of_folded_;
  std::vector<PassTimes> pass_times_;
  std::vector<std::int64_t> estimated_;
  std::vector<std::int64_t> conditional_;
  std::vector<std::uint32_t> group_of_;
  std::vector<RangeGroup> groups_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
};

}  // namespace

bool takes_part(RangeKind kind, const ProjectionOptions& options) noexcept {
  return (kind == RangeKind::kAnnotation && options.annotations) || (kind == RangeKind::kOperator && options.operators);
}

namespace {

/// By begin, outer ranges first, so that a range finds the group of its parent.
std::vector<RangeIndex> outer_first(const Timeline& timeline, const Projection& projection,
                                    const ProjectionOptions& options) {
  const RangeTable& ranges = timeline.ranges;
  std::vector<RangeIndex> order;
  order.reserve(ranges.size());
  for (RangeIndex range = 0; range < ranges.size(); ++range) {
    if (takes_part(ranges.kind[range], options)) order.push_back(range);
  }
  const auto before = [&](RangeIndex a, RangeIndex b) {
    if (ranges.begin_ns[a] != ranges.begin_ns[b]) return ranges.begin_ns[a] < ranges.begin_ns[b];
    return projection.depth[a] < projection.depth[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  return order;
}

bool says_anything(const RangeGroup& group) noexcept {
  return group.count != 0 || group.inclusive.gpu_ops != 0 || group.exclusive.gpu_ops != 0;
}

}  // namespace

std::vector<RangeGroup> roll_up_ranges(const Timeline& timeline, const Projection& projection,
                                       const ProjectionOptions& options, GroupBy group_by, const Folding& folding) {
  Rollup rollup(timeline, projection, group_by, folding);
  for (const RangeIndex range : outer_first(timeline, projection, options)) rollup.take(range);
  std::vector<RangeGroup> groups = std::move(rollup).groups();
  if (group_by == GroupBy::kName) std::erase_if(groups, [](const RangeGroup& group) { return !says_anything(group); });
  return groups;
}

PathTree range_tree(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options,
                    const Folding& folding) {
  Rollup rollup(timeline, projection, GroupBy::kPath, folding);
  for (const RangeIndex range : outer_first(timeline, projection, options)) rollup.take(range);
  PathTree tree;
  tree.group_of = rollup.group_of_ranges();
  tree.groups = std::move(rollup).groups();
  const std::vector<RangeGroup>& groups = tree.groups;
  std::vector<bool> shown(groups.size());
  for (std::size_t group = groups.size(); group-- > 0;) {  // what is inside comes later
    if (says_anything(groups[group])) shown[group] = true;
    if (shown[group] && groups[group].parent != kNone) shown[groups[group].parent] = true;
  }
  std::vector<std::vector<std::uint32_t>> children(groups.size() + 1);  // the last: those at the top
  for (std::uint32_t group = 0; group < groups.size(); ++group)
    if (shown[group]) children[groups[group].parent == kNone ? groups.size() : groups[group].parent].push_back(group);
  std::vector<std::uint32_t> rest(children.back().rbegin(), children.back().rend());
  while (!rest.empty()) {
    const std::uint32_t group = rest.back();
    rest.pop_back();
    tree.order.push_back(group);
    rest.insert(rest.end(), children[group].rbegin(), children[group].rend());
  }
  return tree;
}

std::string folded_name(std::string_view name) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    const std::string_view part = name.substr(at, dot - at);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    out += is_number ? std::string_view("*") : part;
    if (dot == name.size()) return out;
    out += '.';
    at = dot + 1;
  }
}

std::string_view group_name(const Timeline& timeline, const RangeGroup& group) noexcept {
  return group.folded.empty() ? timeline.text(group.name) : std::string_view(group.folded);
}

std::string group_path(const Timeline& timeline, const std::vector<RangeGroup>& groups, std::uint32_t group) {
  std::string path(group_name(timeline, groups[group]));
  for (std::uint32_t up = groups[group].parent; up != kNone; up = groups[up].parent)
    path.insert(0, std::string(group_name(timeline, groups[up])) + "/");
  return path;
}

std::string range_path(const Timeline& timeline, const Projection& projection, RangeIndex range) {
  std::string path(timeline.text(timeline.ranges.name[range]));
  for (RangeIndex up = projection.parent[range]; up != kNone; up = projection.parent[up])
    path.insert(0, std::string(timeline.text(timeline.ranges.name[up])) + "/");
  return path;
}

}  // namespace rangefinder::analysis
