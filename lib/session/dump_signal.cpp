// SPDX-License-Identifier: MIT
#include "session/dump_signal.hpp"

#include <atomic>
#include <csignal>

namespace rangefinder::session {
namespace {

std::atomic<std::uint32_t> requests{0};
int watched = 0;
struct sigaction before[NSIG];  // what was there, by signal

void on_signal(int signal, siginfo_t* info, void* context) {
  requests.fetch_add(1, std::memory_order_relaxed);
  const struct sigaction& next = before[signal];
  if ((next.sa_flags & SA_SIGINFO) != 0 && next.sa_sigaction != nullptr) {
    next.sa_sigaction(signal, info, context);
  } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
    next.sa_handler(signal);
  }
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

void give_back(int signal) noexcept {
  // Only if it is still ours: the program may have set its own handler on top since. And not where nobody handled it:
  // whoever asks for a dump a moment too late would end the program.
  struct sigaction now {};
  const bool had_none = (before[signal].sa_flags & SA_SIGINFO) == 0 && before[signal].sa_handler == SIG_DFL;
  if (::sigaction(signal, nullptr, &now) == 0 && is_ours(now) && !had_none)
    ::sigaction(signal, &before[signal], nullptr);
}

}  // namespace

void watch_dump_signal(int signal) noexcept {
  if (watched != 0) give_back(watched);
  watched = 0;
  struct sigaction now {};
  if (signal <= 0 || signal >= NSIG || ::sigaction(signal, nullptr, &now) != 0) return;
  if (!is_ours(now)) {
    before[signal] = now;  // first: ours may be called at once
    struct sigaction ours {};
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigemptyset(&ours.sa_mask);
    if (::sigaction(signal, &ours, nullptr) != 0) return;
  }
  watched = signal;
}

std::uint32_t dump_requests() noexcept { return requests.load(std::memory_order_relaxed); }

}  // namespace rangefinder::session
