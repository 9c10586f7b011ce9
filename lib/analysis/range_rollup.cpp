// SPDX-License-Identifier: MIT
#include "analysis/range_rollup.hpp"

#include "analysis/arrange.hpp"
#include "analysis/range_forest.hpp"
#include "projection/figures.hpp"
#include "projection/flat_map.hpp"
#include "projection/large_vector.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rangefinder::analysis {
namespace {

using projection::minus;
using projection::plus;

void add_figures(InclusiveFigures& total, const DeviceFigures& one) noexcept {
  total.gpu_ops += one.gpu_ops;
  total.gpu_sum_ns = plus(total.gpu_sum_ns, one.gpu_sum_ns);
  total.gpu_busy_ns = plus(total.gpu_busy_ns, one.gpu_busy_ns);
  total.any_busy_ns = plus(total.any_busy_ns, one.any_busy_ns);
  total.bytes += one.bytes;
  total.launch_delay_ns = plus(total.launch_delay_ns, one.launch_delay_ns);
}

void add_figures(OwnFigures& total, const DeviceFigures& one) noexcept {
  total.gpu_ops += one.gpu_ops;
  total.gpu_sum_ns = plus(total.gpu_sum_ns, one.gpu_sum_ns);
  total.gpu_busy_ns = plus(total.gpu_busy_ns, one.gpu_busy_ns);
}

bool says_anything(const RangeGroup& group) noexcept {
  return group.count != 0 || group.inclusive.gpu_ops != 0 || group.exclusive.gpu_ops != 0;
}

}  // namespace

RangeRollup::RangeRollup(const Options& options)
    : options_(options.projection),
      by_path_(options.group_by == GroupBy::kPath),
      folding_(options.folding),
      wants_spread_(options.spread == HostSpread::kWanted),
      lengths_(options.most_lengths) {}

void RangeRollup::add(const projection::WindowRows& window, std::span<const projection::RangeInstances::Added> added,
                      Parts parts) {
  window_ = &window;
  added_ = added;
  parts_ = parts;
  is_whole_ = window.is_whole;
  const Timeline& timeline = window.timeline;
  pass_times_ = pass_times_of_ranges(timeline, window.projection);
  estimated_ = estimated_times_of_ranges(timeline, window.projection);
  conditional_ = conditional_ops_of_ranges(timeline, window.projection);
  if (!by_path_) {
    const auto key = [&](RangeIndex range) {
      return std::uint64_t{part_of(range)} << 32 | static_cast<std::uint32_t>(timeline.ranges.name[range]);
    };
    inside_its_like_ = inside_their_like(timeline.ranges.size(), RangeForest(window.projection), key);
  }
  group_of_.assign(timeline.ranges.size(), kNone);
  covered_until_.assign(timeline.ranges.begin_ns.begin(), timeline.ranges.begin_ns.end());
  find_shared();
  order_ = ranges_by_begin(timeline, window.projection, options_);  // a range finds the group of its parent
  find_groups();
  for (const RangeIndex range : order_) take(range);
  if (!window.is_whole) end_window();
}

/// Ranges inside of which ranges of other windows may be too. Where ranges need not nest one can be over while what is
/// inside goes on, as far as the capture was read.
void RangeRollup::find_shared() {
  if (is_whole_) return;
  const std::size_t count = window_->timeline.ranges.size();
  is_shared_.assign(count, false);
  for (RangeIndex range{0}; range < count; ++range) {
    if (range >= window_->own_ranges || window_->is_shared(range)) is_shared_[range] = true;
    const RangeIndex parent = window_->projection.parent[range];
    if (window_->is_open(range) && parent != kNone) is_shared_[parent] = true;
  }
}

bool RangeRollup::has_group(RangeIndex range) const noexcept {
  return window_->projection.depth[range] <= folding_.most_depth && part_of(range) != kNone;
}

std::uint32_t RangeRollup::parent_group(RangeIndex range) const noexcept {
  const RangeIndex parent = window_->projection.parent[range];
  return by_path_ && parent != kNone ? group_of_[parent] : kNone;
}

/// Of a window, ranges that are not over and have no work may turn out to be inside of others.
void RangeRollup::find_groups() {
  first_of_new_.clear();
  for (const RangeIndex range : order_)
    if (window_->ends_here(range) || window_->projection.inclusive[range].gpu_ops != 0) find_group(range);
  if (is_whole_) by_key_ = {};
  // There may be a group for each range: without room for all of them the memory would be taken twice.
  if (groups_.rows.empty()) projection::reserve_large(groups_.rows, group_count_);
  for (const RangeIndex first : first_of_new_) add_group(first);
  add_extras();
}

