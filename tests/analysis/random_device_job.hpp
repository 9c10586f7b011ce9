// SPDX-License-Identifier: MIT
#pragma once

#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rangefinder::testing {

/// Nested ranges, operators and waits on two threads, and what they launch on two devices of a few streams; all times
/// are from 0 to 500.
inline Timeline random_device_job(std::mt19937_64& random) {
  TimelineBuilder builder;
  const auto some = [&](std::uint64_t limit) { return static_cast<std::int64_t>(below(random, limit)); };
  if (below(random, 3) == 0) {
    const std::int64_t split = some(400);
    builder.window(0, split).window(split + some(60), 500);
  }
  for (std::int64_t thread = 1; thread <= 2; ++thread) {
    builder.on_thread(thread);
    std::vector<std::int64_t> ends{500};
    for (std::int64_t now = some(40); now < 440; now += 1 + some(30)) {
      while (ends.size() > 1 && ends.back() <= now) ends.pop_back();
      const std::int64_t end = now + 1 + some(static_cast<std::uint64_t>(ends.back() - now));
      switch (below(random, 5)) {
        case 0:
          builder.range(below(random, 4) == 0 ? "data" : "layer" + std::to_string(some(3)), now, end);
          ends.push_back(end);
          break;
        case 1:
          builder.range("aten::mm", now, end).of_kind(RangeKind::kOperator);
          ends.push_back(end);
          break;
        case 2: {
          const std::int64_t until =
              now + 1 + some(static_cast<std::uint64_t>(std::min<std::int64_t>(20, ends.back() - now)));
          builder.call("cudaStreamSynchronize", now, until);
          now = until;
          break;
        }
        default: {
          builder.on_device(static_cast<std::uint32_t>(some(2))).on_stream(7 + some(3)).launch(now);
          const std::int64_t begin = now + some(30);
          builder.kernel(begin, begin + some(30));
        }
      }
    }
  }
  return builder.build();
}

}  // namespace rangefinder::testing
