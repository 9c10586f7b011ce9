// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder::nccl {

/// What NCCL keeps for us as an event's void*. Not an address: a handle that is used after its slot was given to
/// another event, or after its communicator is gone, is recognised by its generation and has no effect. NCCL's progress
/// threads may be that late.
struct Handle {
  enum class Kind : std::uint8_t {
    kNone = 0,
    kCollective = 1,  ///< the task of a collective, a send or a receive
    kChild = 2,       ///< a kernel channel or a proxy operation of it; the other fields are its parent's
    kGroup = 3,       ///< nothing else is known of it: 2.23 to 2.27 tell of no collective without one
    kApi = 4,         ///< a call; `slot` says what plugin.cpp wants to know of it later
  };
  static constexpr unsigned kKindBits = 4, kSlotBits = 12, kCommunicatorBits = 12;

  Kind kind = Kind::kNone;
  std::uint32_t slot = 0;
  std::uint32_t communicator = 0;
  std::uint32_t generation = 0;

  /// Never null, unless it is kNone.
  void* pointer() const noexcept {
    std::uint64_t word = generation;
    word = word << kCommunicatorBits | communicator;
    word = word << kSlotBits | slot;
    word = word << kKindBits | static_cast<std::uint64_t>(kind);
    return reinterpret_cast<void*>(word);
  }
  static Handle of(void* pointer) noexcept {
    auto word = reinterpret_cast<std::uint64_t>(pointer);
    const auto take = [&](unsigned bits) {
      const auto field = static_cast<std::uint32_t>(word & ((std::uint64_t{1} << bits) - 1));
      word >>= bits;
      return field;
    };
    Handle handle;
    handle.kind = static_cast<Kind>(take(kKindBits));
    handle.slot = take(kSlotBits);
    handle.communicator = take(kCommunicatorBits);
    handle.generation = static_cast<std::uint32_t>(word);
    return handle;
  }
};

}  // namespace rangefinder::nccl
