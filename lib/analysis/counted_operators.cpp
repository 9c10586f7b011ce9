// SPDX-License-Identifier: MIT
#include "analysis/counted_operators.hpp"

#include "analysis/bandwidth_operators.hpp"
#include "analysis/operator_flops.hpp"

#include <algorithm>
#include <array>
#include <map>
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

struct Figures {
  double flops;
  double bytes;
  Precision precision;
  bool lacks_shapes;  // would have some of them
  bool of_lists;
};

/// Programs call few operators with few shapes, very often: texts are taken apart once for all calls that are alike.
class FiguresOfInputs {
 public:
  explicit FiguresOfInputs(const Timeline& timeline) : timeline_(timeline) {}

  const Figures& of(std::size_t row) {
    const OperatorTable& operators = timeline_.operators;
    const std::array<StringId, 4> key{timeline_.ranges.name[operators.range[row]], operators.shapes[row],
                                      operators.types[row], operators.values[row]};
    const auto [place, is_new] = known_.try_emplace(key);
    if (is_new) place->second = count(key);
    return place->second;
  }

 private:
  Figures count(const std::array<StringId, 4>& key) const {
    const std::string_view name = timeline_.text(key[0]), shapes = timeline_.text(key[1]);
    const std::string_view types = timeline_.text(key[2]), values = timeline_.text(key[3]);
    return {static_cast<double>(operator_flops(name, shapes, values).value_or(0)),
            static_cast<double>(operator_bytes(name, shapes, types, values)), precision_of(operator_type(name, types)),
            shapes.empty() && (has_operator_flops(name) || is_bandwidth_operator(name)),
            name.starts_with("aten::") && types.find("\"TensorList\"") != std::string_view::npos};
  }

  const Timeline& timeline_;
  std::map<std::array<StringId, 4>, Figures> known_;
};

}  // namespace

CountedByThread counted_operators(const Timeline& timeline, NotCounted& not_counted) {
  CountedByThread threads(timeline.threads.size());
  const OperatorTable& operators = timeline.operators;
  const RangeTable& ranges = timeline.ranges;
  FiguresOfInputs inputs(timeline);
  for (std::size_t row = 0; row < operators.size(); ++row) {
    const RangeIndex range = operators.range[row];
    if (ranges.thread[range] >= threads.size() || (ranges.flags[range] & kBeforeRecording) != 0) continue;
    const Figures& figures = inputs.of(row);
    if (figures.flops == 0 && figures.bytes == 0) {
      not_counted.without_shapes += figures.lacks_shapes ? 1 : 0;
      not_counted.of_lists += figures.of_lists ? 1 : 0;
      continue;
    }
    threads[ranges.thread[range]].push_back({.range = range,
                                             .begin_ns = ranges.begin_ns[range],
                                             .end_ns = ranges.end_ns[range],
                                             .flops = figures.flops,
                                             .bytes = figures.bytes,
                                             .precision = figures.precision});
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
