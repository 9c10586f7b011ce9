// SPDX-License-Identifier: MIT
#pragma once

#include "projection/streaming.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace rangefinder::testing {

/// A made-up recording of one process, as it would come by and as the timeline that it makes.
struct RandomRun {
  struct Event {
    enum class Kind { kBegin, kEnd, kLaunch, kCall } kind;
    projection::StreamingRange range;
    projection::StreamingLaunch launch;
  };
  std::vector<std::vector<Event>> threads;  // each in order of time
  std::vector<projection::StreamingActivity> activities;
  Timeline timeline;                 // range row r has key r + 1
  std::uint64_t unmet_launches = 0;  // that caused fewer activities than they announced
};

struct RandomRunShape {
  int events = 150;
  int threads = 2;
  bool start_end = true;
  bool in_stream_order = false;  ///< a stream runs one activity after the other, in launch order
  bool windows = false;
};

RandomRun random_run(std::mt19937_64& random, const RandomRunShape& shape);

}  // namespace rangefinder::testing
