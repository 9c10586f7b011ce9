// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/capture_rows.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace rangefinder::importer {

/// How kernels were launched. A program launches the same ones alike again and again: those share a row, which takes
/// more than all else that is kept of a kernel.
class KernelDetails {
 public:
  /// The row of `timeline` that says how a kernel of that name was launched; a new one where none is remembered.
  std::uint32_t row_of(StringId name, const format::KernelRow& kernel, Timeline& timeline) {
    std::vector<KernelDetail>& rows = timeline.kernel_details;
    // What is remembered may be of another one with the same slot, or of rows that have been given away since.
    std::uint32_t& last = last_row_[static_cast<std::uint32_t>(name) % kSlots];
    if (last < rows.size() && is_launched_as(kernel, rows[last])) return last;
    const KernelDetail detail = kernel_detail(kernel);
    std::uint32_t& known = rows_[slot_of(detail)];
    if (known >= rows.size() || std::memcmp(&rows[known], &detail, sizeof detail) != 0) {
      rows.push_back(detail);
      known = static_cast<std::uint32_t>(rows.size() - 1);
    }
    return last = known;
  }

 private:
  static_assert(std::has_unique_object_representations_v<KernelDetail>, "compared as bytes");
  static constexpr std::size_t kSlots = 1024;
  static constexpr int kSlotBits = 10;

  /// Each word is multiplied by a factor of its own: the products do not wait for each other, as those of a chain do.
  static std::size_t slot_of(const KernelDetail& detail) noexcept {
    const auto* at = reinterpret_cast<const std::byte*>(&detail);
    std::uint64_t mixed = 0;
    for (const std::uint64_t factor : kFactors) {
      std::uint32_t word;
      std::memcpy(&word, at, sizeof word);
      mixed += word * factor;
      at += sizeof word;
    }
    return static_cast<std::size_t>(mixed >> (64 - kSlotBits));
  }

  static constexpr auto kFactors = [] {
    std::array<std::uint64_t, sizeof(KernelDetail) / sizeof(std::uint32_t)> factors{};
    std::uint64_t factor = 1;
    for (std::uint64_t& each : factors) each = factor *= 0x9E3779B97F4A7C15u;
    return factors;
  }();

  std::array<std::uint32_t, kSlots> rows_{};      // by slot
  std::array<std::uint32_t, kSlots> last_row_{};  // by name
};

}  // namespace rangefinder::importer
