// SPDX-License-Identifier: MIT
#include "bench/stack_sampler.hpp"

#include "base/signals_blocked.hpp"
#include "bench/read_clock.hpp"
#include "bench/symbolizer.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kPeriod_ns = 1'000'000;
constexpr std::size_t kMaxSamples = std::size_t{1} << 15, kMaxFrames = 126;
/// Periods from one look for new threads to the next.
constexpr int kLook = 10;

/// The clock of a thread's CPU time by its number, which is Linux's ABI: pthread_getcpuclockid makes the same.
clockid_t cpu_clock_of(pid_t thread) noexcept {
  return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U);
}

pid_t this_thread() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

template <typename Each>
void each_thread(Each each) {
  DIR* const folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    if (const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)); thread > 0) each(thread);
  }
  ::closedir(folder);
}

struct RawSample {
  std::int64_t time_ns;
  std::int64_t cpu_ns;  // of the thread since it began
  pid_t thread;
  std::uint32_t depth;
  std::array<std::uintptr_t, kMaxFrames> frames;
  std::atomic<std::int64_t> end_cpu_ns;  // the thread's CPU time when the sample was complete; 0 until then
};

/// What the handler writes into: zeros at first, and its pages are there once they are used.
struct Buffer {
  struct Free {
    void operator()(RawSample* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<RawSample[], Free> samples{static_cast<RawSample*>(std::calloc(kMaxSamples, sizeof(RawSample)))};
  std::atomic<std::size_t> taken{0};
};

std::atomic<Buffer*> sampled_into{nullptr};  // null: no sampling, and the handler does nothing
std::atomic<int> inside_handler{0};

struct Walk {
  RawSample& sample;
  bool interrupted = false;  // past the frames of the handler itself
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  int exact = 0;
  std::uintptr_t address = _Unwind_GetIPInfo(context, &exact);
  // The first that is no return address is where the signal came.
  if (!walk.interrupted && exact == 0) return _URC_NO_REASON;
  walk.interrupted = true;
  if (address == 0 || walk.sample.depth == kMaxFrames) return _URC_NORMAL_STOP;
  if (exact == 0) --address;  // into the call
  walk.sample.frames[walk.sample.depth++] = address;
  return _URC_NO_REASON;
}

/// Neither locks nor allocates: libgcc's unwinder finds its tables by _dl_find_object.
void take_sample(int, siginfo_t*, void*) {
  const int error = errno;
  inside_handler.fetch_add(1);
  if (Buffer* const buffer = sampled_into.load(); buffer != nullptr) {
    if (const std::size_t at = buffer->taken.fetch_add(1); at < kMaxSamples) {
      RawSample& sample = buffer->samples[at];
      sample.time_ns = read_clock(CLOCK_MONOTONIC);
      sample.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
      sample.thread = this_thread();
      sample.depth = 0;
      Walk walk{sample};
      _Unwind_Backtrace(add_frame, &walk);
      sample.end_cpu_ns.store(read_clock(CLOCK_THREAD_CPUTIME_ID), std::memory_order_release);
    }
  }
  inside_handler.fetch_sub(1);
  errno = error;
}

Status handle_signal() {
  struct sigaction action {};
  ::sigaction(SIGPROF, nullptr, &action);
  const bool with_info = (action.sa_flags & SA_SIGINFO) != 0;
  if (with_info && action.sa_sigaction == take_sample) return {};
  if (with_info || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN))
    return Error{ErrorCode::kBusy, "stacks are not sampled: somebody else handles SIGPROF"};
  action.sa_sigaction = take_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  ::sigaction(SIGPROF, &action, nullptr);
  return {};
}

}  // namespace

struct StackSampler::Impl {
  struct Times {
    std::int64_t began_ns = 0;  // CPU time when sampling began
    std::int64_t asked_ns = 0;  // when it was last asked for a sample, or ended one
    bool is_asked = false;      // and has not ended it
  };

  Buffer buffer;
  std::map<pid_t, Times> threads;
  std::size_t ended = 0;  // samples from the first one on that have ended
  std::atomic<bool> ends{false};
  std::thread ticker;

  void run();
  void see_ends();
  void look_for_threads(pid_t but, bool at_first);
  void ask_threads();
  void end();
};

void StackSampler::Impl::look_for_threads(pid_t but, bool at_first) {
  each_thread([&](pid_t thread) {
    if (thread == but || threads.count(thread) != 0) return;
    const std::int64_t cpu_ns = at_first ? read_clock(cpu_clock_of(thread)) : 0;
    threads[thread] = {cpu_ns, cpu_ns, false};
  });
}

/// Taking a sample is no work of the thread: where it takes long, a waiting thread would be sampled for the last one.
void StackSampler::Impl::see_ends() {
  bool all_ended = true;
  for (std::size_t at = ended, taken = std::min(buffer.taken.load(), kMaxSamples); at < taken; ++at) {
    const RawSample& sample = buffer.samples[at];
    const std::int64_t end_ns = sample.end_cpu_ns.load(std::memory_order_acquire);
    all_ended = all_ended && end_ns != 0;
    if (all_ended) ended = at + 1;
    if (end_ns == 0) continue;
    if (Times& times = threads[sample.thread]; end_ns > times.asked_ns) times = {times.began_ns, end_ns, false};
  }
}

