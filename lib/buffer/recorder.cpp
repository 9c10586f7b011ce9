// SPDX-License-Identifier: MIT
#include "buffer/recorder.hpp"

#include "base/health_numbers.hpp"
#include "buffer/held_records.hpp"
#include "buffer/listener.hpp"
#include "buffer/name_table.hpp"
#include "buffer/record_writer.hpp"
#include "buffer/thread_names.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

namespace rangefinder::detail {
inline namespace v1 {
__thread HotThread hot_thread = {};
std::atomic<std::uint32_t> active{0};
}  // namespace v1
}  // namespace rangefinder::detail

namespace rangefinder::buffer {
namespace {

using format::BlockHeader;
using format::BlockState;

constexpr std::uint32_t kMaxGeneration = detail::kNumbered - 1;
// Wake the drain when this many blocks wait: early enough to keep up, late enough not to wake it for each.
constexpr std::uint32_t kWakeAt = 8;
// A thread that ends may open ranges in destructors that run after ours; those may run again,
// PTHREAD_DESTRUCTOR_ITERATIONS (4) times in all. After the last, nothing would detach it.
constexpr std::uint32_t kMaxExits = 3;

}  // namespace

// Made before all code, never destroyed: ranges run until the last instruction of the process.
static_assert(std::is_trivially_destructible_v<Recorder>);
constinit Recorder Recorder::instance_;

/// Null when the process has no key left.
const pthread_key_t* Recorder::exit_key() noexcept {
  static pthread_key_t key{};
  static const bool made =
      ::pthread_key_create(&key, [](void* state) { instance().detach(*static_cast<ThreadState*>(state)); }) == 0;
  return made ? &key : nullptr;
}

// ---- a recording ------------------------------------------------------------------------------------------------

Status Recorder::start(const RecorderOptions& options) {
  if (generation() != 0) return Error(ErrorCode::kBusy, "a recording runs already in this process; stop it first");
  // Without it no thread would be detached, and we would look at the memory of dead ones.
  if (exit_key() == nullptr)
    return Error(ErrorCode::kIo, "recording: the process has no thread-specific key left (pthread_key_create)");
  Result<Arena*> arena = Arena::create(options.arena);
  if (!arena) return std::move(arena).error();
  register_fork_handlers();
  barrier_for_all_threads();  // registers, while nothing depends on it yet
  unloaded_.store(unloaded_libraries(), std::memory_order_relaxed);
  {
    const std::lock_guard lock(lock_);
    clock_.store(options.clock != nullptr ? options.clock : &clock::system_clock(), std::memory_order_release);
    inline_ticks_.store(clock().inline_ticks(), std::memory_order_release);  // after the clock: see `ticks`
    overflow_.store(options.overflow, std::memory_order_relaxed);
    wait_limit_.store(options.wait_limit, std::memory_order_relaxed);
    wants_autograd_ = options.autograd;
    wanted_cpu_counters_ = options.cpu_counters;
    next_thread_ = options.first_thread;
    ending_ = false;
    // Names given before the recording began: a crash must find them too.
    last_generation_ = last_generation_ % kMaxGeneration + 1;
    std::uint32_t published = publish_names(**arena, 0);
    (*arena)->generation = last_generation_;
    arena_.store(*arena, std::memory_order_release);
    generation_.store(last_generation_, std::memory_order_release);
    // Who interned a name meanwhile has seen no recording, or we see the name.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    publish_names(**arena, published);
    if (is_on()) resume();  // a graph is being captured
  }
  free_unused_arenas();
  recompute_active();
  return {};
}

std::uint32_t Recorder::threads() noexcept {
  const std::lock_guard lock(lock_);
  return next_thread_;
}

void Recorder::recompute_active() noexcept {
  const std::lock_guard lock(lock_);
  const bool on = is_on();
  autograd_.store(on && wants_autograd_ ? hooks_ : nullptr, std::memory_order_release);
  const bool heard = listener() != nullptr;
  cpu_counters_.store(on ? wanted_cpu_counters_ : nullptr, std::memory_order_release);
  const bool slow = heard || cpu_counters() != nullptr || !inline_ticks_.load(std::memory_order_relaxed);
  std::uint32_t value = heard ? detail::kSlowPath : 0;
  if (on) value = generation() | (slow ? detail::kSlowPath : 0) | (autograd() != nullptr ? detail::kNumbered : 0);
  detail::active.store(value, std::memory_order_release);
}

template <typename Change>
void Recorder::change_recording(Change change) noexcept {
  {
    const std::lock_guard lock(lock_);
    const bool was_on = is_on();
    change();
    if (!was_on && is_on()) resume();
  }
  recompute_active();
}

/// Under lock_. What threads number from here on, inline too, starts with a record that says so. One that is noting a
/// number this instant has taken none meanwhile.
void Recorder::resume() noexcept {
  resumed_.fetch_add(1, std::memory_order_relaxed);
  for (const ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state->hot != nullptr) set_noted_sequence(*state->hot, kNothingNoted);
  }
}

