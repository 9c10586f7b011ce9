// SPDX-License-Identifier: MIT
//
// Programs that end in the middle of a recording, in every way that a program can.
#include "fault/published.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/timeline.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

struct Ended {
  int status;
  std::string output;
};

Ended run_program(const std::string& program, const std::string& argument, const std::string& capture,
                  const std::string& environment = {}) {
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);  // what this program was started with is not the other's
  // A program that ends in the middle leaves memory behind; a leak checker would change its exit status.
  const std::string command =
      "ASAN_OPTIONS=detect_leaks=0 " + environment + " exec '" + program + "' '" + argument + "' '" + capture + "'";
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ended ended{0, {}};
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) ended.output.append(buffer.data(), n);
  ended.status = ::pclose(pipe);
  return ended;
}

Ended run(const std::string& how, const std::string& capture, const std::string& environment = {}) {
  return run_program(RECORD_PROGRAM, how, capture, environment);
}

/// Of ranges alone; and with a device, where there is a fake CUPTI: each range "work" launches a kernel.
std::vector<std::string> environments() {
#ifdef FAKE_CUPTI_PATH
  return {"", "RANGEFINDER_CUPTI_LIBRARY='" FAKE_CUPTI_PATH "'"};
#else
  return {""};
#endif
}

std::uint64_t count_of(const Timeline& timeline, std::string_view name) {
  return static_cast<std::uint64_t>(std::count_if(timeline.ranges.name.begin(), timeline.ranges.name.end(),
                                                  [&](StringId id) { return timeline.text(id) == name; }));
}

