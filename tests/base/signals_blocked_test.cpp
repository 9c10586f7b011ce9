// SPDX-License-Identifier: MIT
#include "base/signals_blocked.hpp"

#include "support/catch.hpp"

#include <signal.h>

#include <thread>

using namespace rangefinder;

namespace {

bool is_blocked(int signal) {
  sigset_t mask;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 && ::sigismember(&mask, signal) == 1;
}

}  // namespace

TEST_CASE("a thread that begins while signals are blocked gets none, and its maker gets its own back", "[base]") {
  sigset_t own, before;
  ::sigemptyset(&own);
  ::sigaddset(&own, SIGUSR1);
  REQUIRE(::pthread_sigmask(SIG_SETMASK, &own, &before) == 0);
  bool first = false, second = false;
  std::thread thread;
  {
    const base::SignalsBlocked blocked;
    CHECK(is_blocked(SIGUSR2));
    thread = std::thread([&] {
      first = is_blocked(SIGUSR1);
      second = is_blocked(SIGUSR2);
    });
  }
  thread.join();
  CHECK(first);
  CHECK(second);
  CHECK(is_blocked(SIGUSR1));
  CHECK_FALSE(is_blocked(SIGUSR2));
  REQUIRE(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
}
