// SPDX-License-Identifier: MIT
#include "analysis/range_rollup.hpp"

#include "analysis/range_forest.hpp"
#include "analysis/steps.hpp"
#include "projection/flat_map.hpp"
#include "projection/large_vector.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace rangefinder::analysis {
namespace {

void add(InclusiveFigures& total, const DeviceFigures& one) noexcept {
  if (one.gpu_ops == 0) return;
  total.gpu_ops += one.gpu_ops;
  total.gpu_sum_ns += one.gpu_sum_ns;
  total.gpu_busy_ns += one.gpu_busy_ns;
  total.any_busy_ns += one.any_busy_ns;
  total.bytes += one.bytes;
  total.launch_delay_ns += one.launch_delay_ns;
}

void add(OwnFigures& total, const DeviceFigures& one) noexcept {
  total.gpu_ops += one.gpu_ops;
  total.gpu_sum_ns += one.gpu_sum_ns;
  total.gpu_busy_ns += one.gpu_busy_ns;
}

class Rollup {
 public:
  Rollup(const Timeline& timeline, const Projection& projection, GroupBy group_by, const Folding& folding, Parts parts,
         HostSpread spread)
      : timeline_(timeline),
        projection_(projection),
        by_path_(group_by == GroupBy::kPath),
        folding_(folding),
        parts_(parts),
        wants_spread_(spread == HostSpread::kWanted),
        pass_times_(pass_times_of_ranges(timeline, projection)),
        estimated_(estimated_times_of_ranges(timeline, projection)),
        conditional_(conditional_ops_of_ranges(timeline, projection)),
        group_of_(timeline.ranges.size(), kNone),
        covered_until_(timeline.ranges.begin_ns.begin(), timeline.ranges.begin_ns.end()) {
    if (by_path_) return;
    const auto key = [&](RangeIndex range) {
      return std::uint64_t{part_of(range)} << 32 | static_cast<std::uint32_t>(timeline_.ranges.name[range]);
    };
    inside_its_like_ = inside_their_like(timeline.ranges.size(), RangeForest(projection), key);
  }

  /// `outer_first`: the ranges that take part.
  void take(std::span<const RangeIndex> outer_first) {
    for (const RangeIndex range : outer_first) put_in_group(range);
    by_key_ = {};
    // There may be a group for each range: without room for all of them the memory would be taken twice.
    projection::reserve_large(groups_.rows, group_count_);
    if (!pass_times_.empty() || !estimated_.empty() || !conditional_.empty())
      projection::assign_large(groups_.extras, group_count_, GroupExtra{});
    for (const RangeIndex range : outer_first) take(range);
  }

  /// Without an order.
  PathTree result() && {
    add_spreads();
    return {std::move(groups_), {}, std::move(group_of_)};
  }

 private:
  bool has_group(RangeIndex range) const noexcept {
    return projection_.depth[range] <= folding_.most_depth && part_of(range) != kNone;
  }
  std::uint32_t parent_group(RangeIndex range) const noexcept {
    const RangeIndex parent = projection_.parent[range];
    return by_path_ && parent != kNone ? group_of_[parent] : kNone;
  }

  void put_in_group(RangeIndex range) {
    group_of_[range] = parent_group(range);
    if (!has_group(range)) return;
    // By name there is no parent, and by path there are no parts.
    const std::uint64_t high = by_path_ ? group_of_[range] : part_of(range);
    group_of_[range] = by_key_.find_or_set(high << 32 | number_of(timeline_.ranges.name[range]), group_count_);
    if (group_of_[range] == group_count_) ++group_count_;
  }

  void add_group(RangeIndex first) {
    RangeGroup group;
    group.name = timeline_.ranges.name[first];
    if (folding_.numbers) fold(group.name);
    group.parent = parent_group(first);
    group.part = part_of(first);
    group.depth = group.parent == kNone ? 0 : groups_[group.parent].depth + 1;
    groups_.rows.push_back(group);
  }

