// SPDX-License-Identifier: MIT
#include "exporter/open_metrics/metric_text.hpp"

#include "base/text.hpp"

#include <cstdio>

namespace rangefinder::open_metrics {
namespace {

// A value is UTF-8 without control characters; backslash and quote are escaped.
void append_label_value(std::string& out, std::string_view value) {
  for (const char c : base::printable(value)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

}  // namespace

void MetricText::family(std::string_view name, std::string_view type, std::string_view unit, std::string_view help) {
  name_ = name;
  description_ = "# TYPE " + name_ + " " + std::string(type) + "\n";
  if (!unit.empty()) description_ += "# UNIT " + name_ + " " + std::string(unit) + "\n";
  description_ += "# HELP " + name_ + " " + std::string(help) + "\n";
}

void MetricText::sample(std::string_view suffix, const Labels& labels, std::string_view value) {
  text_ += std::exchange(description_, {});
  text_ += name_;
  text_ += suffix;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    text_ += i == 0 ? '{' : ',';
    text_ += labels[i].first;
    text_ += "=\"";
    append_label_value(text_, labels[i].second);
    text_ += '"';
  }
  if (!labels.empty()) text_ += '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

std::string MetricText::finish() && {
  text_ += "# EOF\n";
  return std::move(text_);
}

std::string seconds(std::int64_t ns) {
  constexpr std::uint64_t kPerSecond = 1'000'000'000;
  const std::uint64_t magnitude = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  char out[32];
  std::snprintf(out, sizeof out, "%s%llu.%09llu", ns < 0 ? "-" : "",
                static_cast<unsigned long long>(magnitude / kPerSecond),
                static_cast<unsigned long long>(magnitude % kPerSecond));
  return out;
}

std::string ratio(std::int64_t part, std::int64_t whole) {
  constexpr double kMillion = 1e6;
  const double share = whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  // By integers: a locale of the program's may have a comma in its numbers.
  const auto millionths = static_cast<std::int64_t>(share * kMillion + (share < 0 ? -0.5 : 0.5));
  const std::int64_t size = millionths < 0 ? -millionths : millionths;
  std::string decimals = std::to_string(size % 1'000'000);
  decimals.insert(0, 6 - decimals.size(), '0');
  return (millionths < 0 ? "-" : "") + std::to_string(size / 1'000'000) + "." + decimals;
}

}  // namespace rangefinder::open_metrics
