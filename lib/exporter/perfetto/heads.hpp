// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rangefinder::perfetto {

/// What EventWriter's head says of an event: `{"ph":"X","cat":"kernel","name":"gemm"`.
struct Head {
  std::uint32_t name = 0;      ///< of Heads::names
  std::uint32_t category = 0;  ///< of Heads::categories; 0: none
  std::uint64_t flow_id = 0;   ///< of ends of arrows
  char phase = 0;              ///< 0: no head
  bool is_activity = false;    ///< a kernel, a copy or a set
  bool is_kernel = false;
  bool is_call = false;  ///< of CUDA's API
};

/// Reads heads, each once: a program has few names and many events.
class Heads {
 public:
  /// Valid until the next call.
  const Head& of(std::string_view head);
  /// Any other name, for counters and rows.
  std::uint32_t name_of(std::string_view text) { return names_.intern(text); }

  const base::StringPool& names() const noexcept { return names_; }
  const base::StringPool& categories() const noexcept { return categories_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  /// Where a head was that is kept by its writer: the same place mostly holds the same text.
  struct Recent {
    const char* at = nullptr;
    std::string_view text;
    const Head* head = nullptr;
  };

  Head read(std::string_view head);

  base::StringPool names_, categories_;
  std::unordered_map<std::string, Head, Hash, std::equal_to<>> known_;
  std::array<Recent, 256> recent_;
  Head last_;  // of what is not kept
};

/// An arrow from a launch to an activity.
bool is_launch_arrow(std::string_view head) noexcept;

}  // namespace rangefinder::perfetto
