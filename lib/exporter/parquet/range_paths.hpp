// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::parquet {

/// The paths of names of ranges, numbered: each behind the one around it.
class RangePaths {
 public:
  /// Deeper ranges count for their ancestor at this depth: paths of endless recursion would take all memory.
  static constexpr std::uint32_t kMostDepth = 64;

  /// `parent`: a path, or kNone. `name`: text of `name_id`.
  std::uint32_t add(std::uint32_t parent, StringId name_id, std::string_view name) {
    if (parent != kNone && paths_[parent].depth + 1 == kMostDepth) return parent;
    const std::uint64_t key = std::uint64_t{parent} << 32 | static_cast<std::uint32_t>(name_id);
    const auto [found, added] = ids_.try_emplace(key, static_cast<std::uint32_t>(paths_.size()));
    if (!added) return found->second;
    Path path{parent, parent == kNone ? 0 : paths_[parent].depth + 1, name_id, {}};
    path.text = parent == kNone ? std::string(name) : paths_[parent].text + "/" + std::string(name);
    paths_.push_back(std::move(path));
    return found->second;
  }

  std::size_t size() const noexcept { return paths_.size(); }
  std::uint32_t parent(std::uint32_t path) const noexcept { return paths_[path].parent; }
  std::uint32_t depth(std::uint32_t path) const noexcept { return paths_[path].depth; }
  StringId name(std::uint32_t path) const noexcept { return paths_[path].name; }
  std::string_view text(std::uint32_t path) const noexcept { return paths_[path].text; }

 private:
  struct Path {
    std::uint32_t parent;
    std::uint32_t depth;
    StringId name;
    std::string text;
  };
  std::vector<Path> paths_;
  std::unordered_map<std::uint64_t, std::uint32_t> ids_;  // by parent and name
};

}  // namespace rangefinder::parquet