/// What is missing; nothing where the capture is complete.
std::string lost(const CaptureHealth& health) {
  std::string out;
  for (const CaptureHealth::Entry& entry : health.entries()) {
    if (entry.severity == CaptureHealth::Severity::kLoss && entry.count != 0)
      out += std::string(entry.name) + " " + std::to_string(entry.count) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("exit in the middle of a recording leaves a whole capture", "[fault]") {
  const std::string environment = GENERATE(from_range(environments()));
  CAPTURE(environment);
  const std::string_view programs[] = {"fork_and_exec", "fork_and_exit", "vfork_and_exec", "spawn", "system"};
  for (const std::string how :
       {"exit", "exit_in_thread", "exit_while_recording", "static_destructor", "return", "ranges_after_main",
        "fork_and_exec", "fork_and_exit", "vfork_and_exec", "spawn", "system"}) {
    INFO(how);
    const ScratchFolder folder;
    const std::string capture = folder.file("a.rfcap");
    const Ended ended = run(how, capture, environment);
    REQUIRE(WIFEXITED(ended.status));
    REQUIRE(WEXITSTATUS(ended.status) == 7);
    const Result<Timeline> timeline = load_timeline(capture);
    REQUIRE(timeline.ok());
    const std::uint64_t work = count_of(*timeline, "work");
    if (how == "exit_while_recording")
      CHECK(work >= 1100);
    else if (std::find(std::begin(programs), std::end(programs), how) != std::end(programs))
      CHECK(work == 101);
    else
      CHECK(work == 100);
    CHECK(count_of(*timeline, "open") == 1);
    CHECK(count_of(*timeline, "global") == (how == "ranges_after_main" ? 1 : 0));
    CHECK(count_of(*timeline, "static") == (how == "ranges_after_main" ? 1 : 0));
    if (how != "exit_while_recording") CHECK(timeline->activities.size() == (environment.empty() ? 0 : work));
    CHECK(lost(timeline->health) == "");
    CHECK(timeline->health.unmatched_ends == 0);
    CHECK(inspect_capture(capture, true)->ended_cleanly);
    CHECK_FALSE(std::filesystem::exists(capture + ".live"));
    CHECK(ended.output.empty());
  }
}

TEST_CASE("a program that ends without exit handlers leaves its capture and live file", "[fault]") {
  const std::string environment = GENERATE(from_range(environments()));
  CAPTURE(environment);
  const std::map<std::string, int> signals{{"abort", SIGABRT}, {"terminate", SIGABRT}, {"segmentation_fault", SIGSEGV}};
  for (const std::string how : {"_exit", "quick_exit", "exec", "abort", "terminate", "segmentation_fault"}) {
    INFO(how);
    const ScratchFolder folder;
    const std::string capture = folder.file("a.rfcap");
    const Ended ended = run(how, capture, environment);
    const auto signal = signals.find(how);
    REQUIRE(WIFSIGNALED(ended.status) == (signal != signals.end()));
    if (signal != signals.end())
      REQUIRE(WTERMSIG(ended.status) == signal->second);
    else
      REQUIRE(WEXITSTATUS(ended.status) == 7);
    CHECK(std::filesystem::exists(capture + ".live"));
    const Result<Timeline> timeline = load_timeline(capture);
    REQUIRE(timeline.ok());
    CHECK(count_of(*timeline, "work") == 100);
    CHECK(timeline->activities.size() == (environment.empty() ? 0 : 100));
    CHECK(timeline->health.unfinished_ranges == 1);
    CHECK(timeline->health.complete());
    CHECK_FALSE(timeline->notes.empty());
    // The next recording of that name takes the dead one's place.
    REQUIRE(WEXITSTATUS(run("return", capture).status) == 7);
    CHECK(inspect_capture(capture, true)->ended_cleanly);
    CHECK_FALSE(std::filesystem::exists(capture + ".live"));
  }
}

TEST_CASE("exit in the middle of a series of captures leaves all of them whole, and tells of each", "[fault]") {
  for (const char* how : {"series", "series_and_fork"}) {
    INFO(how);
    const ScratchFolder folder;
    const Ended ended = run(how, folder.file("a.rfcap"));
    REQUIRE(WIFEXITED(ended.status));
    REQUIRE(WEXITSTATUS(ended.status) == 7);
    CHECK(ended.output == "1: steps 0 to 1\n2: steps 2 to 3\n3: steps 4 to 5\n");
    for (const char* name : {"a.1.rfcap", "a.2.rfcap", "a.3.rfcap"}) {
      const Result<Timeline> timeline = load_timeline(folder.file(name));
      REQUIRE(timeline.ok());
      CHECK(count_of(*timeline, "work") == 20);
      CHECK(timeline->health.complete());
      CHECK(inspect_capture(folder.file(name), true)->ended_cleanly);
    }
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 3);
  }
}

TEST_CASE("a thousand forks from eight threads harm neither parent nor child", "[fault]") {
  const std::string environment = GENERATE(from_range(environments()));
  CAPTURE(environment);
  const ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  const Ended ended = run("fork_storm", capture, environment);
  REQUIRE(WIFEXITED(ended.status));
  REQUIRE(WEXITSTATUS(ended.status) == 7);  // 5: a child failed, or waited for what it does not have
  const Result<Timeline> timeline = load_timeline(capture);
  REQUIRE(timeline.ok());
  CHECK(count_of(*timeline, "fork") == kForkingThreads * kForksOfEach);
  CHECK(count_of(*timeline, "work") == 100 + kForkingThreads * kForksOfEach);  // none of a child's
  CHECK(timeline->steps.size() <= 1);
  if (environment.empty()) {
    CHECK(lost(timeline->health) == "");
  } else {  // eight buffers for ten threads: what had no room is counted
    CHECK(timeline->activities.size() <= 100 + kForkingThreads * kForksOfEach);
    CHECK(timeline->activities.size() + timeline->health.cupti_dropped >= 100 + kForkingThreads * kForksOfEach);
    CHECK(timeline->health.launches_without_records + timeline->health.kept_buffers == 0);
  }
  CHECK(inspect_capture(capture, true)->ended_cleanly);
  // No child left a file of its own.
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

#ifdef LISTENING_TOOL
TEST_CASE("forks while a tool hears start/end ranges leave no child waiting", "[fault]") {
  const Ended ended = run("fork_with_start_ranges", "none", "NVTX_INJECTION64_PATH='" LISTENING_TOOL "'");
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 7);  // 5: a child waited for a lock whose owner does not exist there
}
#endif

TEST_CASE("a library that is closed in the middle of a recording goes on to its end", "[fault]") {
  const ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  REQUIRE(run_program(UNLOAD_PROGRAM, RANGEFINDER_LIBRARY, capture).status == 0);
  const Result<Timeline> timeline = load_timeline(capture);
  REQUIRE(timeline.ok());
  CHECK(count_of(*timeline, "work") == 100);
  CHECK(count_of(*timeline, "open") == 1);
  CHECK(lost(timeline->health) == "");
  CHECK(inspect_capture(capture, true)->ended_cleanly);
}

TEST_CASE("what a full disk did not take is counted exactly", "[fault]") {
  const ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  const Ended ended = run("full_disk", capture);
  INFO(ended.output);
  REQUIRE(WIFEXITED(ended.status));
  REQUIRE(WEXITSTATUS(ended.status) == 0);
  unsigned long long marks = 0, dropped = 0, records = 0, chunks = 0;
  REQUIRE(std::sscanf(ended.output.c_str(), "%llu marks, %llu dropped, %llu records and %llu chunks not written",
                      &marks, &dropped, &records, &chunks) == 4);
  CHECK(ended.output.find("File too large") != std::string::npos);
  CHECK(records > 0);
  CHECK(chunks > 0);
  const Result<CaptureInfo> info = inspect_capture(capture, true);
  REQUIRE(info.ok());
  CHECK(info->health.records_not_written == records);
  CHECK(info->health.damaged_chunks == 0);
  CHECK(info->file_bytes <= (std::uint64_t{9} << 20));
  // Two records a mark; and one of the first step.
  const Result<Timeline> timeline = load_timeline(capture);
  REQUIRE(timeline.ok());
  const std::uint64_t read = timeline->marks.size() + timeline->attachments.size();
  CHECK(read >= 100'000);
  CHECK(read + records + 2 * dropped >= 2 * marks);
  CHECK(read + records + 2 * dropped <= 2 * marks + 1);
  CHECK_FALSE(timeline->health.complete());
}

TEST_CASE("a program that records nothing starts no thread, opens no file and loads nothing", "[fault]") {
  const ScratchFolder folder;
  const Ended ended = run("off", folder.file("a.rfcap"));
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 7);
#if defined(RANGEFINDER_THREAD_SANITIZER)
  const std::string threads = "2 threads";  // one is the sanitizer's
#else
  const std::string threads = "1 threads";
#endif
  // Input, output and errors; and the folder in which they are counted.
  CHECK(ended.output == threads + ", 4 files\n");
  CHECK(std::filesystem::is_empty(folder.path()));
}
