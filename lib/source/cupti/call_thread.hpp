// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace rangefinder::source::cupti {

/// A thread that makes calls which may never return: CUPTI's. Whoever wants one waits for it with a deadline; the
/// thread alone is stuck when the call is. Tasks run in order, one at a time, with no lock held.
class CallThread {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Ticket = std::uint64_t;

  /// Starts the thread when there is none. Throws std::system_error when that is not possible.
  Ticket post(std::function<void()> task);
  /// False when the deadline came first; the task still runs when its turn comes.
  bool wait(Ticket ticket, Time deadline);
  bool finished(Ticket ticket) const;

  /// Tasks that threw since the last call of this: there was no memory.
  std::uint64_t take_failed();

  /// How long the task that runs now has been at it; zero when none does.
  std::chrono::nanoseconds busy_for() const;
  /// The task that everybody waits for: the first that is not finished.
  Ticket oldest_unfinished() const;

  /// Ends the thread once it has nothing to do. False when it is still busy at the deadline: it ends later, by itself;
  /// and when a task is posted: it goes on.
  bool end(Time deadline);

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;            // of the thread
  std::condition_variable done_;            // of those who wait
  std::list<std::function<void()>> tasks_;  // a deque allocates before it holds anything
  std::thread thread_;
  Ticket posted_ = 0;
  Ticket begun_ = 0;
  Ticket done_tickets_ = 0;
  std::uint64_t failed_ = 0;
  Time begun_at_{};
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace rangefinder::source::cupti
