// SPDX-License-Identifier: MIT
#include "bench/rank_output.hpp"

#include "base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rangefinder::bench {
namespace {

constexpr std::size_t kLastLines = 5, kMaxMessageLine = 200;
/// A line without end is cut here: a rank that prints no line ends must not take all memory.
constexpr std::size_t kMaxLine = std::size_t{1} << 16;

/// What does not fit on the disk is lost: the benchmark goes on.
void write_all(const base::Fd& fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Result<RankOutput> RankOutput::open(const std::string& log, bool append, unsigned ranks) {
  RankOutput out;
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND | (append ? 0 : O_TRUNC);
  out.log_ = base::Fd(::open(log.c_str(), how, 0644));
  if (!out.log_.valid()) return base::system_error("open", log, errno);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return base::system_error("pipe", log, errno);
    out.pipes_.emplace_back();
    out.pipes_.back().reading = base::Fd(ends[0]);
    out.pipes_.back().writing = base::Fd(ends[1]);
    // Of our end alone: a rank must not find a pipe full that it expects to wait for.
    if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return base::system_error("pipe", log, errno);
  }
  return out;
}

void RankOutput::drain(unsigned rank) {
  Pipe& pipe = pipes_[rank];
  // So much at a time: a rank that prints without end must not keep us from the others.
  constexpr int kReads = 16;
  for (int i = 0; i < kReads && pipe.reading.valid(); ++i) {
    std::array<char, 1 << 14> buffer;
    const ssize_t got = ::read(pipe.reading.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;  // nothing there
    if (got == 0) return pipe.reading.reset();
    take(rank, {buffer.data(), static_cast<std::size_t>(got)});
  }
}

void RankOutput::take(unsigned rank, std::string_view text) {
  Pipe& pipe = pipes_[rank];
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    pipe.line += text.substr(0, end);
    if (end != std::string_view::npos || pipe.line.size() >= kMaxLine) write_line(rank);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void RankOutput::write_line(unsigned rank) {
  Pipe& pipe = pipes_[rank];
  write_all(log_, fmt::format("[rank {}] {}\n", rank, pipe.line));
  if (pipe.last.size() == kLastLines) pipe.last.pop_front();
  pipe.last.push_back(pipe.line.substr(0, kMaxMessageLine));
  pipe.line.clear();
}

void RankOutput::finish() {
  for (unsigned rank = 0; rank < pipes_.size(); ++rank) {
    drain(rank);
    if (!pipes_[rank].line.empty()) write_line(rank);
  }
}

std::string RankOutput::last_lines(unsigned rank) const {
  std::string out;
  for (const std::string& line : pipes_[rank].last) {
    if (!line.empty()) out += (out.empty() ? "; its last lines: " : " / ") + base::printable(line);
  }
  return out;
}

}  // namespace rangefinder::bench
