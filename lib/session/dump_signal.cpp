// SPDX-License-Identifier: MIT
#include "session/dump_signal.hpp"

#include <atomic>
#include <csignal>

namespace rangefinder::session {
namespace {

std::atomic<std::uint32_t> requests{0};
int watched = 0;
struct sigaction before {};

void on_signal(int signal, siginfo_t* info, void* context) {
  requests.fetch_add(1, std::memory_order_relaxed);
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

}  // namespace

void watch_dump_signal(int signal) noexcept {
  if (watched != 0) {
    // Only if it is still ours: the program may have set its own handler on top since.
    struct sigaction now {};
    if (::sigaction(watched, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal)
      ::sigaction(watched, &before, nullptr);
    watched = 0;
  }
  if (signal == 0) return;
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(signal, &ours, &before) == 0) watched = signal;
}

std::uint32_t dump_requests() noexcept { return requests.load(std::memory_order_relaxed); }

}  // namespace rangefinder::session
