// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/payloads.hpp"
#include "analysis/range_rollup.hpp"
#include "report/columns.hpp"
#include "report/views/common_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

// Statistics of the numbers among the payloads of groups of ranges.
namespace rangefinder::report::common {

struct PayloadFigures {
  double min = 0, mean = 0, max = 0;
  std::uint64_t count = 0;

  void add(double number) noexcept {
    min = count == 0 ? number : std::min(min, number);
    max = count == 0 ? number : std::max(max, number);
    // Halves do not overflow where the numbers do not.
    mean += 2 * ((number / 2 - mean / 2) / static_cast<double>(++count));
  }
};

class PayloadStatistics {
 public:
  /// `parts`: as the groups were made with.
  PayloadStatistics(const Timeline& timeline, const ProjectionOptions& options, analysis::Parts parts) {
    if (!analysis::has_payloads(timeline)) return;
    const RangeTable& ranges = timeline.ranges;
    for (RangeIndex range{0}; range < ranges.size(); ++range) {
      const std::uint32_t part = parts.empty() ? 0 : parts[range];
      if (part == kNone || !analysis::takes_part(ranges.kind[range], options)) continue;
      if ((ranges.flags[range] & kBeforeRecording) != 0) continue;
      for (const Attachment& payload : analysis::payloads_of(timeline, range))
        if (const std::optional<double> number = analysis::payload_number(payload))
          groups_[key_of(ranges.name[range], part)].add(*number);
    }
  }

  /// Null: the group's ranges have no numbers.
  const PayloadFigures* of(const analysis::RangeGroup& group) const {
    const auto found = groups_.find(key_of(group.name, group.part));
    return found == groups_.end() ? nullptr : &found->second;
  }

 private:
  static std::uint64_t key_of(StringId name, std::uint32_t part) noexcept {
    return std::uint64_t{part} << 32 | static_cast<std::uint32_t>(name);
  }

  std::unordered_map<std::uint64_t, PayloadFigures> groups_;
};

/// Of a row with a member `payload`: PayloadFigures, or null.
template <typename Row>
void add_payload_columns(ColumnsOf<Row>& columns) {
  const auto figure = [](double PayloadFigures::*member) {
    return [member](const Row& row) { return figure_of(row.payload, member); };
  };
  columns.real("Payload min", figure(&PayloadFigures::min)).if_room(7).if_any();
  columns.real("Payload mean", figure(&PayloadFigures::mean)).if_room(7).if_any();
  columns.real("Payload max", figure(&PayloadFigures::max)).if_room(7).if_any();
}

}  // namespace rangefinder::report::common
