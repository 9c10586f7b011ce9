// SPDX-License-Identifier: MIT
#include "session/capture_series.hpp"

#include "session/session_fixture.hpp"
#include "session/signal_watch.hpp"

#include <rangefinder/capture.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

/// What on_capture_ready was told, and on which thread.
struct Told {
  std::mutex mutex;
  std::vector<CaptureReady> ready;
  std::vector<std::thread::id> threads;

  auto callback() {
    return [this](const CaptureReady& one) {
      const std::lock_guard lock(mutex);
      ready.push_back(one);
      threads.push_back(std::this_thread::get_id());
    };
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return ready.size();
  }
  /// "1: steps 2 to 3, a.1.rfcap"
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex);
    std::vector<std::string> out;
    for (const CaptureReady& one : ready)
      out.push_back(std::to_string(one.number) + ": steps " + std::to_string(one.first_step) + " to " +
                    std::to_string(one.last_step) + ", " + std::filesystem::path(one.path).filename().string() +
                    (one.status.ok() ? "" : " " + one.status.error().message()));
    return out;
  }
};

/// A started series; stopped at the end of the test case.
class Series {
 public:
  explicit Series(
      SessionOptions options,
      CaptureSeries::MakeDependencies parts = [](const SessionOptions&) { return Dependencies{}; })
      : started_(CaptureSeries::start(std::move(options), std::move(parts))) {
    if (!started_) throw std::runtime_error(started_.error().message());
  }
  ~Series() { (void)(*started_)->stop(); }
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;
  CaptureSeries* operator->() { return started_->get(); }

 private:
  Result<std::shared_ptr<CaptureSeries>> started_;
};

SessionOptions patient(const std::string& output) {
  SessionOptions options = host_only(output);
  options.flush_period = 60s;  // a step waits for a capture as long as a busy machine needs
  return options;
}

/// Told of each capture of the schedule.
SessionOptions cycles(const std::string& output, const Schedule& schedule, Told& told) {
  SessionOptions options = patient(output);
  options.schedule = schedule;
  options.on_capture_ready = told.callback();
  return options;
}

/// Told of each capture that SIGUSR2 asks for.
SessionOptions on_demand(const std::string& output, Told& told) {
  SessionOptions options = host_only(output);
  options.record_signal = SIGUSR2;
  options.on_capture_ready = told.callback();
  return options;
}

void steps(Series& series, int count) {
  for (int i = 0; i < count; ++i) {
    const ProfileRange range{"step " + std::to_string(series->step_number())};
    series->step(100);
  }
}

std::vector<std::string> names_of(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const StringId name : timeline.ranges.name) names.emplace_back(timeline.text(name));
  return names;
}

using Lines = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("each cycle of the schedule gets a capture of its own", "[session]") {
  const ScratchFolder folder;
  for (const CaptureMode mode : {CaptureMode::kMapped, CaptureMode::kBuffered, CaptureMode::kRing}) {
    CAPTURE(static_cast<int>(mode));
    Told told;
    // off: 0; off 1 2, warm-up 3, on 4 5; 6 ... 9 10; 11 ... 14 15; off for good
    SessionOptions options = cycles(folder.file("a-%c.rfcap"), {1, 2, 1, 2, 3}, told);
    options.mode = mode;
    Series series(options);
    CHECK(series->output() == folder.file("a-1.rfcap"));
    steps(series, 20);
    REQUIRE(series->stop().ok());
    CHECK(told.lines() ==
          Lines{"1: steps 4 to 5, a-1.rfcap", "2: steps 9 to 10, a-2.rfcap", "3: steps 14 to 15, a-3.rfcap"});
    for (const std::thread::id id : told.threads) CHECK(id != std::this_thread::get_id());
    CHECK(folder.names() == Lines{"a-1.rfcap", "a-2.rfcap", "a-3.rfcap"});
    // Each is whole by itself; the range of the last step ends after the recording went off, and still ends.
    for (int cycle = 1; cycle <= 3; ++cycle) {
      const std::string path = folder.file("a-" + std::to_string(cycle) + ".rfcap");
      CHECK(inspect_capture(path, true)->ended_cleanly);
      const Timeline timeline = load(path);
      const int first = 5 * cycle - 1;
      CHECK(names_of(timeline) == Lines{"step " + std::to_string(first), "step " + std::to_string(first + 1)});
      CHECK(timeline.steps.number == Numbers{first, first + 1});
      CHECK(timeline.steps.items == std::vector<std::uint64_t>{100, 100});
      CHECK(timeline.health.complete());
      CHECK(timeline.health.unfinished_ranges == 0);
      CHECK(timeline.health.unmatched_ends == 0);
    }
  }
}

