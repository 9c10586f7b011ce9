// SPDX-License-Identifier: MIT
#include "base/never_destroyed.hpp"
#include "buffer/held_records.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/graph_nodes.hpp"

#include <exception>
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
  node_id_.store(api.cuptiGetGraphNodeId, std::memory_order_relaxed);
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
  std::erase_if(nodes_, [](const auto& node) { return !node.second.maker.is_held; });
  news_ = {};
}

GraphNodes::News GraphNodes::take_news() noexcept {
  const std::lock_guard lock(mutex_);
  news_.conditional = conditional_;
  return std::exchange(news_, {});
}

std::uint64_t GraphNodes::id_of(CUgraphNode node) const noexcept {
  const auto ask = node_id_.load(std::memory_order_relaxed);
  std::uint64_t id = 0;
  // Made to be called from inside a callback (cupti_callbacks.h).
  if (node == nullptr || ask == nullptr || ask(node, &id) != CUPTI_SUCCESS) return 0;
  return id;
}

GraphNodes::Maker GraphNodes::maker_of_new() noexcept {
  if (const std::uint32_t call = noted_call(); call != 0) return {call, false, false};
  const buffer::HeldRecords::Note note = buffer::HeldRecords::instance().note_node();
  return {note.number, note.number != 0, note.held};
}

void GraphNodes::on_callback(CUpti_CallbackId id, const CUpti_GraphData& data) noexcept {
  const std::uint64_t node = id_of(data.node);
  if (node == 0) return;
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      if (data.nodeType == kConditional) note_conditional();
      return set(node, maker_of_new());
    // Cloning and instantiating announce each new node as created and then as cloned: the second counts, also where the
    // original is not known. Else the body of a child graph would belong to the call that adds it.
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      return copy(id_of(data.originalNode), node);
    // The node of an executable graph stays and does from now on what the other graph's node does.
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
      if (data.originalNode != nullptr && data.originalNode != data.node) copy(id_of(data.originalNode), node);
      return;
    // Its rows are in the capture, so that records which come later find them.
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      return forget(node);
    default:
      return;
  }
}

void GraphNodes::note_conditional() noexcept {
  const std::lock_guard lock(mutex_);
  conditional_ = true;
}

void GraphNodes::set(std::uint64_t node, const Maker& maker) noexcept {
  const std::lock_guard lock(mutex_);
  note(node, maker);
}

void GraphNodes::copy(std::uint64_t original, std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(original);
  note(node, found != nodes_.end() ? found->second.maker : Maker());
}

void GraphNodes::forget(std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  nodes_.erase(node);
}

void GraphNodes::note(std::uint64_t node, const Maker& maker) noexcept try {
  const auto known = nodes_.find(node);
  if (maker == (known != nodes_.end() ? known->second.maker : Maker())) return;
  const Node now{maker, realtime_()};
  if (maker.id != 0 && known == nodes_.end() && nodes_.size() >= kMostNodes) {
    ++news_.dropped;
    return;
  }
  report(node, now);
  if (maker.id != 0)
    nodes_.insert_or_assign(node, now);
  else
    nodes_.erase(known);
} catch (const std::exception&) {  // no memory
  ++news_.dropped;
}

void GraphNodes::report(std::uint64_t node, const Node& known) {
  if (!recording_) return;
  if (news_.rows.size() >= kMostNodes) {
    ++news_.dropped;
    return;
  }
  news_.rows.push_back({known.time_ns, node, known.maker.id, known.maker.is_note ? 1u : 0u});
}

}  // namespace rangefinder::source::cupti
