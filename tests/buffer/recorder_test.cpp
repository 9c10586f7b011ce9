// SPDX-License-Identifier: MIT
#include "base/health_numbers.hpp"
#include "buffer/listener.hpp"
#include "buffer/literals.hpp"
#include "buffer/recorder_fixture.hpp"
#include "buffer/thread_log.hpp"
#include "support/manual_clock.hpp"

#include <rangefinder/range.hpp>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::buffer;
using namespace rangefinder::buffer::testing;
using detail::make_word;
using detail::Record;
using detail::RecordKind;
using detail::word_aux;
using detail::word_id;
using detail::word_kind;
using rangefinder::testing::ManualClock;

TEST_CASE("every kind of record is written in order", "[buffer]") {
  ManualClock clock(100);
  BareRecording recording(&clock);
  const Category category("recorder_test");
  {
    const ProfileRange outer{"outer", category};
    clock.advance(10);
    note_launch(7, 211 | kDriverCallback);
    mark("mark", 1.5);
    counter("counter", 2);
    const RangeHandle handle = start_range("async");
    note_step(3);
    note_step(4, 2048);
    end_range(handle);
    clock.advance(10);
  }
  KeepingSink sink;
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 1);
  const std::vector<Record>& records = sink.records.begin()->second;
  CHECK(texts_of(records) == Texts{"begin outer", "launch 7 by " + std::to_string(211 | kDriverCallback), "mark mark",
                                   "value of kind 3", "counter counter", "value of kind 2", "start async",
                                   "value of kind 1", "step 3", "step 4", "value of kind 1", "finish",
                                   "value of kind 1", "end outer"});
  CHECK(records.front().ticks == 100);
  CHECK(records[1].ticks == 110);
  CHECK(records.back().ticks == 120);
  CHECK(word_aux(records.front().word) == category.id());
  CHECK(records[7].ticks == records[12].ticks);  // one handle
  CHECK(records[10].ticks == 2048);
  recording->drain(sink, true);
  CHECK(sink.records.begin()->second.size() == 14);  // nothing twice
}

TEST_CASE("while nothing records nothing is written", "[buffer]") {
  BareRecording recording;
  recording->set_recording(false);
  { const ProfileRange range{"off"}; }
  mark("off");
  counter("off", 1);
  CHECK(start_range("off") == RangeHandle{});
  note_launch(1, 1);
  note_step(1);
  recording->set_recording(true);
  { const ProfileRange range{"on"}; }
  KeepingSink sink;
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 1);
  CHECK(texts_of(sink.records.begin()->second) == Texts{"begin on", "end on"});
}

TEST_CASE("a range that is open when the recording pauses still ends", "[buffer]") {
  BareRecording recording;
  {
    const ProfileRange range{"paused"};
    recording->set_recording(false);
    { const ProfileRange off{"off"}; }
  }
  KeepingSink sink;
  recording->drain(sink, true);
  CHECK(texts_of(sink.records.begin()->second) == Texts{"begin paused", "end paused"});
}

TEST_CASE("one recording at a time, and threads find the next one", "[buffer]") {
  {
    BareRecording first;
    CHECK(Recorder::instance().start({}).error().code() == ErrorCode::kBusy);
    { const ProfileRange range{"first"}; }
  }
  BareRecording second;
  { const ProfileRange range{"second"}; }
  KeepingSink sink;
  second->drain(sink, true);
  REQUIRE(sink.records.size() == 1);
  CHECK(texts_of(sink.records.begin()->second) == Texts{"begin second", "end second"});
}

TEST_CASE("records that the sink cannot store are counted", "[buffer]") {
  BareRecording recording;
  for (int i = 0; i < 5; ++i) const ProfileRange range{"lost"};
  KeepingSink sink;
  sink.accept = false;
  recording->drain(sink, true);
  CHECK(recording->health().records_not_written == 10);
  sink.accept = true;
  recording->drain(sink, true);
  CHECK(sink.records.empty());  // given up once, given up for good
}

TEST_CASE("threads hand in what they hold when they end", "[buffer]") {
  BareRecording recording;
  std::thread([] {
    ::pthread_setname_np(::pthread_self(), "short-lived");
    const ProfileRange range{"work"};
  }).join();
  KeepingSink sink;
  recording->drain(sink, false);  // full blocks alone
  REQUIRE(sink.records.size() == 1);
  CHECK(texts_of(sink.records.begin()->second) == Texts{"begin work", "end work"});
  CHECK(sink.names.begin()->second == "short-lived");
}

TEST_CASE("a child of a fork can read the list of libraries, whatever a recording thread was doing", "[buffer]") {
  BareRecording recording;
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::thread reader([&] {
    while (!stop.load()) {
      (void)unloaded_libraries();
      reads.fetch_add(1);
    }
  });
  while (reads.load() == 0) std::this_thread::yield();
  int ended = 0;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::alarm(60);  // ends one that hangs
      (void)unloaded_libraries();
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (status != 0) break;
    ++ended;
  }
  stop.store(true);
  reader.join();
  CHECK(ended == 50);
}

