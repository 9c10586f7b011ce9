// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

// The 16-byte record that instrumented threads write, and the block that holds them. Inline code in range.hpp writes
// it, lib/buffer hands the blocks out, lib/format packs them, lib/capture reads them back after a crash. The layout is
// part of the capture format: docs/reference/capture-format.md, section "live file".
namespace rangefinder::detail {

/// What a record says; the low 8 bits of Record::word.
enum class RecordKind : std::uint8_t {
  kNone = 0,     ///< never written: marks memory that holds no record
  kBegin = 1,    ///< a range opens; id = name, aux = category, and kHasNotedNumber or kResumed
  kEnd = 2,      ///< the innermost range of this name closes; id and aux as of its begin, kTookOneNumber and kSuspended
  kMark = 3,     ///< an instant; id = name, aux = category
  kCounter = 4,  ///< a sample; id = name; one kExtra follows with the value
  kAsyncBegin = 5,  ///< a range that may end on another thread opens; id = name; one kExtra follows with its handle
  kAsyncEnd = 6,    ///< such a range closes; one kExtra follows with its handle
  kLaunch = 7,      ///< a CUDA call that may cause device work begins; id = correlation id, aux = callback id
  kStep = 8,  ///< session.step(); id = number of the step that begins now; aux = 1: it is not recorded, only the one
              ///< before ends; a kExtra may follow with the items that were done in that one
  kSequence = 9,  ///< ticks = the number that the thread's next autograd node gets; aux = the thread, as nodes name it;
                  ///< id = 1: what was numbered before is not known
  kExtra = 10,    ///< ticks = a value that belongs to the record before; aux = ExtraKind; id = text name where kText
  kLostEnds = 11,    ///< id ranges were closed while no memory was left; closes that many, innermost first
  kForeignEnd = 12,  ///< a range begun on another thread closes; id = name; one kExtra follows with that thread's index
  kNodeBegin = 13,   ///< an autograd node runs; id = name, aux = thread that made it; its number follows in a kExtra
  kNodeEnd = 14,     ///< the last `id` nodes that the thread runs are done
  kOperator = 15,  ///< of the range just opened, an operator: ticks = its number of autograd, all ones: none; id = name
                   ///< that tells its inputs, 0: none; aux = where it is a node the thread that made it, else 0
  kMemory =
      16,  ///< an allocator acted; id = device, all ones: the host; aux = MemoryAction; a kExtra each follows with
           ///< address, bytes, allocated, reserved, stream, pool; those behind the last one that is known are left out
  kHostBlock = 17,      ///< a block of the host was allocated or freed; id and aux: see below
  kHostBlockFact = 18,  ///< ticks = what the kHostBlock behind it, and those after them in this block of records, go
                        ///< by: aux below kHostSizes: the bytes that this number stands for; kHostSizes: the bytes of
                        ///< all blocks of the host before the next kHostBlock
  kThreadEvent = 19,    ///< ticks = how often a CPU event (aux = CpuEvent) has occurred on the thread before the record
                        ///< that follows; one that is not said has the count it had
  kCollective = 20,  ///< a collective is called; id = name that tells its signature, aux = CollectiveKind and, from bit
                     ///< 8 on, CollectiveSource; a kExtra each follows with handle, group (text, as its name), number
                     ///< in the group, elements in, elements out, peer, splits in and out (texts); those behind the
                     ///< last one that is known are left out
  kCollectivePhase = 21,  ///< aux = CollectivePhase; a kExtra follows with the handle of the collective
};

/// Beside the kind, the word of a kHostBlock has a bit that says whether the block was freed, 8 bits for the number of
/// its size, and its address. The bytes of all blocks afterwards are those after the kHostBlock before it, more or less
/// its own, where no kHostBlockFact says otherwise.
inline constexpr std::uint32_t kHostSizes = 256;
inline constexpr unsigned kHostFreedBit = 8, kHostSizeShift = 9, kHostAddressShift = 17;
inline constexpr unsigned kHostAlignmentBits = 6;  // lowest bits of an address, which are zero

/// In the aux of a kBegin, beside the category: the range is an operator, and its number of autograd is the one that
/// its thread noted last (kSequence). It then has no kOperator.
inline constexpr std::uint32_t kHasNotedNumber = 0x10000;
/// In the aux of a kEnd, beside what its begin has: the thread has taken one number since it noted the last one. It
/// stands for a kSequence with the next number before that end.
inline constexpr std::uint32_t kTookOneNumber = 0x20000;
/// Likewise in the aux of a kEnd: the range is suspended. It is not over, and goes on with a kBegin that has kResumed.
inline constexpr std::uint32_t kSuspended = 0x40000;
/// In the aux of a kBegin, beside the category: a suspended range goes on. A kExtra follows with the ticks of the kEnd
/// that suspended it.
inline constexpr std::uint32_t kResumed = 0x40000;
inline constexpr std::uint32_t kCategoryMask = 0xFFFF;

/// Aux of a kStep.
inline constexpr std::uint32_t kStepNotRecorded = 1;

/// How to read the value of a kExtra record.
enum class ExtraKind : std::uint8_t { kUnsigned = 1, kSigned = 2, kDouble = 3, kText = 4 };

/// One record. `word` = kind (bits 0..7) | aux (bits 8..31) | id (bits 32..63).
struct Record {
  std::uint64_t ticks;
  std::uint64_t word;
};
static_assert(sizeof(Record) == 16);

constexpr std::uint64_t make_word(RecordKind kind, std::uint32_t id, std::uint32_t aux = 0) noexcept {
  return static_cast<std::uint64_t>(id) << 32 | static_cast<std::uint64_t>(aux & 0xFFFFFFu) << 8 |
         static_cast<std::uint64_t>(kind);
}
constexpr RecordKind word_kind(std::uint64_t word) noexcept { return static_cast<RecordKind>(word & 0xFF); }
constexpr std::uint32_t word_aux(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 8) & 0xFFFFFFu;
}
constexpr std::uint32_t word_category(std::uint64_t word) noexcept { return word_aux(word) & kCategoryMask; }
constexpr std::uint32_t word_id(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }

/// Blocks are aligned to their size, so that a record's block is found by masking its address.
inline constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
inline constexpr std::size_t kBlockHeaderBytes = 64;
/// Kept free at the end of every block, so that ranges that are open can close even when no further block is to be had.
inline constexpr std::size_t kEndReserveBytes = 64 * sizeof(Record);

}  // namespace rangefinder::detail