/// And that of its parent, which has less time of its own.
void RangeRollup::find_group(RangeIndex range) {
  const std::vector<RangeIndex>& parent = window_->projection.parent;
  for (; range != kNone && group_of_[range] == kNone; range = parent[range]) {
    chain_.push_back(range);
    if (!by_path_ && chain_.size() == 2) break;
  }
  for (; !chain_.empty(); chain_.pop_back()) put_in_group(chain_.back());
}

void RangeRollup::put_in_group(RangeIndex range) {
  group_of_[range] = parent_group(range);
  if (!has_group(range)) return;
  // By name there is no parent, and by path there are no parts.
  const std::uint64_t high = by_path_ ? group_of_[range] : part_of(range);
  const std::uint64_t key = high << 32 | number_of(window_->timeline.ranges.name[range]);
  group_of_[range] = by_key_.find_or_set(key, group_count_);
  if (group_of_[range] != group_count_) return;
  ++group_count_;
  first_of_new_.push_back(range);
}

void RangeRollup::add_group(RangeIndex first) {
  RangeGroup group;
  group.name = window_->timeline.ranges.name[first];
  if (folding_.numbers) fold(group.name);
  group.parent = parent_group(first);
  group.part = part_of(first);
  group.depth = group.parent == kNone ? 0 : groups_[group.parent].depth + 1;
  groups_.rows.push_back(group);
  if (!is_whole_) first_.push_back({std::numeric_limits<std::int64_t>::max(), 0, ThreadIndex{0}, 0});
}

/// The name of the group that is being made.
void RangeRollup::fold(StringId name) {
  std::string folded = folded_name(window_->timeline.text(name));
  const bool differs = folded != window_->timeline.text(name);
  groups_.folded.push_back(differs ? static_cast<std::uint32_t>(groups_.folded_names.size()) : kNone);
  if (differs) groups_.folded_names.push_back(std::move(folded));
}

/// Names that are shown as one have one number.
std::uint32_t RangeRollup::number_of(StringId name) {
  if (!folding_.numbers) return static_cast<std::uint32_t>(name);
  const auto [found, added] = key_of_name_.try_emplace(static_cast<std::uint32_t>(name), 0);
  if (added)
    found->second =
        key_of_folded_.try_emplace(folded_name(window_->timeline.text(name)), static_cast<std::uint32_t>(name))
            .first->second;
  return found->second;
}

/// What most inputs do not have takes no memory. As long as no node has run, all work is forward.
void RangeRollup::add_extras() {
  const bool first_passes = !pass_times_.empty() && !has_passes_;
  has_passes_ = has_passes_ || first_passes;
  if (groups_.extras.empty() && !has_passes_ && estimated_.empty() && conditional_.empty()) return;
  if (groups_.extras.empty()) projection::reserve_large(groups_.extras, group_count_);
  groups_.extras.resize(group_count_);
  if (!first_passes) return;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    groups_.extras[group].pass_ns[static_cast<std::size_t>(Pass::kForward)] = groups_[group].inclusive.gpu_sum_ns;
}

void RangeRollup::take(RangeIndex range) {
  const bool ends_here = window_->ends_here(range);
  if (!ends_here && window_->projection.inclusive[range].gpu_ops == 0) return;
  if (ends_here && window_->projection.depth[range] <= folding_.most_depth) take_from_parent(range);
  if (!has_group(range)) return;
  const std::uint32_t group = group_of_[range];
  const bool is_inside_its_like = !by_path_ && inside_its_like_[range];
  if (ends_here) take_host(range, group, is_inside_its_like);
  if (window_->projection.inclusive[range].gpu_ops != 0) take_device(range, group, is_inside_its_like);
}

void RangeRollup::take_host(RangeIndex range, std::uint32_t group, bool is_inside_its_like) {
  RangeGroup& total = groups_.rows[group];
  const RangeTable& ranges = window_->timeline.ranges;
  if (!is_whole_) note_first(range, group);
  const bool is_run = ranges.is_run(range);
  total.count += is_run ? 1 : 0;
  if ((ranges.flags[range] & kBeforeRecording) == 0)
    total.host_self_ns = plus(total.host_self_ns, minus(ranges.end_ns[range], ranges.begin_ns[range]));
  if (!is_run || (is_inside_its_like && ranges.style[range] != RangeStyle::kStartEnd)) return;
  const std::int64_t host = ranges.run_ns(range);
  total.host_ns = plus(total.host_ns, host);
  ++total.host_count;
  if (wants_spread_) lengths_.add(total, group, host);
}

