// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::open_metrics {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// Writes OpenMetrics 1.0 text, which parsers of Prometheus's older format take too. The samples of a family stand
/// together, behind its description.
///
///   MetricText text;
///   text.family("rangefinder_step_items", "counter", "", "Items that were done in steps");
///   text.sample("_total", {{"rank", "3"}}, "512");
///   std::move(text).finish();
class MetricText {
 public:
  /// `unit`: "seconds" where the name ends in that, or empty. A family without samples leaves nothing.
  void family(std::string_view name, std::string_view type, std::string_view unit, std::string_view help);
  /// `suffix` comes behind the name of the family.
  void sample(std::string_view suffix, const Labels& labels, std::string_view value);

  std::string finish() &&;

 private:
  std::string text_;
  std::string name_;
  std::string description_;  // of the family, until its first sample
};

/// 1234567890 -> "1.234567890": exact.
std::string seconds(std::int64_t ns);
/// With six decimals; "0.000000" where `whole` is 0.
std::string ratio(std::int64_t part, std::int64_t whole);

}  // namespace rangefinder::open_metrics
