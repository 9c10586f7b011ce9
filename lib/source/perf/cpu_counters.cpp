// SPDX-License-Identifier: MIT
#include "source/perf/cpu_counters.hpp"

#include "base/health_numbers.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>

namespace rangefinder::source {
namespace {

struct HardwareEvent {
  CpuEvent event;
  std::uint64_t config;
};
// The first leads the group: it has a counter of its own on most processors, and is there wherever another one is.
constexpr HardwareEvent kHardware[] = {{CpuEvent::kCycles, PERF_COUNT_HW_CPU_CYCLES},
                                       {CpuEvent::kInstructions, PERF_COUNT_HW_INSTRUCTIONS},
                                       {CpuEvent::kCacheReferences, PERF_COUNT_HW_CACHE_REFERENCES},
                                       {CpuEvent::kCacheMisses, PERF_COUNT_HW_CACHE_MISSES},
                                       {CpuEvent::kBranchMisses, PERF_COUNT_HW_BRANCH_MISSES}};
constexpr std::size_t kMaxEvents = std::size(kHardware);

/// As a group is read with PERF_FORMAT_GROUP and both times.
struct GroupValues {
  std::uint64_t events;
  std::uint64_t enabled_ns;
  std::uint64_t running_ns;
  std::uint64_t value[kMaxEvents];
};

constexpr std::uint32_t bit(CpuEvent event) noexcept { return 1u << static_cast<std::uint32_t>(event); }

/// The group of one thread.
struct Group {
  int fds[kMaxEvents] = {-1, -1, -1, -1, -1};
  CpuEvent event[kMaxEvents] = {};
  std::size_t events = 0;
  bool tried = false;  // to open it in this process
};

// Set before any thread looks at them, by cpu_counters().
std::atomic<const PerfApi*> the_api{nullptr};
std::atomic<bool> hardware_wanted{false};

/// Opens what there is; 0, or the error of the leader.
int open_group(const PerfApi& api, Group& group) noexcept {
  for (const HardwareEvent& hardware : kHardware) {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = hardware.config;
    attributes.exclude_kernel = 1;  // what perf_event_paranoid 2 allows; the same everywhere
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int fd = api.open(attributes, group.fds[0]);
    if (fd < 0 && group.events == 0) return -fd;
    if (fd < 0) continue;
    group.fds[group.events] = fd;
    group.event[group.events++] = hardware.event;
  }
  return 0;
}

void close_group(const PerfApi& api, Group& group) noexcept {
  for (std::size_t i = group.events; i-- > 0;) api.close(group.fds[i]);
  group.events = 0;
}

__thread Group* my_group = nullptr;

/// The events of a child's descriptors are the parent's thread.
void leave_to_parent() noexcept {
  if (my_group == nullptr) return;
  close_group(*the_api.load(std::memory_order_acquire), *my_group);
  *my_group = {};
}

const pthread_key_t* exit_key() noexcept {
  static pthread_key_t key;
  static const bool made =
      ::pthread_key_create(&key,
                           [](void* group) {
                             close_group(*the_api.load(std::memory_order_acquire), *static_cast<Group*>(group));
                             delete static_cast<Group*>(group);
                             my_group = nullptr;
                           }) == 0 &&
      ::pthread_atfork(nullptr, nullptr, &leave_to_parent) == 0;
  return made ? &key : nullptr;
}

/// The thread's group, opened now where it is not; without events where it could not be.
const Group* group_of_thread(const PerfApi& api) noexcept {
  if (my_group != nullptr && my_group->tried) return my_group;
  const pthread_key_t* const key = exit_key();
  Group* const group = my_group != nullptr ? my_group : key != nullptr ? new (std::nothrow) Group : nullptr;
  if (group == nullptr || ::pthread_setspecific(*key, group) != 0) {
    delete group;
    return nullptr;
  }
  my_group = group;
  group->tried = true;
  const bool opened = open_group(api, *group) == 0;
  const bool takes_too_many = opened && group->fds[group->events - 1] >= api.limit() / 2;
  if (takes_too_many) close_group(api, *group);
  if (group->events == 0) buffer::Recorder::instance().count(health::threads_without_cpu_counters, 1);
  return group;
}

std::uint32_t read_hardware(std::int64_t* counts) noexcept {
  const PerfApi& api = *the_api.load(std::memory_order_acquire);
  const Group* const group = group_of_thread(api);
  if (group == nullptr || group->events == 0) return 0;
  GroupValues values;
  const std::size_t bytes = (3 + group->events) * sizeof(std::uint64_t);
  if (api.read(group->fds[0], &values, bytes) != static_cast<long>(bytes) || values.events != group->events) return 0;
  std::uint32_t known = bit(CpuEvent::kNotCounted);
  counts[static_cast<std::size_t>(CpuEvent::kNotCounted)] =
      static_cast<std::int64_t>(values.enabled_ns - values.running_ns);
  for (std::size_t i = 0; i < group->events; ++i) {
    counts[static_cast<std::size_t>(group->event[i])] = static_cast<std::int64_t>(values.value[i]);
    known |= bit(group->event[i]);
  }
  return known;
}

std::uint32_t read_counts(std::int64_t* counts) noexcept {
  const int error = errno;
  std::uint32_t known = 0;
  timespec time{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0) {
    counts[static_cast<std::size_t>(CpuEvent::kCpuTime)] = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    known |= bit(CpuEvent::kCpuTime);
  }
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) == 0) {
    counts[static_cast<std::size_t>(CpuEvent::kPageFaults)] = usage.ru_minflt + usage.ru_majflt;
    counts[static_cast<std::size_t>(CpuEvent::kContextSwitches)] = usage.ru_nvcsw + usage.ru_nivcsw;
    known |= bit(CpuEvent::kPageFaults) | bit(CpuEvent::kContextSwitches);
  }
  if (hardware_wanted.load(std::memory_order_relaxed)) known |= read_hardware(counts);
  errno = error;
  return known;
}