TEST_CASE("a drain that runs all the time neither loses nor repeats a record", "[buffer]") {
  BareRecording recording(nullptr, Overflow::kWait);
  constexpr std::uint64_t kRanges = 100'000;
  std::atomic<int> working{3};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kRanges; ++i) const ProfileRange range{"work", i};
      --working;
    });
  }
  KeepingSink sink;
  while (working > 0) recording->drain(sink, true);
  for (std::thread& thread : threads) thread.join();
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 3);
  for (const auto& [thread, records] : sink.records) {
    REQUIRE(records.size() == 3 * kRanges);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < kRanges; ++i) wrong += records[3 * i + 1].ticks == i ? 0 : 1;
    CHECK(wrong == 0);
  }
  CHECK(recording->health().complete());
}

// ---- signal handlers -------------------------------------------------------------------------------------------

namespace {

std::atomic<std::uint64_t> handled{0};
void record_in_handler(int) {
  const ProfileRange range{"in a handler"};
  handled.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

TEST_CASE("a signal handler that interrupts the recorder drops what it opens, and counts it", "[buffer]") {
  BareRecording recording;
  { const ProfileRange range{"attached"}; }
  detail::HotThread& hot = detail::hot_thread;
  SECTION("in the slow path") {
    enter_recorder(hot);
    { const ProfileRange range{"dropped", 1}; }
    leave_recorder(hot);
  }
  SECTION("in the middle of a record") {
    const std::uint64_t token = std::exchange(hot.token, 0);
    { const ProfileRange range{"dropped"}; }
    hot.token = token;
  }
  CHECK(recording->health().dropped_in_signal == 1);
  { const ProfileRange range{"after"}; }
  KeepingSink sink;
  recording->drain(sink, true);
  CHECK(texts_of(sink.records.begin()->second) == Texts{"begin attached", "end attached", "begin after", "end after"});
}

TEST_CASE("ranges of signal handlers are recorded or counted, and never harm the others", "[buffer]") {
  const bool numbered = GENERATE(false, true);
  INFO("nodes are numbered: " << numbered);
  const Numbers numbers(numbered);
  BareRecording recording(nullptr, Overflow::kWait);
  struct sigaction action {
  }, before{};
  action.sa_handler = record_in_handler;
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  handled = 0;
  constexpr std::uint64_t kRanges = 200'000;
  std::atomic<bool> done{false};
  std::thread worker([&] {
    { const ProfileRange range{"attached"}; }
    ::raise(SIGUSR1);  // does not interrupt the library
    for (std::uint64_t i = 0; i < kRanges || handled < 200; ++i) {
      if (i % 2 == 0)
        const ProfileRange range{"outer"};
      else
        const ProfileRange range{std::string_view("runtime"), i};
      if (i % 3 == 0) Numbers::take();
    }
    done = true;
    while (done) ::sched_yield();  // until no more signals are sent
  });
  KeepingSink sink;
  std::thread sender([&] {
    while (!done) {
      const std::uint64_t seen = handled;
      ::pthread_kill(worker.native_handle(), SIGUSR1);
      while (handled == seen && !done) ::sched_yield();
    }
  });
  while (!done) recording->drain(sink, true);
  sender.join();
  done = false;
  worker.join();
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
  recording->drain(sink, true);
  std::vector<std::uint64_t> open;
  std::uint64_t in_handler = 0, wrong = 0;
  for (const Record& record : sink.records.begin()->second) {
    const RecordKind kind = word_kind(record.word);
    if (kind == RecordKind::kBegin) {
      open.push_back(record.word + 1);
      in_handler += names().text(word_id(record.word)) == "in a handler" ? 1 : 0;
    } else if (kind == RecordKind::kEnd) {
      if (open.empty() || open.back() != record.word)
        ++wrong;
      else
        open.pop_back();
    }
  }
  CHECK(wrong == 0);
  CHECK(open.empty());
  CHECK(in_handler + recording->health().dropped_in_signal == handled);
  CHECK(in_handler > 0);
}

// ---- somebody else who listens ---------------------------------------------------------------------------------

namespace {

std::vector<std::string> heard;
void hear_begin(std::uint32_t name, std::uint32_t, const detail::Extra* extra) noexcept {
  heard.push_back("begin " + std::string(names().text(name)) + (extra != nullptr ? " with a value" : ""));
}
void hear_end() noexcept { heard.push_back("end"); }
void hear_mark(std::uint32_t name, std::uint32_t, const detail::Extra*) noexcept {
  heard.push_back("mark " + std::string(names().text(name)));
}
void hear_async_begin(std::uint32_t name, std::uint32_t, std::uint64_t handle) noexcept {
  heard.push_back("start " + std::string(names().text(name)) + (handle != 0 ? "" : " without a handle"));
}
void hear_async_end(std::uint64_t) noexcept { heard.push_back("finish"); }
constexpr Listener kListener{hear_begin, hear_end, hear_mark, hear_async_begin, hear_async_end};

}  // namespace

TEST_CASE("a listener hears of ranges, with a recording and without", "[buffer]") {
  const auto play = [] {
    const ProfileRange range{"range"};
    { const ProfileRange valued{"valued", 1}; }
    mark("mark");
    end_range(start_range("async"));
  };
  const Texts all{"begin range", "begin valued with a value", "end", "mark mark", "start async", "finish", "end"};
  heard.clear();
  set_listener(&kListener);
  play();
  CHECK(heard == all);
  {
    BareRecording recording;
    heard.clear();
    play();
    CHECK(heard == all);
    KeepingSink sink;
    recording->drain(sink, true);
    CHECK(sink.records.begin()->second.size() == 2 + 3 + 1 + 4);
  }
  set_listener(nullptr);
  heard.clear();
  play();
  CHECK(heard.empty());
}
