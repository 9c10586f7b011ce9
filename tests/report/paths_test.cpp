// SPDX-License-Identifier: MIT
#include "report/paths.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using rangefinder::report::Paths;

namespace {

Paths::Node chain(Paths& paths, std::size_t levels, const std::string& name = "r") {
  Paths::Node node = Paths::kNothing;
  for (std::size_t i = 0; i < levels; ++i) node = paths.add(node, static_cast<std::int64_t>(i + 1), name);
  return node;
}

}  // namespace

TEST_CASE("a path is the names from the outermost one inwards", "[report]") {
  Paths paths;
  const Paths::Node step = paths.add(Paths::kNothing, 1, "step");
  const Paths::Node layer = paths.add(paths.add(step, 2, "forward"), 3, "layer.0");
  CHECK(paths.text(step) == "step");
  CHECK(paths.text(layer) == "step/forward/layer.0");
  CHECK(paths.readable(layer) == "step/forward/layer.0");
  CHECK(paths.id_stack(layer) == ":1:2:3");
  CHECK(paths.name_tree(layer) == "----layer.0");
  CHECK(paths.depth(layer) == 2);
}

TEST_CASE("a path that is too long to be written whole keeps its innermost names", "[report]") {
  Paths paths;
  constexpr std::size_t kFits = (Paths::kLongest + 1) / 2;  // "r/r/.../r"
  const Paths::Node last_short = chain(paths, kFits);
  CHECK(paths.is_short(last_short));
  CHECK(paths.text(last_short).size() == 2 * kFits - 1);
  const Paths::Node node = paths.add(last_short, 9, "inner");
  CHECK_FALSE(paths.is_short(node));
  const std::string readable = paths.readable(node);
  CHECK(readable.substr(0, 6) == ".../r/");
  CHECK(readable.substr(readable.size() - 8) == "/r/inner");
  CHECK(readable.size() < 140);
  const Paths::Node wide = paths.add(Paths::kNothing, 1, std::string(10'000, 'w'));
  CHECK_FALSE(paths.is_short(wide));
  CHECK(paths.readable(wide) == std::string(10'000, 'w'));
}

TEST_CASE("what a path a million deep prints has a bound", "[report]") {
  Paths paths;
  const Paths::Node node = chain(paths, 1'000'000);
  CHECK(paths.depth(node) == 999'999);
  CHECK(paths.id_stack(node).size() < 200);
  CHECK(paths.id_stack(node).substr(0, 5) == ":...:");
  CHECK(paths.name_tree(node) == std::string(32, '-') + "[999999]r");
  CHECK(paths.readable(node).size() < 200);
  CHECK(paths.ranks()[node] == 999'999);
}

TEST_CASE("paths are in order of their names, whatever order they were added in", "[report]") {
  Paths paths;
  const Paths::Node b = paths.add(Paths::kNothing, 1, "b");
  const Paths::Node bz = paths.add(b, 2, "z");
  const Paths::Node a = paths.add(Paths::kNothing, 3, "a");
  const Paths::Node ba = paths.add(b, 4, "a");
  const Paths::Node ac = paths.add(a, 5, "c");
  const std::vector<std::uint32_t> ranks = paths.ranks();
  std::vector<Paths::Node> nodes{bz, b, ac, ba, a};
  std::sort(nodes.begin(), nodes.end(), [&](Paths::Node x, Paths::Node y) { return ranks[x] < ranks[y]; });
  CHECK(nodes == std::vector<Paths::Node>{a, ac, b, ba, bz});
}
