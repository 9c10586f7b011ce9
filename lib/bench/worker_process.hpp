// SPDX-License-Identifier: MIT
#pragma once

#include "bench/channel.hpp"
#include "bench/json.hpp"

#include <rangefinder/result.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rangefinder::bench {

/// A worker that serves us, in a process group of its own. What it prints goes to a log. It ends when we do: its socket
/// closes and, should it not look there, it gets SIGKILL.
class WorkerProcess {
 public:
  struct Options {
    std::string program;
    std::string log;
    bool append_log = false;      ///< behind what an earlier worker wrote
    std::int64_t timeout_ns = 0;  ///< for each answer
    std::function<bool()> cancelled{};
    // Of one of several ranks:
    std::vector<std::string> environment{};  ///< "NAME=VALUE", in the place of or beside those of this process
    int output = -1;                         ///< where it prints to; -1: the log
    int progress = -1;                       ///< of RankProgress, which it tells where it is
  };

  static Result<WorkerProcess> start(Options options);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();

  /// Sends a request and waits for its answer. An answer {"error": ...} is an error. After a crash, a timeout or an
  /// interrupt the worker is ended, and the error says how; all later requests fail.
  Result<Json> ask(const Json& request);
  /// Ends it, in peace where it listens.
  void quit();

  bool alive() const noexcept { return pid_ > 0; }
  const std::string& log() const noexcept { return options_.log; }

  // For who asks several at once.
  pid_t pid() const noexcept { return pid_; }
  Channel& channel() noexcept { return channel_; }
  /// Begins its end and waits for nothing; `end` is still to be called.
  void kill() const noexcept;
  /// How a worker ended.
  struct Ending {
    std::string text = "is gone";  ///< "ended with exit code 3", "crashed by SIGSEGV"
    int signal = 0;                ///< 0: none
  };
  /// Kills the group and says how the worker ended. One that is ending by itself has so many milliseconds, so that its
  /// own status is told.
  Ending end(int patience_ms = 0);

 private:
  WorkerProcess() = default;

  Options options_;
  pid_t pid_ = -1;
  Channel channel_;
};

/// Milliseconds for a worker that has closed its socket.
inline constexpr int kPatience_ms = 2000;

/// Starts a worker, asks one thing after the other, and ends it; the first error ends it, too. Its log, which `options`
/// need not name, is dropped.
Result<std::vector<Json>> ask_in_passing(WorkerProcess::Options options, const std::vector<Json>& requests);

/// The last lines of a log, one line, for a message; empty when it is.
std::string tail_of(const std::string& log);

}  // namespace rangefinder::bench
