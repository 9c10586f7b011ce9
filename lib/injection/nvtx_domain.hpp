// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rangefinder::injection {

/// A registered string, as the program holds it by handle. Never freed: a handle may be used to the end. One per text,
/// however often the program registers it.
struct RegisteredString {
  std::uint32_t name;  ///< RangeName::id
  std::string_view text;
  RegisteredString* next = nullptr;

  /// The one of that text, made where there is none; null without memory.
  static const RegisteredString* of(std::string_view text) noexcept;
};

/// A domain and the names of its categories. Never freed, likewise.
class Domain {
 public:
  /// The one of that name, made where there is none; null without memory.
  static Domain* named(std::string_view name) noexcept;
  /// Where calls without a domain belong.
  static Domain& unnamed() noexcept;

  /// Our category (Category::id) for one of the program's numbers. A number without a name is its own name; 0 is none.
  std::uint32_t category(std::uint32_t number) noexcept;
  void name_category(std::uint32_t number, std::string_view name) noexcept;

  /// Whether what is marked in it is wanted.
  bool recorded() const noexcept { return recorded_.load(std::memory_order_relaxed); }
  void set_recorded(bool recorded) noexcept { recorded_.store(recorded, std::memory_order_relaxed); }

  /// The program uses it. One that is not recorded is named in the capture.
  void note_use() noexcept {
    if (!recorded() && !told_.load(std::memory_order_relaxed)) tell_left_out();
  }

 private:
  void tell_left_out() noexcept;
  constexpr Domain() noexcept = default;
  std::uint32_t intern(std::string_view category) const noexcept;
  std::atomic<std::uint64_t>* slot(std::uint32_t number) noexcept;

  static constexpr std::size_t kSlots = 512;
  std::string_view name_;
  std::uint32_t without_category_ = 0;
  std::atomic<bool> recorded_{true};
  std::atomic<bool> told_{false};               // that it is left out
  std::atomic<std::uint64_t> slots_[kSlots]{};  // number << 32 | our category
  Domain* next_ = nullptr;
};

}  // namespace rangefinder::injection
