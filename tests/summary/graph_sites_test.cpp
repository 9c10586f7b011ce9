// SPDX-License-Identifier: MIT
#include "summary/graph_sites.hpp"

#include "support/catch.hpp"

using rangefinder::summary::GraphSites;

TEST_CASE("a node is what it was when the work was launched", "[summary]") {
  GraphSites sites;
  sites.add_launch(10, 1);
  sites.add_node(7, 100, 10);
  sites.add_node(7, 200, 20);  // its launch comes later
  CHECK(sites.tag_of(7, 150) == 1);
  CHECK(sites.tag_of(7, 250) == 0);
  sites.end_update(90);
  sites.add_launch(20, 2);
  CHECK(sites.tag_of(7, 50) == 0);  // what it became later
  CHECK(sites.tag_of(7, 50, 50) == 1);
  CHECK(sites.tag_of(7, 199) == 1);
  CHECK(sites.tag_of(7, 200) == 2);
  sites.end_update(199);
  CHECK(sites.tag_of(7, 199) == 1);
  sites.add_node(7, 300, 0);
  CHECK(sites.tag_of(7, 300) == 0);
  CHECK(sites.tag_of(8, 300) == 0);
}

TEST_CASE("launches of the last update are known to nodes that come later", "[summary]") {
  GraphSites sites;
  sites.add_launch(10, 1);
  sites.end_update(0);
  sites.add_node(7, 100, 10);
  sites.end_update(0);
  sites.end_update(0);
  CHECK(sites.tag_of(7, 100) == 1);
  sites.add_node(8, 100, 11);
  CHECK(sites.tag_of(8, 100) == 0);
}

TEST_CASE("what is not needed any more is forgotten", "[summary]") {
  GraphSites sites;
  SECTION("of nodes that are updated all the time") {
    for (std::uint64_t round = 0; round < 1'000; ++round) {
      for (std::uint64_t node = 1; node <= 10; ++node) {
        sites.add_launch(round * 10 + node, node);
        sites.add_node(node, static_cast<std::int64_t>(round * 10), round * 10 + node);
      }
      sites.end_update(static_cast<std::int64_t>(round * 10));
      REQUIRE(sites.remembered() <= 20);
      REQUIRE(sites.tag_of(3, static_cast<std::int64_t>(round * 10)) == 3);
    }
  }
  SECTION("of graphs that are made anew") {
    for (std::uint64_t round = 1; round < 1'000; ++round) {
      const auto time = static_cast<std::int64_t>(round * 10);
      sites.add_launch(round, round);
      sites.add_node(round, time, round);
      sites.remove_node(round, time + 5);
      CHECK(sites.tag_of(round, time) == round);
      sites.end_update(time);
      REQUIRE(sites.tag_of(round, time) == round);  // its work may still come
      REQUIRE(sites.remembered() <= 4);
    }
  }
  SECTION("but not what work that may still come needs") {
    sites.add_launch(1, 1);
    sites.add_launch(2, 2);
    sites.add_node(7, 100, 1);
    sites.add_node(7, 200, 2);
    sites.remove_node(7, 300);
    for (int update = 0; update < 5; ++update) sites.end_update(150);
    CHECK(sites.tag_of(7, 150) == 1);
    CHECK(sites.tag_of(7, 250) == 2);
    CHECK(sites.remembered() == 4);
  }
}