TEST_CASE("cycles without a pause between them lose no step", "[session]") {
  const ScratchFolder folder;
  Told told;
  Series series(cycles(folder.file("a.rfcap"), {0, 0, 0, 3, 0}, told));
  steps(series, 8);
  REQUIRE(series->stop().ok());
  CHECK(told.lines() ==
        Lines{"1: steps 0 to 2, a.1.rfcap", "2: steps 3 to 5, a.2.rfcap", "3: steps 6 to 8, a.3.rfcap"});
  CHECK(load(folder.file("a.1.rfcap")).steps.number == Numbers{0, 1, 2});
  CHECK(load(folder.file("a.2.rfcap")).steps.number == Numbers{3, 4, 5});
  CHECK(load(folder.file("a.3.rfcap")).steps.number == Numbers{6, 7});  // 8 was never ended
  CHECK(load(folder.file("a.2.rfcap")).health.complete());
}

TEST_CASE("the end of a session without a schedule is told of, too", "[session]") {
  const ScratchFolder folder;
  Told told;
  {
    Series series(cycles(folder.file("a.rfcap"), {}, told));
    CHECK(series->output() == folder.file("a.rfcap"));
    steps(series, 3);
  }
  CHECK(told.lines() == Lines{"1: steps 0 to 3, a.rfcap"});
  CHECK(load(folder.file("a.rfcap")).ranges.size() == 3);
}

TEST_CASE("a capture of which no step came is not left behind", "[session]") {
  const ScratchFolder folder;
  Told told;
  Series series(cycles(folder.file("a-%c.rfcap"), {0, 5, 0, 2, 0}, told));
  steps(series, 2);
  REQUIRE(series->stop().ok());
  CHECK(told.count() == 0);
  CHECK(folder.names().empty());
}

TEST_CASE("a callback may throw, and end the session", "[session]") {
  const ScratchFolder folder;
  std::atomic<int> calls{0};
  std::shared_ptr<CaptureSeries> running;
  SessionOptions options = patient(folder.file("a-%c.rfcap"));
  options.schedule = {0, 2, 0, 1, 0};  // on: 2, 5, 8 ...
  options.on_capture_ready = [&](const CaptureReady&) {
    switch (++calls) {
      case 1:
        throw std::runtime_error("no such bucket");
      case 2:
        throw 5;  // NOLINT(hicpp-exception-baseclass)
      default:
        (void)running->stop();
    }
  };
  Result<std::shared_ptr<CaptureSeries>> started =
      CaptureSeries::start(options, [](const SessionOptions&) { return Dependencies{}; });
  REQUIRE(started.ok());
  running = *started;
  CHECK(eventually([&] {
    running->step(0);
    return !running->running();
  }));
  CHECK(running->stop().ok());  // waits for the one that the callback began
  CHECK(running->core() == nullptr);
  CHECK(calls >= 3);
}

TEST_CASE("a callback that does not end holds up neither the steps nor, for long, the stop", "[session]") {
  struct Held {
    std::mutex mutex;
    std::atomic<int> calls{0};
    std::atomic<int> returned{0};
  };
  const ScratchFolder folder;
  const auto held = std::make_shared<Held>();  // the callback outlives the session
  std::unique_lock hold(held->mutex);
  SessionOptions options = patient(folder.file("a-%c.rfcap"));
  options.stop_timeout = 2s;
  options.schedule = {0, 2, 0, 1, 4};
  options.on_capture_ready = [held](const CaptureReady&) {
    ++held->calls;
    { const std::lock_guard lock(held->mutex); }
    ++held->returned;
  };
  {
    Series series(options);
    steps(series, 20);
    const Status stopped = series->stop();
    CHECK(held->calls == 1);  // it is still inside
    REQUIRE_FALSE(stopped.ok());
    CHECK(stopped.error().code() == ErrorCode::kTimeout);
    CHECK(stopped.error().message().find("not called for 3 captures") != std::string::npos);
  }
  CHECK(folder.names() == Lines{"a-1.rfcap", "a-2.rfcap", "a-3.rfcap", "a-4.rfcap"});
  hold.unlock();
  options.on_capture_ready = nullptr;
  CHECK(eventually([&] { return held.use_count() == 1; }));  // the thread is gone
  CHECK(held->returned == 1);                                // no callback once the session is stopped
}

