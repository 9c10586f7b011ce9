// SPDX-License-Identifier: MIT
#include "source/cupti/buffer_pool.hpp"

#include "base/zeros.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

namespace rangefinder::source::cupti {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMaxBuffers = 16384;

// MADV_POPULATE_WRITE (Linux 5.14) faults a range in with one call; the number is fixed by the kernel's interface.
constexpr int kPopulateWrite = 23;

void fault_in(std::uint8_t* data, std::size_t bytes) noexcept {
  if (::madvise(data, bytes, kPopulateWrite) == 0) return;
  for (std::size_t at = 0; at < bytes; at += kPage) const_cast<volatile std::uint8_t*>(data)[at] = 0;
}

}  // namespace

std::unique_ptr<BufferPool> BufferPool::create(std::size_t memory_bytes, std::size_t buffer_bytes) {
  buffer_bytes = std::max((buffer_bytes + kPage - 1) / kPage * kPage, kPage);
  const std::size_t count = std::clamp(memory_bytes / buffer_bytes, std::size_t{2}, kMaxBuffers);
  void* memory =
      ::mmap(nullptr, count * buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // No use to a child of fork, and no use in a core file.
  ::madvise(memory, count * buffer_bytes, MADV_DONTDUMP);
  try {
    return std::unique_ptr<BufferPool>(new BufferPool(static_cast<std::uint8_t*>(memory), count, buffer_bytes));
  } catch (...) {
    ::munmap(memory, count * buffer_bytes);
    throw;
  }
}

BufferPool::BufferPool(std::uint8_t* memory, std::size_t count, std::size_t buffer_bytes)
    : memory_(memory),
      count_(count),
      buffer_bytes_(buffer_bytes),
      slots_(new Slot[count]),
      emergency_(new Slot[kEmergencySlots]) {
  for (std::size_t i = 0; i < count; ++i) slots_[i].data.store(memory + i * buffer_bytes, std::memory_order_relaxed);
  waiting_.reserve(count + kEmergencySlots);
}

BufferPool::~BufferPool() {
  ::munmap(memory_, count_ * buffer_bytes_);
  for (std::size_t i = 0; i < kEmergencySlots; ++i) std::free(emergency_[i].data.load());
}

bool BufferPool::take_in_state(State from, std::span<std::uint8_t>& taken) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    std::uint32_t expected = from;
    // acquire: the zeros that `recycle` or `prepare` wrote come with the state.
    if (slots_[i].state.load(std::memory_order_relaxed) == expected &&
        slots_[i].state.compare_exchange_strong(expected, kOut, std::memory_order_acquire)) {
      outstanding_.fetch_add(1, std::memory_order_relaxed);
      taken = {slots_[i].data.load(std::memory_order_relaxed), buffer_bytes_};
      return true;
    }
  }
  return false;
}

std::span<std::uint8_t> BufferPool::take() noexcept {
  std::span<std::uint8_t> taken;
  if (!take_in_state(kReady, taken)) take_in_state(kUntouched, taken);
  return taken;
}

std::span<std::uint8_t> BufferPool::take_emergency() noexcept {
  for (std::size_t i = 0; i < kEmergencySlots; ++i) {
    std::uint32_t expected = kUntouched;
    if (!emergency_[i].state.compare_exchange_strong(expected, kOut, std::memory_order_acquire)) continue;
    auto* data = static_cast<std::uint8_t*>(std::calloc(1, kEmergencyBytes));
    if (data == nullptr) {
      emergency_[i].state.store(kUntouched, std::memory_order_release);
      return {};
    }
    emergency_[i].data.store(data, std::memory_order_release);
    outstanding_.fetch_add(1, std::memory_order_relaxed);
    emergencies_.fetch_add(1, std::memory_order_relaxed);
    return {data, kEmergencyBytes};
  }
  return {};
}

