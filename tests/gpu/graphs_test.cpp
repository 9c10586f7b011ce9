// SPDX-License-Identifier: MIT
//
// Graphs as CUPTI tells of them on a device. A process each: before 13.1 update 1, graph launches have wrong
// correlation ids in every recording but the first.
#include "gpu_recording.hpp"

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

using Graph = CudaProgram::Graph;
using GraphExec = CudaProgram::GraphExec;

template <typename T>
T got(Result<T> result) {
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}

/// So many kernels, captured in a range of that name.
Graph captured_in(CudaProgram& program, const char* range, int kernels) {
  return got(program.capture([&] {
    const ProfileRange open{range};
    Status status;
    for (int i = 0; i < kernels && status.ok(); ++i) status = program.launch(0);
    return status;
  }));
}

void replay(CudaProgram& program, GraphExec exec, int times, const char* range = "replay") {
  for (int i = 0; i < times; ++i) {
    const ProfileRange open{range};
    REQUIRE(program.replay(exec).ok());
  }
}

}  // namespace

TEST_CASE("work of a graph belongs to the ranges that captured it, and to those that replay it", "[capture]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  const Timeline timeline = recorded("graph_capture", [&](Session&) {
    const Graph graph = got(program.capture([&] {
      {
        const ProfileRange range{"layer.0"};
        for (int i = 0; i < 2; ++i)
          if (Status status = program.launch(0, 1000); !status.ok()) return status;
      }
      const ProfileRange range{"layer.1"};
      return program.launch(0);
    }));
    const Graph copy = got(program.clone(graph));
    GraphExec first, second;
    {
      const ProfileRange range{"instantiate"};
      first = got(program.instantiate(graph));
      second = got(program.instantiate(copy));
    }
    replay(program, first, 5);
    replay(program, second, 3, "replay of a clone");
    // What still runs has its ranges all the same.
    REQUIRE(program.destroy(first).ok());
    REQUIRE(program.destroy(second).ok());
    REQUIRE(program.destroy(copy).ok());
    REQUIRE(program.destroy(graph).ok());
    REQUIRE(program.synchronize().ok());
  });
  CHECK(operations(timeline, Attribution::kAuto) == Operations{{"layer.0", 2 * 8}, {"layer.1", 8}});
  CHECK(operations(timeline, Attribution::kLaunch) == Operations{{"replay", 3 * 5}, {"replay of a clone", 3 * 3}});
  CHECK(timeline.health.complete());
}

TEST_CASE("a graph that was captured before the session has its ranges", "[before]") {
  const DeviceState device = prepare();  // before CUDA is initialised
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  CAPTURE(device.reason);
  REQUIRE(device.full);
  const GraphExec exec = got(program.instantiate(captured_in(program, "layer", 3)));
  const Timeline timeline = recorded("graph_before", [&](Session&) {
    replay(program, exec, 4);
    REQUIRE(program.synchronize().ok());
  });
  CHECK(operations(timeline, Attribution::kAuto) == Operations{{"layer", 3 * 4}});
  CHECK(timeline.health.complete());
}

TEST_CASE("an update gives the nodes of a graph to the range of the other one", "[update]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  const Timeline timeline = recorded("graph_update", [&](Session&) {
    const Graph before = captured_in(program, "before", 2), after = captured_in(program, "after", 2);
    const GraphExec exec = got(program.instantiate(before));
    replay(program, exec, 3);
    {
      const ProfileRange range{"update"};
      REQUIRE(program.update(exec, after).ok());
    }
    replay(program, exec, 5);
    REQUIRE(program.synchronize().ok());
  });
  CHECK(operations(timeline, Attribution::kAuto) == Operations{{"before", 2 * 3}, {"after", 2 * 5}});
  CHECK(timeline.health.complete());
}

TEST_CASE("nodes of a child graph have the ranges that captured the child", "[child]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  const Timeline timeline = recorded("graph_child", [&](Session&) {
    const Graph child = captured_in(program, "child", 2), other = captured_in(program, "other", 1);
    const Graph middle = got(program.empty_graph()), parent = got(program.empty_graph());
    {
      const ProfileRange range{"middle"};
      REQUIRE(program.add_kernel(middle).ok());
      REQUIRE(program.add_child(middle, child).ok());
    }
    {
      const ProfileRange range{"parent"};
      REQUIRE(program.add_child(parent, other).ok());
      REQUIRE(program.add_child(parent, middle).ok());
      REQUIRE(program.add_kernel(parent).ok());
    }
    const GraphExec exec = got(program.instantiate(parent));
    replay(program, exec, 4);
    REQUIRE(program.synchronize().ok());
  });
  CHECK(operations(timeline, Attribution::kAuto) ==
        Operations{{"child", 2 * 4}, {"other", 4}, {"middle", 4}, {"parent", 4}});
  CHECK(timeline.health.complete());
}

