// SPDX-License-Identifier: MIT
#include "source/cupti/graph_nodes.hpp"

#include "cupti_fixture.hpp"

#include <rangefinder/detail/hot_path.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

// Which call made each node of a CUDA graph. docs/reference/cupti.md, "Graphs".
namespace rangefinder::source::testing {
namespace {

constexpr const char* kLaunch = "cudaLaunchKernel_v7000";

/// A recording, and what it has delivered of graphs.
class Graphs : public CuptiRecording {
 public:
  using CuptiRecording::CuptiRecording;

  /// The correlation id of the call that made each node of the kernels, in order; 0: not known. The newest row of a
  /// node before its launch counts, as for a reader.
  std::vector<std::uint32_t> made_by() {
    flush();
    std::vector<std::uint32_t> calls;
    for (const format::KernelRow& kernel : kernels) {
      std::uint32_t call = 0;
      for (const format::GraphNodeRow& row : graph_nodes)
        if (row.node == kernel.graph_node && row.time_ns <= kernel.begin_ns) call = row.correlation;
      calls.push_back(call);
    }
    return calls;
  }
};

/// Captures a kernel and says by which call.
std::uint32_t capture(FakeGraph* graph, const char* function = kLaunch) {
  const FakeKernel k = kernel("k");
  NotedLaunches::take();
  fakecupti_graph_capture(function, graph, &k);
  const std::vector<NotedLaunch> noted = NotedLaunches::take();
  REQUIRE(noted.size() == 1);
  return noted[0].correlation;
}

void launch(FakeGraphExec* exec) { fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7); }

}  // namespace

TEST_CASE("a node of an executable graph has the call that captured its original", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  FakeGraph* graph = fakecupti_graph_create();
  const std::uint32_t first = capture(graph);
  const std::uint32_t second = capture(graph);
  SECTION("as instantiated") {}
  SECTION("of a clone of a clone") {
    FakeGraph* clone = fakecupti_graph_clone(graph);
    FakeGraph* again = fakecupti_graph_clone(clone);
    fakecupti_graph_destroy(graph, nullptr);
    fakecupti_graph_destroy(clone, nullptr);
    graph = again;
  }
  SECTION("instantiated in a pause") { graphs.source.set_active(false); }
  FakeGraphExec* exec = nullptr;
  SECTION("instantiated on another thread") {
    std::thread([&] { exec = fakecupti_graph_instantiate(graph); }).join();
  }
  if (exec == nullptr) exec = fakecupti_graph_instantiate(graph);
  graphs.source.set_active(true);
  launch(exec);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{first, second, first, second});
  CHECK(graphs.counts().empty());
  fakecupti_graph_destroy(graph, exec);
}

TEST_CASE("a node that is added by hand has the call that added it", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  FakeGraph* graph = fakecupti_graph_create();
  const std::uint32_t runtime = capture(graph, "cudaGraphAddKernelNode_v10000");
  const std::uint32_t driver = capture(graph, "cuGraphAddMemsetNode");
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{runtime, driver});
  fakecupti_graph_destroy(graph, exec);
}

TEST_CASE("a memset of a graph has the call that captured it, also where the driver makes a kernel of it", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  FakeGraph* graph = fakecupti_graph_create();
  const FakeSet set;
  NotedLaunches::take();
  fakecupti_graph_capture_set("cudaMemsetAsync_v3020", graph, &set, false);
  fakecupti_graph_capture_set("cudaMemsetAsync_v3020", graph, &set, true);
  const std::vector<NotedLaunch> noted = NotedLaunches::take();
  REQUIRE(noted.size() == 2);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{noted[1].correlation});
  REQUIRE(graphs.sets.size() == 1);
  const auto row = std::find_if(graphs.graph_nodes.begin(), graphs.graph_nodes.end(),
                                [&](const auto& one) { return one.node == graphs.sets[0].graph_node; });
  REQUIRE(row != graphs.graph_nodes.end());
  CHECK(row->correlation == noted[0].correlation);
  fakecupti_graph_destroy(graph, exec);
}

