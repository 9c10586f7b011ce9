// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <string_view>
#include <unordered_map>

namespace rangefinder::importer::kineto {

/// Rows of Timeline::kernel_details and copy_details. A program launches the same few shapes again and again, so equal
/// rows are shared where that is cheap to find out.
class DeviceTables {
 public:
  explicit DeviceTables(Timeline& timeline) noexcept : timeline_(timeline) {}

  /// kNone when the trace says nothing about the launch's shape.
  std::uint32_t kernel_detail(const EventArguments& arguments);
  /// Direction and memory kinds, which Kineto writes into the name alone: "Memcpy HtoD (Pinned -> Device)".
  std::uint32_t copy_detail(StringId name, const EventArguments& arguments);

 private:
  Timeline& timeline_;
  std::array<std::uint32_t, 1024> recent_kernels_ = filled_with_none();
  std::unordered_map<std::uint32_t, std::uint32_t> copies_by_name_;

  static constexpr std::array<std::uint32_t, 1024> filled_with_none() {
    std::array<std::uint32_t, 1024> out{};
    out.fill(kNone);
    return out;
  }
};

/// What the name of a copy or memset says.
CopyDetail copy_detail_of_name(std::string_view name) noexcept;

/// CUPTI's number for the name of a wait ("Stream Sync"); 0 for others.
std::uint32_t sync_type_of_name(std::string_view name) noexcept;

}  // namespace rangefinder::importer::kineto
