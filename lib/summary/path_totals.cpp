// SPDX-License-Identifier: MIT
#include "summary/path_totals.hpp"

#include "buffer/name_table.hpp"

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
    nodes_.push_back(std::move(node));
    nodes_[parent].children.push_back(found->second);
  }
  return found->second;
}

void PathTotals::begin(std::uint64_t key, std::uint64_t parent, std::uint32_t name) {
  const auto around = nodes_of_.find(parent);
  nodes_of_[key] = child(around == nodes_of_.end() ? 0 : around->second, name);
}

SummaryRow* PathTotals::row(std::uint64_t key) {
  const auto found = nodes_of_.find(key);
  return found == nodes_of_.end() ? nullptr : &nodes_[found->second].row;
}

std::vector<SummaryRow> PathTotals::rows() const {
  std::vector<SummaryRow> out;
  std::vector<std::uint32_t> rest(nodes_[0].children.rbegin(), nodes_[0].children.rend());
  while (!rest.empty()) {
    const Node& node = nodes_[rest.back()];
    rest.pop_back();
    if (node.row.count != 0) out.push_back(node.row);
    rest.insert(rest.end(), node.children.rbegin(), node.children.rend());
  }
  return out;
}

}  // namespace rangefinder::summary
