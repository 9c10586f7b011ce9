// SPDX-License-Identifier: MIT
#include "source/torch/host_allocator.hpp"

#include "source/torch/live_blocks.hpp"

#include <rangefinder/detail/memory.hpp>
#include <rangefinder/range.hpp>

#include <c10/core/Allocator.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <type_traits>

// Why not LibTorch's own report of memory (c10::MemoryReportingInfoBase): it hears one thread, and only while it stands
// in the slot in which torch.profiler keeps its state. LibTorch casts whatever stands there to its profiler's class,
// and refuses to start a profiler on a thread where the slot is taken.
namespace rangefinder::torch {
namespace {

constexpr int kMaxPriority = 255;

using Block = LiveBlocks::Block;

/// Made before main, and never destroyed: tensors may be freed after every static destructor.
struct State {
  // What each block asks for stands together, our allocator too: its memory is cold each time.
  alignas(64) std::atomic<std::uint32_t> users{0};
  std::atomic<std::uint64_t> allocated{0};
  std::atomic<std::uint64_t> peak{0};
  c10::DeleterFnPtr inner_delete = nullptr;
  c10::Allocator* inner = nullptr;  // LibTorch's; set before ours is, then never again
  alignas(c10::Allocator) std::byte ours_memory[sizeof(c10::Allocator)]{};
  c10::Allocator* ours = nullptr;
  LiveBlocks blocks;
  std::atomic<std::uint64_t> untracked{0};
  std::mutex mutex;
};
static_assert(std::is_trivially_destructible_v<State>);
constinit State state;

bool recording() noexcept { return state.users.load(std::memory_order_relaxed) != 0; }

void raise_peak(std::uint64_t allocated) noexcept {
  std::uint64_t seen = state.peak.load(std::memory_order_relaxed);
  while (seen < allocated && !state.peak.compare_exchange_weak(seen, allocated, std::memory_order_relaxed)) {
  }
}

void note_free(const Block& block) noexcept {
  const std::uint64_t left = state.allocated.fetch_sub(block.bytes, std::memory_order_relaxed) - block.bytes;
  if (recording()) detail::host_block(true, block.address, block.bytes, left);
}

/// Frees any block of the inner allocator, whoever it was allocated through: tensors from before the first recording,
/// and raw pointers, of which LibTorch keeps no deleter, come here too.
void free_block(void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  // Before it is free: another thread may be given its address at once.
  if (const std::uint64_t bytes = state.blocks.take(address); bytes != 0) note_free({address, bytes});
  state.inner_delete(block);
}

void note_allocation(const Block& block) noexcept {
  const Block lost = state.blocks.put(block);
  const std::uint64_t allocated = state.allocated.fetch_add(block.bytes, std::memory_order_relaxed) + block.bytes;
  raise_peak(allocated);
  if (recording()) detail::host_block(false, block.address, block.bytes, allocated);
  if (lost.address == 0) return;
  state.untracked.fetch_add(1, std::memory_order_relaxed);
  note_free(lost);  // from here on its free goes unnoticed
}

void note_refusal(std::size_t bytes) noexcept {
  detail::MemoryEvent event;
  event.action = MemoryAction::kOutOfMemory;
  event.bytes = bytes;
  event.allocated = static_cast<std::int64_t>(state.allocated.load());
  if (recording()) detail::memory_event(event);
}

/// Passes everything on. What it gives out while nothing is recorded is the inner allocator's own, deleter included.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (!recording()) return state.inner->allocate(bytes);
    try {
      c10::DataPtr data = state.inner->allocate(bytes);
      // A block of its own kind: one pointer for data and context, as raw allocation wants it.
      const bool plain = bytes != 0 && data.get() != nullptr && data.get() == data.get_context();
      if (plain && data.compare_exchange_deleter(state.inner_delete, &free_block))
        note_allocation({reinterpret_cast<std::uintptr_t>(data.get()), bytes});
      return data;
    } catch (const std::exception&) {
      note_refusal(bytes);
      throw;
    }
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    state.inner->copy_data(to, from, bytes);
  }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return state.inner->is_simple_data_ptr(data); }
};
static_assert(sizeof(HostAllocator) == sizeof(state.ours_memory));

/// LibTorch keeps an allocator's priority to itself and passes over those of a lower one: ours takes the lowest that
/// is taken, so that whoever could set an allocator before still can.
bool set_allocator(c10::Allocator* allocator) {
  for (int priority = 0; priority <= kMaxPriority; ++priority) {
    c10::SetAllocator(c10::kCPU, allocator, static_cast<std::uint8_t>(priority));
    if (c10::GetAllocator(c10::kCPU) == allocator) return true;
  }
  return false;
}

std::string install() {
  c10::Allocator* const current = c10::GetAllocator(c10::kCPU);
  if (state.ours != nullptr) return current == state.ours ? "" : "the program has set another CPU allocator since";
  if (current == nullptr || current->raw_deleter() == nullptr)
    return "the program's CPU allocator does not provide raw memory";
  state.inner = current;
  state.inner_delete = current->raw_deleter();
  state.ours = new (state.ours_memory) HostAllocator;
  return set_allocator(state.ours) ? "" : "LibTorch did not accept the CPU allocator";
}

}  // namespace

std::string start_host() {
  const std::lock_guard lock(state.mutex);
  std::string reason = install();
  if (reason.empty() && state.users.fetch_add(1) == 0) reset_host_memory_peak();
  return reason;
}

void stop_host() noexcept { state.users.fetch_sub(1); }

void count_host() noexcept {
  const HostMemory memory = host_memory();
  counter("host allocated bytes", memory.allocated_bytes);
  counter("host peak bytes", memory.peak_bytes);
  counter("host untracked allocations", memory.untracked);
}

HostMemory host_memory() noexcept {
  HostMemory memory;
  memory.allocated_bytes = state.allocated.load(std::memory_order_relaxed);
  memory.peak_bytes = std::max(memory.allocated_bytes, state.peak.load(std::memory_order_relaxed));
  memory.allocations = state.blocks.allocations();
  memory.untracked = state.untracked.load(std::memory_order_relaxed);
  return memory;
}

void reset_host_memory_peak() noexcept { state.peak.store(state.allocated.load()); }

}  // namespace rangefinder::torch
