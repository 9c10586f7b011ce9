// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "projection/flat_map.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::analysis::nsight {

/// Numbers groups of a name and a kind in order of arrival.
class NameGroups {
 public:
  struct Group {
    Label name;
    std::uint8_t kind;
  };
  explicit NameGroups(const Labels& labels) : labels_(labels) {}

  std::uint32_t of(Label name, std::uint8_t kind) {
    const std::uint32_t known = numbers_.find(key_of(name, kind));
    if (known != projection::FlatMap::kAbsent) return known;
    const Label first = labels_.first_of(name);
    const auto next = static_cast<std::uint32_t>(groups_.size());
    const std::uint32_t number = numbers_.find_or_set(key_of(first, kind), next);
    if (number == next) groups_.push_back({first, kind});
    if (first != name) numbers_.set(key_of(name, kind), number);
    return number;
  }
  const std::vector<Group>& all() const noexcept { return groups_; }
  std::uint64_t memory_bytes() const noexcept {
    constexpr std::uint64_t kSlotBytes = 32;  // of a map that is half full
    return groups_.capacity() * sizeof(Group) + numbers_.size() * kSlotBytes;
  }

 private:
  static std::uint64_t key_of(Label name, std::uint8_t kind) noexcept { return std::uint64_t{name} << 8 | kind; }

  const Labels& labels_;
  projection::FlatMap numbers_;
  std::vector<Group> groups_;
};

}  // namespace rangefinder::analysis::nsight
