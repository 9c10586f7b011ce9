// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rangefinder::perfetto {

/// What EventWriter's head says of an event: `{"ph":"X","cat":"kernel","name":"gemm"`.
struct Head {
  std::uint32_t name = 0;      ///< of Heads::names
  std::uint32_t category = 0;  ///< of Heads::categories; 0: none
  char phase = 0;              ///< 0: no head
  bool is_activity = false;    ///< a kernel, a copy or a set
  bool is_kernel = false;
  bool is_call = false;  ///< of CUDA's API
  /// How a TrackEvent of it begins: type, name and category.
  std::string_view start() const noexcept { return {start_bytes.data(), start_size}; }
  std::array<char, 15> start_bytes{};
  std::uint8_t start_size = 0;
};

/// Reads heads, each once: a program has few names and many events.
class Heads {
 public:
  struct Found {
    const Head* head;
    std::uint64_t flow_id;  ///< of ends of arrows
  };
  /// Valid until `forget_rare`.
  Found of(std::string_view head);
  /// Names may be made up by the program: those beyond a number are read again each time, and kept no longer than this.
  void forget_rare() { rare_.clear(); }
  std::size_t rare() const noexcept { return rare_.size(); }
  /// Any other name, for counters and rows.
  std::uint32_t name_of(std::string_view text) { return names_.intern(text); }

  const base::StringPool& names() const noexcept { return names_; }
  const base::StringPool& categories() const noexcept { return categories_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  using Known = std::unordered_map<std::string, Head, Hash, std::equal_to<>>;
  /// Where a head was that is kept by its writer: the same place mostly holds the same text.
  struct Recent {
    const char* at = nullptr;
    std::string_view text;
    const Head* head = nullptr;
  };

  Head read(std::string_view head, std::uint64_t& flow_id);
  Found arrow(std::string_view head);

  base::StringPool names_, categories_;
  Known known_;
  std::array<Known, 2> arrows_;  // begins and ends, by what is behind their number
  std::array<Recent, 256> recent_;
  std::deque<Head> rare_;
};

/// An arrow from a launch to an activity.
bool is_launch_arrow(std::string_view head) noexcept;

}  // namespace rangefinder::perfetto
