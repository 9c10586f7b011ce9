// SPDX-License-Identifier: MIT
//
// Records in the way that its arguments say, for tests that end it: record_program HOW OUTPUT [SEED FD].
#include "fault/published.hpp"
#include "support/fake_cupti/fake_cupti.h"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <dlfcn.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::kForkingThreads;
using rangefinder::testing::kForksOfEach;
using rangefinder::testing::Published;
using rangefinder::testing::RangeSequence;

namespace {

decltype(&::fakecupti_launch) g_launch = nullptr;  // where the environment names a fake CUPTI

SessionOptions options_for(const char* output) {
  SessionOptions options;
  options.output = output;
  if (const char* library = std::getenv("RANGEFINDER_CUPTI_LIBRARY"))
    g_launch = reinterpret_cast<decltype(g_launch)>(::dlsym(::dlopen(library, RTLD_NOW), "fakecupti_launch"));
  options.cuda = g_launch != nullptr;
  options.nvtx = false;
  options.memory_bytes = std::uint64_t{8} << (options.cuda ? 21 : 20);
  options.overflow = OverflowPolicy::kWait;
  return options;
}

/// Ranges that are open, innermost last. A ProfileRange is no value: each lives in memory of its own.
class Stack {
 public:
  Stack() : memory_(std::make_unique<std::byte[]>(kDepth * sizeof(ProfileRange))) {}
  template <typename... Arguments>
  void push(Arguments&&... arguments) {
    ::new (slot(size_++)) ProfileRange(std::forward<Arguments>(arguments)...);
  }
  void pop() { std::launder(static_cast<ProfileRange*>(slot(--size_)))->~ProfileRange(); }

 private:
  static constexpr std::size_t kDepth = 64;
  void* slot(std::size_t at) noexcept { return memory_.get() + at * sizeof(ProfileRange); }
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

/// For ever. Slowly: with a pause now and then, in which the drain has the time for what is there.
void record(std::uint64_t seed, std::atomic<std::uint64_t>& published, bool slowly) {
  RangeSequence sequence(seed);
  Stack open;
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  for (;;) {
    const RangeSequence::Action action = sequence.next();
    if (!action.begins) {
      open.pop();
      published.store(++ended, std::memory_order_release);
      if (slowly && ended % 1024 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (action.has_value) {
      open.push(std::string_view(RangeSequence::name(action.name)), Payload(begun++));
    } else {
      ++begun;
      // Half of them as literals: the inline path, both ways.
      if (action.name == 0)
        open.push("range.0");
      else if (action.name == 1)
        open.push("range.1");
      else
        open.push(std::string_view(RangeSequence::name(action.name)));
    }
  }
}

/// Two threads record and say how far they are; the main one flushes, steps, or waits, as the seed says.
[[noreturn]] void publish(const SessionOptions& options, std::uint64_t seed, int fd) {
  void* memory = ::mmap(nullptr, sizeof(Published), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) std::exit(3);
  auto* const published = static_cast<Published*>(memory);
  Session session(options);
  if (!session.status().ok()) std::exit(4);
  const bool slowly = options.mode == CaptureMode::kRing && seed % 4 == rangefinder::testing::kSlowPublisher;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < rangefinder::testing::kPublishers; ++t)
    threads.emplace_back([=] { record(seed + t, published->ended[t], slowly); });
  published->started.store(1, std::memory_order_release);
  for (;;) {
    if (seed % 4 == rangefinder::testing::kFlushingPublisher)
      (void)session.flush();
    else if (seed % 4 == rangefinder::testing::kSteppingPublisher)
      session.step();
    else
      ::pause();
  }
}

void work(int ranges) {
  for (int i = 0; i < ranges; ++i) {
    const ProfileRange range{"work"};
    const FakeKernel kernel;
    if (g_launch != nullptr) g_launch("cudaLaunchKernel_v7000", &kernel);
  }
}

/// Records from a static destructor, which runs after the exit handler that stops the session, or before it.
struct LastWords {
  ~LastWords() { work(3); }
};

/// Uses the library as a program that is not recorded, and prints what it has of the system then.
int record_nothing() {
  work(100);
  std::thread([] { work(100); }).join();
  mark("mark");
  counter("counter", 1);
  end_range(start_range("request"));
  const auto entries = [](const char* folder) {
    const std::filesystem::directory_iterator all(folder);
    return static_cast<int>(std::distance(begin(all), end(all)));
  };
  std::printf("%d threads, %d files\n", entries("/proc/self/task"), entries("/proc/self/fd"));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* library : {"libcupti", "libcuda", "libnvidia", "Injection", ".rfcap"})
      if (line.find(library) != std::string::npos) std::printf("%s\n", line.c_str());
  }
  return 7;
}

int fill_disk(const SessionOptions& options) {
  // The live file of 8 MiB still fits; the capture grows until it may not.
  const rlimit limit{std::uint64_t{9} << 20, std::uint64_t{9} << 20};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
  Session session(options);
  if (!session.status().ok()) return 4;
  constexpr std::uint64_t kMarks = 2'000'000;
  std::uint64_t random = 1;
  for (std::uint64_t i = 0; i < kMarks; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    mark("mark", random);  // a value that no packing makes smaller
  }
  const Status status = session.stop();
  const CaptureHealth health = session.health();
  std::printf("%llu marks, %llu dropped, %llu records and %llu chunks not written, status %s\n",
              static_cast<unsigned long long>(kMarks), static_cast<unsigned long long>(health.dropped_events),
              static_cast<unsigned long long>(health.records_not_written),
              static_cast<unsigned long long>(health.chunks_not_written),
              status.ok() ? "ok" : status.error().message().c_str());
  return 0;
}

/// Three captures, of which the last is in the middle when the program ends. Says what on_capture_ready was told.
int end_in_a_series(SessionOptions options, bool forks) {
  options.schedule = {0, 0, 0, 2, 0};
  options.flush_period = std::chrono::minutes(1);
  options.on_capture_ready = [](const CaptureReady& ready) {
    std::printf("%llu: steps %llu to %llu\n", static_cast<unsigned long long>(ready.number),
                static_cast<unsigned long long>(ready.first_step), static_cast<unsigned long long>(ready.last_step));
    std::fflush(stdout);
  };
  static auto* const session = new Session(options);
  if (!session->status().ok()) return 4;
  for (int step = 0; step < 5; ++step) {
    work(10);
    if (step == 4 && forks) {
      const pid_t child = ::fork();
      if (child == 0) {
        session->step();
        std::exit(0);
      }
      int status = 0;
      if (::waitpid(child, &status, 0) != child || status != 0) return 5;
    }
    session->step();
  }
  work(10);
  std::exit(7);
}

int exit_while_recording() {
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      for (;;) work(1);
    }).detach();
  }
  work(1000);
  std::exit(7);
}

