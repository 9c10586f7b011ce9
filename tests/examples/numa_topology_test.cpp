// SPDX-License-Identifier: MIT
#include "common/numa_topology.hpp"

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using examples::cpu_list;
using examples::numa_nodes;
using examples::NumaNode;
using examples::spread_over_nodes;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::write_file;
using Cpus = std::vector<int>;

namespace {

/// As the kernel has them: a list for each node that is online.
std::string system_with(const ScratchFolder& scratch, const std::string& online,
                        const std::vector<std::string>& lists) {
  const std::string folder = scratch.file("node");
  std::filesystem::create_directories(folder);
  write_file(folder + "/online", online);
  for (std::size_t node = 0; node < lists.size(); ++node) {
    const std::string of_node = folder + "/node" + std::to_string(node);
    std::filesystem::create_directories(of_node);
    write_file(of_node + "/cpulist", lists[node]);
  }
  return folder;
}

}  // namespace

TEST_CASE("lists of processors are read as the kernel writes them", "[examples]") {
  CHECK(cpu_list("0\n") == Cpus{0});
  CHECK(cpu_list("0-3,8,10-11\n") == Cpus{0, 1, 2, 3, 8, 10, 11});
  CHECK(cpu_list("").empty());
  CHECK(cpu_list("\n").empty());  // a node without processors
  for (const char* text : {"x", "0-", "3-1", "-1", "0;1", "0-999999999", "99999999999999999999"})
    CHECK(cpu_list(text).empty());
}

TEST_CASE("a node has those of its processors that the process may use", "[examples]") {
  const ScratchFolder scratch;
  const std::string folder = system_with(scratch, "0-2\n", {"0-3\n", "4-7\n", "\n"});
  const std::vector<NumaNode> nodes = numa_nodes(folder, {1, 3, 4, 5});
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].cpus == Cpus{1, 3});
  CHECK(nodes[1].id == 1);
  CHECK(nodes[1].cpus == Cpus{4, 5});
  CHECK(numa_nodes(folder, {6}).size() == 1);
}

TEST_CASE("where the system tells nothing, all processors are of one node", "[examples]") {
  const ScratchFolder scratch;
  const std::vector<NumaNode> nodes = numa_nodes(scratch.file("none"), {2, 5});
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].cpus == Cpus{2, 5});
}

TEST_CASE("threads take processors of all nodes in turns", "[examples]") {
  const std::vector<NumaNode> nodes{{0, {0, 1, 2}}, {1, {8, 9}}};
  CHECK(spread_over_nodes(nodes, 2) == Cpus{0, 8});
  CHECK(spread_over_nodes(nodes, 5) == Cpus{0, 8, 1, 9, 2});
  CHECK(spread_over_nodes(nodes, 7) == Cpus{0, 8, 1, 9, 2, 0, 8});
  CHECK(spread_over_nodes({}, 3).empty());
}

TEST_CASE("a thread is pinned to a processor that it may use, and to no other", "[examples]") {
  const Cpus allowed = examples::allowed_cpus();
  REQUIRE_FALSE(allowed.empty());
  Cpus then;
  bool pinned = false, elsewhere = true;
  std::thread thread([&] {
    pinned = examples::pin_to(allowed.back());
    then = examples::allowed_cpus();
    elsewhere = examples::pin_to((1 << 16) - 1);
  });
  thread.join();
  CHECK(pinned);
  CHECK(then == Cpus{allowed.back()});
  CHECK_FALSE(elsewhere);
  CHECK(examples::allowed_cpus() == allowed);  // the others go on as before
}

TEST_CASE("a page that was touched is on a node, and its thread too", "[examples]") {
  std::vector<char> page(1 << 16, 1);
  const std::vector<int> nodes = examples::nodes_of_pages({page.data() + (1 << 15)});
  if (nodes.empty()) return;  // the kernel, or who started this process, does not tell
  CHECK(nodes.size() == 1);
  CHECK(nodes[0] >= 0);
  CHECK(examples::current_node() >= 0);
}
