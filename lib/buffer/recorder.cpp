// SPDX-License-Identifier: MIT
#include "buffer/recorder.hpp"

#include "buffer/health_numbers.hpp"
#include "buffer/listener.hpp"
#include "buffer/name_table.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>

namespace rangefinder::detail {
inline namespace v1 {
__thread HotThread hot_thread = {};
std::atomic<std::uint32_t> active{0};
}  // namespace v1
}  // namespace rangefinder::detail

namespace rangefinder::buffer {
namespace {

using detail::Record;
using format::BlockHeader;
using format::BlockState;

constexpr std::uint32_t kMaxGeneration = (1u << 29) - 1;
// Wake the drain when this many blocks wait: early enough to keep up, late enough not to wake it for each.
constexpr std::uint32_t kWakeAt = 8;

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::milliseconds most) noexcept {
  const timespec time{static_cast<time_t>(most.count() / 1000), static_cast<long>(most.count() % 1000) * 1'000'000};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, &time, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 0x7FFFFFFF, nullptr, nullptr, 0);
}

/// Makes every running thread of the process pass a full barrier: what it stored before we looked, we see; what we
/// stored before, it sees. Threads pay nothing for it.
void barrier_for_all_threads() noexcept {
  static const bool registered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (registered && ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  // Older kernels, or a sandbox without the call: stores drain within microseconds.
  const timespec pause{0, 5'000'000};
  ::nanosleep(&pause, nullptr);
}

pthread_key_t exit_key() noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    ::pthread_key_create(&made, [](void* state) {
      Recorder::instance().detach(*static_cast<Recorder::ThreadState*>(state));
    });
    return made;
  }();
  return key;
}

}  // namespace

Recorder::Recorder() noexcept = default;

Recorder& Recorder::instance() noexcept {
  // Leaked: ranges run until the last instruction of the process.
  alignas(Recorder) static std::byte storage[sizeof(Recorder)];
  static Recorder* const recorder = new (storage) Recorder;
  return *recorder;
}

void Recorder::lock() noexcept {
  for (unsigned spins = 0; locked_.exchange(1, std::memory_order_acquire) != 0; ++spins) {
    if (spins > 100) ::sched_yield();
  }
}

void Recorder::unlock() noexcept { locked_.store(0, std::memory_order_release); }

Status Recorder::start(const RecorderOptions& options) {
  if (generation() != 0) return Error(ErrorCode::kBusy, "a recording runs already in this process; stop it first");
  Result<Arena*> arena = Arena::create(options.arena);
  if (!arena) return std::move(arena).error();
  exit_key();
  register_fork_handlers();
  barrier_for_all_threads();  // registers, while nothing depends on it yet
  lock();
  clock_ = options.clock != nullptr ? options.clock : &clock::system_clock();
  inline_ticks_ = clock_->inline_ticks();
  overflow_ = options.overflow;
  wait_limit_ = options.wait_limit;
  next_thread_ = 0;
  next_sequence_.clear();
  // Names given before the recording began: a crash must find them too.
  const std::uint32_t count = names().size();
  for (std::uint32_t id = 1; id <= count; ++id) {
    if (!(*arena)->publish_name(id, names().text(id))) break;
  }
  last_generation_ = last_generation_ % kMaxGeneration + 1;
  arena_.store(*arena, std::memory_order_release);
  generation_.store(last_generation_, std::memory_order_release);
  unlock();
  free_unused_arenas();
  return {};
}

void Recorder::recompute_active() noexcept {
  const bool heard = listener() != nullptr;
  std::uint32_t value = heard ? detail::kSlowPath : 0;
  if (recording_) value |= generation() | (inline_ticks_ ? 0 : detail::kSlowPath);
  detail::active.store(value, std::memory_order_release);
}

void Recorder::set_recording(bool on) noexcept {
  recording_ = on && generation() != 0;
  recompute_active();
}

Recorder::ThreadState* Recorder::new_state() noexcept {
  for (ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state->hot == nullptr) return state;
  }
  void* memory = ::mmap(nullptr, sizeof(ThreadState), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* state = new (memory) ThreadState{};
  state->next = states_;
  states_ = state;
  return state;
}