void Recorder::set_recording(bool on) noexcept {
  change_recording([&] { recording_ = on && generation() != 0; });
}

void Recorder::set_capturing(bool on) noexcept {
  change_recording([&] { capturing_ = on; });
}

void Recorder::set_autograd_hooks(const detail::AutogradHooks* hooks) noexcept {
  {
    const std::lock_guard lock(lock_);
    hooks_ = hooks;
  }
  recompute_active();
}

void Recorder::quiesce(std::chrono::steady_clock::time_point deadline) noexcept {
  change_recording([&] {
    recording_ = false;
    ending_ = true;
  });
  barrier_for_all_threads();
  for (;;) {
    bool busy = false;
    {
      const std::lock_guard lock(lock_);
      for (const ThreadState* state = states_; state != nullptr && !busy; state = state->next) {
        if (state->hot == nullptr || state->hot == &detail::hot_thread) continue;
        if (state->generation.load(std::memory_order_relaxed) != generation()) continue;
        busy = __atomic_load_n(&state->hot->busy, __ATOMIC_RELAXED) != 0 ||
               __atomic_load_n(&state->hot->token, __ATOMIC_RELAXED) == 0;
      }
    }
    if (!busy || std::chrono::steady_clock::now() >= deadline) return;
    const timespec pause{0, 50'000};
    ::nanosleep(&pause, nullptr);
  }
}

void Recorder::finish(bool remove_live) noexcept {
  change_recording([&] {
    recording_ = false;
    ending_ = true;
  });
  Arena* arena = nullptr;
  {
    const std::lock_guard lock(lock_);
    arena = arena_.exchange(nullptr, std::memory_order_seq_cst);
    generation_.store(0, std::memory_order_release);
    if (arena == nullptr) return;
    arena->next_retired = retired_;
    retired_ = arena;
  }
  arena->retire(remove_live);
}

void Recorder::free_unused_arenas() noexcept {
  Arena* unused = nullptr;
  {
    const std::lock_guard lock(lock_);
    for (Arena** link = &retired_; *link != nullptr;) {
      Arena* const arena = *link;
      bool used = counting_.load(std::memory_order_seq_cst) != 0;  // rarely; the next start looks again
      for (const ThreadState* state = states_; state != nullptr; state = state->next)
        used = used || (state->hot != nullptr && state->arena == arena);
      if (used) {
        link = &arena->next_retired;
      } else {
        *link = arena->next_retired;
        arena->next_retired = unused;
        unused = arena;
      }
    }
  }
  while (unused != nullptr) delete std::exchange(unused, unused->next_retired);
}

void Recorder::count(std::uint32_t health_number, std::uint64_t n) noexcept {
  // No lock: this may be a signal handler. Sequentially consistent, as in free_unused_arenas: whoever finds none here
  // knows that all who come later see the arena of the recording that runs.
  counting_.fetch_add(1, std::memory_order_seq_cst);
  if (Arena* arena = arena_.load(std::memory_order_seq_cst); arena != nullptr) arena->count(health_number, n);
  counting_.fetch_sub(1, std::memory_order_release);
}

CaptureHealth Recorder::health() noexcept {
  CaptureHealth health;
  const std::lock_guard lock(lock_);
  Arena* const arena = arena_.load(std::memory_order_relaxed);
  if (arena == nullptr) return health;
  for (std::uint32_t number = 0; number < format::kLiveCounters; ++number) health.add(number, arena->counted(number));
  for (const ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state->generation.load(std::memory_order_relaxed) != generation()) continue;
    if (const BlockHeader* block = state->block.load(std::memory_order_acquire); block != nullptr)
      health.dropped_ranges += block->dropped_ranges.load(std::memory_order_relaxed);
  }
  return health;
}

std::uint64_t Recorder::memory_bytes() const noexcept {
  const Arena* arena = arena_.load(std::memory_order_acquire);
  return arena != nullptr ? arena->bytes() : 0;
}

// ---- threads ----------------------------------------------------------------------------------------------------

Recorder::ThreadState* Recorder::new_state() noexcept {
  for (ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state->hot == nullptr) return state;
  }
  void* memory = ::mmap(nullptr, sizeof(ThreadState), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* state = new (memory) ThreadState{};
  // The empty text has the hash 0, as a free slot has: no text is as long as this.
  state->texts[0].size = state->texts[1].size = ~std::uint64_t{0};
  state->next = states_;
  states_ = state;
  return state;
}

