// SPDX-License-Identifier: MIT
#include "summary/live_summary.hpp"

#include "session/session_fixture.hpp"
#include "source/cupti/cupti_source.hpp"
#include "support/resident_memory.hpp"
#include "support/seed.hpp"

#include <rangefinder/projection.hpp>

#include <fake_cupti.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

constexpr std::uint64_t kStart = 1'000'000'000;

/// A recording with a simulated device; time moves when the test says so.
class SimulatedRecording {
 public:
  explicit SimulatedRecording(const std::string& output, CaptureMode mode = CaptureMode::kMapped) {
    ::setenv("RANGEFINDER_CUPTI_LIBRARY", FAKE_CUPTI_PATH, 1);
    fakecupti_reset();
    fakecupti_set_launch_latency(0);
    fakecupti_set_manual_clock(kStart + static_cast<std::uint64_t>(ManualClock::kRealtimeOffset));
    fakecupti_add_stream(1, 13, 0);
    source::CuptiOptions cupti;
    cupti.flush_period = 0ms;
    cupti.memory_bytes = 64 << 20;  // for all that a round holds back
    cupti.buffer_bytes = 64 << 10;
    source::CuptiSeams seams;
    seams.realtime_ns = +[]() noexcept { return static_cast<std::int64_t>(fakecupti_now()); };
    Parts parts;
    parts.clock = &clock_;
    parts.sources.push_back(std::make_shared<source::CuptiSource>(cupti, seams));
    SessionOptions options = host_only(output);
    options.cuda = true;
    options.mode = mode;
    options.memory_bytes = 2 * kLeastMemory;
    recording_ = std::make_unique<Recording>(options, parts);
    REQUIRE((*recording_)->device().reason == "");
  }
  ~SimulatedRecording() {
    recording_.reset();
    source::cupti_release(std::chrono::steady_clock::now() + 60s);
    ::unsetenv("RANGEFINDER_CUPTI_LIBRARY");
  }

  SessionCore& core() { return **recording_; }
  void advance(std::uint64_t ns) {
    clock_.advance(ns);
    fakecupti_advance(ns);
  }
  /// A kernel that begins `delay` from now.
  void launch(std::uint32_t stream, std::uint64_t delay, std::uint64_t duration) {
    FakeKernel kernel;
    kernel.stream = stream;
    kernel.begin_ns = fakecupti_now() + delay;
    kernel.end_ns = kernel.begin_ns + duration;
    fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
  }

 private:
  ManualClock clock_{kStart};
  std::unique_ptr<Recording> recording_;
};

/// The same rows, from the capture and the projection of all of it.
std::map<std::string, SummaryRow> rows_of(const Timeline& timeline) {
  const Projection projection = project(timeline, {});
  std::vector<std::string> paths(timeline.ranges.size());
  std::map<std::string, SummaryRow> rows;
  for (RangeIndex row = 0; row < timeline.ranges.size(); ++row) {
    if (timeline.ranges.kind[row] != RangeKind::kAnnotation) continue;
    const std::string name(timeline.text(timeline.ranges.name[row]));
    const RangeIndex parent = projection.parent[row];
    paths[row] = parent == kNone ? name : paths[parent] + "/" + name;
    SummaryRow& out = rows[paths[row]];
    const DeviceFigures& figures = projection.inclusive[row];
    out.name = name;
    out.depth = projection.depth[row];
    out.count += 1;
    out.host_ns += timeline.ranges.end_ns[row] - timeline.ranges.begin_ns[row];
    out.gpu_ops += figures.gpu_ops;
    out.gpu_sum_ns += figures.gpu_sum_ns;
    out.gpu_busy_ns += figures.gpu_busy_ns;
    if (figures.gpu_ops != 0) out.gpu_span_ns += figures.gpu_span_ns();
  }
  return rows;
}

