// SPDX-License-Identifier: MIT
#include "projection/project.hpp"
#include "projection/random_timeline.hpp"
#include "projection/slow_projection.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstddef>
#include <random>
#include <stdexcept>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

bool has_rows_by_stream(const Projection& projection) {
  return !projection.exclusive_streams.empty() || !projection.exclusive_offset.empty() ||
         !projection.inclusive_streams.empty() || !projection.inclusive_offset.empty();
}

void drop_rows_by_stream(Projection& projection) {
  projection.exclusive_streams.clear();
  projection.exclusive_offset.clear();
  projection.inclusive_streams.clear();
  projection.inclusive_offset.clear();
}

}  // namespace

TEST_CASE("a projection without rows by stream has all other figures", "[projection][property]") {
  RandomShape shape;
  shape.nested_only = GENERATE(false, true);  // by sweep and by membership
  shape.nodes = true;
  shape.graphs = true;
  std::size_t dropped = 0;
  for (const std::uint64_t seed : property_seeds("without streams", repeats(1000))) {
    std::mt19937_64 random(seed);
    const Timeline timeline = random_timeline(random, shape);
    INFO("RANGEFINDER_SEED=" << seed);
    Projection expected = project(timeline, {});
    dropped += has_rows_by_stream(expected) ? 1 : 0;
    drop_rows_by_stream(expected);
    const Projection projection = projection::project_without_streams(timeline, {});
    REQUIRE_FALSE(has_rows_by_stream(projection));
    try {
      require_equal(expected, projection);
    } catch (const std::logic_error& error) {
      FAIL(error.what());
    }
  }
  CHECK(dropped > 0);
}
