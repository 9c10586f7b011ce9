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

/// Whether kHostBlock can say all of it: what allocators of the host tell, thousands of times a second.
bool is_host_block(const MemoryEvent& event) noexcept {
  constexpr std::uint64_t kUnaligned = (std::uint64_t{1} << detail::kHostAlignmentBits) - 1;
  constexpr unsigned kAddressBits = 64 - detail::kHostAddressShift + detail::kHostAlignmentBits;
  const bool freed = event.action == MemoryAction::kFree;
  const bool has_totals = event.allocated >= 0 && event.reserved == -1;
  return event.device == -1 && (freed || event.action == MemoryAction::kAllocate) && has_totals && event.stream == 0 &&
         event.pool == 0 && event.bytes != 0 && (event.address & kUnaligned) == 0 && event.address >> kAddressBits == 0;
}

constexpr std::size_t kMostHostRecords = 3;

/// Writes what kHostBlock of the event wants said before it, and itself; gives the first byte behind. There is room.
Record* put_host_block(HostBlocksSaid& said, std::uint64_t block_sequence, const MemoryEvent& event, Record* at,
                       std::uint64_t ticks) noexcept {
  if (said.in != block_sequence + 1) {
    // Each block of records says all of it again: those before it may be lost.
    said.in = block_sequence + 1;
    said.has_total = false;
    std::fill(std::begin(said.bytes), std::end(said.bytes), 0);
  }
  const bool freed = event.action == MemoryAction::kFree;
  const auto allocated = static_cast<std::uint64_t>(event.allocated);
  const std::uint64_t before = freed ? allocated + event.bytes : allocated - event.bytes;
  const std::uint64_t size = event.bytes * 0x9E3779B97F4A7C15u >> 56;
  static_assert(detail::kHostSizes == 256);
  if (said.bytes[size] != event.bytes) {
    said.bytes[size] = event.bytes;
    *at++ = {event.bytes, make_word(RecordKind::kHostBlockFact, 0, static_cast<std::uint32_t>(size))};
  }
  if (!said.has_total || said.total != before)
    *at++ = {before, make_word(RecordKind::kHostBlockFact, 0, detail::kHostSizes)};
  said.has_total = true;
  said.total = allocated;
  *at++ = {ticks, static_cast<std::uint64_t>(RecordKind::kHostBlock) | std::uint64_t{freed} << detail::kHostFreedBit |
                      size << detail::kHostSizeShift |
                      event.address >> detail::kHostAlignmentBits << detail::kHostAddressShift};
  return at;
}

void note_host_block(const MemoryEvent& event) noexcept {
  HotThread& hot = detail::hot_thread;
  const auto put_at = [&](Record* at, std::uint64_t ticks) {
    const auto* const header = reinterpret_cast<const format::BlockHeader*>(hot.block);
    return put_host_block(state_of(hot)->host_blocks, header->sequence, event, at, ticks);
  };
  const std::uint64_t token = hot.token;
  // Opens and closes nothing, so that it matters to no number of autograd.
  if (detail::attached(token, detail::active.load(std::memory_order_relaxed) & ~detail::kNumbered) &&
      write_together(hot, token, kMostHostRecords, kForBegins,
                     [&](Record* at) { return put_at(at, detail::read_ticks()); }))
    return;
  guarded([&] {
    if (ready(hot, kMostHostRecords, kForBegins, false) == nullptr)
      return Recorder::instance().count(health::dropped_memory_events, 1);
    put_together(hot, [&](Record* at) { return put_at(at, Recorder::instance().ticks()); });
  });
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
  if (is_host_block(event)) return note_host_block(event);
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

void set_step_hook(StepHook hook) noexcept { step_hook.store(hook, std::memory_order_release); }

}  // namespace rangefinder::detail
