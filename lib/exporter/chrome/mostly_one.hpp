// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace rangefinder::chrome {

/// A list that mostly has one item, which then takes no memory of its own.
template <typename T>
class MostlyOne {
 public:
  std::size_t size() const noexcept { return has_first_ ? 1 + more_.size() : 0; }
  bool is_one() const noexcept { return has_first_ && more_.empty(); }
  const T& operator[](std::size_t at) const noexcept { return at == 0 ? first_ : more_[at - 1]; }
  T& operator[](std::size_t at) noexcept { return at == 0 ? first_ : more_[at - 1]; }

  T& add(const T& item) {
    if (has_first_) return more_.emplace_back(item);
    has_first_ = true;
    return first_ = item;
  }
  void clear() noexcept {
    has_first_ = false;
    if (more_.capacity() != 0) more_ = {};
  }
  /// The first one for which `is_wanted(item)`; null: none.
  template <typename IsWanted>
  T* find(IsWanted is_wanted) noexcept {
    for (std::size_t at = 0; at < size(); ++at)
      if (is_wanted((*this)[at])) return &(*this)[at];
    return nullptr;
  }

 private:
  bool has_first_ = false;
  T first_{};
  std::vector<T> more_;
};

}  // namespace rangefinder::chrome
