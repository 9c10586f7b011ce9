// SPDX-License-Identifier: MIT
#include "analysis/breakdown_of_ranges.hpp"

#include "analysis/range_forest.hpp"
#include "analysis/running_time.hpp"
#include "projection/figures.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace rangefinder::analysis {
namespace {

using projection::plus;

/// Lengths of what a device did up to a moment.
struct Elapsed {
  std::int64_t not_computing = 0;
  std::int64_t no_kernel = 0;  ///< neither computing nor communicating
  IdleReasons idle;
  std::int64_t not_recorded = 0;

  void add(std::uint8_t kind, std::int64_t length) noexcept {
    if ((kind & kComputing) == 0 || !is_work(kind)) not_computing += length;
    if ((kind & (kComputing | kCommunicating)) == 0 || !is_work(kind)) no_kernel += length;
    if (is_work(kind)) return;
    switch (static_cast<DeviceIdle>(kind)) {
      case DeviceIdle::kHostWait:
        idle.host_wait_ns += length;
        break;
      case DeviceIdle::kKernelWait:
        idle.kernel_wait_ns += length;
        break;
      case DeviceIdle::kSyncWait:
        idle.sync_wait_ns += length;
        break;
      case DeviceIdle::kOther:
        idle.other_ns += length;
        break;
      case DeviceIdle::kNotRecorded:
        not_recorded += length;
        break;
    }
  }
};

/// Of the states of a device: how long it was in which, up to any moment. O(log spans).
class ElapsedTimes {
 public:
  explicit ElapsedTimes(std::span<const Span> spans) : spans_(spans) {
    before_.reserve(spans.size());
    Elapsed total;
    for (const Span& span : spans) {
      before_.push_back(total);
      total.add(span.kind, span.end - span.begin);
    }
  }
  Elapsed until(std::int64_t time_ns) const noexcept {
    const auto after =
        std::partition_point(spans_.begin(), spans_.end(), [&](const Span& span) { return span.begin <= time_ns; });
    if (after == spans_.begin()) return {};
    const auto at = static_cast<std::size_t>(after - spans_.begin()) - 1;
    Elapsed elapsed = before_[at];
    elapsed.add(spans_[at].kind, time_ns - spans_[at].begin);
    return elapsed;
  }

 private:
  std::span<const Span> spans_;
  std::vector<Elapsed> before_;  // each span
};

/// The length of a union, and that part of it in which the device did nothing that matters more.
struct Covered {
  std::int64_t length = 0;
  std::int64_t exposed = 0;
  Covered& operator+=(const Covered& other) noexcept {
    length = plus(length, other.length);
    exposed = plus(exposed, other.exposed);
    return *this;
  }
  Covered& operator-=(const Covered& other) noexcept {
    length = projection::minus(length, other.length);
    exposed = projection::minus(exposed, other.exposed);
    return *this;
  }
};

/// What is counted apart: the bits of DeviceWork, and all work.
constexpr std::array<std::uint8_t, 6> kClasses = {kComputing, kCommunicating, kCopying, kOrphan, kGraph, kAnyWork};
enum WorkClass : std::size_t { kOfComputing, kOfCommunicating, kOfCopying, kOfOrphans, kOfGraphs, kOfAll };

/// A range that owns work on the device, or is around one that does; or all work that is unowned for one cause.
struct RangeNode {
  RangeIndex range = kNone;  ///< kNone: unowned work
  std::uint32_t parent = kNone;
  std::uint64_t ops = 0;
  std::uint64_t orphan_ops = 0;
  std::uint64_t graph_ops = 0;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  std::array<Covered, kClasses.size()> covered{};

