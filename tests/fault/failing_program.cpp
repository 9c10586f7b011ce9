// SPDX-License-Identifier: MIT
//
// Makes the n-th call of the system fail, for every n until a whole session passes without one: failing_program CALL
// OUTPUT. CALL is a name of kCalls; "CALL..." fails all later ones too. Prints how many sessions that took; what a
// session may not do ends it with a line that says so.
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

using namespace rangefinder;

namespace {

enum Call : int { kOpen, kWrite, kShortWrite, kInterrupt, kAllocate, kMap, kThread, kNew, kCallCount };
constexpr const char* kCalls[] = {"open",      "write", "short_write",    "interrupt",
                                  "fallocate", "mmap",  "pthread_create", "new"};
static_assert(std::size(kCalls) == kCallCount);

struct Failing {
  std::atomic<int> call{-1};
  std::atomic<std::uint64_t> left{0};  // calls until one fails
  std::atomic<bool> and_later{false};
  std::atomic<std::uint64_t> failed{0};
} g_failing;

bool fails(Call call) noexcept {
  if (g_failing.call.load() != call) return false;
  const std::uint64_t left = g_failing.left.load();
  if (left > 1) {
    if (g_failing.left.fetch_sub(1) > 1) return false;
  } else if (left == 0 && !g_failing.and_later.load()) {
    return false;
  }
  g_failing.left.store(0);
  ++g_failing.failed;
  return true;
}

template <typename Function>
Function* real(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The library finds these before the system's.
extern "C" {

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails(kOpen)) return errno = EMFILE, -1;
  static const auto next = real<int(const char*, int, ...)>("open");
  return next(path, flags, mode);
}
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  static const auto next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  if (fails(kWrite)) return errno = ENOSPC, -1;
  if (fails(kShortWrite)) size = size / 2 + 1;
  if (fails(kInterrupt)) return errno = EINTR, -1;
  return next(fd, bytes, size, at);
}
__attribute__((visibility("default"))) int fallocate(int fd, int mode, off_t at, off_t size) {
  static const auto next = real<int(int, int, off_t, off_t)>("fallocate");
  return fails(kAllocate) ? (errno = ENOSPC, -1) : next(fd, mode, at, size);
}
__attribute__((visibility("default"))) void* mmap(void* at, size_t size, int rights, int flags, int fd,
                                                  off_t offset) noexcept {
  static const auto next = real<void*(void*, size_t, int, int, int, off_t)>("mmap");
  return fails(kMap) ? (errno = ENOMEM, MAP_FAILED) : next(at, size, rights, flags, fd, offset);
}
__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*run)(void*), void* argument) noexcept {
  static const auto next = real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(kThread) ? EAGAIN : next(thread, attributes, run, argument);
}

}  // extern "C"

// Not inline: GCC would find that what operator new gave is freed by free.
[[gnu::visibility("default"), gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const block = fails(kNew) ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
[[gnu::visibility("default"), gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::visibility("default"), gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}

namespace {

constexpr std::uint64_t kRanges = 1000;
constexpr std::uint64_t kMostSessions = 20'000;

[[noreturn]] void wrong(const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

std::uint64_t ranges_in(const Timeline& timeline) {
  std::uint64_t works = 0;
  for (const StringId name : timeline.ranges.name) works += timeline.text(name) == "work" ? 1 : 0;
  return works;
}

/// What is not there has been told of: by the start, by the stop, or by the counters in the file.
void check(const std::string& path, const Status& started, const Status& stopped, const CaptureHealth& health,
           const std::string& when) {
  if (!started.ok()) {
    if (started.error().message().empty()) wrong(when + "no reason why it did not start");
    return;
  }
  const Result<Timeline> timeline = load_timeline(path);
  if (!timeline.ok()) {
    if (stopped.ok()) wrong(when + "ended well, and its file cannot be read: " + timeline.error().message());
    return;
  }
  const std::uint64_t read = ranges_in(*timeline);
  if (read > kRanges) wrong(when + std::to_string(read) + " ranges in the file");
  if (read < kRanges && stopped.ok() && health.complete() && timeline->health.complete())
    wrong(when + std::to_string(kRanges - read) + " ranges are missing, and nothing says so");
}

/// Whether a call failed in it.
bool run_session(Call call, bool and_later, std::uint64_t n, const std::string& path) {
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".live");
  SessionOptions options;
  options.output = path;
  options.cuda = options.nvtx = false;
  options.memory_bytes = std::uint64_t{8} << 20;
  options.flush_period = std::chrono::hours(1);
  options.stop_timeout = std::chrono::seconds(60);
  options.metadata = {{"a key that is no short string", "a value that is none either, it is long"}};
  g_failing.failed = 0;
  g_failing.left = n;
  g_failing.and_later = and_later;
  g_failing.call = call;
  Status stopped;
  CaptureHealth health;
  Session session(std::move(options));
  char name[] = "layer.0";
  for (std::uint64_t i = 0; i < kRanges; ++i) {
    const ProfileRange work{"work"};
    if (i % 100 == 0) {
      session.step(1);
      name[6] = static_cast<char>('0' + i / 100);
      const ProfileRange layer{std::string_view(name), Category("layers"), i};
      mark(std::string_view(name), "of a layer");
      counter("loss", 0.5);
    }
    if (i == kRanges / 2) stopped = session.flush();
    if (i == kRanges / 4) (void)session.summary();
  }
  health = session.health();
  if (Status last = session.stop(); !last.ok()) stopped = std::move(last);
  g_failing.call = -1;
  health += session.health();
  check(path, session.status(), stopped, health,
        std::string(kCalls[call]) + " " + std::to_string(n) + (and_later ? " and later: " : ": "));
  return g_failing.failed != 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string_view name = argv[1];
  const bool and_later = name.size() > 3 && name.substr(name.size() - 3) == "...";
  if (and_later) name.remove_suffix(3);
  int call = 0;
  while (call < kCallCount && name != kCalls[call]) ++call;
  if (call == kCallCount) return 2;
  (void)run_session(static_cast<Call>(call), false, kMostSessions, argv[2]);  // what is done once in a process
  const std::ptrdiff_t files = open_files();
  std::uint64_t n = 1;
  while (run_session(static_cast<Call>(call), and_later, n, argv[2])) {
    if (++n > kMostSessions) wrong("there is no end to it");
  }
  if (open_files() != files) wrong(std::to_string(open_files() - files) + " files were left open");
  std::printf("%llu failures\n", static_cast<unsigned long long>(n - 1));
  return 0;
}