void RangeRollup::take_device(RangeIndex range, std::uint32_t group, bool is_inside_its_like) {
  RangeGroup& total = groups_.rows[group];
  const Projection& projection = window_->projection;
  const bool is_deepest = projection.depth[range] == folding_.most_depth;
  DeviceFigures inclusive = projection.inclusive[range];
  DeviceFigures exclusive = projection.exclusive[range];
  std::int64_t span_ns = inclusive.gpu_span_ns();
  if (!added_.empty()) {
    inclusive.gpu_busy_ns = added_[range].busy_ns;
    inclusive.any_busy_ns = added_[range].any_busy_ns;
    exclusive.gpu_busy_ns = added_[range].own_busy_ns;
    span_ns = added_[range].span_ns;
  }
  add_figures(total.exclusive, is_deepest ? inclusive : exclusive);
  if (is_inside_its_like) return;
  add_figures(total.inclusive, inclusive);
  total.span_ns = plus(total.span_ns, span_ns);
  if (groups_.extras.empty()) return;
  GroupExtra& extra = groups_.extras[group];
  const auto add = [](std::int64_t& to, std::int64_t ns) { to = plus(to, ns); };
  if (pass_times_.empty() && has_passes_)
    add(extra.pass_ns[static_cast<std::size_t>(Pass::kForward)], inclusive.gpu_sum_ns);
  for (std::size_t pass = 0; pass < kPasses && !pass_times_.empty(); ++pass)
    add(extra.pass_ns[pass], pass_times_[range][pass]);
  if (!estimated_.empty()) add(extra.estimated_ns, estimated_[range]);
  if (!conditional_.empty()) extra.conditional_ops += conditional_[range];
}

/// The parent's own time is less by what this range has of it, and no earlier one had.
void RangeRollup::take_from_parent(RangeIndex range) {
  const RangeTable& ranges = window_->timeline.ranges;
  const RangeIndex parent = window_->projection.parent[range];
  if (parent == kNone || ((ranges.flags[range] | ranges.flags[parent]) & kBeforeRecording) != 0) return;
  std::int64_t begin = std::max(ranges.begin_ns[range], ranges.begin_ns[parent]);
  const std::int64_t end = std::min(ranges.end_ns[range], ranges.end_ns[parent]);
  std::int64_t taken = 0;
  if (!is_whole_ && is_shared_[parent]) {
    taken = covered_[window_->key(parent)].add(begin, end);
  } else {
    begin = std::max(begin, covered_until_[parent]);
    taken = projection::Interval(begin, end).length();
    covered_until_[parent] = std::max(covered_until_[parent], end);
  }
  if (taken == 0 || group_of_[parent] == kNone) return;
  std::int64_t& self_ns = groups_.rows[group_of_[parent]].host_self_ns;
  self_ns = minus(self_ns, taken);
}

void RangeRollup::note_first(RangeIndex range, std::uint32_t group) {
  const RangeTable& ranges = window_->timeline.ranges;
  const First first{ranges.begin_ns[range], window_->projection.depth[range], ranges.thread[range],
                    window_->key(range)};
  if (!(first < first_[group])) return;
  first_[group] = first;
  groups_.rows[group].name = ranges.name[range];
  if (!folding_.numbers) return;
  // Of the names that are folded to one, that may be the folded one itself.
  std::uint32_t& folded = groups_.folded[group];
  std::string text = folded_name(window_->timeline.text(ranges.name[range]));
  if (text == window_->timeline.text(ranges.name[range])) {
    folded = kNone;
  } else if (folded == kNone) {
    folded = static_cast<std::uint32_t>(groups_.folded_names.size());
    groups_.folded_names.push_back(std::move(text));
  }
}

