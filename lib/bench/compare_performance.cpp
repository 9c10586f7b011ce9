// SPDX-License-Identifier: MIT
#include "bench/json.hpp"

#include <rangefinder/bench/harness.hpp>

#include <array>

namespace rangefinder::bench {
namespace {

constexpr std::array<const char*, 3> kUnits{"tokens_per_s", "samples_per_s", "steps_per_s"};

struct Rate {
  std::string name;
  Json rates;
};

/// Rates of all examples of a file that were measured; one without a name where it holds a rate alone.
std::vector<Rate> rates_in(const Json& document) {
  std::vector<Rate> out;
  for (const Json& row : document["rows"].items()) {
    const Json& rates = row["optimized"]["rates"];
    const std::string status = row["status"].text();
    if (!rates.members().empty() && status != "failed" && status != "skipped")
      out.push_back({row["name"].text(), rates});
  }
  for (const char* unit : kUnits) {
    if (!document[unit].is_number()) continue;
    out.push_back({"", Json::object({{unit, document[unit]}})});
    break;
  }
  return out;
}

const Rate* find(const std::vector<Rate>& all, const std::string& name) {
  for (const Rate& rate : all) {
    if (rate.name == name) return &rate;
  }
  return nullptr;
}

}  // namespace

Result<PerformanceComparison> compare_performance(const std::string& baseline_path, const std::string& candidate_path,
                                                  double share) {
  const Result<Json> baseline = Json::load(baseline_path), candidate = Json::load(candidate_path);
  if (!baseline) return baseline.error();
  if (!candidate) return candidate.error();
  const std::vector<Rate> before = rates_in(*baseline), after = rates_in(*candidate);
  if (before.empty()) return Error{ErrorCode::kInvalidArgument, baseline_path + ": no rates to compare with"};
  if (after.empty()) return Error{ErrorCode::kInvalidArgument, candidate_path + ": no rates to compare"};
  PerformanceComparison out;
  for (const Rate& rate : before) {
    PerformanceComparison::Row row;
    row.name = rate.name;
    const Rate* other = find(after, rate.name);
    for (const char* unit : kUnits) {
      if (!rate.rates[unit].is_number()) continue;
      row.unit = unit;
      row.baseline = rate.rates[unit].number();
      row.candidate = other != nullptr ? other->rates[unit].number() : 0;
      break;
    }
    row.kept = row.baseline > 0 && row.candidate >= share * row.baseline;
    out.kept = out.kept && row.kept;
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace rangefinder::bench
