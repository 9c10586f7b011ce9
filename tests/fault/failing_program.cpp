// SPDX-License-Identifier: MIT
//
// Makes the n-th call of the system fail, until a whole session passes without one: failing_program CALL KIND OUTPUT
// FIRST STEP, for n = FIRST, FIRST + STEP, ... CALL is a name of kCalls; "CALL..." fails all later ones too. KIND is a
// name of kKinds, or "first": each session is the first of a process. Prints how many sessions that took; what a
// session may not do ends it with a line that says so.
#include "support/fake_cupti/fake_cupti.h"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
#include <thread>

using namespace rangefinder;

namespace {

enum Call : int {
  kOpen,
  kWrite,
  kShortWrite,
  kInterrupt,
  kAllocate,
  kRename,
  kMap,
  kThread,
  kNew,
  kMalloc,
  kCallCount
};
constexpr const char* kCalls[] = {"open",   "write", "short_write",    "interrupt", "fallocate",
                                  "rename", "mmap",  "pthread_create", "new",       "malloc"};
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

/// The simulated CUPTI, whose own allocations succeed.
struct Simulation {
  const void* base = nullptr;
  decltype(&fakecupti_launch) launch = nullptr;
} g_simulation;

void find_simulation() {
  void* const library = ::dlopen(std::getenv("RANGEFINDER_CUPTI_LIBRARY"), RTLD_NOW);
  void* const launch = library != nullptr ? ::dlsym(library, "fakecupti_launch") : nullptr;
  Dl_info where{};
  if (launch == nullptr || ::dladdr(launch, &where) == 0) std::_Exit(2);
  g_simulation = {where.dli_fbase, reinterpret_cast<decltype(&fakecupti_launch)>(launch)};
  void* first[1];
  (void)::backtrace(first, 1);  // allocates the first time
}

bool of_simulation() noexcept {
  if (g_simulation.base == nullptr) return false;
  void* frames[8];
  const int count = ::backtrace(frames, std::size(frames));
  return std::any_of(frames, frames + count, [](const void* frame) {
    Dl_info where{};
    return ::dladdr(frame, &where) != 0 && where.dli_fbase == g_simulation.base;
  });
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
__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  static const auto next = real<int(const char*, const char*)>("rename");
  return fails(kRename) ? (errno = EIO, -1) : next(from, to);
}
__attribute__((visibility("default"))) int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                                                     unsigned flags) noexcept {
  static const auto next = real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(kRename) ? (errno = EIO, -1) : next(from_folder, from, to_folder, to, flags);
}
__attribute__((visibility("default"))) int link(const char* from, const char* to) noexcept {
  static const auto next = real<int(const char*, const char*)>("link");
  return fails(kRename) ? (errno = EIO, -1) : next(from, to);
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

// A sanitizer has its own.
#if !defined(RANGEFINDER_ADDRESS_SANITIZER)
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  return fails(kMalloc) ? (errno = ENOMEM, nullptr) : __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  return fails(kMalloc) ? (errno = ENOMEM, nullptr) : __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* block, size_t bytes) {
  return fails(kMalloc) ? (errno = ENOMEM, nullptr) : __libc_realloc(block, bytes);
}
#endif

}  // extern "C"

