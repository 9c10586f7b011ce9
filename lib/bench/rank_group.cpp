// SPDX-License-Identifier: MIT
#include "bench/rank_group.hpp"

#include "bench/read_clock.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <tuple>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kFarewell_ns = 5'000'000'000;
/// When one has failed, the others have so long to tell what they know: who failed first is not always heard first.
constexpr std::int64_t kHearing_ns = 300'000'000;
constexpr int kLook_ms = 50;
/// For which the connections of a process that ends may be closed one after the other, on a busy machine.
constexpr int kClosing_ms = 30;
constexpr std::size_t kOthersNamed = 3;

std::int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

std::vector<std::string> environment_of(unsigned rank, unsigned ranks, const std::string& store) {
  return {fmt::format("RANK={}", rank), fmt::format("LOCAL_RANK={}", rank), fmt::format("WORLD_SIZE={}", ranks),
          fmt::format("LOCAL_WORLD_SIZE={}", ranks), "RANGEFINDER_STORE=" + store};
}

/// How little a rank is to blame for all waiting: less where it waits for others, wherever that is, and where it is
/// further in the request. A perturbation comes before the step of its number.
std::uint64_t distance(RankPosition position) {
  constexpr std::uint64_t kWaits = std::uint64_t{1} << 63;
  const bool perturbs = position.doing == RankDoing::kPerturbation;
  const auto doing = static_cast<std::uint64_t>(perturbs ? RankDoing::kStep : position.doing);
  return (position.waits ? kWaits : 0) | doing << 56 | position.step << 1 | (perturbs ? 0U : 1U);
}

/// "rank 1 of 4", "ranks 0, 1 and 3 of 4".
std::string names(const std::vector<unsigned>& ranks, std::size_t all) {
  if (ranks.size() == 1) return fmt::format("rank {} of {}", ranks.front(), all);
  return fmt::format("ranks {} and {} of {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "), ranks.back(), all);
}

}  // namespace

Result<RankGroup> RankGroup::start(Options options) {
  RankGroup group;
  group.options_ = std::move(options);
  const Options& given = group.options_;
  if (given.ranks > 1) {
    Result<Rendezvous> rendezvous = Rendezvous::create();
    if (!rendezvous) return rendezvous.error();
    group.rendezvous_.emplace(std::move(*rendezvous));
    Result<RankOutput> output = RankOutput::open(given.log, given.append_log, given.ranks);
    if (!output) return output.error();
    group.output_.emplace(std::move(*output));
  }
  for (unsigned rank = 0; rank < given.ranks; ++rank) {
    if (Status status = group.start_rank(rank); !status.ok()) return std::move(status).error();
  }
  return group;
}

Status RankGroup::start_rank(unsigned rank) {
  WorkerProcess::Options how{options_.program, options_.log, options_.append_log, options_.timeout_ns,
                             options_.cancelled};
  std::optional<RankProgress> progress;
  if (output_) {
    Result<RankProgress> made = RankProgress::create();
    if (!made) return made.error();
    progress.emplace(std::move(*made));
    how.environment = environment_of(rank, options_.ranks, rendezvous_->of_processes());
    how.output = output_->writing_end(rank);
    how.progress = progress->fd();
  }
  Result<WorkerProcess> process = WorkerProcess::start(std::move(how));
  if (!process) return process.error();
  if (output_) output_->close_writing_end(rank);
  members_.push_back({std::move(*process), std::move(progress), RankWatch(options_.stall_ns)});
  return {};
}

bool RankGroup::alive() const noexcept {
  return std::all_of(members_.begin(), members_.end(), [](const Member& each) { return each.process.alive(); });
}

Result<std::vector<Json>> RankGroup::ask(const std::vector<Json>& requests, const std::vector<RankGroup*>& idle) {
  if (!output_) return ask_one(requests.front());
  if (!alive()) return Error{ErrorCode::kIo, "the ranks are gone"};
  send(requests);
  while (first_failure_ns_ != 0 || !awaited().empty()) {
    wait_for_news();
    std::optional<Error> error = failure();
    for (auto group = idle.begin(); !error && group != idle.end(); ++group) error = (*group)->failure_between();
    if (error) {
      end_all();
      return *std::move(error);
    }
  }
  std::vector<Json> answers;
  for (Member& member : members_) answers.push_back(*std::move(member.answer));
  return answers;
}

Result<std::vector<Json>> RankGroup::ask_one(const Json& request) {
  Result<Json> answer = members_.front().process.ask(request);
  if (!answer) return std::move(answer).error().with_context(options_.variant);
  std::vector<Json> out;
  out.push_back(*std::move(answer));
  return out;
}