  void add(const RangeNode& inside) noexcept {
    ops += inside.ops;
    orphan_ops += inside.orphan_ops;
    graph_ops += inside.graph_ops;
    first_ns = std::min(first_ns, inside.first_ns);
    last_ns = std::max(last_ns, inside.last_ns);
    for (std::size_t of = 0; of < covered.size(); ++of) covered[of] += inside.covered[of];
  }
};

constexpr std::array<Unowned, 3> kUnownedCauses = {Unowned::kOutside, Unowned::kBefore, Unowned::kUnknown};

class RangeBreakdown {
 public:
  RangeBreakdown(const Timeline& timeline, const Projection& projection, DeviceStates& states)
      : timeline_(timeline),
        projection_(projection),
        states_(states),
        forest_(projection),
        common_(projection, forest_),
        node_of_(projection.parent.size(), kNone) {
    inside_its_like_ = inside_their_like(projection.parent.size(), forest_, [&](RangeIndex range) {
      return static_cast<std::uint64_t>(timeline.ranges.name[range]);
    });
  }

  std::vector<BreakdownRow> run() {
    for (DeviceIndex device{0}; device < timeline_.devices.size(); ++device) {
      const std::span<const ActivityIndex> activities = states_.activities_of(device);
      if (activities.empty()) continue;
      const ElapsedTimes elapsed(states_.of(device));
      find_nodes(activities);
      read(activities);
      for (std::size_t of = 0; of < kClasses.size(); ++of) cover(of, elapsed);
      for (std::size_t node = nodes_.size(); node-- > 0;)  // inner ranges are behind outer ones
        if (nodes_[node].parent != kNone) nodes_[nodes_[node].parent].add(nodes_[node]);
      add_rows(device, elapsed);
      for (const RangeNode& node : nodes_)
        if (node.range != kNone) node_of_[node.range] = kNone;
    }
    return std::move(rows_);
  }

 private:
  struct Change {
    std::int64_t time_ns;
    std::uint32_t node;
    std::uint8_t work;
    bool begins;
  };
  struct Running {
    std::uint32_t activities;
    std::int64_t since_ns;
    std::int64_t beside_next_since_ns;
  };
  using Place = std::map<std::uint32_t, Running>::iterator;

  bool is_owned(ActivityIndex activity) const noexcept { return projection_.owner[activity] < node_of_.size(); }

