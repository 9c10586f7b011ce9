// SPDX-License-Identifier: MIT
#include "summary/path_totals.hpp"

#include "buffer/name_table.hpp"

#include <algorithm>
#include <string>

namespace rangefinder::summary {

PathTotals::PathTotals() { nodes_.emplace_back(); }

std::uint32_t PathTotals::child(std::uint32_t parent, std::uint32_t name) {
  const auto [found, added] =
      by_name_.try_emplace(std::uint64_t{parent} << 32 | name, static_cast<std::uint32_t>(nodes_.size()));
  if (added) {
    Node node;
    node.row.name = name == 0 ? std::string("(unnamed)") : std::string(buffer::names().text(name));
    node.row.path = parent == 0 ? node.row.name : nodes_[parent].row.path + "/" + node.row.name;
    node.row.depth = parent == 0 ? 0 : nodes_[parent].row.depth + 1;
    node.parent = parent;
    nodes_.push_back(std::move(node));
    nodes_[parent].children.push_back(found->second);
  }
  return found->second;
}

void PathTotals::begin(std::uint64_t key, std::uint64_t parent, std::uint32_t name, std::int64_t begin_ns) {
  open_[key] = {child(path(parent), name), begin_ns};
}

std::uint32_t PathTotals::path(std::uint64_t key) const noexcept {
  const auto found = open_.find(key);
  return found == open_.end() ? 0 : found->second.node;
}

std::int64_t PathTotals::begin_ns(std::uint64_t key) const noexcept {
  const auto found = open_.find(key);
  return found == open_.end() ? kNoTime : found->second.begin_ns;
}

SummaryRow* PathTotals::row(std::uint64_t key) {
  const std::uint32_t node = path(key);
  return node == 0 ? nullptr : &nodes_[node].row;
}

void PathTotals::add_pass(std::uint32_t path, Pass pass, std::int64_t duration_ns) {
  nodes_[path].pass_ns[static_cast<std::size_t>(pass)] += duration_ns;
}

std::vector<SummaryRow> PathTotals::rows() const {
  std::vector<std::array<std::int64_t, kPasses>> inclusive(nodes_.size());
  for (std::size_t node = nodes_.size(); node-- > 0;) {  // what is inside was made later
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
      inclusive[node][pass] += nodes_[node].pass_ns[pass];
      if (node != 0) inclusive[nodes_[node].parent][pass] += inclusive[node][pass];
    }
  }
  std::vector<SummaryRow> out;
  std::vector<std::uint32_t> rest(nodes_[0].children.rbegin(), nodes_[0].children.rend());
  while (!rest.empty()) {
    const Node& node = nodes_[rest.back()];
    const std::array<std::int64_t, kPasses>& of_pass = inclusive[rest.back()];
    rest.pop_back();
    const auto owns_any = [&] { return std::any_of(of_pass.begin(), of_pass.end(), [](auto ns) { return ns != 0; }); };
    if (node.row.count != 0 || (node.was_before && owns_any())) {
      out.push_back(node.row);
      out.back().gpu_forward_ns = of_pass[static_cast<std::size_t>(Pass::kForward)];
      out.back().gpu_backward_ns = of_pass[static_cast<std::size_t>(Pass::kBackward)];
      out.back().gpu_recompute_ns = of_pass[static_cast<std::size_t>(Pass::kRecompute)];
      out.back().gpu_accumulation_ns = of_pass[static_cast<std::size_t>(Pass::kAccumulation)];
    }
    rest.insert(rest.end(), node.children.rbegin(), node.children.rend());
  }
  return out;
}

}  // namespace rangefinder::summary