Recorder::ThreadState* Recorder::attach() noexcept {
  const std::uint32_t now = generation();
  auto* state = static_cast<ThreadState*>(detail::hot_thread.state);
  if (now == 0) return nullptr;
  if (state != nullptr && state->generation.load(std::memory_order_relaxed) == now) return state;
  if (detail::hot_thread.exits >= kMaxExits) return nullptr;
  const auto deadline = std::chrono::steady_clock::now() + wait_limit_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t seen = freed_.load(std::memory_order_acquire);
    {
      const std::lock_guard lock(lock_);
      Arena* const arena = arena_.load(std::memory_order_relaxed);
      if (arena == nullptr || generation() != now) return nullptr;
      BlockHeader* block = arena->take_free();
      if (block == nullptr && overflow_.load(std::memory_order_relaxed) == Overflow::kGrow && arena->grow())
        block = arena->take_free();
      if (block != nullptr) {
        state = attach_with(block, *arena);
        break;
      }
    }
    if (overflow_.load(std::memory_order_relaxed) != Overflow::kWait || std::chrono::steady_clock::now() >= deadline)
      return nullptr;
    wait_for_block(seen, std::chrono::milliseconds(10));
  }
  if (state != nullptr && ::pthread_setspecific(*exit_key(), state) != 0) {
    // No memory for it, and nothing would detach the thread at its end: we would look at what is no longer there.
    count(health::dropped_threads, 1);
    detach(*state);
    return nullptr;
  }
  return state;
}

/// Under lock_.
Recorder::ThreadState* Recorder::attach_with(BlockHeader* block, Arena& arena) noexcept {
  detail::HotThread& hot = detail::hot_thread;
  auto* state = static_cast<ThreadState*>(hot.state);
  if (state == nullptr) state = new_state();
  if (state == nullptr) {
    arena.count(health::dropped_threads, 1);
    arena.give_free(block);
    return nullptr;
  }
  state->hot = &hot;
  hot.state = state;
  hot.literals = state->literals.first();
  hot.texts = state->texts;
  state->tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  ::prctl(PR_GET_NAME, state->name, 0, 0, 0);
  state->index = next_thread_++;
  state->token = std::uint64_t{generation()} << 32 | state->index;
  state->arena = &arena;
  state->sequence = 0;
  state->handed_in.store(0, std::memory_order_relaxed);
  state->lost_ends = 0;
  state->async_ranges = 0;
  state->numbered = 0;
  // Asked before the first number is noted, by a thread that recorded when it was not yet known whom to ask.
  hot.next_sequence = [] { return std::uint64_t{0}; };
  set_noted_sequence(hot, kNothingNoted);
  state->nodes_to_end = 0;
  state->host_blocks.in = 0;
  state->generation.store(generation(), std::memory_order_release);
  open_block(*state, *block);
  return state;
}

void Recorder::open_block(ThreadState& state, BlockHeader& block) noexcept {
  // Nothing first: of a flight recorder's free blocks, which are read too, none may show old records under a new name.
  block.used.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  block.sequence = state.sequence++;
  block.thread = state.index;
  block.tid = state.tid;
  std::memcpy(block.thread_name, state.name, sizeof block.thread_name);
  block.dropped_ranges.store(0, std::memory_order_relaxed);
  block.drained.store(sizeof(BlockHeader), std::memory_order_relaxed);
  block.used.store(sizeof(BlockHeader), std::memory_order_release);
  // Release: a reader of the live file that sees an active block sees whose it is.
  block.state.store(static_cast<std::uint32_t>(BlockState::kActive), std::memory_order_release);
  state.block.store(&block, std::memory_order_release);
  state.hot->block = reinterpret_cast<char*>(&block);
  // Each block notes its number anew: those before it may be lost.
  set_noted_sequence(*state.hot, kNothingNoted);
}