bool ended_well(pid_t child) {
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

/// The child does `child`; the parent goes on when it has ended.
template <typename Child>
int fork_and(Child child) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    work(5);
    child();
    ::_exit(1);
  }
  if (!ended_well(pid)) return 5;
  work(1);
  return 7;
}

int vfork_and_exec() {
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execl("/bin/true", "true", static_cast<char*>(nullptr));
    ::_exit(1);
  }
  if (!ended_well(child)) return 5;
  work(1);
  return 7;
}

int spawn() {
  pid_t child = 0;
  std::array<char, 5> name{"true"};
  std::array<char*, 2> arguments{name.data(), nullptr};
  if (::posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments.data(), environ) != 0) return 3;
  if (!ended_well(child)) return 5;
  work(1);
  return 7;
}

int end_by(int signal) {
  ::signal(signal, SIG_DFL);  // a sanitizer has a handler of its own
  ::raise(signal);
  return 2;
}

/// Destroyed after the exit handler that stops the session.
std::optional<ProfileRange> g_last_range;

struct End {
  std::string_view how;
  int (*run)();
  friend bool operator==(const End& end, std::string_view name) { return end.how == name; }
};

constexpr End kEnds[] = {
    {"return", [] { return 7; }},
    {"exit", []() -> int { std::exit(7); }},
    {"static_destructor", []() -> int { std::exit(7); }},
    {"ranges_after_main", [] { return 7; }},
    {"exit_in_thread",
     [] {
       std::thread([] { std::exit(7); }).join();
       return 2;
     }},
    {"exit_while_recording", exit_while_recording},
    {"quick_exit", []() -> int { std::quick_exit(7); }},
    {"_exit", []() -> int { ::_exit(7); }},
    {"abort", []() -> int { std::abort(); }},
    {"terminate", []() -> int { std::terminate(); }},
    {"segmentation_fault", [] { return end_by(SIGSEGV); }},
    {"exec", [] { return ::execl("/bin/sh", "sh", "-c", "exit 7", static_cast<char*>(nullptr)); }},
    {"fork_and_exec", [] { return fork_and([] { ::execl("/bin/true", "true", static_cast<char*>(nullptr)); }); }},
    // Runs our exit handler, in a process without our threads.
    {"fork_and_exit", [] { return fork_and([] { std::exit(0); }); }},
    {"vfork_and_exec", vfork_and_exec},
    {"spawn", spawn},
    {"system", [] { return std::system("exit 0") == 0 ? (work(1), 7) : 5; }},
};

