// SPDX-License-Identifier: MIT
// The rows of a summary are those of the capture that the session leaves, whenever it was asked for.
#include "summary/live_summary.hpp"
#include "summary/summary_fixture.hpp"
#include "support/seed.hpp"

#include <rangefinder/detail/suspended_range.hpp>
#include <rangefinder/range.hpp>

#include <pthread.h>

#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::summary::testing;

namespace {

/// A training that is made up: what the forward pass makes, the backward pass runs, in ways that autograd has.
class RandomTraining {
 public:
  /// `moment` is called now and then, but not in a node: which of its work is done again is told by all of it.
  RandomTraining(SimulatedRecording& recording, std::mt19937_64& random, std::function<void()> moment)
      : recording_(recording), random_(random), moment_(std::move(moment)) {}

  void forward(int depth) {
    for (std::uint64_t n = random_() % 4; n > 0; --n) {
      recording_.advance(1 + random_() % 20);
      if (random_() % 12 == 0) moment_();
      switch (random_() % 6) {
        case 0:
          work();
          break;
        case 1:
        case 2:
          make();
          break;
        case 3: {
          const ProfileRange op{"op", Category::operators()};
          recording_.advance(1);
          make();
          work();
          recording_.advance(1);
          break;
        }
        default:
          if (depth > 3) break;
          in_range([&] { forward(depth + 1); });
      }
    }
  }

  void backward() {
    while (!made_.empty()) {
      const std::size_t at = random_() % 8 == 0 ? random_() % made_.size() : made_.size() - 1;
      const Made node = made_[at];
      made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(at));
      if (random_() % 10 == 0) continue;  // it never runs
      if (random_() % 12 == 0) moment_();
      run(node, 0);
      if (random_() % 4 == 0) run({-1, 0}, 0);
      if (random_() % 3 == 0) work();  // the engine adds up gradients
    }
  }

 private:
  struct Made {
    std::int64_t number;
    std::uint64_t on;
  };
  void work() {
    recording_.advance(1);
    recording_.launch(random_() % 2 == 0 ? 7 : 13, random_() % 50, 1 + random_() % 300);
    recording_.advance(2);  // a node is made a nanosecond behind the record before it
  }
  void make() { made_.push_back({static_cast<std::int64_t>(next_number++), thread_number}); }
  template <typename Use>
  void in_range(Use use) {
    const ProfileRange range{std::string_view("range " + std::to_string(random_() % 3))};
    recording_.advance(2);
    use();
    recording_.advance(2);
  }  // what follows advances before its next record
  void run(Made node, int depth) {
    recording_.advance(2);
    REQUIRE(detail::node_begin("node", node.number, node.on));
    recording_.advance(2);
    work();
    switch (depth > 2 ? 0 : random_() % 6) {
      case 1:
        in_range([&] { work(); });
        break;
      case 2:  // a checkpoint
        in_range([&] {
          make();
          work();
          in_range([&] { make(), work(); });
        });
        run(made_.back(), depth + 1);
        made_.pop_back();
        break;
      case 3:  // a graph of the backward pass itself
        make();
        work();
        break;
      case 4:
        run({-1, 0}, depth + 1);
        break;
      default:
        break;
    }
    recording_.advance(2);
    detail::node_end();
    recording_.advance(2);
  }

  SimulatedRecording& recording_;
  std::mt19937_64& random_;
  std::function<void()> moment_;
  std::vector<Made> made_;
};

/// A program that uses whatever there is, at random.
class RandomSession {
 public:
  RandomSession(SimulatedRecording& recording, std::mt19937_64& random, std::function<void()> moment)
      : recording_(recording), random_(random), moment_(std::move(moment)) {}

  void work(int depth) {
    for (std::uint64_t n = 1 + random_() % 4; n > 0; --n) {
      tick();
      if (random_() % 10 == 0) moment_();
      switch (random_() % 10) {
        case 0:
        case 1:
          launch();
          break;
        case 2:
          complete();
          break;
        case 3:
          suspend();
          break;
        case 4:
          resume(depth);
          break;
        case 5:
          hand_over(depth);
          break;
        case 6:
          graph();
          break;
        default:
          if (depth > 3) break;
          in_range("range ", [&] { work(depth + 1); });
      }
    }
  }
  /// Nothing goes on behind it.
  void finish() {
    while (!waiting_.empty()) resume(9);
    while (!running_.empty()) complete();
    for (const auto& [graph, exec] : graphs_) fakecupti_graph_destroy(graph, exec);
  }