  void take(RangeIndex range) {
    if (projection_.depth[range] <= folding_.most_depth) take_from_parent(range);
    if (!has_group(range)) return;
    const std::uint32_t group = group_of_[range];
    if (group == groups_.size()) add_group(range);
    RangeGroup& total = groups_.rows[group];
    const RangeTable& ranges = timeline_.ranges;
    const bool is_deepest = projection_.depth[range] == folding_.most_depth;
    add(total.exclusive, is_deepest ? projection_.inclusive[range] : projection_.exclusive[range]);
    const bool is_run = ranges.is_run(range);
    total.count += is_run ? 1 : 0;
    if ((ranges.flags[range] & kBeforeRecording) == 0)
      total.host_self_ns += ranges.end_ns[range] - ranges.begin_ns[range];
    const bool is_inside_its_like = !by_path_ && inside_its_like_[range];
    if (is_run && (!is_inside_its_like || ranges.style[range] == RangeStyle::kStartEnd)) {
      const std::int64_t host = ranges.run_ns(range);
      total.host_ns += host;
      ++total.host_count;
      if (wants_spread_) note_length(group, host);
    }
    if (is_inside_its_like) return;
    const DeviceFigures& inclusive = projection_.inclusive[range];
    add(total.inclusive, inclusive);
    if (!groups_.extras.empty()) add_extra(groups_.extras[group], range);
    if (inclusive.gpu_ops != 0) total.span_ns += inclusive.gpu_span_ns();
  }

  /// The name of the group that is being made.
  void fold(StringId name) {
    std::string folded = folded_name(timeline_.text(name));
    const bool differs = folded != timeline_.text(name);
    groups_.folded.push_back(differs ? static_cast<std::uint32_t>(groups_.folded_names.size()) : kNone);
    if (differs) groups_.folded_names.push_back(std::move(folded));
  }

  void add_extra(GroupExtra& total, RangeIndex range) const {
    for (std::size_t pass = 0; pass < kPasses && !pass_times_.empty(); ++pass)
      total.pass_ns[pass] += pass_times_[range][pass];
    if (!estimated_.empty()) total.estimated_ns += estimated_[range];
    if (!conditional_.empty()) total.conditional_ops += conditional_[range];
  }

  std::uint32_t part_of(RangeIndex range) const noexcept { return parts_.empty() ? 0 : parts_[range]; }

  /// Names that are shown as one have one number.
  std::uint32_t number_of(StringId name) {
    if (!folding_.numbers) return static_cast<std::uint32_t>(name);
    const auto [found, added] = key_of_name_.try_emplace(static_cast<std::uint32_t>(name), 0);
    if (added)
      found->second =
          key_of_folded_.try_emplace(folded_name(timeline_.text(name)), static_cast<std::uint32_t>(name)).first->second;
    return found->second;
  }

  /// The parent's own time is less by what this range has of it, and no earlier one had.
  void take_from_parent(RangeIndex range) {
    const RangeTable& ranges = timeline_.ranges;
    const RangeIndex parent = projection_.parent[range];
    if (parent == kNone || ((ranges.flags[range] | ranges.flags[parent]) & kBeforeRecording) != 0) return;
    const std::int64_t begin = std::max(ranges.begin_ns[range], covered_until_[parent]);
    const std::int64_t end = std::min(ranges.end_ns[range], ranges.end_ns[parent]);
    if (end <= begin) return;
    covered_until_[parent] = end;
    if (group_of_[parent] != kNone) groups_.rows[group_of_[parent]].host_self_ns -= end - begin;
  }

  /// A group's first length is kept in the group: most have no other where there are many groups.
  void note_length(std::uint32_t group, std::int64_t ns) {
    RangeGroup& total = groups_.rows[group];
    if (total.host_count == 1) {
      total.host_min_ns = total.host_median_ns = total.host_p95_ns = total.host_max_ns = ns;
      return;
    }
    if (total.host_count == 2) add_length(group, total.host_min_ns);
    add_length(group, ns);
  }
  void add_length(std::uint32_t group, std::int64_t ns) {
    lengths_.group.push_back(group);
    lengths_.ns.push_back(ns);
  }

