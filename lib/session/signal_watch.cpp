// SPDX-License-Identifier: MIT
#include "session/signal_watch.hpp"

#include "base/never_destroyed.hpp"

#include <atomic>
#include <mutex>

namespace rangefinder::session {
namespace {

std::atomic<std::uint32_t> deliveries[NSIG];  // lock-free: the handler adds to it and does nothing else
int watched[2] = {0, 0};                      // by SignalUse
struct sigaction before[NSIG];                // what was there, by signal

// A session may stop in an exit handler.
std::mutex& watch_mutex() noexcept {
  static base::NeverDestroyed<std::mutex> mutex;
  return *mutex;
}

void on_signal(int signal, siginfo_t* info, void* context) {
  deliveries[signal].fetch_add(1, std::memory_order_relaxed);
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
  // Only if it is still the handler: the program may have set its own since. And not if there was none before:
  // whoever asks for a dump a moment too late would end the program.
  struct sigaction now {};
  const bool had_none = (before[signal].sa_flags & SA_SIGINFO) == 0 && before[signal].sa_handler == SIG_DFL;
  if (::sigaction(signal, nullptr, &now) == 0 && is_ours(now) && !had_none)
    ::sigaction(signal, &before[signal], nullptr);
}

}  // namespace

void watch_signal(SignalUse use, int signal) noexcept {
  const std::lock_guard lock(watch_mutex());
  int& mine = watched[static_cast<std::size_t>(use)];
  const int other = watched[1 - static_cast<std::size_t>(use)];
  if (mine != 0 && mine != other && mine != signal) give_back(mine);
  mine = 0;
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
  mine = signal;
}

std::uint32_t signal_deliveries(int signal) noexcept {
  return signal > 0 && signal < NSIG ? deliveries[signal].load(std::memory_order_relaxed) : 0;
}

void lock_signals() noexcept { watch_mutex().lock(); }
void unlock_signals() noexcept { watch_mutex().unlock(); }

}  // namespace rangefinder::session
