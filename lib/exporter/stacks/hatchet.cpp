// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "exporter/stacks/writers.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::stacks {
namespace {

std::string_view type_of(FrameKind kind) noexcept {
  switch (kind) {
    case FrameKind::kRange:
      return "range";
    case FrameKind::kActivity:
      return "activity";
    case FrameKind::kUnowned:
      return "unowned";
  }
  return "";
}

/// The nodes of one profile as they are around one another, with inclusive times. Made for each profile anew; only
/// nodes that it touched are cleared in between.
class ProfileTree {
 public:
  explicit ProfileTree(const StackTree& tree)
      : tree_(tree),
        rows_(tree.nodes.size()),
        first_child_(tree.nodes.size(), kNone),
        next_(tree.nodes.size(), kNone) {}

  struct Row {
    std::int64_t self_ns = 0, inclusive_ns = 0;
    std::uint64_t count = 0;
    bool touched = false;
  };

  void fill(const Weight* begin, const Weight* end) {
    for (const std::uint32_t node : touched_) {
      rows_[node] = {};
      first_child_[node] = next_[node] = kNone;
    }
    touched_.clear();
    first_root_ = kNone;
    for (const Weight* weight = begin; weight != end; ++weight) {
      for (std::uint32_t node = weight->node; node != kNone && !rows_[node].touched; node = tree_.nodes[node].parent) {
        rows_[node].touched = true;
        touched_.push_back(node);
      }
      rows_[weight->node].self_ns = weight->self_ns;
      rows_[weight->node].count = weight->count;
    }
    // From the innermost outwards; siblings end up in order of their numbers.
    std::sort(touched_.rbegin(), touched_.rend());
    for (const std::uint32_t node : touched_) {
      rows_[node].inclusive_ns += rows_[node].self_ns;
      const std::uint32_t parent = tree_.nodes[node].parent;
      if (parent != kNone) rows_[parent].inclusive_ns += rows_[node].inclusive_ns;
      std::uint32_t& first = parent == kNone ? first_root_ : first_child_[parent];
      next_[node] = std::exchange(first, node);
    }
  }

  const Row& row(std::uint32_t node) const noexcept { return rows_[node]; }
  std::uint32_t first_root() const noexcept { return first_root_; }
  std::uint32_t first_child(std::uint32_t node) const noexcept { return first_child_[node]; }
  std::uint32_t next(std::uint32_t node) const noexcept { return next_[node]; }

 private:
  const StackTree& tree_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> first_child_, next_;
  std::vector<std::uint32_t> touched_;
  std::uint32_t first_root_ = kNone;
};

class HatchetWriter {
 public:
  HatchetWriter(const StackTree& tree, chrome::TextOutput& out) : tree_(tree), nodes_(tree), out_(out) {}

  void write() {
    out_.text("[");
    const Weight* weight = tree_.weights.data();
    const Weight* const end = weight + tree_.weights.size();
    for (std::uint32_t profile = 0; profile < tree_.profiles.size(); ++profile) {
      const Weight* const begin = weight;
      std::int64_t total_ns = 0;
      for (; weight != end && weight->profile == profile; ++weight) total_ns += weight->self_ns;
      nodes_.fill(begin, weight);
      if (tree_.profiles.size() > 1) {
        if (profile != 0) out_.text(",");
        open(tree_.profiles[profile], "place", 0, total_ns, 0);
        siblings(nodes_.first_root());
        out_.text("]}");
      } else {
        siblings(nodes_.first_root());
      }
    }
    out_.text("]\n");
  }

 private:
  void open(std::string_view name, std::string_view type, std::int64_t self_ns, std::int64_t inclusive_ns,
            std::uint64_t count) {
    std::string text = "{\"frame\":{\"name\":";
    base::append_json_string(text, name);
    text += ",\"type\":\"";
    text += type;
    text += "\"},\"metrics\":{\"time\":" + std::to_string(self_ns) + ",\"time (inc)\":" + std::to_string(inclusive_ns) +
            ",\"count\":" + std::to_string(count) + "},\"children\":[";
    out_.text(text);
  }

  /// A node, those after it, and all that is inside of them, without recursion.
  void siblings(std::uint32_t node) {
    bool first = true;
    while (node != kNone) {
      if (!first) out_.text(",");
      const Frame& frame = tree_.frames[tree_.nodes[node].frame];
      const ProfileTree::Row& row = nodes_.row(node);
      open(frame.name, type_of(frame.kind), row.self_ns, row.inclusive_ns, row.count);
      first = nodes_.first_child(node) != kNone;
      if (first) {
        node = nodes_.first_child(node);
        continue;
      }
      out_.text("]}");
      while (nodes_.next(node) == kNone && tree_.nodes[node].parent != kNone) {
        node = tree_.nodes[node].parent;
        out_.text("]}");
      }
      node = nodes_.next(node);
    }
  }

  const StackTree& tree_;
  ProfileTree nodes_;
  chrome::TextOutput& out_;
};

}  // namespace

void write_hatchet(const StackTree& tree, chrome::TextOutput& out) { HatchetWriter(tree, out).write(); }

}  // namespace rangefinder::stacks
