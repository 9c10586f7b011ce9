// SPDX-License-Identifier: MIT
#include "common/numa_topology.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>

namespace examples {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<int> cpu_list(std::string_view text) {
  constexpr int kMost = 1 << 16;  // of numbers: what is longer is no machine
  std::vector<int> cpus;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end && *at != '\n') {
    int first = 0, last = 0;
    auto [next, error] = std::from_chars(at, end, first);
    if (error != std::errc{}) return {};
    last = first;
    if (next != end && *next == '-') {
      const auto range = std::from_chars(next + 1, end, last);
      if (range.ec != std::errc{}) return {};
      next = range.ptr;
    }
    if (first < 0 || last < first || last >= kMost) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (next != end && *next == ',')
      ++next;
    else if (next != end && *next != '\n')
      return {};
    at = next;
  }
  return cpus;
}

std::vector<NumaNode> numa_nodes(const std::string& folder, const std::vector<int>& allowed) {
  std::vector<NumaNode> nodes;
  for (const int id : cpu_list(file_text(folder + "/online"))) {
    NumaNode node{id, {}};
    for (const int cpu : cpu_list(file_text(folder + "/node" + std::to_string(id) + "/cpulist"))) {
      if (std::find(allowed.begin(), allowed.end(), cpu) != allowed.end()) node.cpus.push_back(cpu);
    }
    if (!node.cpus.empty()) nodes.push_back(std::move(node));
  }
  if (nodes.empty()) nodes.push_back({0, allowed});
  return nodes;
}

std::vector<int> allowed_cpus() {
  constexpr int kMost = 1 << 16;
  for (int count = CPU_SETSIZE; count <= kMost; count *= 2) {  // the kernel refuses a set smaller than its own
    cpu_set_t* const set = CPU_ALLOC(count);
    if (set == nullptr) return {};
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    const bool told = ::sched_getaffinity(0, bytes, set) == 0;
    const bool too_small = !told && errno == EINVAL;
    std::vector<int> cpus;
    for (int cpu = 0; told && cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!too_small) return cpus;
  }
  return {};
}

bool pin_to(int cpu) {
  cpu_set_t* const set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const bool pinned = ::sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return pinned;
}

std::vector<int> spread_over_nodes(const std::vector<NumaNode>& nodes, std::size_t threads) {
  std::vector<int> all;
  std::size_t most = 0;
  for (const NumaNode& node : nodes) most = std::max(most, node.cpus.size());
  for (std::size_t i = 0; i < most; ++i) {
    for (const NumaNode& node : nodes) {
      if (i < node.cpus.size()) all.push_back(node.cpus[i]);
    }
  }
  std::vector<int> cpus;
  for (std::size_t thread = 0; thread < threads && !all.empty(); ++thread) cpus.push_back(all[thread % all.size()]);
  return cpus;
}

std::vector<int> nodes_of_pages(const std::vector<void*>& pages) {
  std::vector<void*> asked = pages;
  std::vector<int> nodes(pages.size());
  // Without a list of nodes to move to, it only tells.
  const long result = ::syscall(SYS_move_pages, 0, asked.size(), asked.data(), nullptr, nodes.data(), 0);
  return result == 0 ? nodes : std::vector<int>{};
}

int current_node() {
  unsigned cpu = 0, node = 0;
  return ::syscall(SYS_getcpu, &cpu, &node, nullptr) == 0 ? static_cast<int>(node) : -1;
}

}  // namespace examples
