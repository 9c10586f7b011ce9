// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <random>

namespace rangefinder::testing {

/// What a random timeline may hold. Times are small, so that ties are common.
struct RandomShape {
  std::int64_t length_ns = 60;
  int max_ranges = 12;
  int max_launches = 20;
  bool nested_only = false;  ///< scoped ranges of a thread nest as pushes and pops do
  bool start_end = true;
  bool in_stream_order = false;  ///< activities of a stream begin and end in launch order
  enum class Notes { kNone, kTrue, kAny } notes = Notes::kNone;
  bool missing_launches = true;
  bool windows = false;
  bool nodes = false;       ///< of autograd
  bool graphs = false;      ///< activities of nodes that some launch made
  bool other_kinds = true;  ///< operators, ownerless ranges, ranges without a thread
};

Timeline random_timeline(std::mt19937_64& random, const RandomShape& shape);

}  // namespace rangefinder::testing
