// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::capture {

/// The names of a capture by their ids. The recorder counts ids from 1; a file may use any numbers.
class NameList {
 public:
  /// Null for an id that is not there.
  const std::string* find(format::NameId id) const noexcept {
    if (id < kNear) return id < near_.size() && near_[id] ? &*near_[id] : nullptr;
    const auto found = far_.find(id);
    return found != far_.end() ? &found->second : nullptr;
  }
  void set(format::NameId id, std::string text) {
    size_ += find(id) == nullptr ? 1 : 0;
    if (id >= kNear) {
      far_.insert_or_assign(id, std::move(text));
      return;
    }
    if (id >= near_.size()) near_.resize(std::size_t{id} + 1);
    near_[id] = std::move(text);
  }
  std::size_t size() const noexcept { return size_; }
  /// Calls `use(id, text)` for all of them in order of ids.
  template <typename Use>
  void for_each(Use use) const {
    for (format::NameId id = 0; id < near_.size(); ++id)
      if (near_[id]) use(id, *near_[id]);
    for (const auto& [id, text] : far_) use(id, text);
  }

 private:
  static constexpr format::NameId kNear = 1u << 20;
  std::vector<std::optional<std::string>> near_;  // by id
  std::map<format::NameId, std::string> far_;
  std::size_t size_ = 0;
};

}  // namespace rangefinder::capture
