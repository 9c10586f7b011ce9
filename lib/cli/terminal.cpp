// SPDX-License-Identifier: MIT
#include "cli/terminal.hpp"

#include "base/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace rangefinder::cli {
namespace {

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0';
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(name)) continue;
    std::string value = std::getenv(name);
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

std::size_t terminal_width() {
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    if (const long width = std::strtol(columns, nullptr, 10); width > 0) return static_cast<std::size_t>(width);
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace

Terminal Terminal::detect() {
  Terminal terminal;
  terminal.stdout_is_tty = ::isatty(STDOUT_FILENO) != 0;
  terminal.stderr_is_tty = ::isatty(STDERR_FILENO) != 0;
  terminal.utf8 = locale_is_utf8();
  terminal.width = terminal.stdout_is_tty || is_set("COLUMNS") ? terminal_width() : 0;
  return terminal;
}

bool Terminal::colour(When when) const {
  if (when != When::kAuto) return when == When::kAlways;
  return stdout_is_tty && !is_set("NO_COLOR");
}

void complain(std::string_view message) {
  // Names of files may hold anything, new lines and escape sequences included.
  const std::string text = "rangefinder: " + base::printable(message) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Progress::Progress(const Terminal& terminal, bool wanted, std::string_view what)
    : wanted_(wanted && terminal.stderr_is_tty), what_(base::printable(what)), begin_ns_(now_ns()) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(void* self, std::uint64_t done, std::uint64_t total) {
  static_cast<Progress*>(self)->show(done, total);
}

bool Progress::update_and_go_on(void* self, std::uint64_t done, std::uint64_t total) {
  update(self, done, total);
  return true;
}

void Progress::show(std::uint64_t done, std::uint64_t total) {
  constexpr std::int64_t kDelay = 500'000'000, kPeriod = 100'000'000;
  if (!wanted_) return;
  const std::int64_t now = now_ns();
  if (now - begin_ns_ < kDelay || now - last_ns_ < kPeriod) return;
  last_ns_ = now;
  shown_ = true;
  if (total == 0) {
    std::fprintf(stderr, "\r\x1b[K%s: %.1f MB", what_.c_str(), static_cast<double>(done) / 1e6);
    return;
  }
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double left_s = share > 0 ? static_cast<double>(now - begin_ns_) / 1e9 * (1 - share) / share : 0;
  std::fprintf(stderr, "\r\x1b[K%s: %3.0f %%, %.0f s left", what_.c_str(), share * 100, left_s);
}

}  // namespace rangefinder::cli