TEST_CASE("a callback may end its thread", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = patient(folder.file("a.rfcap"));
  options.on_capture_ready = [](const CaptureReady&) { ::pthread_exit(nullptr); };
  Series series(options);
  steps(series, 1);
  CHECK(series->stop().ok());  // at once: the thread has ended, and is not waited for
}

TEST_CASE("what is wrong with the first capture is known at the start", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = patient(folder.file("no/such/folder/%c.rfcap"));
  options.schedule = {0, 5, 0, 1, 0};
  CHECK_FALSE(CaptureSeries::start(options, [](const SessionOptions&) { return Dependencies{}; }).ok());
  // Nothing of it is left: another session can start.
  Recording after(host_only(folder.file("b.rfcap")));
}

TEST_CASE("a cycle whose capture cannot be made is left out, and its steps are counted", "[session]") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.file("a-2.rfcap"));  // no plain file: not replaced
  Told told;
  Series series(cycles(folder.file("a-%c.rfcap"), {0, 1, 1, 2, 3}, told));
  steps(series, 14);
  REQUIRE(series->stop().ok());
  CHECK(told.lines() == Lines{"1: steps 2 to 3, a-1.rfcap", "3: steps 10 to 11, a-3.rfcap"});
  const Timeline timeline = load(folder.file("a-3.rfcap"));
  const auto missed = std::find_if(timeline.metadata.begin(), timeline.metadata.end(),
                                   [](const auto& fact) { return fact.first == "steps_missed"; });
  REQUIRE(missed != timeline.metadata.end());
  CHECK(missed->second == "\"2\"");
}

TEST_CASE("a signal has some steps recorded, and another time some more", "[session]") {
  const ScratchFolder folder;
  Told told;
  SessionOptions options = on_demand(folder.file("a.rfcap"), told);
  options.record_steps = 3;
  options.schedule = {0, 0, 0, 5, 0};  // the program's own: who sends signals decides
  Series series(options);
  CHECK(detail::active.load() == 0);
  CHECK(series->core() == nullptr);
  steps(series, 5);
  CHECK(folder.names().empty());
  for (std::size_t capture = 1; capture <= 3; ++capture) {
    CAPTURE(capture);
    REQUIRE(::raise(SIGUSR2) == 0);
    CHECK(eventually([&] {
      steps(series, 1);
      return told.count() == capture;
    }));
    CHECK(detail::active.load() == 0);
    CHECK(eventually([&] { return series->core() == nullptr; }));
    const CaptureReady& ready = told.ready[capture - 1];
    CHECK(ready.path == folder.file("a." + std::to_string(capture) + ".rfcap"));
    CHECK(ready.last_step - ready.first_step == 2);
    const Timeline timeline = load(ready.path);
    REQUIRE(timeline.steps.size() == 3);
    CHECK(timeline.steps.number.front() == static_cast<std::int64_t>(ready.first_step));
    CHECK(timeline.ranges.size() == 3);
    CHECK(timeline.health.complete());
  }
  REQUIRE(series->stop().ok());
  CHECK(folder.names() == Lines{"a.1.rfcap", "a.2.rfcap", "a.3.rfcap"});
  REQUIRE(::raise(SIGUSR2) == 0);  // a moment too late: it does not end the program
}

TEST_CASE("of two sessions that wait for a signal the second does not start", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.record_signal = SIGUSR2;
  Session first(options);
  REQUIRE(first.status().ok());
  Session second(options);
  REQUIRE_FALSE(second.status().ok());
  CHECK(second.status().error().code() == ErrorCode::kBusy);
  CHECK(second.status().error().message().find("stop it first") != std::string::npos);
  REQUIRE(first.stop().ok());
  CHECK(Session(options).status().ok());
}

