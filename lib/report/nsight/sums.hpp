// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"
#include "report/view.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rangefinder::report::nsight {

/// What a view makes of a timeline that adds up: of one that is loaded, or of the windows of a capture one after the
/// other, which are one timeline whose rows change.
class Sums {
 public:
  virtual ~Sums() = default;
  /// Of the rows that the timeline holds now. A range counts where `ends_here(range)`.
  virtual void add(const std::function<bool(RangeIndex)>& ends_here) = 0;
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

}  // namespace rangefinder::report::nsight