/// What a child may try, none of which may wait for a thread that it does not have. A child that waits is ended by its
/// alarm, and the parent sees it.
[[noreturn]] void be_a_child(Session& session, unsigned number) {
  ::alarm(10);
  g_launch = nullptr;  // CUDA is of no use to a child
  const auto memory = std::make_unique<std::byte[]>(std::size_t{1} << 16);
  work(5);
  const ProfileRange named{std::string_view("child " + std::to_string(number))};
  session.step();
  if (number % 4 == 0) (void)session.flush();
  if (number % 4 == 1) (void)session.stop();
  if (number % 4 == 2) ::execl("/bin/true", "true", static_cast<char*>(nullptr));
  if (number % 2 == 0) ::_exit(0);
  std::exit(0);
}

/// Under a tool that hears NVTX.
int fork_with_start_ranges() {
  std::atomic<bool> running{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (running) end_range(start_range("request"));
    });
  }
  int failed = 0;
  for (int i = 0; i < 300 && failed == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      end_range(start_range("in child"));
      ::_exit(0);
    }
    if (!ended_well(child)) ++failed;
  }
  running = false;
  for (std::thread& thread : threads) thread.join();
  return failed == 0 ? 7 : 5;
}

/// Many threads fork at once inside of ranges, while others record, intern names, come, go and flush.
int storm_of_forks(Session& session) {
  std::atomic<bool> running{true};
  std::atomic<int> failed{0};
  std::thread flushes([&] {
    while (running) (void)session.flush();
  });
  std::thread comes_and_goes([&] {
    for (unsigned i = 0; running; ++i)
      std::thread([i] { const ProfileRange range{std::string_view("thread " + std::to_string(i % 1000))}; }).join();
  });
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kForkingThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < kForksOfEach; ++i) {
        const ProfileRange range{"fork"};
        const pid_t child = ::fork();
        if (child == 0) be_a_child(session, t * kForksOfEach + i);
        work(1);
        if (!ended_well(child)) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  running = false;
  flushes.join();
  comes_and_goes.join();
  return failed == 0 ? 7 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view how = argv[1];
  SessionOptions options = options_for(argv[2]);
  if (how == "publish" && argc == 5) publish(options, std::strtoull(argv[3], nullptr, 10), std::atoi(argv[4]));
  if (how == "publish_ring" && argc == 5) {
    options.mode = CaptureMode::kRing;
    publish(options, std::strtoull(argv[3], nullptr, 10), std::atoi(argv[4]));
  }
  if (how == "off") return record_nothing();
  if (how == "fork_with_start_ranges") return fork_with_start_ranges();
  if (how == "full_disk") return fill_disk(options);
  if (how == "series") return end_in_a_series(options, false);
  if (how == "series_and_fork") return end_in_a_series(options, true);

  static std::optional<LastWords> before_session;
  if (how == "static_destructor") before_session.emplace();
  // It is never destroyed; static, so that it is not taken for a leak.
  static auto* const session = new Session(options);
  if (!session->status().ok()) return 4;
  work(100);
  if (g_launch != nullptr) (void)session->flush();  // what a device did since is lost where no handler runs
  static std::optional<ProfileRange> before_handler;
  if (how == "ranges_after_main") {
    g_last_range.emplace("global");
    before_handler.emplace("static");
  }
  const ProfileRange open{"open"};
  if (const End* end = std::find(std::begin(kEnds), std::end(kEnds), how); end != std::end(kEnds)) return end->run();
  if (how == "fork_storm") return storm_of_forks(*session);
  return 2;
}
