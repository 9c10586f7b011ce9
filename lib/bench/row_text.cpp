// SPDX-License-Identifier: MIT
#include "bench/row_text.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::bench {

std::string rate_text(JsonView variant) {
  const JsonView rates = variant["rates"];
  for (const char* unit : {"tokens_per_s", "samples_per_s", "requests_per_s", "steps_per_s"}) {
    if (rates[unit].is_number())
      return fmt::format("{:.4g} {}/s", rates[unit].number(),
                         std::string_view(unit).substr(0, std::string_view(unit).find('_')));
  }
  return "-";
}

std::string class_text(std::string bottleneck_class) {
  std::replace(bottleneck_class.begin(), bottleneck_class.end(), '_', ' ');
  return bottleneck_class;
}

std::string bottleneck_text(JsonView bottleneck) {
  const std::string bound = class_text(bottleneck["class"].text("undecided"));
  std::string out = bound == "undecided" ? "what bounds it is undecided" : "bound by " + bound;
  if (const std::string evidence = bottleneck["evidence"].text(); !evidence.empty())
    out += fmt::format(" ({})", base::printable(evidence));
  if (const std::string missing = bottleneck["missing"].text(); !missing.empty())
    out += "; missing: " + base::printable(missing);
  return out;
}

std::string logs_text(JsonView row) {
  std::vector<std::string> logs;
  for (const JsonView owner : {row["baseline"], row["optimized"], row["correctness"]["reference"]}) {
    if (std::string log = owner["log"].text(); !log.empty()) logs.push_back(std::move(log));
  }
  return logs.empty() ? "" : fmt::format(" (logs: {})", fmt::join(logs, ", "));
}

}  // namespace rangefinder::bench