TEST_CASE("the body of a child graph has the calls that made it, not the one that added it", "[source]") {
  CuptiProcess process;
  FakeGraph* child = fakecupti_graph_create();
  const FakeKernel k = kernel("k");
  std::uint32_t made = 0;
  const bool known = GENERATE(true, false);
  if (!known) fakecupti_graph_capture(kLaunch, child, &k);  // nothing is recorded yet
  Graphs graphs(process);
  if (known) made = capture(child);
  FakeGraph* graph = fakecupti_graph_create();
  fakecupti_graph_add_child("cudaGraphAddChildGraphNode_v10000", graph, child);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{made});
  fakecupti_graph_destroy(graph, exec);
  fakecupti_graph_destroy(child, nullptr);
}

TEST_CASE("an update gives nodes the calls of the other graph, for launches from then on", "[source]") {
  CuptiProcess process;
  FakeGraph* unknown = fakecupti_graph_create();
  const FakeKernel k = kernel("k");
  fakecupti_graph_capture(kLaunch, unknown, &k);
  Graphs graphs(process);
  fakecupti_set_manual_clock(kNoon);
  FakeGraph* first = fakecupti_graph_create();
  FakeGraph* second = fakecupti_graph_create();
  const std::uint32_t by_first = capture(first);
  const std::uint32_t by_second = capture(second);
  FakeGraphExec* exec = fakecupti_graph_instantiate(first);
  fakecupti_advance(1000);
  launch(exec);
  fakecupti_advance(1000);
  fakecupti_graph_update(exec, second);
  fakecupti_advance(1000);
  launch(exec);
  fakecupti_advance(1000);
  fakecupti_graph_update(exec, unknown);
  fakecupti_advance(1000);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{by_first, by_second, 0u});
  fakecupti_graph_destroy(first, exec);
  fakecupti_graph_destroy(second, nullptr);
  fakecupti_graph_destroy(unknown, nullptr);
}

TEST_CASE("an update of one node is told by a callback of its own", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  FakeGraph* first = fakecupti_graph_create();
  FakeGraph* second = fakecupti_graph_create();
  const std::uint32_t by_first = capture(first);
  (void)capture(first);
  (void)capture(second);
  const std::uint32_t by_second = capture(second);
  FakeGraphExec* exec = fakecupti_graph_instantiate(first);
  fakecupti_graph_tell_update(exec, 1, second);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{by_first, by_second});
  fakecupti_graph_destroy(first, exec);
  fakecupti_graph_destroy(second, nullptr);
}

// As a device numbers them: the nodes of the graph, then those that they run, breadth first. The driver announces none
// of the latter.
TEST_CASE("nodes of child graphs and bodies keep their calls over copies, instantiation and updates", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  fakecupti_set_manual_clock(kNoon);
  const auto made = [&](std::vector<std::uint32_t>& calls) {
    FakeGraph* leaf = fakecupti_graph_create();
    FakeGraph* middle = fakecupti_graph_create();
    FakeGraph* top = fakecupti_graph_create();
    const std::uint32_t of_leaf = capture(leaf), of_leaf_2 = capture(leaf);
    const std::uint32_t of_middle = capture(middle);
    fakecupti_graph_add_child("cudaGraphAddChildGraphNode_v10000", middle, leaf);
    const std::uint32_t of_middle_2 = capture(middle);
    fakecupti_graph_add_child("cudaGraphAddChildGraphNode_v10000", top, middle);
    const std::uint32_t of_top = capture(top);
    fakecupti_graph_add_conditional("cudaGraphAddNode_v12020", top, leaf);
    calls = {of_top, of_middle, of_middle_2, of_leaf, of_leaf_2, of_leaf, of_leaf_2};
    FakeGraph* again = fakecupti_graph_clone(top);
    for (FakeGraph* graph : {leaf, middle, top}) fakecupti_graph_destroy(graph, nullptr);
    return again;
  };
  std::vector<std::uint32_t> before, after;
  FakeGraph* graph = made(before);
  FakeGraph* other = made(after);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  fakecupti_advance(1000);
  launch(exec);
  std::vector<std::uint32_t> found = graphs.made_by();
  // In which order the device runs them says nothing: by the numbers of nodes.
  const auto by_node = [&](std::size_t first) {
    std::map<std::uint64_t, std::uint32_t> calls;
    for (std::size_t i = first; i < found.size(); ++i) calls[graphs.kernels[i].graph_node] = found[i];
    std::vector<std::uint32_t> in_order;
    for (const auto& [node, call] : calls) in_order.push_back(call);
    return in_order;
  };
  const std::vector<std::uint32_t> of_before = {before[0], before[1], before[2], before[5],
                                                before[6], before[3], before[4]};
  CHECK(by_node(0) == of_before);
  fakecupti_advance(1000);
  fakecupti_graph_update(exec, other);
  fakecupti_advance(1000);
  const std::size_t kernels = graphs.kernels.size();
  launch(exec);
  found = graphs.made_by();
  CHECK(by_node(kernels) ==
        std::vector<std::uint32_t>{after[0], after[1], after[2], after[5], after[6], after[3], after[4]});
  SECTION("an update by a graph of another shape is not known") {
    FakeGraph* flat = fakecupti_graph_create();
    (void)capture(flat);
    fakecupti_advance(1000);
    fakecupti_graph_update(exec, flat);
    fakecupti_advance(1000);
    const std::size_t now = graphs.kernels.size();
    launch(exec);
    found = graphs.made_by();
    for (const std::uint32_t call : by_node(now)) CHECK(call == 0);
  }
  fakecupti_graph_destroy(graph, exec);
  CHECK(graphs.counts().empty());
}

