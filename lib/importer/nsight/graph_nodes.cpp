// SPDX-License-Identifier: MIT
#include "importer/nsight/graph_nodes.hpp"

#include "importer/nsight/table_scan.hpp"
#include "timeline/node_launches.hpp"

namespace rangefinder::importer::nsight {
namespace {

// A captured graph is copied once or twice; a file may claim a circle.
constexpr int kMaxCopies = 64;

}  // namespace

void GraphNodes::read(ImportContext& context, Entities& entities) {
  enum { kStart, kGlobalTid, kNode, kOriginal };
  static constexpr WantedColumn kColumns[] = {required("start"), optional("globalTid"), optional("graphNodeId"),
                                              optional("originalGraphNodeId")};
  // The second one is what older versions called it; newer ones have whole graphs there.
  for (const char* table : {"CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS"}) {
    TableScan row(context, table, kColumns);
    if (!row.has(kNode)) continue;
    while (row.next()) {
      const auto start = row.integer(kStart);
      const auto node = row.integer(kNode);
      if (!node || *node == 0) continue;
      if (!start || !valid_time(*start)) {
        row.reject("no possible time");
        continue;
      }
      const auto global_tid = row.integer(kGlobalTid);
      const ThreadIndex thread = global_tid ? entities.thread(*global_tid) : kNone;
      const ProcessIndex process = thread != kNone ? timeline_.threads[thread].process : entities.assumed_process();
      const std::int64_t original = row.integer_or(kOriginal, 0);
      const auto [known, is_new] = nodes_.try_emplace({process, *node}, Node{*start, thread, original});
      if (is_new) continue;
      // A copy is announced as new before it is said to be one, and a node once more when it goes.
      if (known->second.original == 0) known->second.original = original;
      if (*start < known->second.time_ns) {
        known->second.time_ns = *start;
        known->second.thread = thread;
      }
    }
  }
}

const GraphNodes::Node* GraphNodes::first_of(Key key) const {
  for (int copies = 0; copies < kMaxCopies; ++copies) {
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) return nullptr;
    if (found->second.original == 0) return &found->second;
    key.second = found->second.original;
  }
  return nullptr;
}

void GraphNodes::finish() {
  if (nodes_.empty()) return;
  ActivityTable& activities = timeline_.activities;
  timeline::NodeLaunches launches(timeline_);
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.graph_node[row] == 0) continue;
    const ProcessIndex process = timeline_.devices[timeline_.streams[activities.stream[row]].device].process;
    const Node* const node = first_of({process, static_cast<std::int64_t>(activities.graph_node[row])});
    if (node != nullptr && node->thread != kNone)
      activities.set_captured(row, launches.at(node->thread, node->time_ns).first);
  }
}

}  // namespace rangefinder::importer::nsight
