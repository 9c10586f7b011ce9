// SPDX-License-Identifier: MIT
#include "cli/browser.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace rangefinder::cli {
namespace {

std::string_view variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// At blanks: nothing here goes through a shell.
std::vector<std::string> words_of_command(std::string_view command) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t begin = command.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    command.remove_prefix(begin);
    const std::size_t end = command.find(' ');
    words.emplace_back(command.substr(0, end));
    command.remove_prefix(end == std::string_view::npos ? command.size() : end);
  }
}

bool put_in(std::vector<std::string>& words, const std::string& url) {
  bool found = false;
  for (std::string& word : words) {
    const std::size_t at = word.find("%s");
    if (at == std::string::npos) continue;
    word.replace(at, 2, url);
    found = true;
  }
  return found;
}

}  // namespace

std::optional<std::vector<std::string>> browser_command(const std::string& url) {
  const std::string_view asked_for = variable("BROWSER");
  std::vector<std::string> words = words_of_command(asked_for.substr(0, asked_for.find(':')));
  if (words.empty()) {
    if (variable("DISPLAY").empty() && variable("WAYLAND_DISPLAY").empty()) return std::nullopt;
    words.emplace_back("xdg-open");
  }
  if (!put_in(words, url)) words.push_back(url);
  return words;
}

void start_apart(const std::vector<std::string>& words) noexcept {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    // A child of the child, which init waits for.
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && nowhere >= 0; ++fd) ::dup2(nowhere, fd);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace rangefinder::cli