TEST_CASE("a node that gets other parameters is still its call's", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  FakeGraph* graph = fakecupti_graph_create();
  const std::uint32_t by_capture = capture(graph);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  launch(exec);
  const FakeKernel other = kernel("other");
  fakecupti_graph_set_params(exec, 0, &other);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{by_capture, by_capture});
  CHECK(graphs.text(graphs.kernels[1].name) == "other");
  fakecupti_graph_destroy(graph, exec);
}

TEST_CASE("nodes that were made while nothing was recorded are not known", "[source]") {
  CuptiProcess process;
  FakeGraph* graph = fakecupti_graph_create();
  const FakeKernel k = kernel("k");
  SECTION("before CUPTI was opened") { fakecupti_graph_capture(kLaunch, graph, &k); }
  SECTION("between prepare and the recording, by hand") {
    REQUIRE(cupti_prepare(process.seams()).working);
    fakecupti_graph_capture(kLaunch, graph, &k);
  }
  SECTION("in the recording before") {
    Graphs before(process);
    (void)capture(graph);
  }
  SECTION("in a pause, by hand") {
    Graphs graphs(process);
    graphs.source.set_active(false);
    fakecupti_graph_capture(kLaunch, graph, &k);
    graphs.source.set_active(true);
    FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
    launch(exec);
    CHECK(graphs.made_by() == std::vector{0u});
    fakecupti_graph_destroy(nullptr, exec);
  }
  Graphs graphs(process);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  launch(exec);
  CHECK(graphs.made_by() == std::vector{0u});
  CHECK(graphs.graph_nodes.empty());
  fakecupti_graph_destroy(graph, exec);
}

namespace {

/// A library for which the handles of nodes and graphs are their ids.
CuptiApi handles_as_ids() {
  CuptiApi api;
  api.cuptiGetGraphId = +[](CUgraph graph, std::uint32_t* id) {
    *id = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(graph));
    return CUPTI_SUCCESS;
  };
  api.cuptiGetGraphNodeId = +[](CUgraphNode node, std::uint64_t* id) {
    *id = reinterpret_cast<std::uint64_t>(node);
    return CUPTI_SUCCESS;
  };
  return api;
}

const void* const kStream = &kStream;

/// The node notes that the graph's kernels name, in order; 0: a call, or not known.
std::vector<std::uint32_t> notes_of(Graphs& graphs) {
  graphs.flush();
  std::vector<std::uint32_t> notes;
  for (const format::KernelRow& kernel : graphs.kernels) {
    std::uint32_t note = 0;
    for (const format::GraphNodeRow& row : graphs.graph_nodes)
      if (row.node == kernel.graph_node) note = row.note;
    notes.push_back(note);
  }
  return notes;
}

}  // namespace

