// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/exact_sum.hpp"
#include "analysis/payloads.hpp"
#include "analysis/range_rollup.hpp"
#include "projection/window_rows.hpp"
#include "report/columns.hpp"
#include "report/views/common_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

// Statistics of the numbers among the payloads of groups of ranges.
namespace rangefinder::report::common {

class PayloadFigures {
 public:
  void add(double number) {
    min_ = count_ == 0 ? number : std::min(min_, number);
    max_ = count_ == 0 ? number : std::max(max_, number);
    sum_.add(number);
    ++count_;
  }
  double min() const noexcept { return min_; }
  double max() const noexcept { return max_; }
  double mean() const noexcept { return static_cast<double>(sum_.total() / static_cast<long double>(count_)); }

 private:
  double min_ = 0, max_ = 0;
  analysis::ExactSum sum_;
  std::uint64_t count_ = 0;
};

class PayloadStatistics {
 public:
  explicit PayloadStatistics(const ProjectionOptions& options) : options_(options) {}

  /// `parts`: as the groups were made with.
  void add(const projection::WindowRows& window, analysis::Parts parts = {}) {
    const Timeline& timeline = window.timeline;
    if (!analysis::has_payloads(timeline)) return;
    any_ = true;
    const RangeTable& ranges = timeline.ranges;
    for (RangeIndex range{0}; range < window.own_ranges; ++range) {
      const std::uint32_t part = parts.empty() ? 0 : parts[range];
      if (!window.ends_here(range) || part == kNone || !analysis::takes_part(ranges.kind[range], options_)) continue;
      if ((ranges.flags[range] & kBeforeRecording) != 0) continue;
      for (const Attachment& payload : analysis::payloads_of(timeline, range))
        if (const std::optional<double> number = analysis::payload_number(payload))
          groups_[key_of(ranges.name[range], part)].add(*number);
    }
  }

  /// A range has a payload, a number or not.
  bool any() const noexcept { return any_; }
  /// Null: the group's ranges have no numbers.
  const PayloadFigures* of(const analysis::RangeGroup& group) const {
    const auto found = groups_.find(key_of(group.name, group.part));
    return found == groups_.end() ? nullptr : &found->second;
  }

 private:
  static std::uint64_t key_of(StringId name, std::uint32_t part) noexcept {
    return std::uint64_t{part} << 32 | static_cast<std::uint32_t>(name);
  }

  ProjectionOptions options_;
  bool any_ = false;
  std::unordered_map<std::uint64_t, PayloadFigures> groups_;
};

/// Of a row with a member `payload`: PayloadFigures, or null.
template <typename Row>
void add_payload_columns(ColumnsOf<Row>& columns) {
  const auto figure = [](double (PayloadFigures::*member)() const) {
    return [member](const Row& row) { return figure_of(row.payload, member); };
  };
  columns.real("Payload min", figure(&PayloadFigures::min)).if_room(7).if_any();
  columns.real("Payload mean", figure(&PayloadFigures::mean)).if_room(7).if_any();
  columns.real("Payload max", figure(&PayloadFigures::max)).if_room(7).if_any();
}

}  // namespace rangefinder::report::common
