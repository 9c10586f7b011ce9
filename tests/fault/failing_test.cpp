// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

using rangefinder::testing::exhaustive;
using rangefinder::testing::property_seed;
using rangefinder::testing::sanitized;
using rangefinder::testing::ScratchFolder;

namespace {

#if defined(FAKE_CUPTI_PATH)
#define SIMULATION "RANGEFINDER_CUPTI_LIBRARY='" FAKE_CUPTI_PATH "' "
#else
#define SIMULATION
#endif

/// Which of the calls fail, one a session.
struct Which {
  std::uint64_t first = 1, step = 1;
};

/// Every call; of allocations, which are thousands, one of 16 and in each run others, unless tests are exhaustive.
/// Under a sanitizer fewer: each process takes long to start there.
Which some_of_many() {
  if (exhaustive()) return {};
  constexpr std::uint64_t kStep = sanitized() ? 32 : 16;
  return {1 + property_seed("failing allocations") % kStep, kStep};
}

/// What the program printed; its status must be 0.
std::string run_failing(const std::string& call, const std::string& kind = "mapped", Which which = {}) {
  const ScratchFolder folder;
  // The program has an operator new of its own, and AddressSanitizer others for what is aligned.
  const std::string command = std::string("ASAN_OPTIONS=alloc_dealloc_mismatch=0 " SIMULATION "exec '") +
                              FAILING_PROGRAM + "' '" + call + "' '" + kind + "' '" + folder.file("a.rfcap") + "' " +
                              std::to_string(which.first) + " " + std::to_string(which.step) + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  INFO(call << ", " << kind << ": " << output);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  return output;
}

unsigned failures_of(const std::string& call, const std::string& kind, Which which = {}) {
  unsigned failures = 0;
  REQUIRE(std::sscanf(run_failing(call, kind, which).c_str(), "%u failures", &failures) == 1);
  return failures;
}

/// Each alone, and all from each on.
void check(const std::string& call, unsigned least, const std::string& kind = "mapped", Which which = {}) {
  for (const char* later : {"", "..."}) CHECK(failures_of(call + later, kind, which) >= least);
}

}  // namespace

TEST_CASE("whichever write of a session fails, the program runs on, and what is missing is told of", "[failing]") {
  check("write", 5);
  check("short_write", 5);
  CHECK(run_failing("interrupt").find(" failures") != std::string::npos);  // without end it would not end
}

TEST_CASE("whichever file of a session cannot be made, the program runs on, and what is missing is told of",
          "[failing]") {
  check("open", 2);
  check("fallocate", 1);
  check("mmap", 1);
  check("rename", 2);
  check("rename", 2, "ring");
}

TEST_CASE("whichever thread of a session cannot be started, the program runs on", "[failing]") {
  check("pthread_create", 2);
}

TEST_CASE("whichever allocation of a session fails, the program runs on, and what is missing is told of", "[failing]") {
  for (const char* kind : {"ring", "limited", "series"}) CHECK(failures_of("new", kind, some_of_many()) >= 100);
}

#if defined(FAKE_CUPTI_PATH)
TEST_CASE("whichever allocation of a recording of a device fails, the program runs on, and what is missing is told of",
          "[failing]") {
  CHECK(failures_of("new", "device", some_of_many()) >= 100);
}
#endif

TEST_CASE("whichever allocation of the first session of a process fails, the program runs on", "[failing]") {
#if defined(RANGEFINDER_ADDRESS_SANITIZER)
  check("new", 100, "first", some_of_many());
#else
  check("malloc", 100, "first", some_of_many());  // the C library's and zstd's too
#endif
}
