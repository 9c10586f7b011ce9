// SPDX-License-Identifier: MIT
#include "buffer/name_table.hpp"

#include <rangefinder/detail/nvtx.hpp>

#include <atomic>
#include <cstdio>

namespace rangefinder::detail {
namespace {

constexpr std::size_t kSlots = 4096;
constexpr std::size_t kWays = 16;
std::atomic<std::uint64_t> slots[kSlots];  // colour << 40 | category << 16 | the category of both; 0: free

std::uint32_t intern_coloured(std::uint32_t category, std::uint32_t colour) noexcept {
  constexpr std::size_t kColourBytes = sizeof "#rrggbb";
  char text[1024];
  const std::string_view name = category != 0 ? buffer::categories().text(category) : std::string_view();
  const std::size_t size = name.copy(text, sizeof text - 1 - kColourBytes);
  text[size] = kBehindCategory;
  std::snprintf(text + size + 1, kColourBytes, "#%06x", colour & 0xFFFFFF);
  return intern_category({text, size + kColourBytes});
}

}  // namespace

std::uint32_t coloured_category(std::uint32_t category, std::uint32_t colour) noexcept {
  colour &= 0xFFFFFF;
  const std::uint64_t key = std::uint64_t{colour} << 40 | std::uint64_t{category & kCategoryMask} << 16;
  const std::size_t first = (key * 0x9E3779B97F4A7C15u) >> 52;
  for (std::size_t way = 0; way < kWays; ++way) {
    std::atomic<std::uint64_t>& slot = slots[(first + way) % kSlots];
    std::uint64_t held = slot.load(std::memory_order_relaxed);
    if (held == 0) {
      const std::uint32_t both = intern_coloured(category, colour);
      if (both == 0) return category;
      if (slot.compare_exchange_strong(held, key | both, std::memory_order_relaxed)) return both;
    }
    if ((held & ~std::uint64_t{kCategoryMask}) == key) return static_cast<std::uint32_t>(held & kCategoryMask);
  }
  return category;
}

}  // namespace rangefinder::detail
