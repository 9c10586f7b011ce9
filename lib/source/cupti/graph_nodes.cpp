// SPDX-License-Identifier: MIT
#include "source/cupti/graph_nodes.hpp"

#include "base/never_destroyed.hpp"
#include "buffer/held_records.hpp"
#include "source/cupti/callbacks.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace rangefinder::source::cupti {
namespace {

// CU_GRAPH_NODE_TYPE_CONDITIONAL of CUDA 12.3 and newer.
constexpr auto kConditional = static_cast<CUgraphNodeType>(13);

}  // namespace

GraphNodes& graph_nodes() noexcept {
  static base::NeverDestroyed<GraphNodes> nodes;
  return *nodes;
}

void GraphNodes::watch(const CuptiApi& api, RealtimeClock realtime) noexcept {
  {
    const std::lock_guard lock(mutex_);
    realtime_ = realtime;
  }
  graph_id_.store(api.cuptiGetGraphId, std::memory_order_relaxed);
  exec_id_.store(api.cuptiGetGraphExecId, std::memory_order_relaxed);
  node_id_.store(api.cuptiGetGraphNodeId, std::memory_order_relaxed);
  buffer::HeldRecords::instance().ask_for_notes_in_use([] { return graph_nodes().notes_in_use(); });
}

void GraphNodes::stop_watching() noexcept {
  const std::lock_guard lock(mutex_);
  missed_updates_.store(!nodes_.empty(), std::memory_order_relaxed);
}

void GraphNodes::begin() noexcept try {
  const std::lock_guard lock(mutex_);
  recording_ = true;
  for (const auto& [node, known] : nodes_) report(node, known);
} catch (const std::exception&) {  // no memory
  const std::lock_guard lock(mutex_);
  ++news_.dropped;
}

void GraphNodes::end() noexcept {
  const std::lock_guard lock(mutex_);
  recording_ = false;
  news_ = {};
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    const auto next = std::next(node);
    node->second.maker.call = 0;
    if (!node->second.says_anything()) go(node);
    node = next;
  }
}

GraphNodes::News GraphNodes::take_news() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

// Made to be called from inside a callback (cupti_callbacks.h), as the other two.
template <typename Ask, typename Thing, typename Id>
Id GraphNodes::ask_id(const std::atomic<Ask>& function, Thing thing, Id none) noexcept {
  const Ask ask = function.load(std::memory_order_relaxed);
  Id id = none;
  return thing != nullptr && ask != nullptr && ask(thing, &id) == CUPTI_SUCCESS ? id : none;
}

std::uint64_t GraphNodes::id_of(CUgraphNode node) const noexcept { return ask_id(node_id_, node, std::uint64_t{0}); }

/// Inside of an instantiation that is the executable graph's, by which its launches are recorded.
std::uint32_t GraphNodes::graph_of(const CUpti_GraphData& data) const noexcept {
  // What is said to be its own original may be destroyed while the copy lives on: better not known.
  return data.graph == data.originalGraph ? 0 : ask_id(graph_id_, data.graph, std::uint32_t{0});
}

GraphNodes::Maker GraphNodes::maker_of_new() noexcept {
  return {noted_call(), buffer::HeldRecords::instance().note_node()};
}

void GraphNodes::on_callback(CUpti_CallbackId id, const CUpti_GraphData& data) noexcept {
  switch (id) {
    // Nodes may be announced one by one as well, or not.
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
      return destroy_graph(ask_id(graph_id_, data.graph, std::uint32_t{0}));
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
      return destroy_graph(ask_id(exec_id_, data.graphExec, std::uint32_t{0}));
    default:
      if (const std::uint64_t node = id_of(data.node); node != 0) on_node(id, data, node);
  }
}

void GraphNodes::on_node(CUpti_CallbackId id, const CUpti_GraphData& data, std::uint64_t node) noexcept {
  const bool conditional = data.nodeType == kConditional;
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      any_seen_.store(true, std::memory_order_relaxed);
      return set(node, {maker_of_new(), graph_of(data), conditional});
    // Cloning and instantiating announce each new node as created and then as cloned: the second counts, also where the
    // original is not known. Else the body of a child graph would belong to the call that adds it.
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      return copy(id_of(data.originalNode), node, {{}, graph_of(data), conditional});
    // The node of an executable graph stays and does from now on what the other graph's node does.
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
      if (data.originalNode != nullptr && data.originalNode != data.node) update(id_of(data.originalNode), node);
      return;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      return destroy(node);
    default:
      return;
  }
}

