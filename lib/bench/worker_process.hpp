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

 private:
  WorkerProcess() = default;
  /// Kills the group and says how the worker ended. `gone`: it is ending by itself, so that its own status is awaited.
  std::string end(bool gone = false);

  Options options_;
  pid_t pid_ = -1;
  Channel channel_;
};

/// Starts a worker, asks one thing after the other, and ends it; the first error ends it, too. Its log, which `options`
/// need not name, is dropped.
Result<std::vector<Json>> ask_in_passing(WorkerProcess::Options options, const std::vector<Json>& requests);

/// The last lines of a log, one line, for a message; empty when it is.
std::string tail_of(const std::string& log);

}  // namespace rangefinder::bench
