// SPDX-License-Identifier: MIT
#include "source/torch/host_allocator.hpp"

#include "source/torch/live_blocks.hpp"

#include <rangefinder/detail/memory.hpp>
#include <rangefinder/range.hpp>

#include <c10/core/Allocator.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

// Why not LibTorch's own report of memory (c10::MemoryReportingInfoBase): it hears one thread, and only while it stands
// in the slot in which torch.profiler keeps its state. LibTorch casts whatever stands there to its profiler's class,
// and refuses to start a profiler on a thread where the slot is taken.
namespace rangefinder::torch {
namespace {

constexpr int kMostPriority = 255;

// All of it outlives every static destructor: tensors may be freed as late as that.
struct State {
  // What each block asks for stands together: its memory is cold each time.
  alignas(64) std::atomic<std::uint32_t> users{0};
  std::atomic<std::uint64_t> allocated{0};
  std::atomic<std::uint64_t> peak{0};
  std::atomic<std::uint64_t> allocations{0};
  c10::DeleterFnPtr inner_delete = nullptr;
  c10::Allocator* inner = nullptr;  // LibTorch's; set before ours is, then never again
  LiveBlocks blocks;
  std::atomic<std::uint64_t> untracked{0};
  std::mutex mutex;
  c10::Allocator* ours = nullptr;
};
State& state() noexcept {
  static State* const the_state = new State;
  return *the_state;
}

bool recording(const State& now) noexcept { return now.users.load(std::memory_order_relaxed) != 0; }

void raise_peak(State& now, std::uint64_t allocated) noexcept {
  std::uint64_t seen = now.peak.load(std::memory_order_relaxed);
  while (seen < allocated && !now.peak.compare_exchange_weak(seen, allocated, std::memory_order_relaxed)) {
  }
}

void note(const State& now, MemoryAction action, const LiveBlocks::Block& block, std::uint64_t allocated) noexcept {
  if (!recording(now)) return;
  detail::MemoryEvent event;
  event.action = action;
  event.address = block.address;
  event.bytes = block.bytes;
  event.allocated = static_cast<std::int64_t>(allocated);
  detail::memory_event(event);
}

void note_free(State& now, const LiveBlocks::Block& block) noexcept {
  note(now, MemoryAction::kFree, block, now.allocated.fetch_sub(block.bytes, std::memory_order_relaxed) - block.bytes);
}

/// Frees any block of the inner allocator, whoever it was allocated through: tensors from before the first recording,
/// and raw pointers, of which LibTorch keeps no deleter, come here too.
void free_block(void* block) {
  State& now = state();
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  // Before it is free: another thread may be given its address at once.
  if (const std::uint64_t bytes = now.blocks.take(address); bytes != 0) note_free(now, {address, bytes});
  now.inner_delete(block);
}

void note_allocation(State& now, const LiveBlocks::Block& block) noexcept {
  const LiveBlocks::Block lost = now.blocks.put(block);
  const std::uint64_t allocated = now.allocated.fetch_add(block.bytes, std::memory_order_relaxed) + block.bytes;
  raise_peak(now, allocated);
  now.allocations.fetch_add(1, std::memory_order_relaxed);
  note(now, MemoryAction::kAllocate, block, allocated);
  if (lost.address == 0) return;
  now.untracked.fetch_add(1, std::memory_order_relaxed);
  note_free(now, lost);  // from here on nobody will know that it goes
}

/// Passes everything on. What it gives out while nothing is recorded is the inner allocator's own, deleter included.
class HostAllocator final : public c10::Allocator {
 public:
  explicit HostAllocator(c10::Allocator& inner) : inner_(inner) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    State& now = state();
    if (!recording(now)) return inner_.allocate(bytes);
    try {
      c10::DataPtr data = inner_.allocate(bytes);
      // A block of its own kind: one pointer for data and context, as raw allocation wants it.
      const bool plain = bytes != 0 && data.get() != nullptr && data.get() == data.get_context();
      if (plain && data.compare_exchange_deleter(now.inner_delete, &free_block))
        note_allocation(now, {reinterpret_cast<std::uintptr_t>(data.get()), bytes});
      return data;
    } catch (const std::exception&) {
      note(now, MemoryAction::kOutOfMemory, {0, bytes}, now.allocated.load());
      throw;
    }
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { inner_.copy_data(to, from, bytes); }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return inner_.is_simple_data_ptr(data); }

 private:
  c10::Allocator& inner_;
};

/// LibTorch keeps an allocator's priority to itself and passes over those of a lower one: ours takes the lowest that
/// is taken, so that whoever could set an allocator before still can.
bool set_allocator(c10::Allocator* allocator) {
  for (int priority = 0; priority <= kMostPriority; ++priority) {
    c10::SetAllocator(c10::kCPU, allocator, static_cast<std::uint8_t>(priority));
    if (c10::GetAllocator(c10::kCPU) == allocator) return true;
  }
  return false;
}

std::string install(State& now) {
  c10::Allocator* const current = c10::GetAllocator(c10::kCPU);
  if (now.ours != nullptr) return current == now.ours ? "" : "the program has set another CPU allocator since";
  if (current == nullptr || current->raw_deleter() == nullptr)
    return "the CPU allocator of the program gives out no raw memory";
  now.inner = current;
  now.inner_delete = current->raw_deleter();
  now.ours = new HostAllocator(*current);
  return set_allocator(now.ours) ? "" : "LibTorch took no other CPU allocator";
}

}  // namespace

std::string start_host() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  std::string reason = install(now);
  if (reason.empty() && now.users.fetch_add(1) == 0) reset_host_memory_peak();
  return reason;
}

void stop_host() noexcept { state().users.fetch_sub(1); }

void count_host() noexcept {
  const HostMemory memory = host_memory();
  counter("host allocated bytes", memory.allocated_bytes);
  counter("host peak bytes", memory.peak_bytes);
  counter("host untracked allocations", memory.untracked);
}

HostMemory host_memory() noexcept {
  const State& now = state();
  HostMemory memory;
  memory.allocated_bytes = now.allocated.load(std::memory_order_relaxed);
  memory.peak_bytes = std::max(memory.allocated_bytes, now.peak.load(std::memory_order_relaxed));
  memory.allocations = now.allocations.load(std::memory_order_relaxed);
  memory.untracked = now.untracked.load(std::memory_order_relaxed);
  return memory;
}

void reset_host_memory_peak() noexcept { state().peak.store(state().allocated.load()); }

}  // namespace rangefinder::torch
