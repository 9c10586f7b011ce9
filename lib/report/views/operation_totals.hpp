// SPDX-License-Identifier: MIT
#pragma once

#include "report/range_report.hpp"
#include "report/table.hpp"
#include "report/views/duration_totals.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace rangefinder::report {

/// Device activities by name, for the views `kernels` and `memcpy`, of a timeline or of the windows of a capture.
class OperationTotals {
 public:
  enum class Kind : std::uint8_t { kKernels, kCopies };
  explicit OperationTotals(Kind kind) : kind_(kind) {}

  void add(const Timeline& timeline, const Projection& projection);
  /// Most time first.
  Table table(const RangeReport& report) const;
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct Group : DurationTotals {
    StringId name = StringId::kEmpty;
    std::uint64_t bytes = 0;
    std::int64_t conditional = 0;                            // of graphs with conditional nodes
    std::unordered_map<std::uint32_t, std::int64_t> owners;  // range name -> time
  };
  std::vector<const Group*> in_order(const Timeline& timeline) const;
  static std::string main_owner(const Timeline& timeline, const Group& group);
  Table table_of_kernels(const RangeReport& report) const;
  Table table_of_copies(const RangeReport& report) const;

  Kind kind_;
  std::vector<Group> groups_;
  std::unordered_map<std::uint32_t, std::size_t> by_name_;
};

}  // namespace rangefinder::report
