// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"
#include "bench/row.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::bench {

inline constexpr int kResultsSchemaVersion = 2;

/// Results as docs/reference/bench-schema.json has them: what was asked for, where, and the rows.
Json results_json(const std::vector<Row>& rows, const Provenance& provenance, const std::string& worker,
                  const std::vector<std::string>& notes, int exit_code);

/// A document that says it is that. kUnreadable otherwise.
Result<Json> results_from(const std::string& json);

/// Work a second of a variant of a results document, by median wall time: {"tokens_per_s": ...}; what the benchmark
/// does not tell is not there.
Json rates_of(const Work& work, double median_wall_ns);

}  // namespace rangefinder::bench
