// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"
#include "report/markdown.hpp"
#include "report/table.hpp"

#include <cstdint>
#include <string>
#include <vector>

// What a results document says, as tables; text and Markdown are made of the same ones.
namespace rangefinder::bench {

/// One row per benchmark: what became of it, time and bytes of both variants.
report::Table benchmarks_table(JsonView results);

/// One row per benchmark and variant that was timed: goodput, FLOPs of a step and the share of the peak that they
/// reach, energy of a step and of all that its processes did.
report::Table efficiency_table(JsonView results);

/// "energy of the devices: 0.0123 kWh, 4.92 g CO2e at 400 g/kWh"; empty where none told it.
std::string energy_text(JsonView results);

/// One row per benchmark that reports an `accuracy`: what a change to a training brings and costs, side by side.
report::Table trainings_table(JsonView results);

/// One row per benchmark that reports a `first_token_ns`: how long a request waits for its first token, and how fast
/// the others come (`decode_tokens_per_s`), side by side.
report::Table serving_table(JsonView results);

/// One row per benchmark and range of the profiled steps, a step's share of each figure, both variants beside each
/// other. No rows where nothing was profiled.
report::Table ranges_table(JsonView results);

/// The ten costliest operators of each variant, by their own time on the device (on the host, where there is none), a
/// step's share of each figure. No rows where none were recorded.
report::Table operators_table(JsonView results);

/// The ranges and the ten longest operators of each variant as points of a roofline: FLOPs and bytes of a step, rates,
/// what bounds them and how near they are. No rows without `--profile roofline`.
report::Table roofline_table(JsonView results);

/// The ten functions of the host in which each variant's sampled CPU time was, a step's share. No rows where nothing
/// was sampled.
report::Table functions_table(JsonView results);

/// One row per benchmark, variant and device: what its allocator held after the profiled steps. No rows where none was
/// asked.
report::Table allocator_table(JsonView results);

/// One row per benchmark and variant: what recording added to a step.
report::Table overhead_table(JsonView results);

/// "name: failed: reason (log)" for each row that is not simply passed, then the run's notes.
std::vector<std::string> remarks(JsonView results);

/// A cell of a table: the number times `scale`, rounded; nothing where it is none.
std::int64_t rounded(JsonView value, double scale = 1);

/// A variant's metric of that name; null: it reported none.
JsonView metric_named(JsonView variant, const std::string& name);

/// "speed: met", "speed: not checked at smoke", or "speed" where nothing was measured.
std::string goal_text(JsonView row);

/// "x1.85", or "-" for null.
std::string ratio_text(double ratio);
std::string ratio_text(JsonView ratio);

using report::markdown_of;

}  // namespace rangefinder::bench