TEST_CASE("a graph that is captured before the recording is known in all that follow", "[source]") {
  CuptiProcess process;
  REQUIRE(cupti_prepare(process.seams()).working);
  FakeGraph* graph = fakecupti_graph_create();
  FakeGraph* other = fakecupti_graph_create();
  const FakeKernel k = kernel("k");
  fakecupti_graph_capture(kLaunch, other, &k);
  fakecupti_call_on_stream("cudaStreamBeginCapture_v10000", kStream, 0);
  fakecupti_graph_capture(kLaunch, graph, &k);
  fakecupti_graph_capture(kLaunch, graph, &k);
  fakecupti_call_on_stream("cudaStreamEndCapture_v10000", kStream, 0);
  fakecupti_graph_capture(kLaunch, other, &k);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  FakeGraphExec* unknown = fakecupti_graph_instantiate(other);
  for (int recording = 0; recording < 2; ++recording) {
    Graphs graphs(process);
    launch(exec);
    launch(unknown);
    CHECK(notes_of(graphs) == std::vector<std::uint32_t>{1, 2, 0, 0});
    CHECK(graphs.made_by() == std::vector<std::uint32_t>{0, 0, 0, 0});
  }
  fakecupti_graph_destroy(graph, exec);
  fakecupti_graph_destroy(other, unknown);
  Graphs graphs(process);
  graphs.flush();
  CHECK(graphs.graph_nodes.empty());  // what goes between recordings is forgotten
}

TEST_CASE("with a graph go its nodes, also where they are not announced one by one", "[source]") {
  CuptiProcess process;
  fakecupti_tell_destroyed_nodes(GENERATE(true, false));
  REQUIRE(cupti_prepare(process.seams()).working);
  const FakeKernel k = kernel("k");
  std::vector<FakeGraphExec*> alive;
  for (int i = 0; i < 3; ++i) {
    FakeGraph* graph = fakecupti_graph_create();
    fakecupti_call_on_stream("cudaStreamBeginCapture_v10000", kStream, 0);
    fakecupti_graph_capture(kLaunch, graph, &k);
    fakecupti_graph_capture(kLaunch, graph, &k);
    fakecupti_call_on_stream("cudaStreamEndCapture_v10000", kStream, 0);
    alive.push_back(fakecupti_graph_instantiate(graph));
    fakecupti_graph_destroy(graph, fakecupti_graph_instantiate(graph));
  }
  CHECK(cupti::graph_nodes().notes_in_use() == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6});
  fakecupti_graph_destroy(nullptr, alive[0]);
  CHECK(cupti::graph_nodes().notes_in_use() == std::vector<std::uint32_t>{3, 4, 5, 6});
  {
    Graphs graphs(process);
    launch(alive[1]);
    launch(alive[2]);
    CHECK(notes_of(graphs) == std::vector<std::uint32_t>{3, 4, 5, 6});
    CHECK(graphs.graph_nodes.size() == 4);
    // The recording hears of it, and its rows stay.
    fakecupti_graph_destroy(nullptr, alive[1]);
    graphs.flush();
    REQUIRE(graphs.graph_nodes.size() == 6);
    for (const std::size_t row : {4, 5}) {
      CHECK(graphs.graph_nodes[row].flags == format::kGraphNodeGone);
      CHECK(graphs.graph_nodes[row].note == row - 1);
      CHECK(graphs.graph_nodes[row].graph_id == graphs.kernels[0].graph_id);
    }
  }
  fakecupti_graph_destroy(nullptr, alive[2]);
  CHECK(cupti::graph_nodes().notes_in_use().empty());
}

