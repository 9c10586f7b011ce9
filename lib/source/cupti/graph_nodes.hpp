// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"
#include "source/cupti/cupti_api.hpp"
#include "source/cupti/device_clock.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace rangefinder::source::cupti {

/// The resource callbacks that `GraphNodes` needs; the last is the one that an older CUPTI may lack.
inline constexpr std::array<CUpti_CallbackIdResource, 4> kGraphCallbacks = {
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED};

/// Which noted call made each node of a CUDA graph, while something is recorded. A node that is captured or added by
/// hand is announced inside the call that makes it. Records name the nodes of the executable graph, which are copies of
/// copies: each has the call of its original.
///
/// Threads: any. One mutex, which nobody holds while calling CUPTI; it is taken where graphs are made, never at
/// launches.
class GraphNodes {
 public:
  /// Of one recording; 1 million are some 50 MB.
  static constexpr std::size_t kMostNodes = std::size_t{1} << 20;

  /// Callbacks come here from now on.
  void watch(const CuptiApi& api) noexcept;

  /// A recording begins: calls from before it are not in it.
  void begin(RealtimeClock realtime) noexcept;
  void end() noexcept;

  struct News {
    std::vector<format::GraphNodeRow> rows;
    std::uint64_t dropped = 0;  ///< rows that there was no room for
  };
  /// What has changed since the last time.
  News take_news() noexcept;

  /// A callback of the resource domain.
  void on_callback(CUpti_CallbackId id, const CUpti_GraphData& data) noexcept;

 private:
  std::uint64_t id_of(CUgraphNode node) const noexcept;
  void set(std::uint64_t node, std::uint32_t call) noexcept;
  void copy(std::uint64_t original, std::uint64_t node) noexcept;
  void forget(std::uint64_t node) noexcept;
  void note(std::uint64_t node, std::uint32_t call);

  std::atomic<decltype(CuptiApi::cuptiGetGraphNodeId)> node_id_{nullptr};
  std::atomic<bool> recording_{false};
  std::mutex mutex_;
  RealtimeClock realtime_ = nullptr;
  std::unordered_map<std::uint64_t, std::uint32_t> calls_;  // by node; correlation ids
  News news_;
};

/// The one of the process; never destroyed.
GraphNodes& graph_nodes() noexcept;

}  // namespace rangefinder::source::cupti
