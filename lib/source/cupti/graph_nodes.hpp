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

/// A resource callback that `GraphNodes` takes. Without one that is required no node is known; an older CUPTI may lack
/// the others (CUDA 12.8 has no id for updates).
struct GraphCallback {
  CUpti_CallbackIdResource id;
  const char* name;
  bool required;
};
inline constexpr std::array<GraphCallback, 4> kGraphCallbacks = {
    {{CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, "GRAPHNODE_CREATED", true},
     {CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, "GRAPHNODE_CLONED", true},
     {CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, "GRAPHNODE_DESTROY_STARTING", false},
     {CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, "GRAPH_NODE_UPDATED", false}}};

/// Which noted call made each node of a CUDA graph. A node that is captured or added by hand is announced inside the
/// call that makes it; where calls are not noted and a graph is being captured, the making is noted as such. Records
/// name the nodes of the executable graph, which are copies of copies: each has what its original has.
///
/// Graphs outlive recordings: what was made in none is known in all that follow, what was made in one is forgotten with
/// it.
///
/// Threads: any. One mutex, which nobody holds while calling CUPTI; it is taken where graphs are made, never at
/// launches.
class GraphNodes {
 public:
  /// At a time; 1 million are some 50 MB.
  static constexpr std::size_t kMostNodes = std::size_t{1} << 20;

  /// Callbacks come here from now on.
  void watch(const CuptiApi& api, RealtimeClock realtime) noexcept;

  void begin() noexcept;
  void end() noexcept;

  struct News {
    std::vector<format::GraphNodeRow> rows;
    std::uint64_t dropped = 0;  ///< rows that there was no room for
    bool conditional = false;   ///< there are conditional nodes
  };
  /// What has changed since the last time.
  News take_news() noexcept;

  /// A callback of the resource domain.
  void on_callback(CUpti_CallbackId id, const CUpti_GraphData& data) noexcept;

 private:
  /// What makes a node: a noted call by its correlation id, or a note of its own by number.
  struct Maker {
    std::uint32_t id = 0;  // 0: not known
    bool is_note = false;
    bool is_held = false;  // the note is in all later recordings
    friend bool operator==(const Maker&, const Maker&) = default;
  };
  struct Node {
    Maker maker;
    std::int64_t time_ns;
  };
  static Maker maker_of_new() noexcept;
  std::uint64_t id_of(CUgraphNode node) const noexcept;
  void note_conditional() noexcept;
  void set(std::uint64_t node, const Maker& maker) noexcept;
  void copy(std::uint64_t original, std::uint64_t node) noexcept;
  void forget(std::uint64_t node) noexcept;
  void note(std::uint64_t node, const Maker& maker) noexcept;
  void report(std::uint64_t node, const Node& known);

  std::atomic<decltype(CuptiApi::cuptiGetGraphNodeId)> node_id_{nullptr};
  std::mutex mutex_;
  bool recording_ = false;
  bool conditional_ = false;  // some node ever was
  RealtimeClock realtime_ = nullptr;
  std::unordered_map<std::uint64_t, Node> nodes_;
  News news_;
};

/// The one of the process; never destroyed.
GraphNodes& graph_nodes() noexcept;

}  // namespace rangefinder::source::cupti