void RankGroup::send(const std::vector<Json>& requests) {
  what_ = JsonView(requests.front())["do"].text();
  begin_ns_ = now_ns();
  first_failure_ns_ = 0;
  next_look_ns_ = begin_ns_;
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    Member& member = members_[rank];
    member.answer.reset();
    member.watch.begin();
    member.progress->set(RankDoing::kNothing);
    if (member.process.channel().send(requests[rank]).ok()) continue;
    member.gone = member.gone_first = true;  // it ended between two requests
    member.failed_ns = now_ns();
    if (first_failure_ns_ == 0) first_failure_ns_ = member.failed_ns;
  }
}

void RankGroup::wait_for_news() {
  std::vector<pollfd> ends;
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    if (members_[rank].is_awaited()) ends.push_back({members_[rank].process.channel().fd(), POLLIN, 0});
    if (output_->reading_end(rank) >= 0) ends.push_back({output_->reading_end(rank), POLLIN, 0});
  }
  ::poll(ends.data(), ends.size(), kLook_ms);
  const bool none_had_failed = first_failure_ns_ == 0;
  take_news();
  if (none_had_failed && first_failure_ns_ != 0) {
    // A rank that throws keeps its connections until we have heard of it. So one that is gone by now did not end for
    // the error of another, and is a cause of errors; one that is still to go is not. The system closes the connections
    // of a process that ends in an order of its own: another rank's error may be here before the end that it is for.
    const auto any_gone = [&] {
      return std::any_of(members_.begin(), members_.end(), [](const Member& each) { return each.gone; });
    };
    for (int waited_ms = 0; waited_ms < kClosing_ms && !any_gone(); ++waited_ms) {
      ::poll(nullptr, 0, 1);
      take_news();
    }
    for (Member& member : members_) member.gone_first = member.gone;
  }
  look(awaited());
}

void RankGroup::take_news() {
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    output_->drain(rank);
    pollfd arrived{members_[rank].process.channel().fd(), POLLIN, 0};
    if (members_[rank].is_awaited() && ::poll(&arrived, 1, 0) > 0) take_answer(rank);
  }
}

void RankGroup::take_answer(unsigned rank) {
  Member& member = members_[rank];
  Channel& channel = member.process.channel();
  if (!channel.read_some().ok()) {
    member.gone = true;
    member.failed_ns = now_ns();
  } else if (Result<std::optional<Json>> message = channel.take(); !message) {
    member.failed_ns = now_ns();
    member.fate = message.error().message();
  } else if (message->has_value()) {
    member.answer = **std::move(message);
    const JsonView error = JsonView(*member.answer)["error"];
    if (error.is_null()) return;
    member.failed_ns = JsonView(*member.answer)["failed_ns"].integer(now_ns());
    member.fate = error.text("unnamed");
  }
  if (member.failed_ns != 0 && first_failure_ns_ == 0) first_failure_ns_ = now_ns();
}

void RankGroup::look(const std::vector<unsigned>& at) {
  if (now_ns() < next_look_ns_) return;
  for (const unsigned rank : at) {
    Member& member = members_[rank];
    member.watch.add(look_at(member.process.pid(), member.watch.cpu_ns()), member.progress->get());
  }
  next_look_ns_ = now_ns() + members_.front().watch.look_ns();
}

std::vector<unsigned> RankGroup::awaited() const {
  std::vector<unsigned> out;
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    if (members_[rank].is_awaited()) out.push_back(rank);
  }
  return out;
}

std::optional<Error> RankGroup::failure() {
  if (options_.cancelled && options_.cancelled())
    return Error{ErrorCode::kBusy, fmt::format("{}: {}: interrupted", options_.variant, what_)};
  if (first_failure_ns_ != 0) {
    if (!awaited().empty() && now_ns() - first_failure_ns_ < kHearing_ns) return std::nullopt;
    return failed();
  }
  if (const std::vector<unsigned> late = awaited(); !late.empty() && now_ns() - begin_ns_ >= options_.timeout_ns)
    return no_answer(late, static_cast<double>(options_.timeout_ns) / 1e9, "--timeout-s");
  return stalled();
}

std::optional<Error> RankGroup::failure_between() {
  if (!output_) return std::nullopt;
  what_ = "wait for its turn";
  std::vector<unsigned> all;
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    all.push_back(rank);
    Member& member = members_[rank];
    pollfd arrived{member.process.channel().fd(), POLLIN, 0};
    if (::poll(&arrived, 1, 0) <= 0 || member.process.channel().read_some().ok()) continue;
    member.gone = member.gone_first = true;
    member.failed_ns = first_failure_ns_ = now_ns();
  }
  std::optional<Error> error;
  if (first_failure_ns_ != 0) {
    error = failed();
  } else {
    look(all);
    error = stopped(all);
  }
  if (error) end_all();
  return error;
}