/// What ranges that go on have to remember.
void RangeRollup::end_window() {
  const std::vector<RangeIndex>& parent = window_->projection.parent;
  // Ranges to come inside of one that is open begin later than those that are there, but for what is open itself.
  std::unordered_map<std::uint64_t, std::int64_t> first_inside;
  for (RangeIndex range{0}; range < window_->own_ranges; ++range) {
    if (!window_->is_open(range)) continue;
    first_inside.try_emplace(window_->key(range), std::numeric_limits<std::int64_t>::max());
    if (parent[range] == kNone) continue;
    std::int64_t& first =
        first_inside.try_emplace(window_->key(parent[range]), std::numeric_limits<std::int64_t>::max()).first->second;
    first = std::min(first, window_->timeline.ranges.begin_ns[range]);
  }
  for (auto covered = covered_.begin(); covered != covered_.end();) {
    const auto open = first_inside.find(covered->first);
    if (open == first_inside.end()) {
      covered = covered_.erase(covered);
      continue;
    }
    covered->second.settle(open->second);
    ++covered;
  }
}

/// What is kept from window to window goes before the groups are put in order and shown.
void RangeRollup::finish() {
  lengths_.write(groups_.rows);
  by_key_ = projection::FlatMap();
  order_ = std::vector<RangeIndex>();
  covered_.clear();
  covered_until_ = std::vector<std::int64_t>();
  put_in_order();
  first_ = std::vector<First>();
}

/// As one window of all would have found them; parents before children also where the parent's own ranges came later,
/// or elsewhere, as ranges without an end can.
void RangeRollup::put_in_order() {
  if (is_whole_) return;
  for (std::size_t group = groups_.size(); group-- > 0;)  // added after its parent
    if (const std::uint32_t parent = groups_[group].parent; parent != kNone)
      first_[parent] = std::min(first_[parent], first_[group]);
  std::vector<std::uint32_t> order(groups_.size()), place(groups_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [this](std::uint32_t a, std::uint32_t b) { return std::pair(first_[a], a) < std::pair(first_[b], b); });
  for (std::uint32_t at = 0; at < order.size(); ++at) place[order[at]] = at;
  for (RangeGroup& row : groups_.rows)
    if (row.parent != kNone) row.parent = place[row.parent];
  if (!groups_.extras.empty()) arrange(groups_.extras, order);
  if (!groups_.folded.empty()) arrange(groups_.folded, order);
  arrange(groups_.rows, std::move(order));
}

std::uint64_t RangeRollup::memory_bytes() const noexcept {
  constexpr std::uint64_t kSlotBytes = 32;  // of a map that is half full
  return groups_.rows.capacity() * sizeof(RangeGroup) + groups_.extras.capacity() * sizeof(GroupExtra) +
         first_.capacity() * sizeof(First) + by_key_.size() * kSlotBytes + lengths_.memory_bytes();
}

bool takes_part(RangeKind kind, const ProjectionOptions& options) noexcept {
  return (kind == RangeKind::kAnnotation && options.annotations) || (kind == RangeKind::kOperator && options.operators);
}

std::vector<RangeIndex> ranges_by_begin(const Timeline& timeline, const Projection& projection,
                                        const ProjectionOptions& options) {
  const RangeTable& ranges = timeline.ranges;
  const std::vector<std::uint32_t>& depth = projection.depth;
  std::vector<RangeIndex> order;
  order.reserve(ranges.size());
  for (RangeIndex range{0}; range < ranges.size(); ++range)
    if (takes_part(ranges.kind[range], options)) order.push_back(range);
  const auto before = [&](RangeIndex a, RangeIndex b) {
    if (ranges.begin_ns[a] != ranges.begin_ns[b]) return ranges.begin_ns[a] < ranges.begin_ns[b];
    if (depth[a] != depth[b]) return depth[a] < depth[b];
    return ranges.thread[a] < ranges.thread[b];
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  return order;
}

namespace {

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

RangeGroups RangeRollup::groups() && {
  finish();
  if (!by_path_) drop_silent(groups_);
  return std::move(groups_);
}

/// In an order of groups, `group_of_` is of the one window that there was.
PathTree RangeRollup::tree() && {
  finish();
  PathTree tree{std::move(groups_), {}, std::move(group_of_)};
  tree.order = order_of_shown(tree.groups);
  return tree;
}

RangeGroups roll_up_ranges(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options,
                           GroupBy group_by, const Folding& folding, Parts parts, HostSpread spread) {
  RangeRollup rollup({.projection = options, .group_by = group_by, .folding = folding, .spread = spread});
  rollup.add(projection::WindowRows::whole(timeline, projection), {}, parts);
  return std::move(rollup).groups();
}

PathTree range_tree(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options,
                    const Folding& folding, HostSpread spread) {
  RangeRollup rollup({.projection = options, .group_by = GroupBy::kPath, .folding = folding, .spread = spread});
  rollup.add(projection::WindowRows::whole(timeline, projection));
  return std::move(rollup).tree();
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
