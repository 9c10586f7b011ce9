// SPDX-License-Identifier: MIT
#include "source/cupti/graph_nodes.hpp"

#include "source/cupti/callbacks.hpp"

#include <utility>

namespace rangefinder::source::cupti {
namespace {

void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept {
  // After a fatal error nothing of CUPTI may be called.
  if (data.resourceDescriptor == nullptr || callback_state().fatal.load(std::memory_order_acquire)) return;
  for (const CUpti_CallbackIdResource wanted : kGraphCallbacks)
    if (id == static_cast<CUpti_CallbackId>(wanted))
      return graph_nodes().on_callback(id, *static_cast<const CUpti_GraphData*>(data.resourceDescriptor));
}

}  // namespace

GraphNodes& graph_nodes() noexcept {
  static GraphNodes* const nodes = new GraphNodes;
  return *nodes;
}

void GraphNodes::watch(const CuptiApi& api) noexcept {
  node_id_.store(api.cuptiGetGraphNodeId, std::memory_order_relaxed);
  callback_state().resource.store(&on_resource, std::memory_order_release);
}

void GraphNodes::begin(RealtimeClock realtime) noexcept {
  const std::lock_guard lock(mutex_);
  calls_.clear();
  news_ = {};
  realtime_ = realtime;
  recording_.store(true, std::memory_order_relaxed);
}

void GraphNodes::end() noexcept {
  const std::lock_guard lock(mutex_);
  recording_.store(false, std::memory_order_relaxed);
  calls_ = {};
  news_ = {};
}

GraphNodes::News GraphNodes::take_news() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

std::uint64_t GraphNodes::id_of(CUgraphNode node) const noexcept {
  const auto ask = node_id_.load(std::memory_order_relaxed);
  std::uint64_t id = 0;
  // Made to be called from inside a callback (cupti_callbacks.h).
  if (node == nullptr || ask == nullptr || ask(node, &id) != CUPTI_SUCCESS) return 0;
  return id;
}

void GraphNodes::on_callback(CUpti_CallbackId id, const CUpti_GraphData& data) noexcept {
  if (!recording_.load(std::memory_order_relaxed)) return;
  const std::uint64_t node = id_of(data.node);
  if (node == 0) return;
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      return set(node, noted_call());
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

void GraphNodes::set(std::uint64_t node, std::uint32_t call) noexcept {
  const std::lock_guard lock(mutex_);
  note(node, call);
}

void GraphNodes::copy(std::uint64_t original, std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(original);
  note(node, found != calls_.end() ? found->second : 0);
}

void GraphNodes::forget(std::uint64_t node) noexcept {
  const std::lock_guard lock(mutex_);
  calls_.erase(node);
}

void GraphNodes::note(std::uint64_t node, std::uint32_t call) try {
  if (!recording_.load(std::memory_order_relaxed)) return;
  const auto known = calls_.find(node);
  const std::uint32_t before = known != calls_.end() ? known->second : 0;
  if (call == before) return;
  const bool full = known == calls_.end() && calls_.size() >= kMostNodes;
  if (full || news_.rows.size() >= kMostNodes) {
    ++news_.dropped;
    return;
  }
  news_.rows.push_back({realtime_(), node, call});
  if (call != 0)
    calls_.insert_or_assign(node, call);
  else
    calls_.erase(known);
} catch (const std::exception&) {  // no memory
  ++news_.dropped;
}

}  // namespace rangefinder::source::cupti
