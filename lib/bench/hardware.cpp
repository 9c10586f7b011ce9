// SPDX-License-Identifier: MIT
#include "bench/hardware.hpp"

#include "base/cpu_key.hpp"

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace rangefinder::bench {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string packed_commit(const std::filesystem::path& git, const std::string& reference) {
  std::ifstream in(git / "packed-refs");
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && line.substr(space + 1) == reference) return line.substr(0, space);
  }
  return {};
}

std::string checked_out(const std::filesystem::path& git) {
  const std::string head = first_line(git / "HEAD");
  if (head.rfind("ref: ", 0) != 0) return is_commit(head) ? head : std::string();
  const std::string reference = head.substr(5);
  for (std::string commit : {first_line(git / reference), packed_commit(git, reference)}) {
    if (is_commit(commit)) return commit;
  }
  return {};
}

}  // namespace

std::string gpu_key(std::string_view name, unsigned count) {
  return (count > 1 ? std::to_string(count) + "x_" : std::string()) + base::hardware_slug(name);
}

std::string commit_of(const std::string& folder) {
  std::error_code ignored;
  for (auto at = std::filesystem::absolute(folder, ignored); !at.empty(); at = at.parent_path()) {
    if (std::filesystem::is_directory(at / ".git", ignored)) return checked_out(at / ".git");
    if (at == at.root_path()) break;
  }
  return {};
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace rangefinder::bench
