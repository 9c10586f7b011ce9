// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"
#include "report/views/duration_totals.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rangefinder::report {

/// CUDA calls by name, for the view `api`, of a timeline or of the windows of a capture.
class CallTotals {
 public:
  /// The first `rows` calls.
  void add(const CallTable& calls, std::size_t rows);
  /// Most time first.
  Table table(const Timeline& timeline) const;
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct Group : DurationTotals {
    StringId name = StringId::kEmpty;
    CallDomain domain = CallDomain::kRuntime;
    std::uint64_t failed = 0;
  };

  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::size_t> by_name_;  // and domain
};

}  // namespace rangefinder::report
