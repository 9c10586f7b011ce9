// SPDX-License-Identifier: MIT
#include "summary/path_totals.hpp"

#include <string>

namespace rangefinder::summary {

std::uint32_t PathTotals::path(std::uint32_t parent, StringId name, std::string_view text) {
  const std::uint64_t key = std::uint64_t{parent} << 32 | static_cast<std::uint32_t>(name);
  const auto [found, added] = by_name_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
  if (added) {
    Node node;
    node.row.name = std::string(text);
    node.row.path = parent == 0 ? node.row.name : nodes_[parent].row.path + "/" + node.row.name;
    node.row.depth = parent == 0 ? 0 : nodes_[parent].row.depth + 1;
    nodes_.push_back(std::move(node));
    nodes_[parent].children.push_back(found->second);
  }
  return found->second;
}

std::vector<SummaryRow> PathTotals::rows() const {
  std::vector<SummaryRow> out;
  std::vector<std::uint32_t> rest(nodes_[0].children.rbegin(), nodes_[0].children.rend());
  while (!rest.empty()) {
    const Node& node = nodes_[rest.back()];
    rest.pop_back();
    if (node.row.count != 0 || (node.was_before && node.row.gpu_ops != 0)) out.push_back(node.row);
    rest.insert(rest.end(), node.children.rbegin(), node.children.rend());
  }
  return out;
}

}  // namespace rangefinder::summary
