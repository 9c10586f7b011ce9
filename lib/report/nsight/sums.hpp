// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/ranges.hpp"
#include "report/table.hpp"
#include "report/view.hpp"

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rangefinder::report::nsight {

/// What a view makes of a timeline that adds up: of one that is loaded, or of the windows of a capture one after the
/// other, which are one timeline whose rows change.
class Sums {
 public:
  virtual ~Sums() = default;
  /// Of all rows, or of those of a window, which the timeline holds now.
  virtual Status add_whole() = 0;
  virtual Status add(const analysis::nsight::RowsOfWindow& window) = 0;
  virtual Table table() const = 0;
  /// False: medians are exact to `precision()`.
  virtual bool is_exact() const noexcept = 0;
  virtual std::string precision() const = 0;
  virtual std::uint64_t memory_bytes() const noexcept = 0;
};

/// Null: the view has no such sums. `most_kept`: values that are kept for exact medians. The timeline outlives it.
std::unique_ptr<Sums> make_sums(std::string_view view, const Timeline& timeline, const ViewOptions& options,
                                std::size_t most_kept);
bool has_sums(std::string_view view) noexcept;
/// Whether windows have to hold the calls of their activities' launches.
bool needs_launch_calls(std::string_view view, const ViewOptions& options) noexcept;

}  // namespace rangefinder::report::nsight
