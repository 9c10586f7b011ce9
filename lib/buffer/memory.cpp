// SPDX-License-Identifier: MIT
// What allocators do, as they tell it.
#include "base/health_numbers.hpp"
#include "buffer/record_writer.hpp"
#include "buffer/thread_log.hpp"

#include <rangefinder/detail/memory.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace rangefinder::buffer {
namespace {

using detail::make_word;
using detail::MemoryEvent;

std::atomic<detail::StepHook> step_hook{nullptr};

struct HostBlock {
  bool freed;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t allocated;
};

/// Whether kHostBlock can say all of it: what allocators of the host tell, thousands of times a second.
bool is_regular(const HostBlock& block) noexcept {
  constexpr unsigned kAddressBits = 64 - detail::kHostAddressShift + detail::kHostAlignmentBits;
  constexpr std::uint64_t kUnaligned = (std::uint64_t{1} << detail::kHostAlignmentBits) - 1;
  return block.bytes != 0 && (block.address & kUnaligned) == 0 && block.address >> kAddressBits == 0;
}

constexpr std::size_t kMaxHostRecords = 3;

// The processor has mostly dropped this code since the last block: what is rare stands apart, so that the rest is
// short.

/// Each block of records says all of it again: those before it may be lost.
[[gnu::cold, gnu::noinline]] void say_all_again(HostBlocksSaid& said, std::uint64_t block_sequence) noexcept {
  said.in = block_sequence + 1;
  said.has_total = false;
  std::fill(std::begin(said.bytes), std::end(said.bytes), 0);
}

/// Writes what kHostBlock of the event wants said before it, and itself; gives the first byte behind. There is room.
[[gnu::always_inline]] inline Record* put_host_block(const HotThread& hot, const HostBlock& block, Record* at,
                                                     std::uint64_t ticks) noexcept {
  HostBlocksSaid& said = state_of(hot)->host_blocks;
  const std::uint64_t in = reinterpret_cast<const format::BlockHeader*>(hot.block)->sequence;
  if (said.in != in + 1) say_all_again(said, in);
  const std::uint64_t before = block.freed ? block.allocated + block.bytes : block.allocated - block.bytes;
  const std::uint64_t size = block.bytes * 0x9E3779B97F4A7C15u >> 56;
  static_assert(detail::kHostSizes == 256);
  if (said.bytes[size] != block.bytes) {
    said.bytes[size] = block.bytes;
    *at++ = {block.bytes, make_word(RecordKind::kHostBlockFact, 0, static_cast<std::uint32_t>(size))};
  }
  if (!said.has_total || said.total != before)
    *at++ = {before, make_word(RecordKind::kHostBlockFact, 0, detail::kHostSizes)};
  said.has_total = true;
  said.total = block.allocated;
  *at++ = {ticks, static_cast<std::uint64_t>(RecordKind::kHostBlock) |
                      std::uint64_t{block.freed} << detail::kHostFreedBit | size << detail::kHostSizeShift |
                      block.address >> detail::kHostAlignmentBits << detail::kHostAddressShift};
  return at;
}

[[gnu::cold, gnu::noinline]] void note_host_block_slow(const HostBlock& block) noexcept {
  HotThread& hot = detail::hot_thread;
  guarded([&] {
    if (ready(hot, kMaxHostRecords, kForBegins, false) == nullptr)
      return Recorder::instance().count(health::dropped_memory_events, 1);
    put_together(hot, [&](Record* at) { return put_host_block(hot, block, at, Recorder::instance().ticks()); });
  });
}

[[gnu::cold, gnu::noinline]] void note_irregular_block(const HostBlock& block) noexcept {
  detail::memory_event_slow({block.freed ? MemoryAction::kFree : MemoryAction::kAllocate, -1, block.address,
                             block.bytes, static_cast<std::int64_t>(block.allocated)});
}

}  // namespace

void before_step() noexcept {
  // Acquire: what the hook uses was made before set_step_hook.
  const detail::StepHook hook = step_hook.load(std::memory_order_acquire);
  if (hook == nullptr || recording_generation() == 0) return;
  if (!hook()) Recorder::instance().count(health::dropped_events, 1);
}

}  // namespace rangefinder::buffer

namespace rangefinder::detail {

using namespace rangefinder::buffer;

void memory_event_slow(const MemoryEvent& event) noexcept {
  const std::uint64_t values[] = {event.address,
                                  event.bytes,
                                  static_cast<std::uint64_t>(event.allocated),
                                  static_cast<std::uint64_t>(event.reserved),
                                  event.stream,
                                  event.pool};
  constexpr std::uint64_t kUnknown[] = {0, 0, ~std::uint64_t{0}, ~std::uint64_t{0}, 0, 0};
  std::size_t known = std::size(values);
  while (known > 0 && values[known - 1] == kUnknown[known - 1]) --known;
  guarded([&] {
    if (ready(hot_thread, 1 + known, kForBegins, false) == nullptr)
      return Recorder::instance().count(health::dropped_memory_events, 1);
    put(hot_thread,
        make_word(RecordKind::kMemory, static_cast<std::uint32_t>(event.device),
                  static_cast<std::uint32_t>(event.action)),
        Recorder::instance().ticks());
    for (std::size_t i = 0; i < known; ++i) put_extra(hot_thread, {ExtraKind::kUnsigned, values[i], {}});
  });
}

void host_block_slow(bool freed, std::uint64_t address, std::uint64_t bytes, std::uint64_t allocated) noexcept {
  const HostBlock block{freed, address, bytes, allocated};
  if (!is_regular(block)) return note_irregular_block(block);
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  // Opens and closes nothing, so that it matters to no number of autograd.
  if (!attached(token, active.load(std::memory_order_relaxed) & ~kNumbered) ||
      !write_together(hot, token, kMaxHostRecords, kForBegins,
                      [&](Record* at) { return put_host_block(hot, block, at, read_ticks()); }))
    note_host_block_slow(block);
}

void set_step_hook(StepHook hook) noexcept { step_hook.store(hook, std::memory_order_release); }

}  // namespace rangefinder::detail