BufferPool::Slot* BufferPool::slot_of(const std::uint8_t* data, std::uint32_t& index) noexcept {
  if (data == nullptr) return nullptr;
  if (data >= memory_ && data < memory_ + count_ * buffer_bytes_) {
    const auto offset = static_cast<std::size_t>(data - memory_);
    index = static_cast<std::uint32_t>(offset / buffer_bytes_);
    return offset % buffer_bytes_ == 0 ? &slots_[index] : nullptr;
  }
  for (std::size_t i = 0; i < kEmergencySlots; ++i) {
    if (emergency_[i].data.load(std::memory_order_acquire) != data) continue;
    index = static_cast<std::uint32_t>(count_ + i);
    return &emergency_[i];
  }
  return nullptr;
}

bool BufferPool::give(const std::uint8_t* data, std::size_t valid) noexcept {
  std::uint32_t index = 0;
  Slot* const slot = slot_of(data, index);
  std::uint32_t expected = kOut;
  if (slot == nullptr || !slot->state.compare_exchange_strong(expected, kBack, std::memory_order_acq_rel)) return false;
  slot->valid = std::min(valid, index < count_ ? buffer_bytes_ : kEmergencyBytes);
  std::uint32_t head = returned_.load(std::memory_order_relaxed);
  do {
    slot->next = head;
    // release: `pop` reads valid, next and the records behind its acquire.
  } while (!returned_.compare_exchange_weak(head, index + 1, std::memory_order_release, std::memory_order_relaxed));
  // After the push: whoever sees nothing outstanding finds every buffer on the list.
  outstanding_.fetch_sub(1, std::memory_order_release);
  return true;
}

bool BufferPool::pop(Filled& filled) {
  if (waiting_at_ == waiting_.size()) {
    waiting_.clear();
    waiting_at_ = 0;
    std::uint32_t head = returned_.exchange(0, std::memory_order_acquire);
    for (; head != 0; head = slot(head - 1).next) waiting_.push_back(head - 1);
    std::reverse(waiting_.begin(), waiting_.end());
    if (waiting_.empty()) return false;
  }
  filled.slot = waiting_[waiting_at_++];
  filled.data = slot(filled.slot).data.load(std::memory_order_relaxed);
  filled.valid = slot(filled.slot).valid;
  filled.zeroed = 0;
  return true;
}

void BufferPool::recycle(const Filled& filled) noexcept {
  Slot& used = slot(filled.slot);
  if (filled.slot >= count_) {
    used.data.store(nullptr, std::memory_order_relaxed);
    std::free(filled.data);
    used.state.store(kUntouched, std::memory_order_release);
    return;
  }
  // All of it is zeros then, not only the valid part: CUPTI relies on that (ZEROED_OUT_ACTIVITY_BUFFER), and it is
  // undocumented what it leaves behind the last complete record. To look costs half of what writing does.
  std::memset(filled.data + filled.zeroed, 0, filled.valid - filled.zeroed);
  const std::span<std::uint8_t> rest(filled.data + filled.valid, buffer_bytes_ - filled.valid);
  if (!base::only_zeros(std::as_bytes(rest))) std::memset(rest.data(), 0, rest.size());
  used.state.store(kReady, std::memory_order_release);
}

void BufferPool::prepare(std::size_t ahead) noexcept {
  std::size_t ready = 0;
  for (std::size_t i = 0; i < count_; ++i) ready += slots_[i].state.load(std::memory_order_relaxed) == kReady;
  for (std::size_t i = 0; i < count_ && ready < ahead; ++i) {
    std::uint32_t expected = kUntouched;
    if (!slots_[i].state.compare_exchange_strong(expected, kBack, std::memory_order_acquire)) continue;
    fault_in(slots_[i].data.load(std::memory_order_relaxed), buffer_bytes_);
    slots_[i].state.store(kReady, std::memory_order_release);
    ++ready;
  }
}

void BufferPool::release_memory() noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    std::uint32_t expected = kReady;
    if (!slots_[i].state.compare_exchange_strong(expected, kBack, std::memory_order_acquire)) continue;
    ::madvise(slots_[i].data.load(std::memory_order_relaxed), buffer_bytes_, MADV_DONTNEED);
    slots_[i].state.store(kUntouched, std::memory_order_release);
  }
}

}  // namespace rangefinder::source::cupti
