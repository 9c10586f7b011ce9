// SPDX-License-Identifier: MIT
#include "cli/handed_signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace rangefinder::cli {
namespace {

// What the program gets of one signal that was sent to the whole group must be that one: many programs take the second
// SIGTERM for a wish to be gone at once. Who it was sent to a signal does not say. So a helper child, in the same
// group, only listens: what it has heard too the program has got.
struct Heard {
  int signal;
  pid_t sender;
  std::int64_t when_ns;
};
constexpr std::int64_t kAtOnce = 100'000'000;  // ns, in which the system gets to all of a group

std::int64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Who signals the command by its name must not find the listener by the same one.
void take_another_name() noexcept {
  ::prctl(PR_SET_NAME, "rf-listen");
  char* const words = program_invocation_name;  // followed by the others, and then the environment
  char* const end = environ[0];
  if (words < end && end - words < 1 << 20) std::memset(words, 0, static_cast<std::size_t>(end - words));
}

[[noreturn]] void listen(int to, pid_t command) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != command) ::_exit(0);
  take_another_name();
  sigset_t all;
  ::sigfillset(&all);
  for (;;) {
    siginfo_t info{};
    if (::sigwaitinfo(&all, &info) < 0) continue;
    const Heard heard{info.si_signo, info.si_pid, monotonic_ns()};
    if (::write(to, &heard, sizeof heard) < 0) ::_exit(0);
  }
}

/// All that end or stop a process which does not look out for them, and SIGCONT.
bool is_handed(int signal) noexcept {
  switch (signal) {
    case SIGKILL:
    case SIGSTOP:  // not ours to catch
    case SIGILL:
    case SIGTRAP:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGSEGV:
    case SIGSYS:  // our own mistakes
    case SIGPIPE:
    case SIGCHLD:  // ours
    case SIGTTIN:
    case SIGTTOU:  // each process has its own
    case SIGURG:
    case SIGWINCH:  // nothing to most, and sent by the terminal
      return false;
    default:
      return true;
  }
}

}  // namespace

HandedSignals::HandedSignals() : child_(), pipe_() {
  ::sigemptyset(&handed_);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction now {};
    if (is_handed(signal) && ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      ::sigaddset(&handed_, signal);
  }
  ::sigaddset(&handed_, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &handed_, &mask_);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;  // where it is ignored, no child can be waited for
  ::sigaction(SIGCHLD, &action, &child_);
  action.sa_handler = SIG_IGN;  // who does not read our last line does not change how the program ends
  ::sigaction(SIGPIPE, &action, &pipe_);
  start_listener();
}

HandedSignals::~HandedSignals() {
  if (listener_ > 0) {
    ::kill(listener_, SIGKILL);
    while (::waitpid(listener_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (heard_ >= 0) ::close(heard_);
  // What has come too late for the program would end us with a status that is not its own.
  const timespec at_once{};
  while (::sigtimedwait(&handed_, nullptr, &at_once) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

void HandedSignals::start_listener() noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t command = ::getpid();
  sigset_t all, ours;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &ours);
  listener_ = ::fork();
  if (listener_ == 0) listen(ends[1], command);
  ::sigprocmask(SIG_SETMASK, &ours, nullptr);
  ::close(ends[1]);
  heard_ = ends[0];
}

void HandedSignals::restore() const noexcept {
  ::sigaction(SIGCHLD, &child_, nullptr);
  ::sigaction(SIGPIPE, &pipe_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

bool HandedSignals::sent_to_group(const siginfo_t& sent) const noexcept {
  if (listener_ < 0) return sent.si_code == SI_KERNEL;  // by the terminal, most likely
  const std::int64_t now = monotonic_ns();
  for (std::int64_t left = kAtOnce; left > 0; left = now + kAtOnce - monotonic_ns()) {
    pollfd heard{heard_, POLLIN, 0};
    if (::poll(&heard, 1, static_cast<int>(left / 1'000'000) + 1) <= 0) continue;
    Heard one{};
    if (::read(heard_, &one, sizeof one) != sizeof one) return false;  // it is gone
    if (one.signal == sent.si_signo && one.sender == sent.si_pid && one.when_ns > now - kAtOnce) return true;
  }
  return false;
}

void HandedSignals::hand_on(const siginfo_t& sent, pid_t program) const noexcept {
  const bool has_it = sent_to_group(sent);
  if (!has_it && sent.si_code == SI_QUEUE)
    ::sigqueue(program, sent.si_signo, sent.si_value);
  else if (!has_it)
    ::kill(program, sent.si_signo);
  if (sent.si_signo != SIGTSTP) return;
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // here we stop, and go on
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

int HandedSignals::wait_for(pid_t program, const std::function<bool(int)>& other) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(program, &status, WNOHANG);
    if (ended == program) return status;
    if (ended < 0 && errno != EINTR) return -1;
    siginfo_t sent{};
    if (::sigwaitinfo(&handed_, &sent) < 0 || sent.si_signo == SIGCHLD || other(sent.si_signo)) continue;
    hand_on(sent, program);
  }
}

}  // namespace rangefinder::cli