TEST_CASE("a graph that is instantiated while another is captured keeps what made it", "[source]") {
  CuptiProcess process;
  REQUIRE(cupti_prepare(process.seams()).working);
  const FakeKernel k = kernel("k");
  FakeGraph* known = fakecupti_graph_create();
  FakeGraph* unknown = fakecupti_graph_create();
  fakecupti_graph_capture(kLaunch, unknown, &k);
  fakecupti_call_on_stream("cudaStreamBeginCapture_v10000", kStream, 0);
  fakecupti_graph_capture(kLaunch, known, &k);
  FakeGraphExec* of_known = fakecupti_graph_instantiate(known);
  FakeGraphExec* of_unknown = fakecupti_graph_instantiate(unknown);
  fakecupti_call_on_stream("cudaStreamEndCapture_v10000", kStream, 0);
  Graphs graphs(process);
  launch(of_known);
  launch(of_unknown);
  CHECK(notes_of(graphs) == std::vector<std::uint32_t>{1, 0});
  fakecupti_graph_destroy(known, of_known);
  fakecupti_graph_destroy(unknown, of_unknown);
}

TEST_CASE("an executable graph with a conditional node is told from others", "[source]") {
  CuptiProcess process;
  REQUIRE(cupti_prepare(process.seams()).working);
  const FakeKernel k = kernel("k");
  FakeGraph* body = fakecupti_graph_create();
  fakecupti_graph_capture(kLaunch, body, &k);
  FakeGraph* with = fakecupti_graph_create();
  fakecupti_graph_add_conditional("cudaGraphAddNode_v12020", with, body);
  FakeGraphExec* loop = fakecupti_graph_instantiate(with);
  FakeGraphExec* plain = fakecupti_graph_instantiate(body);
  for (int recording = 0; recording < 2; ++recording) {
    Graphs graphs(process);
    launch(loop);
    launch(plain);
    graphs.flush();
    REQUIRE(graphs.kernels.size() == 2);
    std::vector<std::uint32_t> conditional;
    for (const format::GraphNodeRow& row : graphs.graph_nodes)
      if ((row.flags & format::kGraphNodeConditional) != 0) conditional.push_back(row.graph_id);
    CHECK(std::count(conditional.begin(), conditional.end(), graphs.kernels[0].graph_id) == 1);
    CHECK(std::count(conditional.begin(), conditional.end(), graphs.kernels[1].graph_id) == 0);
  }
  fakecupti_graph_destroy(with, loop);
  fakecupti_graph_destroy(body, plain);
}

TEST_CASE("calls that begin and end captures are watched by name, from the opening on", "[source]") {
  CuptiProcess process;
  REQUIRE(cupti_prepare(process.seams()).working);
  for (const char* function : {"cudaStreamBeginCapture_v10000", "cudaStreamBeginCapture_ptsz_v10000",
                               "cudaStreamBeginCaptureToGraph_v12030", "cudaStreamEndCapture_v10000",
                               "cuStreamBeginCapture_v2", "cuStreamBeginCaptureToGraph", "cuStreamEndCapture_ptsz"}) {
    INFO(function);
    CHECK(fakecupti_callback_enabled(function));
  }
  CHECK_FALSE(fakecupti_callback_enabled("cudaStreamIsCapturing_v10000"));
  CHECK_FALSE(fakecupti_callback_enabled(kLaunch));
  { Graphs graphs(process); }
  CHECK(fakecupti_callback_enabled("cudaStreamEndCapture_v10000"));
}