void compare(const Summary& summary, const Timeline& timeline) {
  const std::map<std::string, SummaryRow> want = rows_of(timeline);
  CHECK(summary.rows.size() == want.size());
  for (const auto& [path, row] : want) {
    INFO(path);
    const SummaryRow* const have = summary.find(path);
    REQUIRE(have != nullptr);
    CHECK(have->name == row.name);
    CHECK(have->depth == row.depth);
    CHECK(have->count == row.count);
    CHECK(have->host_ns == row.host_ns);
    CHECK(have->gpu_ops == row.gpu_ops);
    CHECK(have->gpu_sum_ns == row.gpu_sum_ns);
    CHECK(have->gpu_busy_ns == row.gpu_busy_ns);
    CHECK(have->gpu_span_ns == row.gpu_span_ns);
  }
  const Projection projection = project(timeline, {});
  CHECK(summary.gpu_total_ns == projection.account.total.gpu_sum_ns);
  CHECK(summary.gpu_owned_ns == projection.account.owned.gpu_sum_ns);
  CHECK(summary.steps == timeline.steps.size());
  std::int64_t step_ns = 0;
  for (std::size_t i = 0; i < timeline.steps.size(); ++i)
    step_ns += timeline.steps.end_ns[i] - timeline.steps.begin_ns[i];
  CHECK(summary.step_ns == step_ns);
  CHECK(summary.pending_launches == 0);
  CHECK(summary.health.complete());
}

}  // namespace

TEST_CASE("a program learns its figures while it runs", "[summary]") {
  const ScratchFolder folder;
  SimulatedRecording recording(folder.file("a.rfcap"));
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
  REQUIRE(recording.core().stop().ok());
  compare(last, load(folder.file("a.rfcap")));
}

TEST_CASE("a range counts once everything launched in it has arrived", "[summary]") {
  const ScratchFolder folder;
  SimulatedRecording recording(folder.file("a.rfcap"));
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
  CHECK(live.update().rows.empty());          // ended, and a kernel runs
  CHECK(live.update().pending_launches > 0);  // CUPTI may hold back the other kernel, too
  fakecupti_complete(late, fakecupti_now() - 50, fakecupti_now());
  Summary summary = live.update();
  REQUIRE(summary.find("range") != nullptr);
  CHECK(summary.find("range")->gpu_sum_ns == 60);
  CHECK(summary.find("nothing") == nullptr);
  CHECK(summary.pending_launches == 0);
}

TEST_CASE("the summary equals the projection of the finished capture", "[summary][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("summary"));
  for (const CaptureMode mode : {CaptureMode::kMapped, CaptureMode::kRing, CaptureMode::kBuffered}) {
    for (int round = 0; round < 8; ++round) {
      const ScratchFolder folder;
      SimulatedRecording recording(folder.file("a.rfcap"), mode);
      summary::LiveSummary live(recording.core());
      // Time moves between any two events, or what is inside of what could not be told from times.
      const std::function<void(int)> work = [&](int depth) {
        for (std::uint64_t n = random() % 4; n > 0; --n) {
          recording.advance(1 + random() % 100);
          switch (random() % 5) {
            case 0:
              recording.launch(random() % 2 == 0 ? 7 : 13, random() % 200, random() % 300);
              break;
            case 1: {
              const ProfileRange op{"op", Category::operators()};
              recording.advance(1);
              recording.launch(7, random() % 50, random() % 300);
              recording.advance(1);
              break;
            }
            default: {
              if (depth > 4) break;
              const ProfileRange range{std::string_view("range " + std::to_string(random() % 3))};
              recording.advance(1);
              work(depth + 1);
              recording.advance(1);
            }
          }
        }
      };
      for (int step = 0; step < 10; ++step) {
        work(0);
        std::thread([&] { work(1); }).join();
        recording.core().step();
        if (random() % 3 == 0) (void)live.update();
      }
      recording.advance(1'000'000);
      const Summary last = live.update();
      REQUIRE(recording.core().stop().ok());
      compare(last, load(folder.file("a.rfcap")));
    }
  }
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
  session::Parts parts;
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
