// SPDX-License-Identifier: MIT
#include "summary/live_summary.hpp"

#include "session/session_fixture.hpp"
#include "summary/summary_fixture.hpp"
#include "support/resident_memory.hpp"

#include <rangefinder/detail/autograd.hpp>
#include <rangefinder/detail/suspended_range.hpp>
#include <rangefinder/projection.hpp>

#include <fake_cupti.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;
using namespace rangefinder::summary::testing;

TEST_CASE("a program learns its figures while it runs", "[summary]") {
  SimulatedRecording recording;
  summary::LiveSummary live(recording.core());
  CHECK(live.update().rows.empty());
  for (int step = 0; step < 3; ++step) {
    {
      const ProfileRange outer{"step"};
      {
        const ProfileRange forward{"forward"};
        recording.launch(7, 5, 100);
        recording.launch(13, 55, 100);  // overlaps by 50
        recording.advance(10);
      }
      {
        const ProfileRange op{"aten::add", Category::operators()};
        recording.launch(7, 200, 7);
      }
      recording.advance(90);
    }
    recording.launch(7, 500, 1'000);  // outside of any range
    recording.advance(2'000);
    recording.core().step();
    const Summary now = live.update();
    const auto steps = static_cast<std::uint64_t>(step + 1);
    CHECK(now.steps == steps);
    CHECK(now.step_ns == static_cast<std::int64_t>(steps) * 2'100);
    REQUIRE(now.rows.size() == 2);
    CHECK(now.rows[0].path == "step");
    CHECK(now.rows[0].count == steps);
    CHECK(now.rows[0].host_ns == static_cast<std::int64_t>(steps) * 100);
    CHECK(now.rows[0].gpu_ops == 3 * steps);
    CHECK(now.rows[0].gpu_sum_ns == static_cast<std::int64_t>(steps) * 207);
    CHECK(now.rows[0].gpu_busy_ns == static_cast<std::int64_t>(steps) * 157);
    CHECK(now.rows[0].gpu_span_ns == static_cast<std::int64_t>(steps) * 212);
    CHECK(now.rows[1].path == "step/forward");
    CHECK(now.rows[1].depth == 1);
    CHECK(now.rows[1].gpu_busy_ns == static_cast<std::int64_t>(steps) * 150);
    CHECK(now.gpu_total_ns == static_cast<std::int64_t>(steps) * 1'207);
    CHECK(now.gpu_owned_ns == static_cast<std::int64_t>(steps) * 207);
    CHECK(now.pending_launches == 0);
    CHECK(now.device.full);
    CHECK(now.health.complete());
  }
  const Summary last = live.update();
  compare(last, recording.stop());
}

TEST_CASE("a range that was suspended counts once it is over, with the time in which it waited", "[summary]") {
  SimulatedRecording recording;
  summary::LiveSummary live(recording.core());
  const auto begin = [](std::string_view name) {
    return detail::begin_text_with_slow(name.data(), name.size(), 0, {detail::ExtraKind::kUnsigned, 1, {}});
  };
  std::vector<detail::SuspendedRange> waiting;
  for (int request = 0; request < 3; ++request) {
    const detail::OpenRange open = begin("request");
    recording.launch(7, 5, 100);
    recording.advance(10);
    waiting.push_back(detail::suspend_range(open));
    recording.advance(90);
  }
  CHECK(live.update().rows.empty());
  for (const detail::SuspendedRange& range : waiting) {
    const detail::OpenRange open = detail::resume_range(range);
    const detail::OpenRange inner = begin("model");
    recording.launch(7, 200, 7);
    recording.advance(20);
    detail::end(inner.token, inner.word);
    detail::end(open.token, open.word);
    recording.launch(7, 500, 1'000);  // outside of any range
    recording.advance(1'000);
  }
  const Summary last = live.update();
  REQUIRE(last.find("request") != nullptr);
  CHECK(last.find("request")->count == 3);
  CHECK(last.find("request")->host_ns == 320 + 1240 + 2160);
  CHECK(last.find("request")->gpu_sum_ns == 3 * 107);
  REQUIRE(last.find("request/model") != nullptr);
  CHECK(last.find("request/model")->count == 3);
  compare(last, recording.stop());
}

TEST_CASE("a range counts when it is over, and what was launched in it as it arrives", "[summary]") {
  SimulatedRecording recording;
  summary::LiveSummary live(recording.core());
  std::uint32_t late = 0;
  {
    const ProfileRange range{"range"};
    recording.launch(7, 0, 10);
    FakeKernel kernel;
    kernel.open = true;
    late = fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
    recording.advance(100);
    CHECK(live.update().rows.empty());  // open
  }
  const Summary early = live.update();
  REQUIRE(early.find("range") != nullptr);  // ended, and a kernel runs
  CHECK(early.find("range")->count == 1);
  CHECK(early.find("range")->host_ns == 100);
  CHECK(early.pending_launches > 0);  // CUPTI may hold back the other kernel, too
  fakecupti_complete(late, fakecupti_now() - 50, fakecupti_now());
  Summary summary = live.update();
  REQUIRE(summary.find("range") != nullptr);
  CHECK(summary.find("range")->count == 1);
  CHECK(summary.find("range")->gpu_sum_ns == 60);
  CHECK(summary.find("range")->gpu_busy_ns == 60);
  CHECK(summary.find("nothing") == nullptr);
  CHECK(summary.pending_launches == 0);
}

TEST_CASE("stretches of several updates count once where they overlap", "[summary]") {
  SimulatedRecording recording;
  summary::LiveSummary live(recording.core());
  const auto run = [&](std::uint32_t stream, std::int64_t from, std::uint64_t duration) {
    FakeKernel kernel;
    kernel.stream = stream;
    kernel.open = true;
    const std::uint32_t launched = fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
    recording.advance(1'000);
    const std::uint64_t begin = fakecupti_now() + static_cast<std::uint64_t>(from) - 500;
    fakecupti_complete(launched, begin, begin + duration);
    return live.update();
  };
  {
    const ProfileRange outer{"outer"};
    recording.advance(1);
    const ProfileRange inner{"inner"};
    recording.advance(1);
    FakeKernel kernel;
    kernel.open = true;  // which all others overlap
    const std::uint32_t whole = fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
    const std::uint64_t begin = fakecupti_now();
    (void)run(7, 0, 100);
    (void)run(13, -200, 250);
    (void)run(7, 100, 50);
    (void)run(13, 0, 100);
    fakecupti_complete(whole, begin + 200, begin + 2'700);
    (void)live.update();
  }
  recording.advance(1'000);
  const Summary last = live.update();
  REQUIRE(last.find("outer/inner") != nullptr);
  CHECK(last.find("outer/inner")->gpu_ops == 5);
  CHECK(last.find("outer/inner")->gpu_sum_ns == 3'000);
  CHECK(last.find("outer")->gpu_busy_ns == last.find("outer/inner")->gpu_busy_ns);
  compare(last, recording.stop());
}

TEST_CASE("the backward pass is summed up where the forward pass made it", "[summary]") {
  const Numbering numbering;
  SimulatedRecording recording;
  summary::LiveSummary live(recording.core());
  {
    const ProfileRange forward{"forward"};
    for (const char* name : {"small", "large"}) {
      recording.advance(10);
      const ProfileRange layer{std::string_view(name)};
      recording.launch(7, 0, 5);
      ++next_number;
      recording.advance(10);
    }
    recording.advance(10);
  }
  std::thread engine([&] {
    thread_number = 2;
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    const auto run = [&](std::int64_t number, std::uint64_t duration) {
      recording.advance(10);
      CHECK(detail::node_begin("node", number, 1));
      recording.launch(7, 0, duration);
      recording.advance(10);
      detail::node_end();
      recording.advance(10);
    };
    run(1, 100);
    recording.launch(7, 0, 1'000);  // between two nodes: of the one before
    run(0, 30);
    run(-1, 7);
  });
  {
    const ProfileRange backward{"backward"};
    recording.advance(10);
    engine.join();
    recording.advance(2'000);
  }
  const Summary summary = live.update();
  const auto row = [&](const char* path) { return summary.find(path) != nullptr ? *summary.find(path) : SummaryRow{}; };
  CHECK(row("forward/small").gpu_forward_ns == 5);
  CHECK(row("forward/small").gpu_backward_ns == 30);
  CHECK(row("forward/small").gpu_sum_ns == 35);
  CHECK(row("forward/large").gpu_backward_ns == 1'100);
  CHECK(row("forward").gpu_forward_ns == 10);
  CHECK(row("forward").gpu_backward_ns == 1'130);
  CHECK(row("forward").gpu_recompute_ns == 0);
  CHECK(row("forward").gpu_accumulation_ns == 0);
  CHECK(row("backward").count == 1);
  CHECK(row("backward").gpu_backward_ns == 0);
  const Timeline timeline = recording.stop();
  compare(live.update(), timeline);
}

TEST_CASE("a graph is on its layers in the summary, as in reports", "[summary]") {
  const Numbering numbering;
  SimulatedRecording recording;
  summary::LiveSummary live(recording.core());
  FakeGraph* graph = fakecupti_graph_create();
  const auto capture = [&](const char* layer, std::uint64_t duration) {
    const ProfileRange range{std::string_view(layer)};
    recording.advance(10);
    FakeKernel kernel;
    kernel.duration_ns = duration;
    fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &kernel);
    ++next_number;  // a node of autograd
    recording.advance(10);
  };
  const auto replay = [&](const char* name, FakeGraphExec* exec, std::uint32_t stream) {
    const ProfileRange range{std::string_view(name)};
    recording.advance(10);
    fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, stream);
    recording.advance(1'000);
  };
  FakeGraphExec* exec = nullptr;
  {
    const ProfileRange range{"capture"};
    capture("attention", 100);
    capture("mlp", 30);
    // The first layer's backward, by autograd's engine, and a gradient that it adds up.
    std::thread([&] {
      thread_number = 2;
      const auto run = [&](std::int64_t number, std::uint64_t duration) {
        CHECK(detail::node_begin("node", number, 1));
        recording.advance(10);
        FakeKernel kernel;
        kernel.duration_ns = duration;
        fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &kernel);
        recording.advance(10);
        detail::node_end();
        recording.advance(10);
      };
      run(0, 7);
      run(-1, 3);
    }).join();
  }
  {
    const ProfileRange range{"instantiate"};
    recording.advance(10);
    exec = fakecupti_graph_instantiate(graph);
    recording.advance(10);
  }
  replay("first", exec, 7);
  std::thread([&] { replay("second", exec, 13); }).join();
  recording.advance(2'000);
  fakecupti_graph_destroy(graph, exec);
  const Summary early = live.update();
  REQUIRE(early.find("capture/attention") != nullptr);
  CHECK(early.find("capture/attention")->gpu_ops == 4);
  const Summary last = live.update();
  const Timeline timeline = recording.stop();
  compare(last, timeline);
  REQUIRE(last.find("first") != nullptr);
  CHECK(last.find("first")->gpu_ops == 1);
  CHECK(last.find("second")->gpu_sum_ns == 3);
  CHECK(last.find("capture/attention")->gpu_forward_ns == 200);
  CHECK(last.find("capture/attention")->gpu_backward_ns == 14);
  CHECK(last.find("second")->gpu_backward_ns == 0);

  const Projection projection = project(timeline, {Attribution::kCapture, true, false});
  std::map<std::string, std::int64_t> sums;
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    sums[std::string(timeline.text(timeline.ranges.name[row]))] = projection.exclusive[row].gpu_sum_ns;
  CHECK(sums["attention"] == 200);
  CHECK(sums["mlp"] == 60);
  CHECK(sums["instantiate"] == 0);
  CHECK(sums["first"] == 10);  // made outside of any range of its thread
  CHECK(projection.account.owned.gpu_ops == projection.account.total.gpu_ops);
}

TEST_CASE("a graph that is updated while a launch of it is queued counts as it was launched", "[summary]") {
  SimulatedRecording recording;
  summary::LiveSummary live(recording.core());
  const auto capture = [&](const char* layer) {
    FakeGraph* graph = fakecupti_graph_create();
    const ProfileRange range{std::string_view(layer)};
    recording.advance(10);
    FakeKernel kernel;
    kernel.duration_ns = 100;
    fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &kernel);
    recording.advance(10);
    return graph;
  };
  const auto replay = [&](FakeGraphExec* exec) {
    const ProfileRange range{"replay"};
    recording.advance(10);
    fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    recording.advance(10);
  };
  FakeGraph* graph = capture("old");
  FakeGraph* other = capture("new");
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  fakecupti_set_launch_latency(5'000);
  replay(exec);
  recording.advance(100);
  fakecupti_graph_update(exec, other);  // the launch has not begun
  recording.advance(10'000);
  replay(exec);
  recording.advance(10'000);
  (void)live.update();
  const Summary last = live.update();
  fakecupti_set_launch_latency(0);
  compare(last, recording.stop());
  REQUIRE(last.find("old") != nullptr);
  CHECK(last.find("old")->gpu_forward_ns == 100);
  CHECK(last.find("new")->gpu_forward_ns == 100);
}

TEST_CASE("a range of a graph that was captured before the session counts for what it owns alone", "[summary]") {
  SimulatedRecording recording;
  FakeGraph* graph = fakecupti_graph_create();
  fakecupti_call_on_stream("cudaStreamBeginCapture_v10000", nullptr, 0);
  {
    const ProfileRange outer{"model"};
    for (const char* layer : {"replayed", "replayed, and run", "not replayed"}) {
      recording.advance(10);
      const ProfileRange range{std::string_view(layer)};
      recording.advance(10);
      if (layer == std::string_view("not replayed")) continue;
      FakeKernel kernel;
      kernel.duration_ns = 100;
      fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &kernel);
      recording.advance(10);
    }
    recording.advance(10);
  }
  fakecupti_call_on_stream("cudaStreamEndCapture_v10000", nullptr, 0);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  recording.advance(1'000'000);
  recording.begin_again();
  summary::LiveSummary live(recording.core());
  CHECK(live.update().rows.empty());
  recording.advance(10);
  {
    const ProfileRange outer{"model"};
    recording.advance(10);
    const ProfileRange range{"replayed, and run"};
    recording.advance(5);
    fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    recording.advance(1'000);
  }
  recording.advance(10'000);
  (void)live.update();
  const Summary last = live.update();
  REQUIRE(last.find("model") != nullptr);
  CHECK(last.find("model")->count == 1);
  CHECK(last.find("model")->host_ns == 1'015);
  CHECK(last.find("model")->gpu_ops == 2);
  CHECK(last.find("model")->gpu_busy_ns == 200);
  CHECK(last.find("model")->gpu_forward_ns == 200);
  REQUIRE(last.find("model/replayed") != nullptr);
  CHECK(last.find("model/replayed")->count == 0);
  CHECK(last.find("model/replayed")->host_ns == 0);
  CHECK(last.find("model/replayed")->gpu_ops == 1);
  CHECK(last.find("model/replayed")->gpu_forward_ns == 100);
  CHECK(last.find("model/replayed, and run")->count == 1);
  CHECK(last.find("model/replayed, and run")->host_ns == 1'005);
  CHECK(last.find("model/replayed, and run")->gpu_forward_ns == 100);
  CHECK(last.find("model/not replayed") == nullptr);
  compare(last, recording.stop());
}

TEST_CASE("without a device there are the figures of the host", "[summary]") {
  const ScratchFolder folder;
  Session session(host_only(folder.file("a.rfcap")));
  REQUIRE(session.status().ok());
  {
    const ProfileRange outer{"outer"};
    const ProfileRange inner{"inner"};
  }
  session.step();
  const Summary summary = session.summary();
  REQUIRE(summary.rows.size() == 2);
  CHECK(summary.rows[1].path == "outer/inner");
  CHECK(summary.rows[1].gpu_ops == 0);
  CHECK(summary.steps == 1);
  CHECK_FALSE(summary.device.full);
  REQUIRE(session.stop().ok());
  CHECK(session.summary().rows.size() == 2);  // what was known stays known
}

TEST_CASE("a summary may be asked for after each of a thousand steps", "[summary]") {
  const ScratchFolder folder;
  session::testing::ManualClock clock;
  session::Dependencies parts;
  parts.clock = &clock;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  session::testing::Recording recording(options, parts);
  summary::LiveSummary live(*recording);
  std::int64_t settled = 0;
  std::int64_t most = 0;
  for (std::int64_t step = 1; step <= 1'500; ++step) {
    {
      const ProfileRange range{"work"};
      clock.advance(step <= 500 ? 1'000'000 : step - 500);  // the newest thousand took 1 to 1000 ns
    }
    recording->step(step == 7 ? 0 : 2);
    const Summary now = live.update();
    REQUIRE(now.steps == static_cast<std::uint64_t>(step));
    REQUIRE(now.rows.size() == 1);
    CHECK(now.rows[0].count == static_cast<std::uint64_t>(step));
    CHECK(now.step_p50_ns == (step <= 750 ? 1'000'000 : now.step_p50_ns));
    const std::int64_t resident = rangefinder::testing::resident_bytes();
    if (step == 50) settled = resident;
    if (step > 50) most = std::max(most, resident - settled);
  }
  const Summary last = live.update();
  CHECK(last.step_p50_ns == 500);
  CHECK(last.step_p95_ns == 950);
  CHECK(last.step_p99_ns == 990);
  CHECK(last.items == 2 * 1'499);
  CHECK(last.items_ns == last.step_ns - 1'000'000);
  CHECK(last.items_per_second() == Approx(2'998e9 / static_cast<double>(last.items_ns)));
  if (rangefinder::testing::resident_memory_counts()) CHECK(most <= std::int64_t{4} << 20);
  REQUIRE(recording->stop().ok());
}

#if !defined(RANGEFINDER_ADDRESS_SANITIZER) && \
    !defined(RANGEFINDER_THREAD_SANITIZER)  // whose own locks a child may find taken
TEST_CASE("a child of fork may ask a session whatever another thread was doing with it", "[summary][fault]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  SECTION("one capture") {}
  SECTION("captures that follow each other") {
    options.on_capture_ready = [](const CaptureReady&) {};
  }
  Session session(std::move(options));
  REQUIRE(session.status().ok());
  std::atomic<bool> ends{false};
  std::atomic<bool> begun{false};
  std::thread busy([&] {
    while (!ends) {
      (void)session.summary();
      (void)session.health();
      (void)session.step_number();
      session.step();
      begun = true;
    }
  });
  CHECK(eventually([&] { return begun.load(); }));
  int children_that_ended = 0;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(10);  // one that hangs is killed
      const bool nothing = session.summary().rows.empty() && session.health().complete() && !session.device().full &&
                           !session.running() && session.flush().ok() && !session.dump().ok() && session.stop().ok();
      (void)session.step_number();
      session.step();
      ::_exit(nothing ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    children_that_ended += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ends = true;
  busy.join();
  CHECK(children_that_ended == 100);
  CHECK(session.stop().ok());
}
#endif