 private:
  struct Running {
    std::uint32_t correlation;
    std::uint64_t from;
  };
  void tick() { recording_.advance(1 + random_() % 50); }
  std::uint32_t stream() { return random_() % 2 == 0 ? 7 : 13; }
  template <typename Use>
  void in_range(const char* prefix, Use use) {
    const ProfileRange range{std::string_view(prefix + std::to_string(random_() % 3))};
    tick();
    use();
    tick();
  }
  void launch() {
    if (random_() % 3 != 0) return recording_.launch(stream(), random_() % 200, random_() % 300);
    FakeKernel kernel;
    kernel.stream = stream();
    kernel.open = true;
    running_.push_back({fakecupti_launch("cudaLaunchKernel_v7000", &kernel), fakecupti_now()});
  }
  void complete() {
    if (running_.empty()) return;
    const std::size_t at = random_() % running_.size();
    const Running done = running_[at];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    const std::uint64_t length = fakecupti_now() - done.from;
    const std::uint64_t begin = done.from + random_() % (length + 1);
    fakecupti_complete(done.correlation, begin, begin + random_() % (fakecupti_now() - begin + 1));
  }
  static detail::OpenRange begin(std::string_view name) {
    return detail::begin_text_with_slow(name.data(), name.size(), 0, {detail::ExtraKind::kUnsigned, 1, {}});
  }
  void suspend() {
    const detail::OpenRange open = begin("request");
    tick();
    launch();
    tick();
    waiting_.push_back(detail::suspend_range(open));
    tick();
  }
  void resume(int depth) {
    if (waiting_.empty()) return;
    const detail::OpenRange open = detail::resume_range(waiting_.front());
    waiting_.erase(waiting_.begin());
    tick();
    if (depth < 3) work(depth + 1);
    launch();
    tick();
    detail::end(open.token, open.word);
  }
  /// A range that ends on another thread. Of several of one name that are open at once, nothing says which one ends.
  void hand_over(int depth) {
    const detail::OpenRange open = begin("handed over " + std::to_string(depth));
    tick();
    if (depth < 3) work(depth + 1);
    launch();
    tick();
    std::thread([&] { in_range("other ", [&] { detail::end(open.token, open.word), tick(), launch(); }); }).join();
    tick();
    launch();
  }
  void graph() {
    if (graphs_.size() < 3) {
      FakeGraph* made = fakecupti_graph_create();
      in_range("capture ", [&] {
        for (std::uint64_t n = 1 + random_() % 3; n > 0; --n) {
          in_range("layer ", [&] {
            FakeKernel kernel;
            kernel.duration_ns = 1 + random_() % 40;
            fakecupti_graph_capture("cudaLaunchKernel_v7000", made, &kernel);
          });
          tick();
        }
      });
      graphs_.emplace_back(made, fakecupti_graph_instantiate(made));
      return;
    }
    const std::size_t at = random_() % graphs_.size();
    if (random_() % 8 == 0) {
      recording_.advance(1'000);
      fakecupti_graph_destroy(graphs_[at].first, graphs_[at].second);
      graphs_.erase(graphs_.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    in_range("replay ", [&] { fakecupti_graph_launch("cudaGraphLaunch_v10000", graphs_[at].second, stream()); });
  }

  SimulatedRecording& recording_;
  std::mt19937_64& random_;
  std::function<void()> moment_;
  std::vector<detail::SuspendedRange> waiting_;
  std::vector<Running> running_;
  std::vector<std::pair<FakeGraph*, FakeGraphExec*>> graphs_;
};

}  // namespace

TEST_CASE("the summary equals the projection of the finished capture", "[summary][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("summary"));
  for (const CaptureMode mode : {CaptureMode::kMapped, CaptureMode::kRing, CaptureMode::kBuffered}) {
    for (int round = 0; round < 8; ++round) {
      SimulatedRecording recording(mode);
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
      compare(last, recording.stop());
    }
  }
}

TEST_CASE("passes of the summary equal those of the finished capture", "[summary][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("passes"));
  SummaryRow seen;
  for (int round = 0; round < 24; ++round) {
    const Numbering numbering;
    SimulatedRecording recording;
    summary::LiveSummary live(recording.core());
    RandomTraining training(recording, random, [&] { (void)live.update(); });
    for (int step = 0; step < 6; ++step) {
      training.forward(0);
      if (random() % 3 == 0) (void)live.update();
      const bool has_engine = random() % 2 == 0;  // on the host, backward runs where it was called
      recording.advance(2);
      const ProfileRange around{"around"};
      recording.advance(2);
      if (has_engine) {
        std::thread([&] {
          thread_number = 2;
          next_number = 1'000 * static_cast<std::uint64_t>(step + 1);
          pthread_setname_np(pthread_self(), "pt_autograd_0");
          training.backward();
        }).join();
      } else {
        training.backward();
      }
      if (random() % 3 == 0) (void)live.update();
      recording.advance(2);
    }
    recording.advance(1'000'000);
    const Summary last = live.update();
    const Timeline timeline = recording.stop();
    compare(last, timeline);
    const SummaryRow round_seen = compare(live.update(), timeline);
    seen.gpu_backward_ns += round_seen.gpu_backward_ns;
    seen.gpu_recompute_ns += round_seen.gpu_recompute_ns;
    seen.gpu_accumulation_ns += round_seen.gpu_accumulation_ns;
  }
  CHECK(seen.gpu_backward_ns > 0);
  CHECK(seen.gpu_recompute_ns > 0);
  CHECK(seen.gpu_accumulation_ns > 0);
}

TEST_CASE("what was recorded before the first question is taken in several windows", "[summary]") {
  const Numbering numbering;
  SimulatedRecording recording;
  constexpr std::uint64_t kSteps = 4'000;
  std::atomic<std::uint64_t> forward{0}, backward{0};  // steps that are done
  std::thread engine([&] {
    thread_number = 2;
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      while (forward.load() <= step) std::this_thread::yield();
      for (std::int64_t node = 2; node-- > 0;) {
        recording.advance(3);
        if (!detail::node_begin("node", static_cast<std::int64_t>(step * 2) + node, 1)) return;
        recording.advance(3);
        recording.launch(7, 0, 20);
        recording.advance(3);
        detail::node_end();
      }
      recording.advance(3);
      backward = step + 1;
    }
  });
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    {
      const ProfileRange outer{"step"};
      for (const char* name : {"small", "large"}) {
        recording.advance(3);
        const ProfileRange layer{std::string_view(name)};
        recording.advance(3);
        recording.launch(13, 0, 10);
        ++next_number;
        recording.advance(3);
      }
      recording.advance(3);
      forward = step + 1;
      while (backward.load() <= step) std::this_thread::yield();
      recording.advance(3);
    }
    recording.advance(100);
  }
  engine.join();
  recording.advance(1'000'000);
  summary::LiveSummary live(recording.core(), 4'000);
  const Summary last = live.update();
  REQUIRE(last.find("step/large") != nullptr);
  CHECK(last.find("step/large")->count == kSteps);
  CHECK(last.find("step/large")->gpu_backward_ns == static_cast<std::int64_t>(20 * kSteps));
  compare(last, recording.stop());
}

TEST_CASE("whatever a session records, its summary has the rows of its capture", "[summary][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("session", rangefinder::testing::repeats(30))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    SimulatedRecording recording;
    summary::LiveSummary live(recording.core());
    RandomSession program(recording, random, [&] { (void)live.update(); });
    for (int step = 0; step < 10; ++step) {
      program.work(0);
      if (random() % 3 == 0) (void)live.update();
    }
    program.finish();
    recording.advance(1'000'000);
    const Summary last = live.update();
    const Timeline timeline = recording.stop();
    compare_rows(last, timeline);
    compare_rows(live.update(), timeline);
  }
}
