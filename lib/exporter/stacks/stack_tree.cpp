// SPDX-License-Identifier: MIT
#include "exporter/stacks/stack_tree.hpp"

#include "analysis/range_rollup.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rangefinder::stacks {
namespace {

class TreeBuilder {
 public:
  explicit TreeBuilder(const Timeline& timeline) : timeline_(timeline) {}

  std::uint32_t frame(StringId name, FrameKind kind) {
    const std::uint64_t key = std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 | static_cast<std::uint32_t>(name);
    const auto [found, added] = frames_.try_emplace(key, static_cast<std::uint32_t>(tree_.frames.size()));
    if (added) {
      const std::string_view text = timeline_.text(name);
      tree_.frames.push_back({std::string(text.empty() ? "(unnamed)" : text), kind});
    }
    return found->second;
  }
  std::uint32_t unowned_frame(std::string_view name) {
    for (std::uint32_t i = 0; i < tree_.frames.size(); ++i)
      if (tree_.frames[i].kind == FrameKind::kUnowned && tree_.frames[i].name == name) return i;
    tree_.frames.push_back({std::string(name), FrameKind::kUnowned});
    return static_cast<std::uint32_t>(tree_.frames.size() - 1);
  }

  /// `parent` itself where that is too deep for another level.
  std::uint32_t node(std::uint32_t parent, std::uint32_t frame) {
    const std::uint32_t depth = parent == kNone ? 0 : depths_[parent] + 1;
    if (depth >= kMostLevels) return parent;
    const std::uint64_t key = std::uint64_t{parent} << 32 | frame;
    const auto [found, added] = nodes_.try_emplace(key, static_cast<std::uint32_t>(tree_.nodes.size()));
    if (added) {
      tree_.nodes.push_back({parent, frame});
      depths_.push_back(depth);
    }
    return found->second;
  }

  std::uint32_t profile(std::string name) {
    tree_.profiles.push_back(std::move(name));
    return static_cast<std::uint32_t>(tree_.profiles.size() - 1);
  }

  void add(std::uint32_t profile, std::uint32_t node, std::int64_t self_ns, std::uint64_t count) {
    const std::uint64_t key = std::uint64_t{profile} << 32 | node;
    const auto [found, added] = weights_.try_emplace(key, tree_.weights.size());
    if (added) tree_.weights.push_back({profile, node, 0, 0});
    tree_.weights[found->second].self_ns += self_ns;
    tree_.weights[found->second].count += count;
  }

  StackTree finish() && {
    std::sort(tree_.weights.begin(), tree_.weights.end(), [](const Weight& a, const Weight& b) {
      return std::tie(a.profile, a.node) < std::tie(b.profile, b.node);
    });
    return std::move(tree_);
  }

 private:
  const Timeline& timeline_;
  StackTree tree_;
  std::vector<std::uint32_t> depths_;                        // per node
  std::unordered_map<std::uint64_t, std::uint32_t> frames_;  // by kind and name
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;   // by parent and frame
  std::unordered_map<std::uint64_t, std::size_t> weights_;   // by profile and node
};

/// The nodes of ranges, made when they are asked for.
class RangeNodes {
 public:
  RangeNodes(const Timeline& timeline, const Projection& projection, TreeBuilder& tree)
      : timeline_(timeline), projection_(projection), tree_(tree), nodes_(timeline.ranges.size(), kNone) {}

  std::uint32_t operator[](RangeIndex range) {
    chain_.clear();
    for (; range != kNone && nodes_[range] == kNone; range = projection_.parent[range]) chain_.push_back(range);
    std::uint32_t node = kNone;
    if (range != kNone) node = nodes_[range];
    for (; !chain_.empty(); chain_.pop_back()) {
      node = tree_.node(node, tree_.frame(timeline_.ranges.name[chain_.back()], FrameKind::kRange));
      nodes_[chain_.back()] = node;
    }
    return node;
  }

