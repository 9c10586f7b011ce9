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

TEST_CASE("a projection without rows by stream has all other figures, one of owners the same owners",
          "[projection][property]") {
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
    const Projection owners = projection::project_owners(timeline, {});
    CHECK(owners.owner == expected.owner);
    CHECK(owners.place == expected.place);
    CHECK(owners.pass == expected.pass);
    CHECK(owners.parent == expected.parent);
    CHECK(owners.depth == expected.depth);
    for (const auto part : {&Account::total, &Account::owned, &Account::outside, &Account::before, &Account::unknown}) {
      CHECK((owners.account.*part).gpu_ops == (expected.account.*part).gpu_ops);
      CHECK((owners.account.*part).gpu_sum_ns == (expected.account.*part).gpu_sum_ns);
    }
    for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) CHECK(owners.inclusive[range].gpu_ops == 0);
  }
  CHECK(dropped > 0);
}
