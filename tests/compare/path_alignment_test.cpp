// SPDX-License-Identifier: MIT
#include "compare/path_alignment.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::compare;
using rangefinder::testing::below;

namespace {

/// "a/b/c" and all around it; in the order in which they are named.
std::vector<PathNode> paths(const std::vector<std::string>& texts) {
  std::vector<PathNode> nodes;
  std::map<std::string, std::uint32_t> known;
  for (const std::string& text : texts) {
    std::uint32_t around = kNone;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('/', begin), text.size());
      const auto [place, is_new] = known.try_emplace(text.substr(0, end), static_cast<std::uint32_t>(nodes.size()));
      if (is_new) nodes.push_back({around, text.substr(begin, end - begin)});
      around = place->second;
      begin = end + 1;
    }
  }
  return nodes;
}

std::string text_of(const std::vector<PathNode>& nodes, std::uint32_t path) {
  std::string text;
  for (; path != kNone; path = nodes[path].around) text = nodes[path].name + (text.empty() ? "" : "/") + text;
  return text;
}

/// "baseline -> candidate: fate" of all paths that are not the same.
std::vector<std::string> changes(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  const std::vector<PathNode> a = paths(before), b = paths(after);
  const PathAlignment found = align_paths(a, b);
  const auto name = [](PathFate fate) {
    constexpr const char* kNames[] = {"same", "renumbered", "moved", "new", "gone"};
    return kNames[static_cast<std::size_t>(fate)];
  };
  std::vector<std::string> lines;
  for (std::uint32_t path = 0; path < a.size(); ++path) {
    const std::uint32_t same = found.candidate_of[path];
    const PathFate fate = fate_of(found, a, b, path, same);
    if (fate != PathFate::kSame)
      lines.push_back(text_of(a, path) + " -> " + (same == kNone ? "" : text_of(b, same)) + ": " + name(fate));
  }
  for (std::uint32_t path = 0; path < b.size(); ++path)
    if (found.baseline_of[path] == kNone) lines.push_back("-> " + text_of(b, path) + ": new");
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("paths of two runs are aligned", "[compare]") {
  SECTION("by name, whatever their order") {
    CHECK(changes({"train/forward", "train/backward"}, {"train/backward", "train/forward"}) == Lines());
  }
  SECTION("one that is only there on one side is new or gone") {
    CHECK(changes({"train/forward", "train/log"}, {"train/forward", "train/save"}) ==
          Lines{"train/log -> : gone", "-> train/save: new"});
  }
  SECTION("a renumbered layer is the same layer") {
    CHECK(changes({"f/layers.11/attention", "f/layers.11/mlp"}, {"f/layers.12/attention", "f/layers.12/mlp"}) ==
          Lines{"f/layers.11 -> f/layers.12: renumbered"});
  }
  SECTION("a layer in front renumbers those behind it, which are known by what is in them") {
    CHECK(changes({"f/layers.0/attention", "f/layers.1/experts"},
                  {"f/layers.0/embed", "f/layers.1/attention", "f/layers.2/experts"}) ==
          Lines{"f/layers.0 -> f/layers.1: renumbered", "f/layers.1 -> f/layers.2: renumbered", "-> f/layers.0: new",
                "-> f/layers.0/embed: new"});
  }
  SECTION("more layers of the same kind are new at the end") {
    CHECK(changes({"f/layers.0/a", "f/layers.1/a"}, {"f/layers.0/a", "f/layers.1/a", "f/layers.2/a"}) ==
          Lines{"-> f/layers.2: new", "-> f/layers.2/a: new"});
  }
  SECTION("ten layers are in the order of their numbers, not of their texts") {
    Lines before, after;
    for (int i = 0; i < 12; ++i) {
      before.push_back("f/layers." + std::to_string(i) + "/a");
      after.push_back("f/layers." + std::to_string(i + 100) + "/a");
    }
    std::reverse(after.begin(), after.end());
    const Lines found = changes(before, after);
    REQUIRE(found.size() == 12);
    CHECK(found[2] == "f/layers.2 -> f/layers.102: renumbered");
    CHECK(found[11] == "f/layers.11 -> f/layers.111: renumbered");
  }
  SECTION("what is inside a level that was put in has moved") {
    CHECK(changes({"train/forward/attention/softmax", "train/loss"},
                  {"train/model/forward/attention/softmax", "train/loss"}) ==
          Lines{"train/forward -> train/model/forward: moved", "-> train/model: new"});
  }
  SECTION("a level that was taken out likewise") {
    CHECK(changes({"train/model/forward/attention"}, {"train/forward/attention"}) ==
          Lines{"train/model -> : gone", "train/model/forward -> train/forward: moved"});
  }
  SECTION("a path that is left over once on each side has moved") {
    CHECK(changes({"train/forward/augment/crop", "train/forward/net"},
                  {"train/data/augment/crop", "train/forward/net"}) ==
          Lines{"train/forward/augment -> train/data/augment: moved", "-> train/data: new"});
  }
}

TEST_CASE("an alignment is one to one, and of equal trees the identity", "[compare][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("path alignment"));
  const auto any_paths = [&] {
    std::vector<PathNode> nodes;
    for (std::uint64_t i = below(random, 30); i > 0; --i) {
      const std::uint64_t around = below(random, nodes.size() + 1);
      nodes.push_back({around == nodes.size() ? std::uint32_t{kNone} : static_cast<std::uint32_t>(around),
                       std::string(1, static_cast<char>('a' + below(random, 4))) + std::to_string(below(random, 5))});
    }
    return nodes;
  };
  for (int round = 0; round < 500; ++round) {
    const std::vector<PathNode> a = any_paths(), b = any_paths();
    const PathAlignment found = align_paths(a, b);
    for (std::uint32_t path = 0; path < a.size(); ++path)
      if (found.candidate_of[path] != kNone) REQUIRE(found.baseline_of[found.candidate_of[path]] == path);
    for (std::uint32_t path = 0; path < b.size(); ++path)
      if (found.baseline_of[path] != kNone) REQUIRE(found.candidate_of[found.baseline_of[path]] == path);
  }
}

TEST_CASE("of a run with itself every path is the same", "[compare][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("path alignment with itself"));
  for (int round = 0; round < 500; ++round) {
    // Names of siblings are distinct, as paths have them.
    std::vector<PathNode> nodes;
    std::map<std::pair<std::uint32_t, std::string>, bool> known;
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t at = below(random, nodes.size() + 1);
      const std::uint32_t around = at == nodes.size() ? std::uint32_t{kNone} : static_cast<std::uint32_t>(at);
      std::string name = std::string(1, static_cast<char>('a' + below(random, 3))) + std::to_string(below(random, 12));
      if (known.emplace(std::pair(around, name), true).second) nodes.push_back({around, std::move(name)});
    }
    const PathAlignment found = align_paths(nodes, nodes);
    for (std::uint32_t path = 0; path < nodes.size(); ++path) REQUIRE(found.candidate_of[path] == path);
  }
}