  /// In the order of a walk, so that a range is before those inside it; then three of unowned work.
  void find_nodes(std::span<const ActivityIndex> activities) {
    nodes_.clear();
    for (const ActivityIndex activity : activities) {
      if (!is_owned(activity)) continue;
      for (RangeIndex range(projection_.owner[activity]); range != kNone && node_of_[range] == kNone;
           range = projection_.parent[range]) {
        node_of_[range] = 0;
        nodes_.emplace_back().range = range;
      }
    }
    std::sort(nodes_.begin(), nodes_.end(), [this](const RangeNode& a, const RangeNode& b) {
      return common_.position(a.range) < common_.position(b.range);
    });
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      node_of_[nodes_[node].range] = node;
      const RangeIndex parent = projection_.parent[nodes_[node].range];
      if (parent != kNone) nodes_[node].parent = node_of_[parent];
    }
    first_unowned_ = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + kUnownedCauses.size());
  }

  std::uint32_t node_of(ActivityIndex activity) const noexcept {
    if (is_owned(activity)) return node_of_[projection_.owner[activity]];
    switch (static_cast<Unowned>(projection_.owner[activity])) {
      case Unowned::kOutside:
        return first_unowned_;
      case Unowned::kBefore:
        return first_unowned_ + 1;
      case Unowned::kUnknown:
        break;
    }
    return first_unowned_ + 2;
  }

  void read(std::span<const ActivityIndex> activities) {
    changes_.clear();
    for (const ActivityIndex activity : activities) {
      const std::uint32_t at = node_of(activity);
      const std::uint8_t work = states_.work_of(activity);
      const std::int64_t begin_ns = states_.begin_ns(activity), end_ns = states_.end_ns(activity);
      RangeNode& node = nodes_[at];
      ++node.ops;
      node.orphan_ops += (work & kOrphan) != 0 ? 1 : 0;
      node.graph_ops += (work & kGraph) != 0 ? 1 : 0;
      node.first_ns = std::min(node.first_ns, begin_ns);
      node.last_ns = std::max(node.last_ns, end_ns);
      if (begin_ns == end_ns) continue;
      changes_.push_back({begin_ns, at, work, true});
      changes_.push_back({end_ns, at, work, false});
    }
    // What begins before what ends: work that follows at once is one stretch.
    std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.begins > b.begins;
    });
  }

  /// For each node the time in which its own work of a class, or that of nodes inside it, ran, when all is added to the
  /// parents: every node whose work runs counts the moment, and of every two neighbours the innermost node around both
  /// takes one back (as RunningIntegrals does, which is for one figure and all ranges).
  void cover(std::size_t of, const ElapsedTimes& elapsed) {
    const auto between = [&](std::int64_t begin_ns, std::int64_t end_ns) {
      Covered covered{end_ns - begin_ns, 0};
      if (of == kOfCommunicating)
        covered.exposed = elapsed.until(end_ns).not_computing - elapsed.until(begin_ns).not_computing;
      if (of == kOfCopying) covered.exposed = elapsed.until(end_ns).no_kernel - elapsed.until(begin_ns).no_kernel;
      return covered;
    };
    const auto part = [&](Place a, Place b, std::int64_t time_ns) {
      const std::uint32_t around = common_node(a->first, b->first);
      if (around != kNone) nodes_[around].covered[of] -= between(a->second.beside_next_since_ns, time_ns);
    };
    std::map<std::uint32_t, Running> running;
    for (const Change& change : changes_) {
      if ((change.work & kClasses[of]) == 0) continue;
      const std::int64_t time_ns = change.time_ns;
      if (change.begins) {
        const auto [place, added] = running.try_emplace(change.node, Running{0, time_ns, time_ns});
        ++place->second.activities;
        if (!added || place == running.begin()) continue;
        const Place before = std::prev(place);
        if (std::next(place) != running.end()) part(before, std::next(place), time_ns);
        before->second.beside_next_since_ns = time_ns;
        continue;
      }
      const Place place = running.find(change.node);
      if (--place->second.activities != 0) continue;
      nodes_[change.node].covered[of] += between(place->second.since_ns, time_ns);
      if (std::next(place) != running.end()) part(place, std::next(place), time_ns);
      if (place != running.begin()) {
        part(std::prev(place), place, time_ns);
        std::prev(place)->second.beside_next_since_ns = time_ns;
      }
      running.erase(place);
    }
  }

  std::uint32_t common_node(std::uint32_t a, std::uint32_t b) const noexcept {
    if (a >= first_unowned_ || b >= first_unowned_) return kNone;
    const RangeIndex around = common_.of(nodes_[a].range, nodes_[b].range);
    return around == kNone ? std::uint32_t{kNone} : node_of_[around];
  }

  /// Ranges of one name, and the begin and end of the first of them: outer ones before those that begin with them.
  struct Group {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    BreakdownRow row;

    auto place() const noexcept { return std::tuple(begin_ns, ~end_ns, row.range); }
  };

  std::vector<Group> groups(const ElapsedTimes& elapsed) const {
    const RangeTable& ranges = timeline_.ranges;
    std::map<StringId, Group> by_name;
    for (std::uint32_t node = 0; node < first_unowned_; ++node) {
      const RangeIndex range = nodes_[node].range;
      if (inside_its_like_[range]) continue;  // the one around it has all that is its own
      Group one{ranges.begin_ns[range], ranges.end_ns[range], {}};
      one.row.range = ranges.name[range];
      one.row.instances = 0;
      Group& group = by_name.try_emplace(one.row.range, one).first->second;
      if (one.place() < group.place()) {
        group.begin_ns = one.begin_ns;
        group.end_ns = one.end_ns;
      }
      group.row.instances += ranges.is_run(range) ? 1 : 0;
      add(group.row, nodes_[node], elapsed);
    }
    std::vector<Group> in_order;
    for (const auto& [name, group] : by_name) in_order.push_back(group);
    std::sort(in_order.begin(), in_order.end(), [](const Group& a, const Group& b) { return a.place() < b.place(); });
    return in_order;
  }

  void add_rows(DeviceIndex device, const ElapsedTimes& elapsed) {
    const std::size_t first = rows_.size();
    for (const Group& group : groups(elapsed)) rows_.push_back(group.row);
    for (std::size_t cause = 0; cause < kUnownedCauses.size(); ++cause) {
      const RangeNode& node = nodes_[first_unowned_ + cause];
      if (node.ops == 0) continue;
      BreakdownRow& row = rows_.emplace_back();
      row.unowned = kUnownedCauses[cause];
      add(row, node, elapsed);
    }
    for (std::size_t i = first; i < rows_.size(); ++i) {
      rows_[i].process = timeline_.devices[device].process;
      rows_[i].device = device;
    }
  }

  static void add(BreakdownRow& row, const RangeNode& node, const ElapsedTimes& elapsed) {
    row.ops += node.ops;
    row.orphan_ops += node.orphan_ops;
    row.graph_ops += node.graph_ops;
    const auto take = [](std::int64_t& to, std::int64_t length) { to = plus(to, length); };
    take(row.computation_ns, node.covered[kOfComputing].length);
    take(row.communication_ns, node.covered[kOfCommunicating].length);
    take(row.exposed_communication_ns, node.covered[kOfCommunicating].exposed);
    take(row.memcpy_ns, node.covered[kOfCopying].length);
    take(row.exposed_memcpy_ns, node.covered[kOfCopying].exposed);
    take(row.busy_ns, node.covered[kOfAll].length);
    take(row.orphan_busy_ns, node.covered[kOfOrphans].length);
    take(row.graph_busy_ns, node.covered[kOfGraphs].length);

    const Elapsed first = elapsed.until(node.first_ns), last = elapsed.until(node.last_ns);
    const IdleReasons idle{last.idle.host_wait_ns - first.idle.host_wait_ns,
                           last.idle.kernel_wait_ns - first.idle.kernel_wait_ns,
                           last.idle.sync_wait_ns - first.idle.sync_wait_ns, last.idle.other_ns - first.idle.other_ns};
    const std::int64_t idle_ns = idle.host_wait_ns + idle.kernel_wait_ns + idle.sync_wait_ns + idle.other_ns;
    const std::int64_t total_ns = node.last_ns - node.first_ns - (last.not_recorded - first.not_recorded);
    take(row.idle.host_wait_ns, idle.host_wait_ns);
    take(row.idle.kernel_wait_ns, idle.kernel_wait_ns);
    take(row.idle.sync_wait_ns, idle.sync_wait_ns);
    take(row.idle.other_ns, idle.other_ns);
    take(row.idle_ns, idle_ns);
    take(row.total_ns, total_ns);
    take(row.other_work_ns, total_ns - idle_ns - node.covered[kOfAll].length);
  }

  const Timeline& timeline_;
  const Projection& projection_;
  DeviceStates& states_;
  RangeForest forest_;
  CommonRange common_;
  std::vector<bool> inside_its_like_;
  std::vector<std::uint32_t> node_of_;  // by range; kNone: none
  std::vector<BreakdownRow> rows_;

  // Of the device at hand.
  std::vector<RangeNode> nodes_;
  std::uint32_t first_unowned_ = 0;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<BreakdownRow> breakdown_of_ranges(const Timeline& timeline, const Projection& projection,
                                              DeviceStates& states) {
  return RangeBreakdown(timeline, projection, states).run();
}

}  // namespace rangefinder::analysis
