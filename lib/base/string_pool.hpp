// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/cells.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rangefinder::base {

/// Texts stored once each, numbered from 0 in order of arrival; id 0 is the empty text. Views stay valid for the life
/// of the pool. Not thread-safe.
class StringPool {
 public:
  StringPool();
  StringPool(const StringPool& other);
  StringPool(StringPool&&) noexcept = default;
  StringPool& operator=(const StringPool& other) { return *this = StringPool(other); }
  StringPool& operator=(StringPool&&) noexcept = default;

  std::uint32_t intern(std::string_view text);
  /// The id of a text that is there already, or kAbsent.
  std::uint32_t find(std::string_view text) const noexcept;
  /// Empty for an id never given out.
  std::string_view text(std::uint32_t id) const noexcept {
    return id < texts_.size() ? texts_[id] : std::string_view{};
  }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(texts_.size()); }
  /// What the texts take, with the tables that find them.
  std::uint64_t memory_bytes() const noexcept {
    return bytes_ + texts_.size() * sizeof(std::string_view) + slots_.size() * sizeof(Slot);
  }

  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFu;

 private:
  std::string_view store(std::string_view text);
  struct Slot {
    std::uint32_t hash;
    std::uint32_t entry;  // id + 1, 0 = free
  };
  const Slot* slot_of(std::string_view text, std::uint32_t hash) const noexcept;
  void grow();

  detail::Cells<std::string_view> texts_;
  std::vector<Slot> slots_;  // open addressing; the hash saves most comparisons, and reading texts to grow
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_left_ = 0;
  char* block_at_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace rangefinder::base
