// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

// Names that are literals, found again by their address.
namespace rangefinder::buffer {

/// What one thread knows of the literals of its ranges. Written by that thread alone, but for `forget_first`.
class Literals {
 public:
  /// What the inline path looks at.
  detail::LiteralSlot* first() noexcept { return first_; }

  /// The begin word of a literal; 0 for an array of characters that is none, whatever its type says. `intern` is called
  /// with a text that was not seen before and gives its id. `unloaded`: unloaded_libraries() as the drain saw it last.
  std::uint64_t word(const char* literal, std::size_t size, std::uint64_t unloaded,
                     std::uint32_t (*intern)(const char*, std::size_t)) noexcept;

  /// Called by the drain when a library was unloaded: another one's literals may stand at the same addresses.
  void forget_first() noexcept;

 private:
  void forget_unloaded(std::uint64_t unloaded) noexcept;
  std::uint64_t find_out(const char* literal, std::size_t size,
                         std::uint32_t (*intern)(const char*, std::size_t)) noexcept;
  detail::LiteralSlot& known_slot(const char* literal) noexcept;

  // `first_` holds those found at once, `known_` all that this thread has seen. Without it, two literals that share a
  // slot would be looked up in the loader's tables again and again.
  static constexpr std::size_t kKnown = 2048;
  static constexpr std::size_t kNotLiterals = 16;
  detail::LiteralSlot first_[detail::kLiteralSlots];
  detail::LiteralSlot known_[kKnown];
  std::uint32_t known_count_;
  const char* not_literals_[kNotLiterals];  // arrays of characters that are no literals
  std::uint64_t unloaded_;                  // the loader's count when this was last emptied
};

/// How many libraries the process has unloaded, as the loader counts them.
std::uint64_t unloaded_libraries() noexcept;

/// For the handlers of a fork. The loader has a lock on the list of libraries that a fork leaves as it is: were a
/// library thread reading that list then, no thread of the child could ever read it again.
void keep_off_libraries() noexcept;
void allow_libraries(bool in_child) noexcept;

/// For a child of fork: whether that list answers within the time. A thread of the program itself may have been at it.
bool can_read_libraries(std::chrono::milliseconds most) noexcept;

}  // namespace rangefinder::buffer