Error RankGroup::failed() {
  for (const Member& member : members_) {
    if (!member.gone) member.process.kill();
  }
  // An abort is often what an exception in a thread comes to: of those that were gone first, it is the later one.
  std::vector<std::tuple<bool, bool, std::int64_t, unsigned>> order;
  int patience_ms = kPatience_ms;
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    Member& member = members_[rank];
    if (member.failed_ns == 0) continue;
    bool aborted = false;
    if (member.gone) {
      const std::int64_t begin_ns = now_ns();
      const WorkerProcess::Ending ending = member.process.end(patience_ms);
      patience_ms -= static_cast<int>(std::min<std::int64_t>(patience_ms, (now_ns() - begin_ns) / 1'000'000));
      aborted = ending.signal == SIGABRT;
      member.fate = fmt::format("{} {}", ending.text, place(rank));
    } else {
      member.fate = fmt::format("failed {}: {}", place(rank), member.fate);
    }
    order.emplace_back(!member.gone_first, aborted, member.failed_ns, rank);
  }
  output_->finish();
  std::sort(order.begin(), order.end());
  const unsigned first = std::get<unsigned>(order.front());
  std::string message =
      fmt::format("rank {} of {} {}{}", first, ranks(), members_[first].fate, output_->last_lines(first));
  for (std::size_t i = 1; i < order.size() && i <= kOthersNamed; ++i)
    message +=
        fmt::format("; then rank {} {}", std::get<unsigned>(order[i]), members_[std::get<unsigned>(order[i])].fate);
  if (order.size() > kOthersNamed + 1) message += fmt::format("; and {} more", order.size() - kOthersNamed - 1);
  return {members_[first].gone ? ErrorCode::kIncomplete : ErrorCode::kInvalidArgument, std::move(message)};
}

std::optional<Error> RankGroup::stopped(const std::vector<unsigned>& of) const {
  std::vector<unsigned> found;
  std::copy_if(of.begin(), of.end(), std::back_inserter(found),
               [&](unsigned rank) { return members_[rank].watch.stopped(); });
  if (found.empty()) return std::nullopt;
  return no_answer(found, static_cast<double>(members_.front().watch.stopped_ns()) / 1e9,
                   "stopped by a signal, as SIGSTOP does");
}

std::optional<Error> RankGroup::stalled() const {
  const std::vector<unsigned> late = awaited();
  if (std::optional<Error> error = stopped(late)) return error;
  const bool all_sleep =
      std::all_of(late.begin(), late.end(), [&](unsigned rank) { return members_[rank].watch.asleep(); });
  if (late.empty() || !all_sleep) return std::nullopt;
  return no_answer(late, static_cast<double>(options_.stall_ns) / 1e9, "asleep all that time, --stall-s");
}

Error RankGroup::no_answer(const std::vector<unsigned>& late, double seconds, const char* why) const {
  // The one that others wait for is not further than they are.
  std::vector<unsigned> last, others;
  const auto at = [&](unsigned rank) { return distance(members_[rank].progress->get()); };
  const unsigned least =
      *std::min_element(late.begin(), late.end(), [&](unsigned a, unsigned b) { return at(a) < at(b); });
  for (const unsigned rank : late) (at(rank) == at(least) ? last : others).push_back(rank);
  std::string message =
      fmt::format("{}: no answer for {:.3g} s {} ({})", names(last, members_.size()), seconds, place(least), why);
  if (last.size() == 1) message += output_->last_lines(least);
  for (std::size_t i = 0; i < std::min(others.size(), kOthersNamed); ++i)
    message += fmt::format("; rank {} is {}", others[i], place(others[i]));
  return {ErrorCode::kTimeout, std::move(message)};
}

std::string RankGroup::place(unsigned rank) const {
  const RankPosition position = members_[rank].progress->get();
  const std::string doing = position.text();
  std::string out = doing.empty() ? fmt::format("at \"{}\" of variant {}", what_, options_.variant)
                                  : fmt::format("in {} of variant {}, at \"{}\"", doing, options_.variant, what_);
  if (position.waits) out += ", waiting for other ranks";
  return out;
}

void RankGroup::end_all() {
  for (const Member& member : members_) member.process.kill();  // all at once, then one after the other
  for (Member& member : members_) member.process.end();
  if (output_) output_->finish();
}

void RankGroup::quit() {
  if (members_.empty() || !alive()) return end_all();
  if (!output_) return members_.front().process.quit();
  send(std::vector<Json>(members_.size(), Json::object({{"do", "quit"}})));
  // An answer or the end of the stream: either way it has had its time.
  while (!awaited().empty() && now_ns() - begin_ns_ < kFarewell_ns && !(options_.cancelled && options_.cancelled()))
    wait_for_news();
  for (Member& member : members_) {
    if (!member.is_awaited()) member.process.end(kPatience_ms);
  }
  end_all();
}

}  // namespace rangefinder::bench