// Not inline: GCC would find that what operator new gave is freed by free.
[[gnu::visibility("default"), gnu::noinline]] void* operator new(std::size_t bytes) {
  const bool may_fail = g_failing.call.load() == kNew && !of_simulation();
  void* const block = may_fail && fails(kNew) ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
[[gnu::visibility("default"), gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::visibility("default"), gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}

namespace {

constexpr std::uint64_t kRanges = 1000;
constexpr std::uint64_t kOtherRanges = 200;
constexpr std::uint64_t kLayers = 10;
constexpr std::uint64_t kMaxSessions = 20'000;

[[noreturn]] void wrong(const std::string& what) {
  std::printf("%s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

std::ptrdiff_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

std::ptrdiff_t open_files() {
  // A detached thread holds a session for an instant longer.
  while (entries_of("/proc/self/task") > 1) std::this_thread::yield();
  return entries_of("/proc/self/fd");
}

/// What is recorded.
enum Kind : int { kMapped, kRing, kLimited, kSeries, kDevice, kKindCount };
constexpr const char* kKinds[] = {"mapped", "ring", "limited", "series", "device"};
static_assert(std::size(kKinds) == kKindCount);

SessionOptions options_of(Kind kind, const std::string& path) {
  SessionOptions options;
  options.output = path;
  options.cuda = kind == kDevice;
  options.nvtx = false;
  options.memory_bytes = std::uint64_t{8} << 20;
  options.flush_period = std::chrono::hours(1);
  options.stop_timeout = std::chrono::seconds(60);
  options.metadata = {{"a key that is no short string", "a value that is none either, it is long"}};
  if (kind == kRing) options.mode = CaptureMode::kRing;
  if (kind == kLimited) {
    options.mode = CaptureMode::kBuffered;
    options.duration = std::chrono::hours(1);
    options.until_step = kLayers / 2;
  }
  if (kind == kSeries) {
    options.flush_period = std::chrono::milliseconds(100);  // how long a step waits for its capture
    options.schedule.active = 3;
    options.on_capture_ready = [](const CaptureReady&) {};
  }
  return options;
}

struct Counts {
  std::uint64_t work = 0, other = 0, layers = 0, marks = 0, samples = 0, kernels = 0;
};

Counts counts_of(const Timeline& timeline) {
  Counts counts;
  const auto is = [&](StringId text, std::string_view wanted) { return timeline.text(text) == wanted; };
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i) {
    const StringId name = timeline.ranges.name[i];
    counts.work += is(name, "work") ? 1 : 0;
    counts.other += is(name, "other") ? 1 : 0;
    const bool layer = timeline.text(name).substr(0, 6) == "layer.";
    counts.layers += layer && is(timeline.ranges.category[i], "layers") ? 1 : 0;
  }
  for (const StringId name : timeline.marks.name) counts.marks += timeline.text(name).substr(0, 6) == "layer." ? 1 : 0;
  for (const StringId name : timeline.counters.name) counts.samples += is(name, "loss") ? 1 : 0;
  counts.kernels = timeline.activities.size();
  return counts;
}

/// What is not there has been told of: by the start, by the stop, or by the counters in the file.
void check(Kind kind, const std::string& path, const Status& started, const Status& stopped,
           const CaptureHealth& health, const DeviceState& device, const std::string& when) {
  if (!started.ok()) {
    if (started.error().message().empty()) wrong(when + "no reason why it did not start");
    return;
  }
  const Result<Timeline> timeline = load_timeline(path);
  if (!timeline.ok()) {
    if (stopped.ok()) wrong(when + "ended well, and its file cannot be read: " + timeline.error().message());
    return;
  }
  const Counts read = counts_of(*timeline);
  if (read.work > kRanges || read.other > kOtherRanges || read.layers > kLayers || read.marks > kLayers ||
      read.samples > kLayers)
    wrong(when + "more in the file than was recorded");
  if (kind == kDevice && read.kernels < kLayers && stopped.ok() && timeline->health.complete() &&
      timeline->health.cupti_errors == 0 && device.full)
    wrong(when + std::to_string(kLayers - read.kernels) + " kernels are missing, and nothing says so");
  const std::uint64_t missing = kRanges - read.work + kOtherRanges - read.other + kLayers - read.layers + kLayers -
                                read.marks + kLayers - read.samples;
  if (missing == 0) return;
  const std::string are_missing = when + std::to_string(missing) + " are missing, ";
  if (stopped.ok() && timeline->health.complete()) wrong(are_missing + "and neither stop nor the file says so");
  if (stopped.ok() && health.complete()) wrong(are_missing + "and neither stop nor health says so");
  const std::uint64_t told = timeline->health.records_not_written + timeline->health.dropped_ranges +
                             timeline->health.dropped_events + timeline->health.recovered_records;
  if (stopped.ok() && missing > told) wrong(are_missing + "and " + std::to_string(told) + " are told of");
}

/// Records of a second thread, from when it is told to begin.
class OtherThread {
 public:
  OtherThread()
      : thread_([this] {
          begun_.wait(false);
          for (std::uint64_t i = 0; i < kOtherRanges; ++i) const ProfileRange other{"other"};
          ended_ = true;
          ended_.notify_all();
        }) {}
  ~OtherThread() { thread_.join(); }
  void run() {
    begun_ = true;
    begun_.notify_all();
    ended_.wait(false);
  }

 private:
  std::atomic<bool> begun_{false}, ended_{false};
  std::thread thread_;
};

void work(Session& session, OtherThread& other, Status& status) {
  char name[] = "layer.0";
  for (std::uint64_t i = 0; i < kRanges; ++i) {
    const ProfileRange work{"work"};
    if (i % (kRanges / kLayers) == 0) {
      name[6] = static_cast<char>('0' + i / (kRanges / kLayers));
      {
        const ProfileRange layer{std::string_view(name), Category("layers"), i};
        mark(std::string_view(name), "of a layer");
        counter("loss", 0.5);
        const FakeKernel kernel;
        if (g_simulation.launch != nullptr) (void)g_simulation.launch("cudaLaunchKernel_v7000", &kernel);
      }
      session.step(1);
    }
    if (i == kRanges / 5) other.run();
    if (i == kRanges / 4) (void)session.summary();
    if (i == kRanges / 2) status = session.flush();
    if (i == kRanges * 3 / 4) (void)session.dump();
  }
}

/// Whether a call failed in it.
bool run_session(Call call, bool and_later, std::uint64_t n, Kind kind, const std::string& path) {
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".live");
  const std::string when = std::string(kCalls[call]) + " " + std::to_string(n) + (and_later ? " and later: " : ": ");
  SessionOptions options = options_of(kind, path);
  OtherThread other;
  g_failing.failed = 0;
  g_failing.left = n;
  g_failing.and_later = and_later;
  g_failing.call = call;
  Session session(std::move(options));
  Status stopped;
  work(session, other, stopped);
  CaptureHealth health = session.health();
  const DeviceState device = session.device();
  const bool records = session.running();
  const bool told = session.status().ok() || !session.status().error().message().empty();
  if (Status last = session.stop(); !last.ok()) stopped = std::move(last);
  g_failing.call = -1;
  if (!told || (records && !session.status().ok())) wrong(when + "no reason why it did not start");
  health += session.health();
  // The others do not have all in one file.
  if (kind <= kRing || kind == kDevice) check(kind, path, session.status(), stopped, health, device, when);
  return g_failing.failed != 0;
}

/// The first session of a process, in a child process for every n.
bool run_first(Call call, bool and_later, std::uint64_t n, Kind kind, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(run_session(call, and_later, n, kind, path) ? 3 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)) return WEXITSTATUS(status) == 3;
  wrong(std::string(kCalls[call]) + " " + std::to_string(n) + ": the first session of a process ended it, status " +
        std::to_string(status));
}

/// The place among the names; their number where it is none.
template <std::size_t N>
int find(const char* const (&names)[N], std::string_view name) {
  return static_cast<int>(std::find(std::begin(names), std::end(names), name) - std::begin(names));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  std::string_view name = argv[1];
  const bool and_later = name.size() > 3 && name.substr(name.size() - 3) == "...";
  if (and_later) name.remove_suffix(3);
  const int call = find(kCalls, name);
  const bool first = std::string_view(argv[2]) == "first";
  const int kind = first ? static_cast<int>(kMapped) : find(kKinds, argv[2]);
  if (call == kCallCount || kind == kKindCount) return 2;
  if (kind == kDevice) find_simulation();
  const auto run = [&](std::uint64_t n) {
    return (first ? run_first : run_session)(static_cast<Call>(call), and_later, n, static_cast<Kind>(kind), argv[3]);
  };
  if (!first) (void)run(kMaxSessions);  // what is done once in a process
  const std::ptrdiff_t files = open_files();
  const std::uint64_t step = std::strtoull(argv[5], nullptr, 10);
  std::uint64_t n = std::strtoull(argv[4], nullptr, 10);
  if (n == 0 || step == 0) return 2;
  while (run(n)) {
    n += step;
    if (n > kMaxSessions) wrong("there is no end to it");
  }
  if (open_files() != files) wrong(std::to_string(open_files() - files) + " files were left open");
  std::printf("%llu failures\n", static_cast<unsigned long long>(n - 1));
  return 0;
}
