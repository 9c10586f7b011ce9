// SPDX-License-Identifier: MIT
#include "importer/capture/window_store.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

using namespace rangefinder;
using importer::WindowStore;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

WindowStore::Launch launch_of(std::uint64_t correlation, std::int64_t time_ns) {
  WindowStore::Launch launch;
  launch.row.correlation = correlation;
  launch.row.time_ns = time_ns;
  return launch;
}

/// The launch that made what the node was last is known.
bool knows_maker(const WindowStore& store, std::uint64_t node) {
  const auto made = store.graph_nodes.find(node);
  if (made == store.graph_nodes.end()) return false;
  const auto maker = store.makers.find(made->second.back().maker);
  return maker != store.makers.end() && maker->second.launch.has_value();
}

}  // namespace

TEST_CASE("launches that brought nothing are counted until they are given up", "[importer]") {
  WindowStore store;
  CHECK(store.oldest_waiting_ns() == std::numeric_limits<std::int64_t>::max());
  store.wait(launch_of(1, 10));
  store.wait(launch_of(2, 20));
  WindowStore::Launch maker = launch_of(3, 30);
  maker.makes_nodes = true;
  store.wait(maker);
  CHECK(store.silent() == 2);
  CHECK(store.oldest_waiting_ns() == 10);
  store.wait(launch_of(2, 25));  // the ids have wrapped around
  CHECK(store.silent() == 2);
  store.arrived(store.waiting.find(1), 100, true);
  CHECK(store.silent() == 1);
  store.arrived(store.waiting.find(1), 90, false);
  CHECK(store.waiting.count(1) == 0);
  CHECK(store.silent() == 1);
  store.forget_launches(30 * kSecond);
  CHECK(store.silent() == 1);
  CHECK(store.oldest_waiting_ns() == 25);
  store.forget_launches(100 * kSecond);
  CHECK(store.silent() == 0);
  CHECK(store.waiting.empty());
  CHECK(store.abandoned() == 2);
}

TEST_CASE("what made a node of a graph may come before the node or after it", "[importer]") {
  WindowStore store;
  store.wait(launch_of(10, 5));
  store.add_graph_node(7, 6, 10);
  CHECK(knows_maker(store, 7));
  CHECK(store.silent() == 0);  // it brings nothing itself
  store.add_graph_node(8, 6, 11);
  CHECK_FALSE(knows_maker(store, 8));
  store.makers.at(11).launch = launch_of(11, 5);
  CHECK(knows_maker(store, 8));
  SECTION("a note is kept for the next window") {
    store.keep_note(launch_of(12, 7));
    store.forget_notes();
    store.add_graph_node(9, 8, 12);
    CHECK(knows_maker(store, 9));
  }
  SECTION("and no longer") {
    store.keep_note(launch_of(12, 7));
    store.forget_notes();
    store.forget_notes();
    store.add_graph_node(9, 8, 12);
    CHECK_FALSE(knows_maker(store, 9));
  }
}

TEST_CASE("nodes of graphs are forgotten when no work of theirs can come any more", "[importer]") {
  WindowStore store;
  SECTION("those that are updated all the time") {
    for (std::uint64_t round = 1; round < 1'000; ++round) {
      const auto time = static_cast<std::int64_t>(round) * kSecond;
      for (std::uint64_t node = 1; node <= 10; ++node) {
        store.wait(launch_of(round * 10 + node, time));
        store.add_graph_node(node, time, round * 10 + node);
      }
      store.forget_launches(time);
      store.forget_graph_nodes(time);
      REQUIRE(knows_maker(store, 3));
      REQUIRE(store.makers.size() <= 630);  // of a minute
      REQUIRE(store.graph_nodes.at(3).size() <= 63);
    }
  }
  SECTION("those of graphs that are made anew") {
    for (std::uint64_t round = 1; round < 1'000; ++round) {
      const auto time = static_cast<std::int64_t>(round) * kSecond;
      store.add_graph_node(round, time, round);
      store.remove_graph_node(round, time + 5);
      store.forget_graph_nodes(time);
      REQUIRE(store.graph_nodes.count(round) == 1);  // its work may still come
      REQUIRE(store.graph_nodes.size() <= 63);
      REQUIRE(store.makers.size() <= 63);
    }
  }
  SECTION("but not what was made again under the same number") {
    store.add_graph_node(7, 1 * kSecond, 1);
    store.remove_graph_node(7, 2 * kSecond);
    store.add_graph_node(7, 3 * kSecond, 2);
    store.forget_graph_nodes(50 * kSecond);
    CHECK(store.graph_nodes.at(7).size() == 2);
    store.forget_graph_nodes(62 * kSecond + 1);
    REQUIRE(store.graph_nodes.at(7).size() == 1);
    CHECK(store.graph_nodes.at(7).front().maker == 2);
    CHECK(store.makers.count(1) == 0);
  }
}

TEST_CASE("of very many graphs the last replays of the oldest are forgotten", "[importer]") {
  WindowStore store;
  for (std::uint32_t graph = 1; graph <= 5; ++graph) {
    store.replays[graph].activities.resize(100'000);
    store.replay_rows += 100'000;
  }
  store.forget_replays();
  CHECK(store.replays.size() == 2);
  CHECK(store.replays.count(5) == 1);
  CHECK(store.replay_rows == 200'000);
}

TEST_CASE("a node keeps one that was made in it", "[importer]") {
  WindowStore store;
  CHECK(store.note_made(1, 2));
  CHECK_FALSE(store.note_made(1, 3));
  CHECK(store.made_in(1) == 2);
  CHECK(store.made_in(2) == 0);
  for (std::uint64_t number = 1; number <= 5'000; ++number) store.nodes[number] = {};
  store.nodes[2].range = 17;
  store.ranges[17] = {};
  store.drop_unneeded([](auto use) { use(0, 1); });
  CHECK(store.nodes.size() == 2);
  CHECK(store.ranges.count(17) == 1);
  CHECK(store.made_in(1) == 2);
  for (std::uint64_t number = 10; number <= 5'000; ++number) store.nodes[number] = {};
  store.drop_unneeded([](auto) {});
  CHECK(store.nodes.empty());
  CHECK(store.made_in(1) == 0);
}
