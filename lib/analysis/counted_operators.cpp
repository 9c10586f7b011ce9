// SPDX-License-Identifier: MIT
#include "analysis/counted_operators.hpp"

#include "analysis/bandwidth_operators.hpp"
#include "analysis/operator_flops.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rangefinder::analysis {
namespace {

Precision precision_of(std::string_view type) noexcept {
  if (type == "double") return Precision::kFp64;
  if (type == "float") return Precision::kFp32;
  if (type == "c10::BFloat16") return Precision::kBf16;
  if (type == "c10::Half") return Precision::kFp16;
  if (type.starts_with("c10::Float8_")) return Precision::kFp8;
  return Precision::kOther;
}

}  // namespace

CountedByThread counted_operators(const Timeline& timeline, std::uint64_t& without_shapes) {
  CountedByThread threads(timeline.threads.size());
  const OperatorTable& operators = timeline.operators;
  const RangeTable& ranges = timeline.ranges;
  for (std::size_t row = 0; row < operators.size(); ++row) {
    const RangeIndex range = operators.range[row];
    if (ranges.thread[range] >= threads.size() || (ranges.flags[range] & kBeforeRecording) != 0) continue;
    const std::string_view name = timeline.text(ranges.name[range]);
    const std::string_view shapes = timeline.text(operators.shapes[row]);
    const std::string_view values = timeline.text(operators.values[row]);
    const std::string_view types = timeline.text(operators.types[row]);
    const std::uint64_t flops = operator_flops(name, shapes, values).value_or(0);
    const std::uint64_t bytes = operator_bytes(name, shapes, types, values);
    if (flops == 0 && bytes == 0) {
      without_shapes += shapes.empty() && (has_operator_flops(name) || is_bandwidth_operator(name)) ? 1 : 0;
      continue;
    }
    CountedOperator counted{range, ranges.begin_ns[range], ranges.end_ns[range], {}, RangeIndex(kNone), 0};
    counted.work.flops[static_cast<std::size_t>(precision_of(operator_type(name, types)))] = static_cast<double>(flops);
    counted.work.bytes = static_cast<double>(bytes);
    threads[ranges.thread[range]].push_back(counted);
  }
  for (std::vector<CountedOperator>& thread : threads) {
    // Outer ones first; what begins before the last one has ended is inside it.
    std::sort(thread.begin(), thread.end(), [](const CountedOperator& a, const CountedOperator& b) {
      return std::pair(a.begin_ns, b.end_ns) < std::pair(b.begin_ns, a.end_ns);
    });
    std::int64_t until = kNoTime;
    std::erase_if(thread, [&](const CountedOperator& counted) {
      if (counted.begin_ns < until) return true;
      until = counted.end_ns;
      return false;
    });
  }
  return threads;
}

}  // namespace rangefinder::analysis