TEST_CASE("of a conditional node a capture says that its counts are lower bounds", "[conditional]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  std::string unsupported;
  const Timeline timeline = recorded("graph_conditional", [&](Session&) {
    const Graph graph = got(program.empty_graph());
    {
      const ProfileRange range{"plain"};
      REQUIRE(program.add_kernel(graph).ok());
    }
    Result<Graph> body = program.add_conditional(graph);
    if (!body) {
      unsupported = body.error().message();
      return;
    }
    {
      const ProfileRange range{"body"};
      for (int i = 0; i < 2; ++i) REQUIRE(program.add_kernel(*body).ok());
    }
    const GraphExec exec = got(program.instantiate(graph));
    replay(program, exec, 3);
    REQUIRE(program.synchronize().ok());
  });
  if (!unsupported.empty()) RANGEFINDER_SKIP(unsupported);
  Operations found = operations(timeline, Attribution::kAuto);
  std::printf("conditional node: %llu of 6 operations of its body recorded, %llu of them in the range that made them\n",
              static_cast<unsigned long long>(timeline.activities.size() - 3),
              static_cast<unsigned long long>(found["body"]));
  CHECK(found["plain"] == 3);
  CHECK(found["body"] == timeline.activities.size() - 3);
  CHECK(found["body"] <= 6);
  CHECK_FALSE(note_with(timeline, "conditional nodes").empty());
}

TEST_CASE("a launch of a graph as a whole is one activity of the range that replays it", "[whole]") {
  const bool prepared = prepare().full;  // before CUDA is initialised
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  REQUIRE(prepared);
  SessionOptions options;
  options.graph_tracing = GraphTracing::kWhole;
  const Timeline timeline = recorded(
      "graph_whole",
      [&](Session&) {
        const GraphExec exec = got(program.instantiate(captured_in(program, "layer", 10)));
        replay(program, exec, 20);
        {
          const ProfileRange range{"alone"};
          REQUIRE(program.launch(0).ok());
        }
        REQUIRE(program.synchronize().ok());
      },
      options);
  CHECK(count_of(timeline, ActivityKind::kGraph) == 20);
  CHECK(count_of(timeline, ActivityKind::kKernel) == 1);
  CHECK(operations(timeline, Attribution::kLaunch) == Operations{{"replay", 20}, {"alone", 1}});
  CHECK(timeline.health.complete());
}

TEST_CASE("graphs go over between launches as a whole and nodes, and no launch is lost or counted twice",
          "[automatic]") {
  const DeviceState device = prepare();  // before CUDA is initialised
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  CAPTURE(device.reason);
  REQUIRE(device.full);
  SessionOptions options;
  options.graph_tracing = GraphTracing::kAutomatic;
  options.graph_node_replays = 2;
  constexpr int kKernels = 10, kRounds = 20, kReplays = 4;
  const Timeline timeline = recorded(
      "graph_automatic",
      [&](Session& session) {
        const GraphExec exec = got(program.instantiate(captured_in(program, "layer", kKernels)));
        for (int round = 0; round < kRounds; ++round) {
          replay(program, exec, kReplays);
          REQUIRE(program.synchronize().ok());
          REQUIRE(session.flush().ok());  // at a flush it is decided
        }
      },
      options);
  const std::uint64_t kernels = count_of(timeline, ActivityKind::kKernel);
  const std::uint64_t whole = count_of(timeline, ActivityKind::kGraph);
  std::printf("%llu launches of a graph as a whole, %llu operations of others\n",
              static_cast<unsigned long long>(whole), static_cast<unsigned long long>(kernels));
  CHECK(whole > 2 * kReplays);
  CHECK(kernels >= 2 * kKernels);
  CHECK(kernels % kKernels == 0);
  CHECK(kernels / kKernels + whole == kRounds * kReplays);
  CHECK(operations(timeline, Attribution::kLaunch) == Operations{{"replay", kernels + whole}});
  CHECK(timeline.health.complete());
}

// CUPTI 13.0.1 crashes where launches of such a graph are recorded as a whole.
TEST_CASE("a graph that was instantiated before the session is recorded by node, whatever is asked for", "[older]") {
  const bool prepared = prepare().full;  // before CUDA is initialised; whole launches are not asked for
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  REQUIRE(prepared);
  const GraphExec exec = got(program.instantiate(captured_in(program, "layer", 3)));
  replay(program, exec, 2);
  REQUIRE(program.synchronize().ok());
  SessionOptions options;
  options.graph_tracing = GraphTracing::kWhole;
  const Timeline timeline = recorded(
      "graph_older",
      [&](Session& session) {
        for (int i = 0; i < 3; ++i) {
          replay(program, exec, 2);
          REQUIRE(program.synchronize().ok());
          REQUIRE(session.flush().ok());
        }
      },
      options);
  CHECK(count_of(timeline, ActivityKind::kKernel) == 3 * 6);
  CHECK(count_of(timeline, ActivityKind::kGraph) == 0);
  CHECK_FALSE(note_with(timeline, "recorded node by node").empty());
}

TEST_CASE("a session that begins late records new graphs by node, and what is older too", "[late]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  const GraphExec exec = got(program.instantiate(captured_in(program, "not seen", 3)));
  replay(program, exec, 2);
  REQUIRE(program.synchronize().ok());
  SessionOptions options;
  options.graph_tracing = GraphTracing::kAutomatic;
  const Timeline timeline = recorded(
      "graph_late",
      [&](Session&) {
        replay(program, exec, 2);
        const GraphExec later = got(program.instantiate(captured_in(program, "layer", 2)));
        replay(program, later, 3);
        REQUIRE(program.synchronize().ok());
      },
      options);
  CHECK(operations(timeline, Attribution::kAuto) == Operations{{"replay", 3 * 2}, {"layer", 2 * 3}});
  CHECK_FALSE(note_with(timeline, "recorded node by node").empty());
}
