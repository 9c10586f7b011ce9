// SPDX-License-Identifier: MIT
#include "bench/channel.hpp"

#include "bench/read_clock.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kLook_ns = 100'000'000;
/// A worker that floods us is as broken as one that says nothing.
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

}  // namespace

Status Channel::send(const Json& message) {
  const std::string line = json_line(message) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    // MSG_NOSIGNAL: a worker that is gone is an answer, no reason to end.
    const ssize_t sent = ::send(fd_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return base::system_error("send", "the worker's socket", errno);
    at += static_cast<std::size_t>(sent);
  }
  return {};
}

Result<bool> Channel::take_line(std::string& line) {
  const std::size_t end = waiting_.find('\n');
  if (end == std::string::npos) {
    if (waiting_.size() > kMaxLineBytes) return Error{ErrorCode::kUnreadable, "a message without end"};
    return false;
  }
  line = waiting_.substr(0, end);
  waiting_.erase(0, end + 1);
  return true;
}

Result<Json> Channel::receive(std::int64_t timeout_ns, const std::function<bool()>& cancelled) {
  const std::int64_t begin_ns = read_clock(CLOCK_MONOTONIC);
  for (std::string line;;) {
    const Result<bool> taken = take_line(line);
    if (!taken) return taken.error();
    if (*taken) return parse_json(line);
    if (cancelled && cancelled()) return Error{ErrorCode::kBusy, "interrupted"};
    const std::int64_t left_ns = timeout_ns < 0 ? kLook_ns : begin_ns + timeout_ns - read_clock(CLOCK_MONOTONIC);
    if (left_ns <= 0) return Error{ErrorCode::kTimeout, "no answer in time"};
    pollfd ready{fd_.get(), POLLIN, 0};
    const int events = ::poll(&ready, 1, static_cast<int>(std::min(left_ns, kLook_ns) / 1'000'000 + 1));
    if (events == 0 || (events < 0 && errno == EINTR)) continue;
    if (events < 0) return base::system_error("poll", "the worker's socket", errno);
    std::array<char, 1 << 16> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{ErrorCode::kIncomplete, "the other end is gone"};
    waiting_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace rangefinder::bench
