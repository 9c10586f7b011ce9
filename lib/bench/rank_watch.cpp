// SPDX-License-Identifier: MIT
#include "bench/rank_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kLooksOfStall = 8, kLeastLook_ns = 50'000'000, kMostLook_ns = 900'000'000;
constexpr std::int64_t kShareOfSleep = 20;  // 5 %
constexpr std::int64_t kFewTicks = 5;
constexpr char kNoState = '?';

struct Stat {
  char state = kNoState;
  std::int64_t cpu_ticks = 0;
};

/// Of a process or thread; the name in front may hold blanks and parentheses.
Stat read_stat(const std::string& path) {
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kBetweenStateAndTimes = 10;
  Stat out;
  std::string skipped;
  std::int64_t user = 0, system = 0;
  fields >> out.state;
  for (int i = 0; i < kBetweenStateAndTimes; ++i) fields >> skipped;
  fields >> user >> system;
  out.cpu_ticks = user + system;
  return out;
}

bool has_children(const std::string& thread) {
  std::ifstream in(thread + "/children");
  std::string first;
  return static_cast<bool>(in >> first);
}

/// Threads that sleep in the kernel until something happens are at rest, and those that a signal stopped; those that a
/// debugger stopped have someone who looks after them. One that ended meanwhile has no work.
bool at_rest(char state) { return std::string_view("STZX?").find(state) != std::string_view::npos; }

bool any_has_work(const std::string& process) {
  std::error_code code;
  for (std::filesystem::directory_iterator at(process + "/task", code), end; !code && at != end; at.increment(code)) {
    const std::string thread = at->path().string();
    if (!at_rest(read_stat(thread + "/stat").state) || has_children(thread)) return true;
  }
  return false;
}

}  // namespace

ProcessLook look_at(pid_t pid, std::int64_t cpu_ns_before) {
  static const std::int64_t tick_ns = 1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK));
  const std::string process = "/proc/" + std::to_string(pid);
  const Stat stat = read_stat(process + "/stat");
  ProcessLook out;
  out.stopped = stat.state == 'T';
  out.cpu_ns = stat.cpu_ticks * tick_ns;
  // Little CPU time is no work: threads in the background wake up now and then. Much of it needs no second question.
  out.has_work = out.cpu_ns - cpu_ns_before > kFewTicks * tick_ns || any_has_work(process);
  return out;
}

RankWatch::RankWatch(std::int64_t stall_ns) noexcept
    : look_ns_(std::clamp(stall_ns / kLooksOfStall, kLeastLook_ns, kMostLook_ns)),
      looks_of_stall_((stall_ns + look_ns_ - 1) / look_ns_) {}

void RankWatch::begin() noexcept {
  // The first look finds all of its CPU time new, and so begins the count.
  cpu_ns_ = asleep_ = stopped_ = 0;
  position_ = {};
}

void RankWatch::add(const ProcessLook& look, RankPosition position) noexcept {
  const bool moved =
      position.doing != position_.doing || position.step != position_.step || position.waits != position_.waits;
  const bool worked = (look.cpu_ns - cpu_ns_) * kShareOfSleep > look_ns_;
  position_ = position;
  cpu_ns_ = look.cpu_ns;
  stopped_ = look.stopped ? stopped_ + 1 : 0;
  if (moved || worked)
    asleep_ = 0;
  else if (!look.has_work)
    ++asleep_;  // a look that finds it awake for once does not begin the count anew
}

}  // namespace rangefinder::bench
