// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"
#include "bench/rank_output.hpp"
#include "bench/rank_progress.hpp"
#include "bench/rank_watch.hpp"
#include "bench/rendezvous.hpp"
#include "bench/worker_process.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::bench {

/// The processes that run a variant together: one, or several ranks. All are told to do the same at the same time.
///
/// Several: each has RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE and RANGEFINDER_STORE in its environment. One that
/// ends, throws, is stopped or hangs ends all of them: within 10 s, except for one that computes for ever, which only
/// the timeout tells from one that has much to do. So does one that ends or is stopped while another group works.
class RankGroup {
 public:
  struct Options {
    std::string program;
    std::string variant;  ///< for messages
    std::string log;
    bool append_log = false;
    unsigned ranks = 1;
    std::int64_t timeout_ns = 0;  ///< for all answers to a request
    std::int64_t stall_ns = 0;    ///< for which ranks that have not answered may all sleep
    std::function<bool()> cancelled{};
  };

  static Result<RankGroup> start(Options options);

  unsigned ranks() const noexcept { return static_cast<unsigned>(members_.size()); }
  /// A file for the ranks of a variant that is made next; empty for a single process.
  std::string next_store() { return rendezvous_ ? rendezvous_->next() : std::string(); }
  bool alive() const noexcept;

  /// Sends `requests[rank]` to each rank and waits for all answers. An error of one rank is an error of all: it names
  /// the rank, what became of it, where it was, what it printed last, and who failed after it. Several ranks are then
  /// ended. Of a single process, errors are those of WorkerProcess::ask.
  ///
  /// `idle`: groups that wait for their turn meanwhile. An error of one of their ranks is one of this group too.
  Result<std::vector<Json>> ask(const std::vector<Json>& requests, const std::vector<RankGroup*>& idle = {});
  /// Ends them, in peace where they listen.
  void quit();

 private:
  struct Member {
    WorkerProcess process;
    std::optional<RankProgress> progress{};  ///< of several ranks
    RankWatch watch;
    std::optional<Json> answer{};
    std::int64_t failed_ns = 0;  ///< when it threw, or when we saw that it is gone; 0: it has not failed
    bool gone = false;
    bool gone_first = false;  ///< when the first failure was heard: of none that was heard later
    std::string fate{};       ///< "ended with exit code 3 in step 2 of variant optimized"

    bool is_awaited() const noexcept { return failed_ns == 0 && !answer; }
  };

  RankGroup() = default;
  Status start_rank(unsigned rank);
  Result<std::vector<Json>> ask_one(const Json& request);
  void send(const std::vector<Json>& requests);
  void wait_for_news();
  void take_news();
  void take_answer(unsigned rank);
  void look(const std::vector<unsigned>& at);
  /// Of a rank while nothing is asked of the group; its ranks are ended then.
  std::optional<Error> failure_between();
  /// Why the request cannot succeed any more; nothing: it still can.
  std::optional<Error> failure();
  Error failed();
  std::optional<Error> stopped(const std::vector<unsigned>& of) const;
  std::optional<Error> stalled() const;
  Error no_answer(const std::vector<unsigned>& ranks, double seconds, const char* why) const;
  std::vector<unsigned> awaited() const;
  std::string place(unsigned rank) const;
  void end_all();

  Options options_;
  std::optional<Rendezvous> rendezvous_;
  std::optional<RankOutput> output_;
  std::vector<Member> members_;
  std::string what_;  ///< of the request: "check"
  std::int64_t begin_ns_ = 0;
  std::int64_t first_failure_ns_ = 0;  ///< 0: none
  std::int64_t next_look_ns_ = 0;
};

}  // namespace rangefinder::bench
