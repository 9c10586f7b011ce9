// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/cupti_api.hpp"
#include "source/cupti/device_clock.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rangefinder::source::cupti {

/// A resource callback that `GraphNodes` takes, and what goes on without it in an older CUPTI (CUDA 12 has no id for
/// updates); null: no node is known then.
struct GraphCallback {
  CUpti_CallbackIdResource id;
  const char* name;
  const char* without;
};
inline constexpr std::array<GraphCallback, 8> kGraphCallbacks = {
    {{CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, "GRAPHNODE_CREATED", nullptr},
     {CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, "GRAPHNODE_CLONED", nullptr},
     {CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, "GRAPHNODE_DESTROY_STARTING",
      "nodes are remembered as long as their graphs"},
     {CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, "GRAPH_DESTROY_STARTING",
      "nodes that go with their graph may be remembered"},
     {CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, "GRAPHEXEC_DESTROY_STARTING",
      "nodes that go with their graph may be remembered"},
     {CUPTI_CBID_RESOURCE_GRAPH_CREATED, "GRAPH_CREATED", "work of child graphs has the ranges that replay it"},
     {CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, "GRAPHEXEC_CREATED",
      "work of child graphs has the ranges that replay it, and graphs are recorded node by node"},
     {CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, "GRAPH_NODE_UPDATED", "updates of single nodes are not known"}}};

/// What made each node of a CUDA graph. While a stream is captured the making of a node is noted as such
/// (held_records.hpp); a node that is added by hand is announced inside the call that adds it, which is noted like a
/// launch. Records name the nodes of the executable graph, which are copies of copies: each has what its original has.
///
/// Of a child graph, and of the body of a conditional node, the driver puts copies into the executable graph and does
/// not announce them. CUPTI numbers nodes within their graph, graph << 32 | number, and the copies come behind the
/// others, breadth first. What each of them is a copy of follows from the graph that is instantiated; where the numbers
/// of announced nodes are otherwise, they stay unknown. Updates of a whole graph are not announced at all: the nodes of
/// the other graph are taken in the same order.
///
/// Graphs outlive recordings: what was captured is known in all that follow. What was added by hand is forgotten with
/// the recording that holds the call.
///
/// Threads: any. One mutex, never held while calling CUPTI; it is taken where graphs are made, never at
/// launches.
class GraphNodes {
 public:
  /// At a time; 1 million are some 80 MB.
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 20;

  /// Callbacks come here from now on.
  void watch(const CuptiApi& api, RealtimeClock realtime) noexcept;
  /// None comes until they are watched again.
  void stop_watching() noexcept;
  /// The process has made graphs, as far as that was watched.
  bool any_seen() const noexcept { return any_seen_.load(std::memory_order_relaxed); }
  /// There were graphs while callbacks were off: updates of them are not known.
  bool missed_updates() const noexcept { return missed_updates_.load(std::memory_order_relaxed); }

  void begin() noexcept;
  void end() noexcept;

  struct News {
    std::vector<format::GraphNodeRow> rows;
    std::uint64_t dropped = 0;  ///< rows that there was no room for
  };
  /// What has changed since the last time.
  News take_news() noexcept;

  /// A callback of the resource domain.
  void on_callback(CUpti_CallbackId id, const CUpti_GraphData& data) noexcept;
  /// One of the driver's functions for graphs begins or ends.
  void on_call(GraphCall call, const CUpti_CallbackData& data) noexcept;

  /// Launches are recorded as a whole from now on, or no longer (GRAPH_TRACE).
  void set_whole(bool on) noexcept;
  /// CUPTI may not record launches as a whole: there are graphs that were instantiated while it did not, and it crashes
  /// at their launch then (seen with 13.0.1).
  bool must_be_nodes() noexcept;
  /// CUPTI may begin to: there are none, nor are they in the making.
  bool may_be_whole() noexcept;
  /// A CUPTI that does not announce executable graphs: it is never known.
  void execs_are_unknown() noexcept;

  /// The notes that nodes have, in order.
  std::vector<std::uint32_t> notes_in_use();
  /// For tests: as in a process without graphs.
  void forget() noexcept;

