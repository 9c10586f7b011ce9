// SPDX-License-Identifier: MIT
//
// Many processes that start a session with one and the same output at the same moment: each has a capture of its own.
#include "fault/shared_memory.hpp"
#include "fault/starts.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/timeline.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr std::uint32_t kProcesses = 16;

std::uint32_t starts_wanted() { return exhaustive() ? 10'000 : static_cast<std::uint32_t>(repeats(320)); }

using Variables = std::vector<std::pair<const char*, std::string>>;

/// How many of the processes did not end well.
int start_processes(std::uint32_t rounds, const std::string& output, const Variables& environment = {}) {
  const SharedMemory<Starts> starts;
  starts->processes = kProcesses;
  const std::string fd = std::to_string(starts.fd());
  const std::string rounds_text = std::to_string(rounds);
  std::vector<pid_t> children;
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    const std::string number = std::to_string(i);
    const pid_t child = ::fork();
    if (child == 0) {
      for (const auto& [name, value] : environment) ::setenv(name, value.c_str(), 1);
      ::execl(START_PROGRAM, START_PROGRAM, number.c_str(), rounds_text.c_str(), output.c_str(), fd.c_str(),
              static_cast<char*>(nullptr));
      ::_exit(127);
    }
    REQUIRE(child > 0);
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    failed += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
  }
  return failed;
}

/// What the captures of a folder hold: "range.3 x 2" where two hold that range and nothing else, and are whole; and how
/// many such captures there are.
struct Found {
  std::string text;
  std::uint32_t captures = 0;
};

Found found_in(const std::string& folder) {
  std::map<std::string, std::uint32_t> ranges;
  Found found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Result<Timeline> timeline = load_timeline(entry.path().string());
    const bool good = entry.path().extension() == ".rfcap" && timeline.ok() && timeline->ranges.size() == 1 &&
                      timeline->health.complete();
    found.captures += good ? 1 : 0;
    ++ranges[good ? std::string(timeline->text(timeline->ranges.name[0])) : entry.path().filename().string()];
  }
  for (const auto& [name, times] : ranges) found.text += name + " x " + std::to_string(times) + "\n";
  return found;
}

std::string each(std::uint32_t times) {
  std::map<std::string, std::uint32_t> wanted;
  for (std::uint32_t i = 0; i < kProcesses; ++i) wanted["range." + std::to_string(i)] = times;
  std::string text;
  for (const auto& [name, count] : wanted) text += name + " x " + std::to_string(count) + "\n";
  return text;
}

}  // namespace

TEST_CASE("sessions that start with one output at the same moment have a capture each", "[fault]") {
  const ScratchFolder folder(true);
  const std::uint32_t rounds = starts_wanted() / kProcesses;
  for (std::uint32_t round = 0; round < rounds; ++round)
    std::filesystem::create_directory(folder.file(std::to_string(round)));
  CHECK(start_processes(rounds, folder.file("%/a.rfcap")) == 0);
  std::uint32_t captures = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const Found found = found_in(folder.file(std::to_string(round)));
    CHECK(found.text == each(1));
    captures += found.captures;
  }
  std::printf("%u starts by %u processes: %u captures\n", rounds * kProcesses, kProcesses, captures);
}

TEST_CASE("all sessions of one record have a capture each, however many and whenever they start", "[fault]") {
  const ScratchFolder folder(true);
  const std::uint32_t rounds = starts_wanted() / kProcesses;
  const Variables record = {{"RANGEFINDER_RECORD", folder.file("a.rfcap")}, {"RANGEFINDER_RECORD_ID", "5eed-1-1"}};
  CHECK(start_processes(rounds, "unused", record) == 0);
  const Found found = found_in(folder.path());
  CHECK(found.text == each(rounds));
  std::printf("%u starts under one record: %u captures\n", rounds * kProcesses, found.captures);
}