TEST_CASE("ranges are recorded from the begin of the first capture to the end of the last", "[source]") {
  CuptiProcess process;
  REQUIRE(cupti_prepare(process.seams()).working);
  const auto begin = [](const char* function, const void* stream, std::uint32_t result = 0) {
    fakecupti_call_on_stream(function, stream, result);
    return detail::is_recording();
  };
  const auto end = begin;
  const int a = 0;
  const int b = 0;
  CHECK_FALSE(detail::is_recording());
  SECTION("of one stream, told twice") {
    CHECK(begin("cuStreamBeginCapture_v2", &a));
    CHECK(begin("cudaStreamBeginCapture_v10000", &a));
    CHECK_FALSE(end("cuStreamEndCapture", &a));
    CHECK_FALSE(end("cudaStreamEndCapture_v10000", &a));
  }
  SECTION("of two streams") {
    CHECK(begin("cudaStreamBeginCapture_v10000", &a));
    CHECK(begin("cudaStreamBeginCaptureToGraph_v12030", &b));
    CHECK(end("cudaStreamEndCapture_v10000", &a));
    CHECK_FALSE(end("cudaStreamEndCapture_v10000", &b));
  }
  SECTION("of the default streams of two threads, which have one handle") {
    const void* const per_thread = reinterpret_cast<const void*>(2);
    CHECK(begin("cudaStreamBeginCapture_ptsz_v10000", nullptr));
    std::thread([&] { CHECK(begin("cudaStreamBeginCapture_v10000", per_thread)); }).join();
    CHECK(end("cudaStreamEndCapture_v10000", per_thread));
    // The other thread is gone; a release ends what is left.
    CHECK(cupti_release(soon()).ok());
    CHECK_FALSE(detail::is_recording());
  }
  SECTION("not where the begin failed") { CHECK_FALSE(begin("cudaStreamBeginCapture_v10000", &a, 900)); }
  SECTION("also where the end failed, but for the wrong thread") {
    CHECK(begin("cudaStreamBeginCapture_v10000", &a));
    CHECK(end("cudaStreamEndCapture_v10000", &a, 908));
    CHECK_FALSE(end("cudaStreamEndCapture_v10000", &a, 901));
  }
  SECTION("not after a fatal error, since no end will be heard of") {
    CHECK(begin("cudaStreamBeginCapture_v10000", &a));
    fakecupti_fatal_error(CUPTI_ERROR_UNKNOWN);
    CHECK_FALSE(detail::is_recording());
  }
}

TEST_CASE("records that come after their graph was destroyed find its nodes", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  FakeGraph* graph = fakecupti_graph_create();
  const std::uint32_t made = capture(graph);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  fakecupti_set_delivery(kFakeHeld);
  launch(exec);
  fakecupti_graph_destroy(graph, exec);
  graphs.flush();
  CHECK(graphs.kernels.empty());
  fakecupti_deliver();
  CHECK(graphs.made_by() == std::vector{made});
}

TEST_CASE("graphs are watched between recordings too, and cost nothing else", "[source]") {
  CuptiProcess process;
  REQUIRE(cupti_prepare(process.seams()).working);
  CHECK_FALSE(callback_state().noting.load());
  { Graphs graphs(process); }
  CHECK(fakecupti_calls("cuptiEnableDomain") == 0);  // contexts, modules and streams would call as well
}

TEST_CASE("a library that tells no node ids is asked for no graphs", "[source][fault]") {
  CuptiProcess process;
  process.change = [](CuptiApi& api) { api.cuptiGetGraphNodeId = nullptr; };
  Graphs graphs(process);
  CHECK_FALSE(fakecupti_callback_enabled("cudaStreamBeginCapture_v10000"));
  CHECK(graphs.counts().empty());
}

TEST_CASE("after a fatal error nothing is asked of CUPTI about graphs", "[source][fault]") {
  CuptiProcess process;
  static std::atomic<int> asked;
  asked = 0;
  process.change = [](CuptiApi& api) {
    api.cuptiGetGraphNodeId = +[](CUgraphNode, std::uint64_t* id) {
      *id = static_cast<std::uint64_t>(++asked);
      return CUPTI_SUCCESS;
    };
  };
  Graphs graphs(process);
  CUpti_GraphData graph{};
  graph.node = reinterpret_cast<CUgraphNode>(&graph);
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph;
  cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
  CHECK(asked == 1);
  fakecupti_fatal_error(CUPTI_ERROR_UNKNOWN);
  cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
  CHECK(asked == 1);
}

TEST_CASE("a copy that does not say what kind of node it is has its original's", "[source]") {
  cupti::GraphNodes nodes;
  nodes.watch(handles_as_ids(), &fake_realtime);
  nodes.begin();
  CUpti_GraphData data{};
  data.node = reinterpret_cast<CUgraphNode>(std::uint64_t{1});
  data.nodeType = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  nodes.on_callback(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
  data.originalNode = data.node;
  data.node = reinterpret_cast<CUgraphNode>(std::uint64_t{2});
  data.nodeType = {};
  nodes.on_callback(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, data);
  const std::vector<format::GraphNodeRow> rows = nodes.take_news().rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].node == 2);
  CHECK(rows[1].flags == format::kGraphNodeConditional);
}

