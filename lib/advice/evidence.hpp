// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"
#include "analysis/range_at.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::advice {

/// The rows of figures of a finding: what happened, added up by the range and the operator in which it did.
///
///   EvidenceTable table(context);
///   table.add_host({thread, time_ns}, "cudaStreamSynchronize", length_ns);
///   finding.evidence = table.rows();
class EvidenceTable {
 public:
  static constexpr std::size_t kMostRows = 5;
  explicit EvidenceTable(Context& context) : context_(context) {}

  void add_host(analysis::HostMoment moment, std::string_view what, std::int64_t time_ns);
  /// `what` is the name of the activity where it is empty.
  void add_activity(ActivityIndex activity, std::int64_t time_ns, std::string_view what = {});

  bool empty() const noexcept { return items_.empty(); }
  /// A step, rounded up; of all where there are no steps.
  std::uint64_t count() const { return per_step(items_.size()); }
  std::int64_t time_ns() const;
  /// Those with most time, at most kMostRows.
  std::vector<AdviceEvidence> rows();
  /// The path with most time; empty: no range was open.
  std::string main_range();
  /// "cudaStreamSynchronize", "aten::item": the operator with most time, and where there is none what happened.
  std::string main_operator();

 private:
  struct Item {
    analysis::HostMoment moment;  ///< nowhere: the activity tells
    ActivityIndex activity = kNone;
    std::uint32_t what = 0;
    std::int64_t time_ns = 0;
  };
  struct Row {
    RangeIndex range = kNone;  ///< the first one
    RangeIndex op = kNone;
    std::uint32_t what = 0;
    std::uint64_t count = 0;
    std::int64_t time_ns = 0;
  };
  std::uint64_t per_step(std::uint64_t count) const;
  std::uint32_t number_of(std::string_view text);
  void add_up();

  Context& context_;
  std::vector<Item> items_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::string_view> texts_;  // of numbers_
  std::vector<Row> rows_;                // most time first, once they are added up
};

/// Stretches of host time, named by the call, range or overhead that is open at their begin.
void add_spans(Context& context, const HostSpans& spans, EvidenceTable& evidence);

}  // namespace rangefinder::advice