void GraphNodes::set(std::uint64_t node, Node made) noexcept {
  const std::lock_guard lock(mutex_);
  note(node, made);
}

void GraphNodes::copy(std::uint64_t original, std::uint64_t node, const Node& made) noexcept {
  const std::lock_guard lock(mutex_);
  Node now = made;
  if (const auto from = nodes_.find(original); from != nodes_.end()) {
    now.maker = from->second.maker;
    now.conditional = now.conditional || from->second.conditional;
  }
  note(node, now);
}

void GraphNodes::update(std::uint64_t original, std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  const auto from = nodes_.find(original);
  const auto known = nodes_.find(node);
  Node now = known != nodes_.end() ? known->second : Node();
  now.maker = from != nodes_.end() ? from->second.maker : Maker();
  note(node, now);
}

void GraphNodes::destroy(std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto known = nodes_.find(node); known != nodes_.end()) go(known);
}

void GraphNodes::destroy_graph(std::uint32_t graph) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(graph);
  if (graph == 0 || found == graphs_.end()) return;
  const std::vector<std::uint64_t> nodes = std::move(found->second.nodes);
  for (const std::uint64_t node : nodes) {
    if (const auto known = nodes_.find(node); known != nodes_.end() && known->second.graph == graph) go(known);
  }
  graphs_.erase(graph);
}

/// Its rows stay in the capture, so that records which come later find them.
void GraphNodes::go(Nodes::iterator node) noexcept {
  Node last = node->second;
  leave(last.graph);
  const std::uint64_t id = node->first;
  nodes_.erase(node);
  try {
    last.time_ns = realtime_ != nullptr && recording_ ? realtime_() : 0;
    report(id, last, format::kGraphNodeGone);
  } catch (const std::exception&) {  // no memory: who follows the recording remembers it for longer
  }
}

void GraphNodes::join(std::uint32_t graph, std::uint64_t node) {
  if (graph == 0) return;
  Graph& found = graphs_[graph];
  found.nodes.push_back(node);
  ++found.known;
}

void GraphNodes::leave(std::uint32_t graph) noexcept {
  const auto found = graphs_.find(graph);
  if (found != graphs_.end() && --found->second.known == 0) graphs_.erase(found);
}

std::vector<std::uint32_t> GraphNodes::notes_in_use() {
  std::vector<std::uint32_t> notes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [node, known] : nodes_)
      if (known.maker.note != 0) notes.push_back(known.maker.note);
  }
  std::sort(notes.begin(), notes.end());
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
  return notes;
}

void GraphNodes::forget() noexcept {
  const std::lock_guard lock(mutex_);
  nodes_.clear();
  graphs_.clear();
  news_ = {};
  missed_updates_ = any_seen_ = false;
}

void GraphNodes::note(std::uint64_t node, Node now) noexcept try {
  const auto known = nodes_.find(node);
  const bool is_new = known == nodes_.end();
  if (is_new ? !now.says_anything() : known->second.same_as(now)) return;
  if (is_new && nodes_.size() >= kMaxNodes) {
    ++news_.dropped;
    return;
  }
  now.time_ns = realtime_();
  report(node, now);
  if (is_new || known->second.graph != now.graph) {
    if (now.says_anything()) join(now.graph, node);
    if (!is_new) leave(known->second.graph);
  } else if (!now.says_anything()) {
    leave(now.graph);
  }
  if (now.says_anything())
    nodes_.insert_or_assign(node, now);
  else
    nodes_.erase(known);
} catch (const std::exception&) {  // no memory
  ++news_.dropped;
}

void GraphNodes::report(std::uint64_t node, const Node& known, std::uint32_t flags) {
  if (!recording_) return;
  if (news_.rows.size() >= kMaxNodes) {
    ++news_.dropped;
    return;
  }
  if (known.conditional) flags |= format::kGraphNodeConditional;
  news_.rows.push_back({known.time_ns, node, known.maker.call, known.maker.note, known.graph, flags});
}

}  // namespace rangefinder::source::cupti
