// SPDX-License-Identifier: MIT
#include "common/package_store.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace examples {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What code may use here: a line of /proc/cpuinfo on x86 and on Arm; every core has the same.
std::string instructions() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  }
  return "unknown";
}

/// FNV-1a, of 64 bits: the same in every process, which std::hash does not promise.
std::string hash_of(const std::vector<std::string>& parts) {
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const std::string& part : parts) {
    for (const char c : part) add(static_cast<unsigned char>(c));
    add(0);
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

bool is_program(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

bool in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return is_program(program);
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && is_program(folder + "/" + program)) return true;
  }
  return false;
}

/// The compiler that the exporter will take.
std::string compiler() {
  const std::string given = environment("CXX");
  return given.empty() ? "g++" : given;
}

/// "word rest" lines.
std::map<std::string, std::string> described(const std::string& path) {
  std::ifstream in(path);
  std::map<std::string, std::string> out;
  for (std::string word, rest; in >> word && std::getline(in >> std::ws, rest);) out[word] = rest;
  return out;
}

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

/// A lock between processes, and between threads, for each opens the file anew; released when the last descriptor of
/// it is closed, by whatever end of whoever holds it.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0) fail("open " + path, errno);
    while (::flock(fd_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      ::close(fd_);
      fail("lock " + path, error);
    }
  }
  ~FileLock() { ::close(fd_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

/// Runs a program to its end; what it prints goes to standard error. It keeps `lock` while it lives: when this process
/// is killed and it is not, no other begins to make the same.
int run_program(const std::vector<std::string>& words, int lock) {
  constexpr int kLock = 3;
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 2, 1);
  ::posix_spawn_file_actions_adddup2(&actions, lock, kLock);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("start " + words.front(), error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("wait for " + words.front(), errno);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

PackageStoreOptions PackageStoreOptions::from_environment(const std::string& torch_version,
                                                          const std::string& accelerator) {
  PackageStoreOptions options;
  options.folder = environment("RANGEFINDER_PACKAGES");
  if (options.folder.empty()) {
    const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
    if (!cache.empty() || !home.empty())
      options.folder = (cache.empty() ? home + "/.cache" : cache) + "/rangefinder/packages";
  }
  options.python = environment("RANGEFINDER_TORCH_PYTHON");
#ifdef RANGEFINDER_TORCH_PYTHON
  if (options.python.empty()) options.python = RANGEFINDER_TORCH_PYTHON;
#endif
#ifdef RANGEFINDER_EXPORT_PACKAGES
  options.script = RANGEFINDER_EXPORT_PACKAGES;
#endif
  options.torch_version = torch_version;
  options.accelerator = accelerator;
  return options;
}

PackageStore::PackageStore(PackageStoreOptions options) : options_(std::move(options)) {
  key_ = "torch" + options_.torch_version +
         (options_.accelerator.empty() ? std::string() : "-" + options_.accelerator) + "-" +
         hash_of({options_.torch_version, instructions(), options_.accelerator, text_of(options_.script)});
  folder_ = options_.folder + "/" + key_;
}

std::string PackageStore::file(const std::string& name, const char* suffix) const {
  return folder_ + "/" + name + suffix;
}

bool PackageStore::has(const std::string& name) const {
  // The key is in the description too: a folder that was copied or renamed is not believed.
  const auto description = described(file(name, ".txt"));
  const auto key = description.find("key");
  return key != description.end() && key->second == key_ && ::access(file(name, ".pt2").c_str(), R_OK) == 0;
}

std::string PackageStore::obstacle(const std::vector<std::string>& names, bool again) const {
  if (options_.folder.empty()) return "no folder for compiled packages: set RANGEFINDER_PACKAGES";
  if (!again && std::all_of(names.begin(), names.end(), [this](const std::string& name) { return has(name); }))
    return {};
  if (options_.python.empty())
    return "packages are compiled by the Python of LibTorch's wheel: set RANGEFINDER_TORCH_PYTHON to its interpreter";
  if (!is_program(options_.python))
    return options_.python + " is no program: set RANGEFINDER_TORCH_PYTHON to the interpreter of LibTorch's wheel";
  if (::access(options_.script.c_str(), R_OK) != 0)
    return "the script that compiles packages is not at \"" + options_.script + "\": build on this machine";
  if (!in_path(compiler())) return "no C++ compiler \"" + compiler() + "\": install g++ or set CXX";
  return {};
}

std::vector<StoredPackage> PackageStore::get(const std::vector<std::string>& names, bool again) const {
  if (const std::string why = obstacle(names, again); !why.empty()) throw std::runtime_error(why);
  const auto missing = [&] {
    std::vector<std::string> out;
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if ((again || !has(name)) && seen.insert(name).second) out.push_back(name);
    }
    return out;
  };
  if (!missing().empty()) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw std::runtime_error(folder_ + ": " + error.message());
    const FileLock lock(folder_ + "/lock");
    // Whoever had the lock may have made them meanwhile.
    if (const std::vector<std::string> wanted = missing(); !wanted.empty()) make(wanted, lock.fd());
  }
  std::vector<StoredPackage> out;
  for (const std::string& name : names)
    out.push_back({file(name, ".pt2"), std::strtod(described(file(name, ".txt"))["compile_s"].c_str(), nullptr)});
  return out;
}

void PackageStore::make(const std::vector<std::string>& names, int lock) const {
  // With the lock held, half-made packages are of someone who was killed.
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    if (entry.path().filename().string().starts_with(".making-")) fs::remove_all(entry.path(), ignored);
  }
  // Isolated: neither PYTHONPATH nor the working folder give it another torch.
  std::vector<std::string> words{options_.python, "-I", options_.script, "--torch", options_.torch_version,
                                 "--key",         key_, "--folder",      folder_};
  words.insert(words.end(), names.begin(), names.end());
  const int code = run_program(words, lock);
  for (const std::string& name : names) {
    if (code == 0 && has(name)) continue;
    throw std::runtime_error(options_.script + " ended with " + std::to_string(code) + " and has not made " + name +
                             "; what it printed is in the log");
  }
}

}  // namespace examples
