// SPDX-License-Identifier: MIT
#include "source/nccl/communicators.hpp"

#include <rangefinder/detail/collectives.hpp>

#include <algorithm>
#include <mutex>
#include <new>

namespace rangefinder::nccl {
namespace {

using detail::CollectivePhase;
using detail::note_collective;

/// The word of a slot.
struct SlotState {
  static constexpr std::uint32_t kMaxChildren = 0xFFF;

  std::uint32_t generation = 0;
  std::uint32_t running = 0;  ///< children that have begun and not ended
  std::uint32_t ended = 0;    ///< children; stops counting at kMaxChildren
  bool is_called = false;     ///< the event of the collective has not stopped
  bool has_started = false;   ///< a child has begun

  explicit SlotState(std::uint64_t word) noexcept
      : generation(static_cast<std::uint32_t>(word)),
        running(static_cast<std::uint32_t>(word >> 32 & kMaxChildren)),
        ended(static_cast<std::uint32_t>(word >> 44 & kMaxChildren)),
        is_called((word >> 56 & 1) != 0),
        has_started((word >> 57 & 1) != 0) {}
  SlotState() noexcept = default;

  std::uint64_t word() const noexcept {
    return generation | std::uint64_t{running} << 32 | std::uint64_t{ended} << 44 | std::uint64_t{is_called} << 56 |
           std::uint64_t{has_started} << 57;
  }
  bool is_in_use() const noexcept { return is_called || running != 0; }
  /// Never 0: what is none of our handles is likely to have that.
  std::uint32_t next_generation() const noexcept { return generation + 1 != 0 ? generation + 1 : 1; }
};

/// Changes the state of the slot as `change` says, while it is the one that the handle means. False where it is not, or
/// `change` says no.
template <typename Change>
bool update(Slot& slot, std::uint32_t generation, SlotState& state, Change change) noexcept {
  // Acquires and releases at once: what one thread did for a collective comes before what the next one notes of it.
  std::uint64_t word = slot.state.load(std::memory_order_acquire);
  do {
    state = SlotState(word);
    if (generation == 0 || state.generation != generation || !change(state)) return false;
  } while (!slot.state.compare_exchange_weak(word, state.word(), std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

constinit std::array<std::atomic<Communicator*>, kMaxCommunicators> communicators{};
constinit std::mutex communicators_mutex;  // for take_communicator and give_back

/// All 16, as NCCL prints hashes with %016lx.
class HexDigits {
 public:
  explicit HexDigits(std::uint64_t number) noexcept {
    for (std::size_t i = digits_.size(); i-- > 0; number >>= 4) digits_[i] = "0123456789abcdef"[number & 15];
  }
  std::string_view text() const noexcept { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 16> digits_;
};

/// Null where NCCL hands back what is none of our handles.
Communicator* communicator_of(Handle handle) noexcept {
  return communicators[handle.communicator].load(std::memory_order_acquire);
}

}  // namespace

void Communicator::open(int ranks, bool sees_channels) noexcept {
  ranks_ = ranks;
  sees_channels_ = sees_channels;
  group_.store(0, std::memory_order_relaxed);
  is_named_.store(false, std::memory_order_relaxed);
  next_number_.store(0, std::memory_order_relaxed);
  is_open_.store(true, std::memory_order_release);
}

void Communicator::close() noexcept {
  is_open_.store(false, std::memory_order_release);
  for (Slot& slot : slots_) {
    std::uint64_t word = slot.state.load(std::memory_order_acquire);
    SlotState next;
    do {
      next = SlotState();
      next.generation = SlotState(word).next_generation();
    } while (
        !slot.state.compare_exchange_weak(word, next.word(), std::memory_order_acq_rel, std::memory_order_acquire));
  }
}

std::uint32_t Communicator::group(std::uint64_t hash, std::string_view name, int rank) noexcept {
  // Later NCCLs play v1 to v3 with a hash of 0. That is no name, since all communicators would share it.
  if (hash == 0 || is_named_.load(std::memory_order_relaxed) || is_named_.exchange(true, std::memory_order_relaxed))
    return group_.load(std::memory_order_relaxed);
  const HexDigits digits(hash);
  detail::CollectiveGroup named;
  named.name = digits.text();
  named.description = name;
  named.size = ranks_;
  named.rank = rank;
  const std::uint32_t group = detail::collective_group(named);
  group_.store(group, std::memory_order_relaxed);
  return group;
}

Handle Communicator::keep(std::uint32_t collective, std::uint32_t channels_to_end) noexcept {
  constexpr int kTries = 64;  // bounds the time; the next collective goes on from there
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t at = next_slot_.fetch_add(1, std::memory_order_relaxed) % kSlots;
    Slot& slot = slots_[at];
    std::uint64_t word = slot.state.load(std::memory_order_acquire);
    const SlotState found(word);
    if (found.is_in_use()) continue;
    SlotState taken;
    taken.generation = found.next_generation();
    taken.is_called = true;
    if (!slot.state.compare_exchange_strong(word, taken.word(), std::memory_order_acq_rel, std::memory_order_relaxed))
      continue;
    // No other thread has the handle yet.
    slot.collective.store(collective, std::memory_order_relaxed);
    slot.channels_to_end.store(channels_to_end, std::memory_order_relaxed);
    return {Handle::Kind::kCollective, at, index_, taken.generation};
  }
  return {};
}

Communicator* take_communicator(int ranks, bool sees_channels) noexcept {
  const std::lock_guard lock(communicators_mutex);
  for (std::uint32_t i = 0; i < kMaxCommunicators; ++i) {
    Communicator* communicator = communicators[i].load(std::memory_order_relaxed);
    if (communicator != nullptr && communicator->is_open()) continue;
    if (communicator == nullptr) communicator = new (std::nothrow) Communicator(i);
    if (communicator == nullptr) return nullptr;
    communicator->open(ranks, sees_channels);
    communicators[i].store(communicator, std::memory_order_release);
    return communicator;
  }
  return nullptr;
}

void give_back(Communicator* communicator) noexcept {
  const std::lock_guard lock(communicators_mutex);
  if (communicator->is_open()) communicator->close();
}

void note_returned(Handle handle) noexcept {
  Communicator* const communicator = communicator_of(handle);
  if (communicator == nullptr) return;
  Slot& slot = communicator->slots_[handle.slot];
  const std::uint32_t collective = slot.collective.load(std::memory_order_relaxed);  // before another may have the slot
  SlotState state;
  const bool is_noted = update(slot, handle.generation, state, [](SlotState& next) {
    if (!next.is_called) return false;
    next.is_called = false;
    return true;
  });
  if (is_noted) note_collective(collective, CollectivePhase::kReturned);
}

Handle begin_child(Handle handle) noexcept {
  Communicator* const communicator = communicator_of(handle);
  if (communicator == nullptr) return {};
  Slot& slot = communicator->slots_[handle.slot];
  SlotState state;
  bool is_first = false;
  const bool is_begun = update(slot, handle.generation, state, [&](SlotState& next) {
    if (next.running == SlotState::kMaxChildren) return false;
    is_first = !next.has_started;
    next.has_started = true;
    ++next.running;
    return true;
  });
  if (!is_begun) return {};
  if (is_first) note_collective(slot.collective.load(std::memory_order_relaxed), CollectivePhase::kStarted);
  return {Handle::Kind::kChild, handle.slot, handle.communicator, handle.generation};
}

void end_child(Handle handle) noexcept {
  Communicator* const communicator = communicator_of(handle);
  if (communicator == nullptr) return;
  Slot& slot = communicator->slots_[handle.slot];
  const std::uint32_t collective = slot.collective.load(std::memory_order_relaxed);  // as above
  const std::uint32_t all = slot.channels_to_end.load(std::memory_order_relaxed);
  SlotState state;
  const bool is_ended = update(slot, handle.generation, state, [](SlotState& next) {
    if (next.running == 0) return false;
    --next.running;
    next.ended = std::min(next.ended + 1, SlotState::kMaxChildren);
    return true;
  });
  if (is_ended && state.running == 0 && state.ended >= all) note_collective(collective, CollectivePhase::kCompleted);
}

}  // namespace rangefinder::nccl