Recorder::ThreadState* Recorder::attach() noexcept {
  detail::HotThread& hot = detail::hot_thread;
  const std::uint32_t now = generation();
  auto* state = static_cast<ThreadState*>(hot.state);
  if (now == 0) return nullptr;
  if (state != nullptr && state->generation.load(std::memory_order_relaxed) == now) return state;
  lock();
  Arena* arena = arena_.load(std::memory_order_relaxed);
  BlockHeader* block = arena != nullptr && generation() == now ? arena->take_free() : nullptr;
  if (block == nullptr && arena != nullptr && overflow_ == Overflow::kGrow && arena->grow()) block = arena->take_free();
  if (block != nullptr && state == nullptr) {
    state = new_state();
    if (state != nullptr) {
      state->hot = &hot;
      hot.state = state;
      hot.literals = state->literals;
      hot.texts = state->texts;
    } else {
      arena->count(health::kDroppedThreads, 1);
    }
  }
  if (block == nullptr || state == nullptr) {
    if (block != nullptr) arena->give_free(block);
    unlock();
    return nullptr;
  }
  state->tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  ::prctl(PR_GET_NAME, state->name, 0, 0, 0);
  state->index = next_thread_++;
  state->sequence = 0;
  state->lost_ends = 0;
  state->async_ranges = 0;
  state->generation.store(now, std::memory_order_release);
  open_block(*state, *block);
  hot.token = std::uint64_t{now} << 32 | state->index;
  unlock();
  ::pthread_setspecific(exit_key(), state);
  return state;
}

void Recorder::open_block(ThreadState& state, BlockHeader& block) noexcept {
  block.sequence = state.sequence++;
  block.thread = state.index;
  block.tid = state.tid;
  std::memcpy(block.thread_name, state.name, sizeof block.thread_name);
  block.dropped_ranges.store(0, std::memory_order_relaxed);
  block.drained.store(sizeof(BlockHeader), std::memory_order_relaxed);
  block.used.store(sizeof(BlockHeader), std::memory_order_relaxed);
  // Release: a reader of the live file that sees an active block sees whose it is.
  block.state.store(static_cast<std::uint32_t>(BlockState::kActive), std::memory_order_release);
  state.block.store(&block, std::memory_order_release);
  __atomic_store_n(&state.hot->cursor, reinterpret_cast<char*>(&block) + sizeof(BlockHeader), __ATOMIC_RELAXED);
}

