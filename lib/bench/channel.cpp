// SPDX-License-Identifier: MIT
#include "bench/channel.hpp"

#include "bench/read_clock.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

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

Status Channel::read_some() {
  for (std::array<char, 1 << 16> buffer;;) {
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{ErrorCode::kIncomplete, "the other end is gone"};
    waiting_.append(buffer.data(), static_cast<std::size_t>(got));
    return {};
  }
}

Result<std::optional<Json>> Channel::take() {
  const std::size_t end = waiting_.find('\n');
  if (end == std::string::npos) {
    if (waiting_.size() > kMaxLineBytes) return Error{ErrorCode::kUnreadable, "a message without end"};
    return std::optional<Json>();
  }
  Result<Json> message = parse_json(std::string_view(waiting_).substr(0, end));
  waiting_.erase(0, end + 1);
  if (!message) return message.error();
  return std::optional<Json>(std::move(*message));
}

Result<Json> Channel::receive(std::int64_t timeout_ns, const std::function<bool()>& cancelled) {
  const std::int64_t begin_ns = read_clock(CLOCK_MONOTONIC);
  for (;;) {
    Result<std::optional<Json>> message = take();
    if (!message) return message.error();
    if (message->has_value()) return std::move(**message);
    if (cancelled && cancelled()) return Error{ErrorCode::kBusy, "interrupted"};
    const std::int64_t left_ns = timeout_ns < 0 ? kLook_ns : begin_ns + timeout_ns - read_clock(CLOCK_MONOTONIC);
    if (left_ns <= 0) return Error{ErrorCode::kTimeout, "no answer in time"};
    pollfd ready{fd_.get(), POLLIN, 0};
    const int events = ::poll(&ready, 1, static_cast<int>(std::min(left_ns, kLook_ns) / 1'000'000 + 1));
    if (events == 0 || (events < 0 && errno == EINTR)) continue;
    if (events < 0) return base::system_error("poll", "the worker's socket", errno);
    if (Status status = read_some(); !status.ok()) return std::move(status).error();
  }
}

}  // namespace rangefinder::bench
