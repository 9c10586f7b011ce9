// SPDX-License-Identifier: MIT
// The recorder's side of the one thread that empties blocks.
#include "base/health_numbers.hpp"
#include "buffer/recorder.hpp"

#include <cstring>
#include <mutex>

namespace rangefinder::buffer {

using detail::Record;
using format::BlockHeader;

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

void Recorder::forget_unloaded_literals() noexcept {
  const std::uint64_t unloaded = unloaded_libraries();
  if (unloaded == unloaded_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(lock_);
  unloaded_.store(unloaded, std::memory_order_relaxed);
  for (ThreadState* state = states_; state != nullptr; state = state->next) state->literals.forget_first();
}

void Recorder::drain_block(HostSink& sink, Arena& arena, BlockHeader& block, std::uint32_t used) noexcept {
  const std::uint32_t drained = block.drained.load(std::memory_order_relaxed);
  if (used <= drained) return;
  const auto* first = reinterpret_cast<const Record*>(reinterpret_cast<const char*>(&block) + drained);
  const std::size_t count = (used - drained) / sizeof(Record);
  const format::HostRun run{block.thread, block.tid, block.sequence,
                            static_cast<std::uint32_t>((drained - sizeof(BlockHeader)) / sizeof(Record))};
  const std::size_t name_size = ::strnlen(block.thread_name, sizeof block.thread_name);
  if (!sink.on_records({block.thread, block.tid, {block.thread_name, name_size}}, run, {first, count}))
    arena.count(health::records_not_written, count);
  // After the chunk is written: between the two, a crash leaves the records in both files; the reader takes them once.
  block.drained.store(used, std::memory_order_release);
}

void Recorder::drain_full(HostSink& sink, Arena& arena) noexcept {
  BlockHeader* block = arena.take_all_full();
  while (block != nullptr) {
    BlockHeader* const next = arena.next_full(block);
    drain_block(sink, arena, *block, block->used.load(std::memory_order_acquire));
    if (const std::uint64_t dropped = block->dropped_ranges.load(std::memory_order_relaxed); dropped != 0)
      arena.count(health::dropped_ranges, dropped);
    arena.give_drained(block);
    freed_.fetch_add(1, std::memory_order_release);
    if (waiting_.load(std::memory_order_relaxed) != 0) futex_wake_all(freed_);
    block = next;
  }
  // Where no block was full, threads may have taken free ones nevertheless: new threads do.
  arena.free_oldest_drained();
}

/// What a thread's open block holds. Its blocks must reach the sink in order, so those before it go first.
void Recorder::drain_open(HostSink& sink, Arena& arena, const ThreadState& state) noexcept {
  const auto look = [&](BlockHeader*& block, std::uint64_t& sequence) {
    const std::lock_guard lock(lock_);
    block = state.generation.load(std::memory_order_relaxed) == generation()
                ? state.block.load(std::memory_order_acquire)
                : nullptr;
    sequence = block != nullptr ? block->sequence : 0;
  };
  // Again when the thread has opened another block meanwhile, or has opened one and not yet handed in the one before.
  for (int round = 0; round < 3; ++round) {
    BlockHeader* block = nullptr;
    std::uint64_t sequence = 0;
    look(block, sequence);
    if (block == nullptr) return;
    const bool handed_in = state.handed_in.load(std::memory_order_acquire) == sequence;
    drain_full(sink, arena);
    BlockHeader* still = nullptr;
    std::uint64_t still_sequence = 0;
    look(still, still_sequence);
    if (!handed_in || still != block || still_sequence != sequence) continue;
    // Only the drain frees blocks: it stays the thread's, or waits as a full one.
    return drain_block(sink, arena, *block, block->used.load(std::memory_order_acquire));
  }
}

void Recorder::drain(HostSink& sink, bool partial) noexcept {
  Arena* const arena = arena_.load(std::memory_order_acquire);
  if (arena == nullptr) return;
  drain_full(sink, *arena);
  if (!partial) return;
  ThreadState* first = nullptr;
  {
    const std::lock_guard lock(lock_);
    first = states_;
  }
  for (const ThreadState* state = first; state != nullptr; state = state->next) drain_open(sink, *arena, *state);
  drain_full(sink, *arena);
}

}  // namespace rangefinder::buffer