BlockHeader* Recorder::wait_for_block() noexcept {
  Arena* arena = arena_.load(std::memory_order_acquire);
  const auto deadline = std::chrono::steady_clock::now() + wait_limit_;
  for (;;) {
    const std::uint32_t seen = freed_.load(std::memory_order_acquire);
    if (BlockHeader* block = arena->take_free(); block != nullptr) return block;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return nullptr;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    wake();
    futex_wait(freed_, seen, std::min(left, std::chrono::milliseconds(10)));
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool Recorder::next_block(ThreadState& state) noexcept {
  Arena* arena = arena_.load(std::memory_order_acquire);
  BlockHeader* block = arena->take_free();
  if (block == nullptr && overflow_ == Overflow::kGrow) {
    lock();
    if (arena->grow()) block = arena->take_free();
    unlock();
  }
  if (block == nullptr && overflow_ == Overflow::kWait) block = wait_for_block();
  if (block == nullptr) return false;
  BlockHeader* full = state.block.load(std::memory_order_relaxed);
  open_block(state, *block);
  const std::uint32_t waiting = arena->push_full(full);
  // At a quarter of the blocks or kWakeAt, whichever is less, and once: the drain takes all there is.
  if (waiting == std::min(kWakeAt, std::max(1u, arena->block_count() / 4))) wake();
  return true;
}

void Recorder::detach(ThreadState& state) noexcept {
  detail::HotThread& hot = detail::hot_thread;
  hot.busy = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  lock();
  if (state.generation.load(std::memory_order_relaxed) == generation() && generation() != 0) {
    Arena* arena = arena_.load(std::memory_order_relaxed);
    if (BlockHeader* block = state.block.load(std::memory_order_relaxed); block != nullptr) arena->push_full(block);
  }
  state.block.store(nullptr, std::memory_order_relaxed);
  state.generation.store(0, std::memory_order_release);
  state.hot = nullptr;
  unlock();
  hot = {};
}

void Recorder::wake() noexcept {
  work_.fetch_add(1, std::memory_order_release);
  futex_wake_all(work_);
}

void Recorder::wait_for_work(std::chrono::milliseconds most) noexcept {
  const std::uint32_t seen = work_.load(std::memory_order_acquire);
  futex_wait(work_, seen, most);
}

bool Recorder::prepare_ahead() noexcept {
  Arena* arena = arena_.load(std::memory_order_acquire);
  return arena != nullptr && arena->prepare(32);
}

void Recorder::drain_block(HostSink& sink, BlockHeader& block, std::uint32_t used) noexcept {
  const std::uint32_t drained = block.drained.load(std::memory_order_relaxed);
  if (used <= drained) return;
  const auto* first = reinterpret_cast<const Record*>(reinterpret_cast<const char*>(&block) + drained);
  const std::size_t count = (used - drained) / sizeof(Record);
  const format::HostRun run{block.thread, block.tid, block.sequence,
                            static_cast<std::uint32_t>((drained - sizeof(BlockHeader)) / sizeof(Record))};
  const std::size_t name_size = ::strnlen(block.thread_name, sizeof block.thread_name);
  if (!sink.on_records({block.thread, block.tid, {block.thread_name, name_size}}, run, {first, count}))
    this->count(health::kRecordsNotWritten, count);
  // After the chunk is written: between the two, a crash leaves the records in both files; the reader takes them once.
  block.drained.store(used, std::memory_order_release);
}

void Recorder::drain_full(HostSink& sink) noexcept {
  Arena* arena = arena_.load(std::memory_order_acquire);
  BlockHeader* block = arena->take_all_full();
  bool freed = false;
  while (block != nullptr) {
    BlockHeader* const next = arena->next_full(block);
    drain_block(sink, *block, block->used.load(std::memory_order_acquire));
    if (const std::uint64_t dropped = block->dropped_ranges.load(std::memory_order_relaxed); dropped != 0)
      arena->count(health::kDroppedRanges, dropped);
    if (block->thread >= next_sequence_.size()) next_sequence_.resize(block->thread + 1, 0);
    next_sequence_[block->thread] = block->sequence + 1;
    arena->give_free(block);
    freed = true;
    if (waiting_.load(std::memory_order_relaxed) != 0) {
      freed_.fetch_add(1, std::memory_order_release);
      futex_wake_all(freed_);
    }
    block = next;
  }
  if (freed) freed_.fetch_add(1, std::memory_order_release);
}

void Recorder::drain(HostSink& sink, bool partial) noexcept {
  if (arena_.load(std::memory_order_acquire) == nullptr) return;
  drain_full(sink);
  if (!partial) return;
  // A thread may hand in a block between the list above and the look at its open one; the open one must wait then.
  for (int round = 0; round < 3; ++round) {
    open_blocks_.clear();
    lock();
    for (const ThreadState* state = states_; state != nullptr; state = state->next) {
      BlockHeader* block = state->block.load(std::memory_order_acquire);
      if (block != nullptr && state->generation.load(std::memory_order_relaxed) == generation()) open_blocks_.push_back(block);
    }
    unlock();
    bool behind = false;
    for (BlockHeader* block : open_blocks_) {
      const std::uint64_t expected = block->thread < next_sequence_.size() ? next_sequence_[block->thread] : 0;
      if (block->sequence == expected) {
        drain_block(sink, *block, block->used.load(std::memory_order_acquire));
      } else {
        behind = true;
      }
    }
    if (!behind) return;
    drain_full(sink);
  }
}

void Recorder::quiesce(std::chrono::steady_clock::time_point deadline) noexcept {
  set_recording(false);
  barrier_for_all_threads();
  for (;;) {
    bool busy = false;
    lock();
    for (const ThreadState* state = states_; state != nullptr && !busy; state = state->next) {
      if (state->hot == nullptr || state->hot == &detail::hot_thread) continue;
      if (state->generation.load(std::memory_order_relaxed) != generation()) continue;
      busy = __atomic_load_n(&state->hot->busy, __ATOMIC_RELAXED) != 0 ||
             __atomic_load_n(&state->hot->cursor, __ATOMIC_RELAXED) == nullptr;
    }
    unlock();
    if (!busy || std::chrono::steady_clock::now() >= deadline) return;
    const timespec pause{0, 50'000};
    ::nanosleep(&pause, nullptr);
  }
}

void Recorder::finish(bool remove_live) noexcept {
  set_recording(false);
  lock();
  Arena* arena = arena_.exchange(nullptr, std::memory_order_acq_rel);
  const std::uint32_t generation = generation_.exchange(0, std::memory_order_acq_rel);
  unlock();
  if (arena == nullptr) return;
  arena->retire(remove_live);
  retired_.push_back({arena, generation});
}

void Recorder::free_unused_arenas() noexcept {
  std::erase_if(retired_, [&](const Retired& retired) {
    bool used = false;
    lock();
    for (const ThreadState* state = states_; state != nullptr; state = state->next)
      used = used || (state->hot != nullptr && state->generation.load(std::memory_order_relaxed) == retired.generation);
    unlock();
    if (!used) delete retired.arena;
    return !used;
  });
}

void Recorder::count(std::uint32_t health_number, std::uint64_t n) noexcept {
  if (Arena* arena = arena_.load(std::memory_order_acquire); arena != nullptr) arena->count(health_number, n);
}

CaptureHealth Recorder::health() noexcept {
  CaptureHealth health;
  lock();
  if (Arena* arena = arena_.load(std::memory_order_relaxed); arena != nullptr) {
    for (std::uint32_t number = 0; number < format::kLiveCounters; ++number) health.add(number, arena->counted(number));
    for (const ThreadState* state = states_; state != nullptr; state = state->next) {
      if (state->generation.load(std::memory_order_relaxed) != generation()) continue;
      if (const BlockHeader* block = state->block.load(std::memory_order_acquire); block != nullptr)
        health.dropped_ranges += block->dropped_ranges.load(std::memory_order_relaxed);
    }
  }
  unlock();
  return health;
}

std::uint64_t Recorder::memory_bytes() const noexcept {
  const Arena* arena = arena_.load(std::memory_order_acquire);
  return arena != nullptr ? arena->bytes() : 0;
}

void Recorder::publish_name(std::uint32_t id) noexcept {
  lock();
  if (Arena* arena = arena_.load(std::memory_order_relaxed); arena != nullptr) arena->publish_name(id, names().text(id));
  unlock();
}

void Recorder::after_fork_in_child() noexcept {
  // The mapping is shared with the parent, which goes on writing to it: forget it, never touch it.
  detail::HotThread& hot = detail::hot_thread;
  arena_.store(nullptr, std::memory_order_relaxed);
  generation_.store(0, std::memory_order_relaxed);
  for (ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state->hot != &hot) state->hot = nullptr;
    state->generation.store(0, std::memory_order_relaxed);
    state->block.store(nullptr, std::memory_order_relaxed);
  }
  hot.token = 0;
  hot.busy = 0;
  hot.cursor = nullptr;
  recording_ = false;
  recompute_active();
}

void Recorder::register_fork_handlers() noexcept {
  static const int registered = ::pthread_atfork(
      [] {
        instance().lock();
        names().lock();
        categories().lock();
      },
      [] {
        categories().unlock();
        names().unlock();
        instance().unlock();
      },
      [] {
        categories().unlock();
        names().unlock();
        instance().unlock();
        instance().after_fork_in_child();
      });
  (void)registered;
}

}  // namespace rangefinder::buffer