  void add_spreads() {
    if (lengths_.ns.empty()) return;
    std::vector<std::size_t> first(groups_.size() + 1);
    for (const std::uint32_t group : lengths_.group) ++first[group + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::int64_t> sorted(lengths_.ns.size());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[next[lengths_.group[i]]++] = lengths_.ns[i];
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const auto lengths = std::span(sorted).subspan(first[group], first[group + 1] - first[group]);
      if (!lengths.empty()) add_spread(groups_.rows[group], lengths);
    }
  }

  static void add_spread(RangeGroup& group, std::span<const std::int64_t> lengths) {
    const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
    group.host_min_ns = group.host_median_ns = group.host_p95_ns = *least;
    group.host_max_ns = *most;
    if (*least == *most) return;
    const Percentiles percentiles = percentiles_of({lengths.begin(), lengths.end()});
    group.host_median_ns = percentiles.p50;
    group.host_p95_ns = percentiles.p95;
  }

  const Timeline& timeline_;
  const Projection& projection_;
  bool by_path_;
  Folding folding_;
  Parts parts_;
  bool wants_spread_;
  std::unordered_map<std::uint32_t, std::uint32_t> key_of_name_;
  std::unordered_map<std::string, std::uint32_t> key_of_folded_;
  std::vector<PassTimes> pass_times_;
  std::vector<std::int64_t> estimated_;
  std::vector<std::int64_t> conditional_;
  std::vector<bool> inside_its_like_;
  std::vector<std::uint32_t> group_of_;
  std::uint32_t group_count_ = 0;
  std::vector<std::int64_t> covered_until_;  // per range: where ranges inside, those taken so far, end
  RangeGroups groups_;
  struct {
    std::vector<std::uint32_t> group;
    std::vector<std::int64_t> ns;
  } lengths_;  // of the instances that count in their group's host time, where that has several
  projection::FlatMap by_key_;
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
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
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

void drop_silent(RangeGroups& groups) {
  std::size_t kept = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (!says_anything(groups[group])) continue;
    if (!groups.extras.empty()) groups.extras[kept] = groups.extras[group];
    if (!groups.folded.empty()) groups.folded[kept] = groups.folded[group];
    groups.rows[kept++] = groups.rows[group];
  }
  groups.rows.resize(kept);
  if (!groups.extras.empty()) groups.extras.resize(kept);
  if (!groups.folded.empty()) groups.folded.resize(kept);
}

/// Groups that say anything, and those around them, as a tree is read.
std::vector<std::uint32_t> order_of_shown(const RangeGroups& groups) {
  const auto count = static_cast<std::uint32_t>(groups.size());
  std::vector<bool> shown(count);
  std::vector<std::uint32_t> first_inside(count, kNone), next(count, kNone);
  std::uint32_t first = kNone;
  for (std::uint32_t group = count; group-- > 0;) {  // what is inside comes later
    const std::uint32_t parent = groups[group].parent;
    if (says_anything(groups[group])) shown[group] = true;
    if (!shown[group]) continue;
    if (parent != kNone) shown[parent] = true;
    std::uint32_t& before = parent == kNone ? first : first_inside[parent];
    next[group] = before;
    before = group;
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t group = first; group != kNone;) {
    order.push_back(group);
    if (first_inside[group] != kNone) {
      group = first_inside[group];
      continue;
    }
    while (group != kNone && next[group] == kNone) group = groups[group].parent;
    if (group != kNone) group = next[group];
  }
  return order;
}

}  // namespace

RangeGroups roll_up_ranges(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options,
                           GroupBy group_by, const Folding& folding, Parts parts, HostSpread spread) {
  Rollup rollup(timeline, projection, group_by, folding, parts, spread);
  rollup.take(outer_first(timeline, projection, options));
  RangeGroups groups = std::move(rollup).result().groups;
  if (group_by == GroupBy::kName) drop_silent(groups);
  return groups;
}

PathTree range_tree(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options,
                    const Folding& folding, HostSpread spread) {
  Rollup rollup(timeline, projection, GroupBy::kPath, folding, {}, spread);
  rollup.take(outer_first(timeline, projection, options));
  PathTree tree = std::move(rollup).result();
  tree.order = order_of_shown(tree.groups);
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

}  // namespace rangefinder::analysis