TEST_CASE("a node whose graph is said to be its own original is not taken for that graph's", "[source]") {
  cupti::GraphNodes nodes;
  nodes.watch(handles_as_ids(), &fake_realtime);
  nodes.begin();
  CUpti_GraphData data{};
  data.graph = data.originalGraph = reinterpret_cast<CUgraph>(std::uint64_t{5});
  data.node = reinterpret_cast<CUgraphNode>(std::uint64_t{1});
  data.nodeType = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  nodes.on_callback(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
  data.originalGraph = nullptr;
  data.node = reinterpret_cast<CUgraphNode>(std::uint64_t{2});
  nodes.on_callback(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
  nodes.take_news();
  nodes.on_callback(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, data);
  const std::vector<format::GraphNodeRow> gone = nodes.take_news().rows;
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].node == 2);
}

TEST_CASE("nodes past the bound are counted and not known", "[source]") {
  cupti::GraphNodes nodes;
  nodes.watch(handles_as_ids(), &fake_realtime);
  nodes.begin();
  cupti::prepare_callback_state();
  cupti::start_noting(&NotedLaunches::note, nullptr);
  CUpti_CallbackData call{};
  call.correlationId = 77;
  call.callbackSite = CUPTI_API_ENTER;
  cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 211, &call);
  const auto create = [&](std::uint64_t first, std::uint64_t count) {
    CUpti_GraphData data{};
    for (std::uint64_t node = first; node < first + count; ++node) {
      data.node = reinterpret_cast<CUgraphNode>(node);
      nodes.on_callback(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
    }
  };
  create(1, cupti::GraphNodes::kMaxNodes - 1);
  CHECK(nodes.take_news().rows.size() == cupti::GraphNodes::kMaxNodes - 1);
  create(cupti::GraphNodes::kMaxNodes, 3);
  const cupti::GraphNodes::News news = nodes.take_news();
  CHECK(news.rows.size() == 1);
  CHECK(news.rows[0].correlation == 77);
  CHECK(news.dropped == 2);
  // What goes makes room.
  CUpti_GraphData data{};
  data.node = reinterpret_cast<CUgraphNode>(std::uint64_t{1});
  nodes.on_callback(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, data);
  create(cupti::GraphNodes::kMaxNodes + 3, 1);
  const std::vector<format::GraphNodeRow> rows = nodes.take_news().rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].node == 1);
  CHECK(rows[0].flags == format::kGraphNodeGone);
  CHECK(rows[1].node == cupti::GraphNodes::kMaxNodes + 3);
  call.callbackSite = CUPTI_API_EXIT;
  cupti::on_callback(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 211, &call);
  cupti::stop_noting();
  nodes.end();
  create(1, 1);
  CHECK(nodes.take_news().rows.empty());
  nodes.begin();
  CHECK(nodes.take_news().rows.empty());
}

TEST_CASE("graphs made on several threads at once keep their calls", "[source]") {
  CuptiProcess process;
  Graphs graphs(process);
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  std::vector<std::thread> threads;
  std::atomic<int> replayed{0};
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      const FakeKernel k = kernel("k");
      for (int round = 0; round < kRounds; ++round) {
        FakeGraph* graph = fakecupti_graph_create();
        fakecupti_graph_capture(kLaunch, graph, &k);
        FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
        fakecupti_graph_destroy(graph, exec);
        ++replayed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  graphs.flush();
  REQUIRE(replayed == kThreads * kRounds);
  // Each captured node and its copy, with the same call, which no other node has.
  std::map<std::uint32_t, int> uses;
  for (const format::GraphNodeRow& row : graphs.graph_nodes) {
    if ((row.flags & format::kGraphNodeGone) == 0) ++uses[row.correlation];
  }
  CHECK(uses.size() == kThreads * kRounds);
  for (const auto& [call, count] : uses) CHECK(count == 2);
}

}  // namespace rangefinder::source::testing
