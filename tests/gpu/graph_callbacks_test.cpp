// SPDX-License-Identifier: MIT
//
// What CUPTI tells of graphs, seen by a client of its own: which callbacks come, and which of their fields are set.
// docs/reference/cupti.md, "Graphs", is built on what is checked here; what is only printed is not known from a header.
#include "gpu_recording.hpp"
#include "source/cupti/cupti_api.hpp"

#include <cupti.h>

#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
namespace cupti = rangefinder::source::cupti;

namespace {

constexpr std::pair<CUpti_CallbackIdResource, const char*> kWatched[] = {
    {CUPTI_CBID_RESOURCE_GRAPH_CREATED, "graph created"},
    {CUPTI_CBID_RESOURCE_GRAPH_CLONED, "graph cloned"},
    {CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, "graph destroyed"},
    {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, "node created"},
    {CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, "node cloned"},
    {CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, "node destroyed"},
    {CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, "executable created"},
    {CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, "executable destroyed"},
    {CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, "node updated"},
    {CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, "node's parameters set"}};

struct Told {
  CUpti_CallbackId id = 0;
  CUpti_GraphData data{};
  std::uint64_t node = 0, original = 0;  // ids; 0: not given
};

cupti::CuptiApi api;
std::vector<Told>* told = nullptr;

std::uint64_t id_of(CUgraphNode node) {
  std::uint64_t id = 0;
  return node != nullptr && api.cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS ? id : 0;
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || told == nullptr) return;
  const auto* graph =
      static_cast<const CUpti_GraphData*>(static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
  if (graph == nullptr) return;
  told->push_back({id, *graph, id_of(graph->node), id_of(graph->originalNode)});
}

/// Callbacks while `work` ran, printed.
template <typename Work>
std::vector<Told> callbacks_of(const char* what, Work&& work) {
  std::vector<Told> found;
  told = &found;
  const Status status = work();
  told = nullptr;
  INFO(what);
  if (!status.ok()) FAIL(status.error().message());
  std::printf("%s:\n", what);
  for (const Told& one : found) {
    const auto* name = std::find_if(std::begin(kWatched), std::end(kWatched),
                                    [&](const auto& watched) { return watched.first == one.id; });
    std::printf("  %-22s type %d, node %llu, original %llu, %s, %s, %s\n", name->second,
                static_cast<int>(one.data.nodeType), static_cast<unsigned long long>(one.node),
                static_cast<unsigned long long>(one.original), one.data.graph != nullptr ? "graph" : "no graph",
                one.data.originalGraph != nullptr ? "original graph" : "no original graph",
                one.data.graphExec != nullptr ? "executable" : "no executable");
  }
  return found;
}

std::size_t count(const std::vector<Told>& all, CUpti_CallbackIdResource id) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const Told& one) { return one.id == id; }));
}

/// Each of so many nodes is announced as created, and later as cloned from another one.
void check_copied(const std::vector<Told>& all, std::size_t nodes) {
  CHECK(count(all, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) >= nodes);
  CHECK(count(all, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) == nodes);
  for (auto cloned = all.begin(); cloned != all.end(); ++cloned) {
    if (cloned->id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) continue;
    CHECK(cloned->node != 0);
    CHECK(cloned->original != 0);
    CHECK(cloned->node != cloned->original);
    CHECK(std::any_of(all.begin(), cloned, [&](const Told& one) {
      return one.id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED && one.node == cloned->node;
    }));
  }
}

template <typename T>
Status keep(Result<T> made, T& to) {
  if (!made) return std::move(made).error();
  to = *made;
  return {};
}

}  // namespace

TEST_CASE("CUPTI announces nodes of graphs as the recording takes them to be", "[callbacks]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  Result<cupti::CuptiApi> loaded = cupti::load_cupti();
  if (!loaded) RANGEFINDER_SKIP(loaded.error().message());
  api = std::move(*loaded);
  REQUIRE(api.cuptiGetGraphNodeId != nullptr);
  CUpti_SubscriberHandle subscriber = nullptr;
  REQUIRE(api.cuptiSubscribe(&subscriber, on_callback, nullptr) == CUPTI_SUCCESS);
  for (const auto& [id, name] : kWatched) {
    INFO(name);
    CHECK(api.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(id)) ==
          CUPTI_SUCCESS);
  }

  CudaProgram::Graph graph, other, copy, parent, body;
  CudaProgram::GraphExec exec, nested;
  const auto two_kernels = [&] {
    const Status first = program.launch(0);
    return first.ok() ? program.launch(0) : first;
  };
  const std::vector<Told> captured =
      callbacks_of("capture of two kernels", [&] { return keep(program.capture(two_kernels), graph); });
  CHECK(count(captured, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) == 2);
  CHECK(count(captured, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) == 0);
  check_copied(callbacks_of("clone", [&] { return keep(program.clone(graph), copy); }), 2);
  check_copied(callbacks_of("instantiate", [&] { return keep(program.instantiate(graph), exec); }), 2);

  REQUIRE(keep(program.capture(two_kernels), other).ok());
  // Of nodes nothing is told: what they are follows from the call's parameters.
  CHECK(callbacks_of("update", [&] { return program.update(exec, other); }).empty());

  REQUIRE(keep(program.empty_graph(), parent).ok());
  check_copied(callbacks_of("a child graph of two kernels", [&] { return program.add_child(parent, graph); }), 2);
  Status conditional;
  (void)callbacks_of("a conditional node", [&]() -> Status {
    conditional = keep(program.add_conditional(parent), body);
    return {};
  });
  if (conditional.ok())
    (void)callbacks_of("a kernel in its body", [&] { return program.add_kernel(body); });
  else
    std::printf("no conditional node: %s\n", conditional.error().message().c_str());
  const std::vector<Told> both =
      callbacks_of("instantiate both", [&] { return keep(program.instantiate(parent), nested); });
  // Copies of the child's nodes are not announced as such; the child graph's own node, and the graph that it ran, go.
  CHECK(count(both, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING) == 1);
  REQUIRE_FALSE(both.empty());
  CHECK(both.back().id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
  for (const Told& one : both) CHECK(one.data.nodeType == 0);

  // Not known from the header: whether an executable graph's nodes are announced.
  const std::vector<Told> gone =
      callbacks_of("an executable graph is destroyed", [&] { return program.destroy(exec); });
  std::printf("nodes of an executable graph are %sannounced when it is destroyed\n",
              count(gone, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING) != 0 ? "" : "not ");
  const std::vector<Told> ended = callbacks_of("a graph is destroyed", [&] { return program.destroy(copy); });
  CHECK(count(ended, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING) == 2);
  CHECK(api.cuptiUnsubscribe(subscriber) == CUPTI_SUCCESS);
}