TEST_CASE("a second signal ends the recording that the first one began", "[session]") {
  const ScratchFolder folder;
  Told told;
  SessionOptions options = on_demand(folder.file("on-demand-%c.rfcap"), told);
  options.record_steps = 0;
  Series series(options);
  REQUIRE(::raise(SIGUSR2) == 0);
  CHECK(eventually([&] {
    steps(series, 1);
    return detail::active.load() != 0;
  }));
  steps(series, 50);
  CHECK(detail::active.load() != 0);
  REQUIRE(::raise(SIGUSR2) == 0);
  steps(series, 1);
  CHECK(detail::active.load() == 0);
  CHECK(eventually([&] {
    steps(series, 1);
    return told.count() == 1;
  }));
  const Timeline timeline = load(folder.file("on-demand-1.rfcap"));
  CHECK(timeline.steps.size() == 51);
  CHECK(timeline.ranges.size() == 51);
}

TEST_CASE("a program without steps is recorded from one signal to the next", "[session]") {
  const ScratchFolder folder;
  Told told;
  SessionOptions options = on_demand(folder.file("a.rfcap"), told);
  options.flush_period = 1ms;
  Series series(options);
  REQUIRE(::raise(SIGUSR2) == 0);
  CHECK(eventually([&] { return detail::active.load() != 0; }));
  { const ProfileRange range{"request"}; }
  REQUIRE(::raise(SIGUSR2) == 0);
  CHECK(eventually([&] { return told.count() == 1; }));
  CHECK(names_of(load(folder.file("a.1.rfcap"))) == Lines{"request"});
}

TEST_CASE("what is being recorded when the session stops is kept", "[session]") {
  const ScratchFolder folder;
  Told told;
  Series series(on_demand(folder.file("a.rfcap"), told));
  REQUIRE(::raise(SIGUSR2) == 0);
  CHECK(eventually([&] {
    steps(series, 1);
    return detail::active.load() != 0;
  }));
  { const ProfileRange range{"last"}; }
  REQUIRE(series->stop().ok());
  CHECK(told.count() == 1);
  CHECK(count_of(load(folder.file("a.1.rfcap")), "last") == 1);
}

TEST_CASE("signals for dumps and for recordings do not get into each other's way", "[session]") {
  struct sigaction own {
  }, before{}, now{};
  own.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGUSR2, &own, &before) == 0);
  const std::uint32_t seen = signal_deliveries(SIGUSR2);
  watch_signal(SignalUse::kRecord, SIGUSR2);
  watch_signal(SignalUse::kDump, SIGUSR2);
  watch_signal(SignalUse::kDump, 0);
  REQUIRE(::raise(SIGUSR2) == 0);
  CHECK(signal_deliveries(SIGUSR2) == seen + 1);
  watch_signal(SignalUse::kRecord, 0);
  REQUIRE(::sigaction(SIGUSR2, nullptr, &now) == 0);
  CHECK(now.sa_handler == own.sa_handler);
  REQUIRE(::sigaction(SIGUSR2, &before, nullptr) == 0);
}

TEST_CASE("names of captures that follow each other have a number", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = patient(folder.file("%%c-%c-%%-%c.rfcap"));
  options.schedule = {0, 0, 0, 1, 1};
  {
    Series series(options);
    steps(series, 3);
    CHECK(series->output() == folder.file("%c-1-%-1.rfcap"));
  }
  CHECK(folder.names() == Lines{"%c-1-%-1.rfcap"});
  CHECK_FALSE(CaptureSeries::wanted(host_only(folder.file("%%c.rfcap"))));
}

TEST_CASE("the session hands out what is recorded now, or was", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = patient(folder.file("a-%c.rfcap"));
  options.schedule = {0, 2, 0, 2, 0};  // on: 2 3, 6 7
  Session session(options);
  REQUIRE(session.status().ok());
  CHECK(session.running());
  for (int step = 0; step < 4; ++step) {
    const ProfileRange range{"work"};
    session.step(10);
  }
  CHECK(session.step_number() == 4);
  CHECK(session.flush().ok());
  Summary summary = session.summary();
  CHECK(summary.steps == 2);
  CHECK(summary.items == 20);
  CHECK(eventually([&] {
    session.step();
    return session.health().complete() && session.step_number() > 6;
  }));
  CHECK(session.summary().steps <= 2);  // of the second capture
  REQUIRE(session.stop().ok());
  CHECK_FALSE(session.running());
  session.step();
  CHECK_FALSE(session.dump().ok());
  CHECK(load(folder.file("a-1.rfcap")).ranges.size() == 2);
}
