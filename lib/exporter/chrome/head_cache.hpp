// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"

#include <rangefinder/detail/cells.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::chrome {

/// The categories that readers of torch.profiler traces know.
enum class Category : std::uint8_t {
  kAnnotation,
  kOperator,
  kPythonFunction,
  kRuntime,
  kDriver,
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kOverhead,
  kGpuAnnotation,
};
inline constexpr std::size_t kCategories = 11;
std::string_view to_string(Category category) noexcept;

/// Appends an event's text up to the ids of its track: `{"ph":"X","cat":"kernel","name":"gemm"`.
void append_head(std::string& out, char phase, std::string_view category, std::string_view name);

/// Heads of slices, made once for each name: escaping is slow, and a program has few names and many events.
class HeadCache {
 public:
  /// Empty when this name was not seen before; then `put` it.
  std::string_view find(Category category, std::uint32_t name) const noexcept {
    const auto& heads = heads_[static_cast<std::size_t>(category)];
    return name < heads.size() ? texts_.text(heads[name]) : std::string_view{};
  }
  std::string_view put(Category category, std::uint32_t name, std::string_view text);

 private:
  std::array<detail::Cells<std::uint32_t>, kCategories> heads_;  // by name: of texts_; 0: not seen
  base::StringPool texts_;
  std::string scratch_;
};

}  // namespace rangefinder::chrome
