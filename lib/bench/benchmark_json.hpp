// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <rangefinder/bench/benchmark.hpp>

#include <string>
#include <string_view>
#include <vector>

// How benchmarks and what they report look on the way from a worker to the harness, which knows no factories.
namespace rangefinder::bench {

std::string_view to_string(Goal goal) noexcept;

Json to_json(const Benchmark& benchmark);
Json to_json(const Work& work);
Json to_json(const Estimate& estimate);
Json to_json(const Metric& metric);
/// As a worker sends it: with what the values of all ranks come to.
Json to_message(const Metric& metric);

/// Without factories, `estimate` and `skip`; whether there is a reference is told, and nothing makes one. What is
/// missing has the default.
Benchmark benchmark_from_json(JsonView json);
Work work_from_json(JsonView json);
Estimate estimate_from_json(JsonView json);
Metric metric_from_json(JsonView json);

}  // namespace rangefinder::bench
