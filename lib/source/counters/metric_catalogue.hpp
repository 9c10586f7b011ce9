// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace rangefinder::source::counters {

/// How metrics are collected: they are not the same ones.
enum class Collection : unsigned char {
  kRanges,   ///< by the range profiler
  kSamples,  ///< by PM sampling
};

/// A part of a metric: what CUPTI calls it, and how often it counts.
struct Term {
  std::string_view name;
  double factor = 1;
};

/// One way to compute a metric: the sum of some of CUPTI's.
struct Recipe {
  std::string_view metric;
  bool for_ranges;
  bool for_samples;
  std::span<const Term> terms;
};

/// In order of preference: the first of a metric that a chip has, in one pass, is taken.
std::span<const Recipe> recipes() noexcept;

/// Metrics that answer one question and fit into one pass.
struct NamedSet {
  std::string_view name;
  std::string_view question;
  std::span<const std::string_view> metrics;
};
std::span<const NamedSet> named_sets() noexcept;

}  // namespace rangefinder::source::counters
