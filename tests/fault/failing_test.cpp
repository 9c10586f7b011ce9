// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

using rangefinder::testing::ScratchFolder;

namespace {

#if defined(FAKE_CUPTI_PATH)
#define SIMULATION "RANGEFINDER_CUPTI_LIBRARY='" FAKE_CUPTI_PATH "' "
#else
#define SIMULATION
#endif

/// What the program printed; its status must be 0.
std::string run_failing(const std::string& call, const std::string& kind = "mapped") {
  const ScratchFolder folder;
  // The program has an operator new of its own, and AddressSanitizer others for what is aligned.
  const std::string command = std::string("ASAN_OPTIONS=alloc_dealloc_mismatch=0 " SIMULATION "exec '") +
                              FAILING_PROGRAM + "' '" + call + "' '" + kind + "' '" + folder.file("a.rfcap") + "' 2>&1";
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

unsigned failures_of(const std::string& call, const std::string& kind) {
  unsigned failures = 0;
  REQUIRE(std::sscanf(run_failing(call, kind).c_str(), "%u failures", &failures) == 1);
  return failures;
}

/// Every single one, and all from each on.
void check(const std::string& call, unsigned least, const std::string& kind = "mapped") {
  for (const char* later : {"", "..."}) CHECK(failures_of(call + later, kind) >= least);
}

}  // namespace

TEST_CASE("whichever write of a session fails, the program runs on, and what is missing is told of", "[fault]") {
  check("write", 5);
  check("short_write", 5);
  CHECK(run_failing("interrupt").find(" failures") != std::string::npos);  // without end it would not end
}

TEST_CASE("whichever file of a session cannot be made, the program runs on, and what is missing is told of",
          "[fault]") {
  check("open", 2);
  check("fallocate", 1);
  check("mmap", 1);
}

TEST_CASE("whichever thread of a session cannot be started, the program runs on", "[fault]") {
  check("pthread_create", 2);
}

TEST_CASE("whichever allocation of a session fails, the program runs on, and what is missing is told of", "[fault]") {
  for (const char* kind : {"ring", "limited", "series"}) CHECK(failures_of("new", kind) >= 100);
}

#if defined(FAKE_CUPTI_PATH)
TEST_CASE("whichever allocation of a recording of a device fails, the program runs on, and what is missing is told of",
          "[fault]") {
  CHECK(failures_of("new", "device") >= 100);
}
#endif

TEST_CASE("whichever allocation of the first session of a process fails, the program runs on", "[fault]") {
#if defined(__SANITIZE_ADDRESS__)
  check("new", 100, "first");
#else
  check("malloc", 100, "first");  // the C library's and zstd's too
#endif
}
