// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::projection {

/// From ids to positions in a pool: open addressing, no allocation but to grow. Ids may be anything, positions not
/// kAbsent. Ids that are numbered one after the other and used in that order share the lines of the cache.
class FlatMap {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFu;

  FlatMap() : slots_(kSmallest) {}

  std::uint32_t find(std::uint64_t id) const noexcept {
    for (std::size_t at = home(id);; at = (at + 1) & mask())
      if (slots_[at].value == kAbsent || slots_[at].id == id) return slots_[at].value;
  }
  /// What is there; where nothing is, `value`, which is put there.
  std::uint32_t find_or_set(std::uint64_t id, std::uint32_t value) {
    if ((size_ + 1) * 8 > slots_.size() * 5) grow();
    std::size_t at = home(id);
    while (slots_[at].value != kAbsent && slots_[at].id != id) at = (at + 1) & mask();
    if (slots_[at].value != kAbsent) return slots_[at].value;
    ++size_;
    slots_[at] = {id, value};
    return value;
  }
  /// Replaces what was there.
  void set(std::uint64_t id, std::uint32_t value) {
    if ((size_ + 1) * 8 > slots_.size() * 5) grow();
    std::size_t at = home(id);
    while (slots_[at].value != kAbsent && slots_[at].id != id) at = (at + 1) & mask();
    size_ += slots_[at].value == kAbsent ? 1 : 0;
    slots_[at] = {id, value};
  }
  void erase(std::uint64_t id) noexcept {
    std::size_t hole = home(id);
    while (slots_[hole].value != kAbsent && slots_[hole].id != id) hole = (hole + 1) & mask();
    if (slots_[hole].value == kAbsent) return;
    --size_;
    // What follows moves up, unless that would put it before its home.
    for (std::size_t at = (hole + 1) & mask(); slots_[at].value != kAbsent; at = (at + 1) & mask()) {
      if (((at - home(slots_[at].id)) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].value = kAbsent;
  }
  std::size_t size() const noexcept { return size_; }
  bool contains(std::uint64_t id) const noexcept { return find(id) != kAbsent; }
  /// Keeps its memory.
  void clear() noexcept {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    size_ = 0;
  }
  /// Calls `use(id, value)` for each, in no order.
  template <typename Use>
  void for_each(Use use) const {
    for (const Slot& slot : slots_)
      if (slot.value != kAbsent) use(slot.id, slot.value);
  }

 private:
  struct Slot {
    std::uint64_t id = 0;
    std::uint32_t value = kAbsent;
  };
  static constexpr std::size_t kSmallest = 64;

  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t home(std::uint64_t id) const noexcept {
    // Four neighbours, the slots of a line, have their homes side by side.
    constexpr unsigned kBits = 2;
    const std::uint64_t four = id >> kBits;
    // Ids may differ in their high bits alone, as pairs of numbers do.
    const std::uint64_t mixed = ((four ^ four >> 29) * 0x9E3779B97F4A7C15ull) >> 32;
    return static_cast<std::size_t>(mixed << kBits | (id & ((1u << kBits) - 1))) & mask();
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    size_ = 0;
    for (const Slot& slot : old)
      if (slot.value != kAbsent) set(slot.id, slot.value);
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace rangefinder::projection
