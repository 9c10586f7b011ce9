// SPDX-License-Identifier: MIT
#include "projection/random_timeline.hpp"
#include "projection/slow_projection.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <random>
#include <stdexcept>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

void compare(const RandomShape& shape, const char* name, int rounds) {
  std::uint64_t owned = 0;
  for (const std::uint64_t seed : property_seeds(name, repeats(rounds))) {
    std::mt19937_64 random(seed);
    const Timeline timeline = random_timeline(random, shape);
    ProjectionOptions options;
    options.operators = (random() & 1) != 0;
    if ((random() & 7) == 0) options.attribution = Attribution::kLaunch;
    if (shape.graphs && (random() & 1) == 0) options.attribution = Attribution::kCapture;
    options.annotations = (random() & 7) != 0;
    INFO(name << ": RANGEFINDER_SEED=" << seed);
    const Projection projection = project(timeline, options);
    try {
      require_equal(project_slowly(timeline, options), projection);
      require_sound_account(timeline, projection);
    } catch (const std::logic_error& error) {
      FAIL(error.what());
    }
    owned += projection.account.owned.gpu_ops;
  }
  CHECK((owned > 0 || given_seed() != nullptr));
}

}  // namespace

TEST_CASE("the fast projection equals the slow obvious one", "[projection][property]") {
  RandomShape shape;
  SECTION("anything overlapping anything") { compare(shape, "anything", 2000); }
  SECTION("nested ranges") {
    shape.nested_only = true;
    shape.start_end = false;
    compare(shape, "nested", 2000);
  }
  SECTION("nested ranges, streams in order") {
    shape.nested_only = true;
    shape.start_end = false;
    shape.in_stream_order = true;
    compare(shape, "nested in order", 1500);
  }
  SECTION("nested ranges beside start/end ranges, noted launches") {
    shape.nested_only = true;
    shape.notes = RandomShape::Notes::kTrue;
    compare(shape, "noted", 2000);
  }
  SECTION("notes that contradict everything") {
    shape.notes = RandomShape::Notes::kAny;
    compare(shape, "contradicting notes", 1500);
  }
  SECTION("nodes of autograd") {
    shape.nodes = true;
    compare(shape, "nodes", 1500);
  }
  SECTION("nodes of autograd, nested ranges, noted launches") {
    shape.nodes = true;
    shape.nested_only = true;
    shape.notes = RandomShape::Notes::kTrue;
    compare(shape, "nodes and notes", 2000);
  }
  SECTION("nodes of autograd, windows") {
    shape.nodes = true;
    shape.nested_only = true;
    shape.windows = true;
    compare(shape, "nodes and windows", 2000);
  }
  SECTION("nodes of CUDA graphs") {
    shape.graphs = true;
    shape.notes = RandomShape::Notes::kAny;
    compare(shape, "graphs", 1500);
  }
  SECTION("nodes of CUDA graphs and of autograd, nested ranges, noted launches") {
    shape.graphs = true;
    shape.nodes = true;
    shape.nested_only = true;
    shape.notes = RandomShape::Notes::kTrue;
    compare(shape, "graphs and nodes", 1500);
  }
  SECTION("windows of recording") {
    shape.windows = true;
    shape.nested_only = true;
    compare(shape, "windows", 2000);
  }
  SECTION("long and deep") {
    shape.nested_only = true;
    shape.length_ns = 3000;
    shape.max_launches = 1200;
    compare(shape, "long", 60);
  }
  SECTION("long and overlapping") {
    shape.length_ns = 3000;
    shape.max_ranges = 80;
    shape.max_launches = 800;
    compare(shape, "long overlapping", 40);
  }
}