constexpr buffer::CpuCounterHook kHook{read_counts};

void say_why_refused(int error, CpuCounters& out) {
  std::string why;
  switch (error) {
    case EACCES:
    case EPERM: {
      std::string level;
      std::ifstream in("/proc/sys/kernel/perf_event_paranoid");
      std::getline(in, level);
      why = "the kernel refuses (kernel.perf_event_paranoid is " + (level.empty() ? "unreadable" : level) + ")";
      out.fix =
          "sysctl kernel.perf_event_paranoid=2 or less, or CAP_PERFMON for the program; in a container its seccomp "
          "profile must allow perf_event_open too";
      break;
    }
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      why = "the machine has none, like most virtual machines";
      out.fix = "use a virtual machine with a virtual PMU, or a physical machine";
      break;
    case ENOSYS:
      why = "the kernel has no perf_event_open, or a container's seccomp profile hides it";
      out.fix = "a seccomp profile that allows perf_event_open";
      break;
    default:
      why = std::string("perf_event_open: ") + std::strerror(error);
  }
  out.state = "CPU time, page faults and context switches, but no counters of the processor: " + why;
}

}  // namespace

const PerfApi& system_perf_api() noexcept {
  static constexpr PerfApi api{
      [](const perf_event_attr& attributes, int group) noexcept {
        const long fd = ::syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
        return fd < 0 ? -errno : static_cast<int>(fd);
      },
      [](int fd, void* to, std::size_t bytes) noexcept -> long { return ::read(fd, to, bytes); },
      [](int fd) noexcept { ::close(fd); },
      []() noexcept {
        rlimit limit{};
        if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > (1u << 20)) return 1 << 20;
        return static_cast<int>(limit.rlim_cur);
      }};
  return api;
}

CpuCounters cpu_counters(const PerfApi& api) noexcept {
  Group probe;
  const int refused = open_group(api, probe);
  CpuCounters out;
  try {
    if (refused != 0) {
      say_why_refused(refused, out);
    } else if (probe.events < kMaxEvents) {
      out.state = "the processor counts " + std::to_string(probe.events) + " of " + std::to_string(kMaxEvents) +
                  " events that were asked for";
    } else {
      out.state = "full";
    }
  } catch (...) {  // no memory for the words
  }
  close_group(api, probe);
  the_api.store(&api, std::memory_order_release);
  hardware_wanted.store(refused == 0, std::memory_order_relaxed);
  out.hook = &kHook;
  return out;
}

}  // namespace rangefinder::source
