// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"
#include "bench/row.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::bench {

inline constexpr int kResultsSchemaVersion = 3;

/// What was asked for, and where.
struct ResultsHead {
  Provenance provenance;
  std::string worker;
  std::int64_t seed = 0;
  double carbon_intensity = 0;  ///< grams of CO2e a kWh; 0: not told
};

Json row_json(const Row& row);
/// Results as docs/reference/bench-schema.json has them. `rows`: an array of row_json.
Json results_json(const ResultsHead& head, const Json& rows, const std::vector<std::string>& notes, int exit_code);

/// 1, 2, 4 or 0, by the gravest row.
int exit_code_of(JsonView rows);

/// Whether a document says that it is that. kUnreadable, or kUnsupported for another version.
Status check_results(JsonView document);
/// The document, checked.
Result<Json> results_from(const std::string& json);

/// Work a second of a variant of a results document, by median wall time: {"tokens_per_s": ...}; what the benchmark
/// does not tell is not there.
Json rates_of(const Work& work, double median_wall_ns);

}  // namespace rangefinder::bench