 private:
  /// What made a node, as far as known: the noted call by its correlation id, which the recording that runs has, and
  /// the note of the making by its number, which all later ones have too.
  struct Maker {
    std::uint32_t call = 0;
    std::uint32_t note = 0;
    friend bool operator==(const Maker&, const Maker&) = default;
  };
  struct Node {
    Maker maker;
    std::uint32_t graph = 0;  // as CUPTI numbers graphs, executable ones too; 0: not known
    bool conditional = false;
    std::int64_t time_ns = 0;
    bool same_as(const Node& other) const noexcept {
      return maker == other.maker && graph == other.graph && conditional == other.conditional;
    }
    bool says_anything() const noexcept { return maker != Maker() || conditional; }
  };
  struct Member {
    std::uint64_t node = 0;
    std::uint32_t body = 0;  // the graph that the node runs
    bool cloned = false;
    bool gone = false;
  };
  /// The nodes of a graph in the order of their numbers, whether or not they are known.
  struct Graph {
    std::vector<Member> members;
    std::size_t alive = 0;
    std::size_t instantiated = 0;  // of an executable graph: its nodes with those of bodies; 0: not known
    bool has_conditions = false;
  };
  using Nodes = std::unordered_map<std::uint64_t, Node>;

  static Maker maker_of_new() noexcept;
  template <typename Ask, typename Thing, typename Id>
  static Id ask_id(const std::atomic<Ask>& function, Thing thing, Id none) noexcept;
  std::uint64_t id_of(CUgraphNode node) const noexcept;
  std::uint32_t graph_of(const CUpti_GraphData& data) const noexcept;
  void on_node(CUpti_CallbackId id, const CUpti_GraphData& data, std::uint64_t node) noexcept;
  void create(std::uint64_t node, Node made) noexcept;
  void copy(std::uint64_t original, std::uint64_t node, const Node& made) noexcept;
  void update(std::uint64_t original, std::uint64_t node) noexcept;
  void destroy(std::uint32_t graph, std::uint64_t node) noexcept;
  void destroy_graph(std::uint32_t graph) noexcept;
  void note(std::uint64_t node, Node now) noexcept;
  bool add_member(std::uint32_t graph, std::uint64_t node, std::uint32_t body) noexcept;
  Member* find_member(std::uint32_t graph, std::uint64_t node) noexcept;
  std::optional<std::vector<Maker>> makers_of(std::uint32_t graph) const;
  bool is_numbered(std::uint32_t exec, std::uint32_t graph) const;
  void instantiated(std::uint32_t graph, std::uint32_t exec) noexcept;
  void updated(std::uint32_t exec, std::uint32_t graph) noexcept;
  void go(Nodes::iterator node) noexcept;
  void report(std::uint64_t node, const Node& known, std::uint32_t flags = 0);

  std::atomic<decltype(CuptiApi::cuptiGetGraphNodeId)> node_id_{nullptr};
  std::atomic<decltype(CuptiApi::cuptiGetGraphId)> graph_id_{nullptr};
  std::atomic<decltype(CuptiApi::cuptiGetGraphExecId)> exec_id_{nullptr};
  std::atomic<bool> any_seen_{false};
  std::atomic<bool> missed_updates_{false};
  std::mutex mutex_;
  bool recording_ = false;
  RealtimeClock realtime_ = nullptr;
  Nodes nodes_;
  std::unordered_map<std::uint32_t, Graph> graphs_;
  std::size_t members_ = 0;  // of all graphs
  bool incomplete_ = false;  // there was no room for a member
  News news_;

  bool whole_ = false;
  std::uint32_t whole_changes_ = 0;
  std::uint32_t copying_ = 0;                  // calls that are not over
  std::unordered_set<std::uint32_t> unwhole_;  // executable graphs of which no launch may be recorded as a whole
  bool execs_known_ = true;
};

/// The one of the process; never destroyed.
GraphNodes& graph_nodes() noexcept;

}  // namespace rangefinder::source::cupti
