// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"
#include "compare/statistics.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rangefinder::compare {

enum class LimitUnit : std::uint8_t { kShare, kNanoseconds, kBytes, kNone };

/// When a gate fails: a metric changed by more than a limit. docs/reference/gate.md has the language.
struct GateRule {
  std::string text;                    ///< as it was written
  std::string metric;                  ///< a name of metrics_of, in which `*` stands for any text
  std::optional<Statistic> statistic;  ///< none: that of the metric, default_statistic
  bool above = true;                   ///< `>`: a greater change fails; `<`: a lesser one
  double limit = 0;                    ///< with its sign; of kShare a share of the baseline, else in ns, bytes or 1
  LimitUnit unit = LimitUnit::kShare;

  bool has_wildcard() const noexcept { return metric.find('*') != std::string::npos; }
};

/// Reads "step.p50 > +2%".
///
/// Errors: kInvalidArgument; the message names the column, and says what is wanted there.
Result<GateRule> parse_gate_rule(std::string_view text);

/// What a metric is compared by where no rule says: of times what fast steps take (Statistic::fast), of rates the 95th
/// percentile, the greatest of bytes, and the mean of counts.
Statistic default_statistic(MetricUnit unit) noexcept;

/// "p50", "mean"
std::string name_of(Statistic statistic);

/// Whether such a limit can be put to such a metric.
bool fits(LimitUnit limit, MetricUnit metric) noexcept;

}  // namespace rangefinder::compare