void StackSampler::Impl::ask_threads() {
  const pid_t process = ::getpid();
  const bool is_full = buffer.taken.load() >= kMaxSamples;  // what is asked for then is counted as lost
  for (auto& [thread, times] : threads) {
    if (times.is_asked && !is_full) continue;
    const std::int64_t cpu_ns = read_clock(cpu_clock_of(thread));
    if (cpu_ns - times.asked_ns < kPeriod_ns / 2) continue;  // it waits; -1: it is gone
    times.asked_ns = cpu_ns;
    times.is_asked = true;
    ::syscall(SYS_tgkill, process, thread, SIGPROF);
  }
}

void StackSampler::Impl::run() {
  const pid_t self = this_thread();
  const timespec period{0, kPeriod_ns};
  for (int count = 0; !ends.load(); ++count) {
    if (count % kLook == 0) look_for_threads(self, false);
    see_ends();
    ask_threads();
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &period, nullptr);
  }
}

void StackSampler::Impl::end() {
  ends.store(true);
  if (ticker.joinable()) ticker.join();
  sampled_into.store(nullptr);
  while (inside_handler.load() != 0) std::this_thread::yield();
}

StackSampler::StackSampler(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

StackSampler::StackSampler(StackSampler&&) noexcept = default;

StackSampler::~StackSampler() {
  if (impl_ != nullptr) impl_->end();
}

Result<StackSampler> StackSampler::start() {
  // What the unwinder does once, it does here, not in a handler.
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_NORMAL_STOP; }, nullptr);
  if (Status status = handle_signal(); !status.ok()) return status.error();
  auto impl = std::make_unique<Impl>();
  if (impl->buffer.samples == nullptr) return Error{ErrorCode::kTooLarge, "stacks are not sampled: out of memory"};
  Buffer* nobody = nullptr;
  if (!sampled_into.compare_exchange_strong(nobody, &impl->buffer))
    return Error{ErrorCode::kBusy, "stacks are sampled already"};
  impl->look_for_threads(0, true);
  const base::SignalsBlocked blocked;
  impl->ticker = std::thread([all = impl.get()] { all->run(); });
  return StackSampler(std::move(impl));
}

StackSamples StackSampler::stop() {
  const std::unique_ptr<Impl> impl = std::move(impl_);
  if (impl == nullptr) return {};
  impl->end();
  const std::size_t taken = impl->buffer.taken.load(), kept = std::min(taken, kMaxSamples);
  StackSamples out;
  out.lost = taken - kept;
  for (std::size_t i = 0; i < kept; ++i) {
    const RawSample& raw = impl->buffer.samples[i];
    std::int64_t& last_ns = impl->threads[raw.thread].began_ns;
    out.samples.push_back(
        {raw.time_ns, raw.cpu_ns - last_ns, raw.thread, {raw.frames.begin(), raw.frames.begin() + raw.depth}});
    last_ns = raw.cpu_ns;
  }
  return out;
}

namespace {

/// Numbers things in order of first sight.
template <typename Key>
class Numbers {
 public:
  template <typename Describe>
  std::int64_t of(const Key& key, Describe describe) {
    const auto [at, is_new] = numbers_.emplace(key, static_cast<std::int64_t>(numbers_.size()));
    if (is_new) all_.push_back(describe());
    return at->second;
  }
  Json take() { return std::move(all_); }

 private:
  std::map<Key, std::int64_t> numbers_;
  Json all_ = Json::array();
};

}  // namespace

Json to_json(const StackSamples& samples) {
  Symbolizer symbolizer;
  Numbers<std::string> functions;
  Numbers<std::vector<std::int64_t>> stacks;
  std::map<std::uintptr_t, std::int64_t> function_at;
  const auto function = [&](std::uintptr_t address) {
    const auto [at, is_new] = function_at.emplace(address, 0);
    if (is_new) {
      const std::string name = symbolizer.function_at(address);
      at->second = functions.of(name, [&] { return Json(name); });
    }
    return at->second;
  };
  Json list = Json::array();
  for (const StackSample& sample : samples.samples) {
    std::vector<std::int64_t> stack;
    for (const std::uintptr_t address : sample.frames) stack.push_back(function(address));
    const std::int64_t number = stacks.of(stack, [&] { return Json(stack); });
    list.push_back(Json::array({sample.time_ns, std::int64_t{sample.thread}, sample.cpu_ns, number}));
  }
  return Json::object({{"functions", functions.take()},
                       {"stacks", stacks.take()},
                       {"samples", std::move(list)},
                       {"lost", static_cast<std::int64_t>(samples.lost)}});
}

}  // namespace rangefinder::bench
