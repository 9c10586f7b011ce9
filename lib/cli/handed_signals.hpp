// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>

namespace rangefinder::cli {

/// From here to its end, signals that would end or stop us are the program's. Ones that were ignored stay so.
class HandedSignals {
 public:
  HandedSignals();
  ~HandedSignals();
  HandedSignals(const HandedSignals&) = delete;
  HandedSignals& operator=(const HandedSignals&) = delete;

  /// In a child that becomes the program: signals are as they were when this began.
  void restore() const noexcept;

  /// Waits for the program, our child, to end, and hands on what comes meanwhile; the status that waitpid gives, or -1.
  /// `other` is asked first about each signal, and says whether it has seen to it.
  int wait_for(pid_t program, const std::function<bool(int)>& other);

 private:
  void start_listener() noexcept;
  bool sent_to_group(const siginfo_t& sent) const noexcept;
  void hand_on(const siginfo_t& sent, pid_t program) const noexcept;

  sigset_t handed_{};       // blocked, and fetched by wait_for
  sigset_t mask_{};         // before
  struct sigaction child_;  // likewise, of SIGCHLD
  struct sigaction pipe_;   // and of SIGPIPE
  pid_t listener_ = -1;
  int heard_ = -1;  // what the listener hears
};

}  // namespace rangefinder::cli