 private:
  const Timeline& timeline_;
  const Projection& projection_;
  TreeBuilder& tree_;
  std::vector<std::uint32_t> nodes_;
  std::vector<RangeIndex> chain_;
};

/// In front of the names of its threads and devices; empty where there is one process.
std::string label_of(const Timeline& timeline, ProcessIndex index) {
  if (timeline.processes.size() < 2) return {};
  const ProcessInfo& process = timeline.processes[index];
  const std::string host = timeline.hosts.size() < 2 ? std::string() : process.host + " ";
  return host + (process.rank >= 0 ? "rank " + std::to_string(process.rank) : std::to_string(process.pid)) + " ";
}

std::string name_of_thread(const Timeline& timeline, ThreadIndex index) {
  const ThreadInfo& thread = timeline.threads[index];
  const std::string number = "thread " + std::to_string(thread.tid);
  return label_of(timeline, thread.process) + (thread.name.empty() ? number : thread.name + " (" + number + ")");
}

std::string name_of_device(const Timeline& timeline, DeviceIndex index) {
  const DeviceInfo& device = timeline.devices[index];
  return label_of(timeline, device.process) + "cuda:" + std::to_string(device.id);
}

/// Per range, how long none of those inside it was open. Rows by begin, outer ranges first.
std::vector<std::int64_t> self_times(const RangeTable& ranges, const Projection& projection,
                                     const std::vector<RangeIndex>& by_begin) {
  std::vector<std::int64_t> self(ranges.size()), covered_until(ranges.size());
  for (const RangeIndex range : by_begin) {
    const std::int64_t begin = ranges.begin_ns[range], end = ranges.end_ns[range];
    self[range] = end - begin;
    covered_until[range] = begin;
    const RangeIndex parent = projection.parent[range];
    if (parent == kNone) continue;
    std::int64_t& covered = covered_until[parent];
    const std::int64_t until = std::min(end, ranges.end_ns[parent]);
    self[parent] -= std::max<std::int64_t>(0, until - std::max(begin, covered));
    covered = std::max(covered, until);
  }
  return self;
}

std::string_view name_of_unowned(std::uint32_t owner) noexcept {
  switch (static_cast<Unowned>(owner)) {
    case Unowned::kOutside:
      return "(outside of ranges)";
    case Unowned::kBefore:
      return "(launched before the recording)";
    case Unowned::kUnknown:
      break;
  }
  return "(launch not known)";
}

}  // namespace

void StackTree::path_of(std::uint32_t node, std::vector<std::uint32_t>& frames_out) const {
  frames_out.clear();
  for (; node != kNone; node = nodes[node].parent) frames_out.push_back(nodes[node].frame);
  std::reverse(frames_out.begin(), frames_out.end());
}

std::int64_t StackTree::total_ns() const noexcept {
  std::int64_t total = 0;
  for (const Weight& weight : weights) total += weight.self_ns;
  return total;
}

StackTree stacks_by_host(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options) {
  const RangeTable& ranges = timeline.ranges;
  std::vector<RangeIndex> by_begin = analysis::ranges_by_begin(timeline, projection, options);
  std::erase_if(by_begin, [&](RangeIndex range) { return (ranges.flags[range] & kBeforeRecording) != 0; });
  const std::vector<std::int64_t> self = self_times(ranges, projection, by_begin);
  TreeBuilder tree(timeline);
  RangeNodes nodes(timeline, projection, tree);
  std::vector<std::uint32_t> profiles(timeline.threads.size(), kNone);
  for (const RangeIndex range : by_begin) {
    const ThreadIndex thread = ranges.thread[range];
    if (profiles[thread] == kNone) profiles[thread] = tree.profile(name_of_thread(timeline, thread));
    tree.add(profiles[thread], nodes[range], self[range], ranges.is_run(range) ? 1 : 0);
  }
  return std::move(tree).finish();
}

StackTree stacks_by_device(const Timeline& timeline, const Projection& projection) {
  const ActivityTable& activities = timeline.activities;
  TreeBuilder tree(timeline);
  RangeNodes nodes(timeline, projection, tree);
  std::vector<std::uint32_t> profiles(timeline.devices.size(), kNone);
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const DeviceIndex device = timeline.streams[activities.stream[activity]].device;
    if (profiles[device] == kNone) profiles[device] = tree.profile(name_of_device(timeline, device));
    const std::uint32_t owner = projection.owner[activity];
    const bool is_owned = owner < timeline.ranges.size();
    const std::uint32_t around =
        is_owned ? nodes[RangeIndex(owner)] : tree.node(kNone, tree.unowned_frame(name_of_unowned(owner)));
    const std::uint32_t node = tree.node(around, tree.frame(activities.name[activity], FrameKind::kActivity));
    tree.add(profiles[device], node, activities.end_ns[activity] - activities.begin_ns[activity], 1);
  }
  return std::move(tree).finish();
}

}  // namespace rangefinder::stacks