void Recorder::wait_for_block(std::uint32_t seen, std::chrono::milliseconds most) noexcept {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  wake();
  futex_wait(freed_, seen, most);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

bool Recorder::next_block(ThreadState& state, bool may_wait) noexcept {
  Arena& arena = *state.arena;
  BlockHeader* block = arena.take_free();
  if (block == nullptr && overflow_.load(std::memory_order_relaxed) == Overflow::kGrow) {
    const std::lock_guard lock(lock_);
    if (arena.grow()) block = arena.take_free();
  }
  if (block == nullptr && overflow_.load(std::memory_order_relaxed) == Overflow::kWait && may_wait) {
    const auto deadline = std::chrono::steady_clock::now() + wait_limit_.load(std::memory_order_relaxed);
    do {
      const std::uint32_t seen = freed_.load(std::memory_order_acquire);
      block = arena.take_free();
      if (block == nullptr) wait_for_block(seen, std::chrono::milliseconds(10));
    } while (block == nullptr && std::chrono::steady_clock::now() < deadline);
  }
  if (block == nullptr) return false;
  BlockHeader* const full = state.block.load(std::memory_order_relaxed);
  open_block(state, *block);
  const bool many = hand_in(arena, *full);
  state.handed_in.store(state.sequence - 1, std::memory_order_release);
  if (many) wake();
  return true;
}

/// True when so many blocks wait that the drain should be woken: at a quarter of them or kWakeAt, whichever is less,
/// and once, since the drain takes all there is.
bool Recorder::hand_in(Arena& arena, BlockHeader& full) noexcept {
  return arena.push_full(&full) == std::min(kWakeAt, std::max(1u, arena.block_count() / 4));
}

void Recorder::detach(ThreadState& state) noexcept {
  detail::HotThread& hot = detail::hot_thread;
  enter_recorder(hot);
  __atomic_store_n(&hot.token, 0, __ATOMIC_RELAXED);  // from here on a signal handler writes nothing
  bool many = false;
  {
    const std::lock_guard lock(lock_);
    if (state.generation.load(std::memory_order_relaxed) == generation() && generation() != 0) {
      if (BlockHeader* block = state.block.load(std::memory_order_relaxed); block != nullptr)
        many = hand_in(*state.arena, *block);
    }
    state.block.store(nullptr, std::memory_order_relaxed);
    state.generation.store(0, std::memory_order_release);
    state.arena = nullptr;
    state.hot = nullptr;
    hot.block = nullptr;
    hot.literals = nullptr;
    hot.texts = nullptr;
    hot.state = nullptr;
    ++hot.exits;
  }
  if (many) wake();
  leave_recorder(hot);
}

/// Names behind `last`; gives the last one that had room. Under the lock.
std::uint32_t Recorder::publish_names(Arena& arena, std::uint32_t last) noexcept {
  const std::uint32_t count = names().size();
  while (last < count && arena.publish_name(last + 1, names().text(last + 1)))
    names().set_published(++last, last_generation_);
  return last;
}

/// Not only by the thread that made the name: another may use it in a record before that one gets here, and a kill must
/// find no record without its name.
void Recorder::publish_name(std::uint32_t id) noexcept {
  if (id == 0) return;
  std::uint32_t now = generation();
  if (now == 0) {
    // A recording that is just starting may have missed a name that was just made.
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the one in `start`
    now = generation();
  }
  if (now == 0 || names().published(id) == now) return;
  const std::lock_guard lock(lock_);
  Arena* const arena = arena_.load(std::memory_order_relaxed);
  if (arena == nullptr || names().published(id) == last_generation_) return;
  if (arena->publish_name(id, names().text(id))) names().set_published(id, last_generation_);
}

// ---- fork -------------------------------------------------------------------------------------------------------

void Recorder::after_fork_in_child() noexcept {
  // The mapping is shared with the parent, which goes on writing to it: forget it, never touch it.
  detail::HotThread& hot = detail::hot_thread;
  arena_.store(nullptr, std::memory_order_relaxed);
  generation_.store(0, std::memory_order_relaxed);
  counting_.store(0, std::memory_order_relaxed);
  recording_ = capturing_ = false;
  for (ThreadState* state = states_; state != nullptr; state = state->next) {
    if (state->hot != &hot) state->hot = nullptr;
    state->generation.store(0, std::memory_order_relaxed);
    state->block.store(nullptr, std::memory_order_relaxed);
    state->token = 0;
  }
  hot.block = nullptr;
  __atomic_store_n(&hot.token, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&hot.busy, 0, __ATOMIC_RELAXED);
  recompute_active();
}

void Recorder::register_fork_handlers() noexcept {
  static const int registered = ::pthread_atfork(
      [] {
        HeldRecords::instance().lock_for_fork();
        instance().lock_.lock();
        lock_thread_names();
        keep_off_libraries();
      },
      [] {
        allow_libraries(false);
        unlock_thread_names();
        instance().lock_.unlock();
        HeldRecords::instance().unlock_after_fork(false);
      },
      [] {
        allow_libraries(true);
        unlock_thread_names();
        instance().lock_.unlock();
        instance().after_fork_in_child();
        HeldRecords::instance().unlock_after_fork(true);
      });
  (void)registered;
}

}  // namespace rangefinder::buffer
