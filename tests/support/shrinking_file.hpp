// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace rangefinder::testing {

/// Calls `read` in a child `rounds` times, while the file is cut short and written again all the time. `read` tells
/// whether the reader answered as it should: with an error that says something, or with what it could read.
template <typename Read>
void read_while_it_shrinks(const std::string& path, base::ByteView whole, int rounds, Read read) {
  const base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(base::write_at(file, whole, 0, path).ok());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) wrong += read() ? 0 : 1;
    ::_exit(wrong == 0 ? 0 : 1);
  }
  int status = 0;
  std::uint64_t size = 0;
  for (std::uint64_t turn = 0; ::waitpid(child, &status, WNOHANG) == 0; ++turn) {
    size = (size + 4'099 * turn) % whole.size();
    REQUIRE(::ftruncate(file.get(), static_cast<off_t>(size)) == 0);
    REQUIRE(base::write_at(file, whole, 0, path).ok());
  }
  CHECK_FALSE(WIFSIGNALED(status));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace rangefinder::testing
