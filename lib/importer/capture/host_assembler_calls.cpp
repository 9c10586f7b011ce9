// SPDX-License-Identifier: MIT
// Calls of allocators and of collectives: what takes several records to tell.
#include "importer/capture/host_assembler.hpp"

#include <algorithm>

namespace rangefinder::importer {

using detail::Record;
using detail::RecordKind;
using detail::word_aux;
using detail::word_id;
using detail::word_kind;

// ---- memory ---------------------------------------------------------------------------------------------------------

void HostAssembler::begin_memory(std::uint32_t index, Thread& thread, const Record& record) {
  constexpr std::uint32_t kMaxDevice = 1u << 16;  // beyond it, the number of a device is damage
  const std::uint32_t action = word_aux(record.word);
  const std::uint32_t device = word_id(record.word);
  const bool known_device = device == ~0u || device <= kMaxDevice;
  if (action > static_cast<std::uint32_t>(MemoryAction::kOutOfMemory) || !known_device) return;
  thread.memory = {};
  thread.memory.ticks = record.ticks;
  thread.memory.thread = index;
  thread.memory.action = static_cast<MemoryAction>(action);
  thread.memory.device = static_cast<std::int32_t>(device);
  thread.pending = record;
}

/// An event is whole when the next record comes. One of which nothing is known was cut off.
void HostAssembler::end_memory(Thread& thread) {
  if (word_kind(thread.pending.word) == RecordKind::kMemory && thread.memory.known != 0)
    sink_->on_memory(thread.memory);
}

void HostAssembler::on_host_fact(Thread& thread, const Record& record) {
  const std::uint32_t what = word_aux(record.word);
  if (what == detail::kHostSizes) {
    thread.host_total = std::max<std::int64_t>(static_cast<std::int64_t>(record.ticks), -1);
  } else if (what < detail::kHostSizes) {
    thread.host_sizes.resize(detail::kHostSizes);
    thread.host_sizes[what] = record.ticks;
  }
}

void HostAssembler::on_host_block(std::uint32_t index, Thread& thread, const Record& record) {
  const std::uint64_t size = record.word >> detail::kHostSizeShift & (detail::kHostSizes - 1);
  const std::uint64_t bytes = size < thread.host_sizes.size() ? thread.host_sizes[size] : 0;
  if (bytes == 0) {
    // What said it is lost.
    ++health_.dropped_memory_events;
    thread.host_total = -1;
    return;
  }
  AssembledMemory memory;
  memory.ticks = record.ticks;
  memory.thread = index;
  const bool freed = (record.word >> detail::kHostFreedBit & 1) != 0;
  memory.action = freed ? MemoryAction::kFree : MemoryAction::kAllocate;
  if (thread.host_total >= 0) {
    // Of a damaged file: whatever comes out below 0 is not known.
    const auto before = static_cast<std::uint64_t>(thread.host_total);
    thread.host_total = std::max<std::int64_t>(static_cast<std::int64_t>(freed ? before - bytes : before + bytes), -1);
  }
  memory.values = {record.word >> detail::kHostAddressShift << detail::kHostAlignmentBits, bytes,
                   static_cast<std::uint64_t>(thread.host_total)};
  memory.values[3] = ~std::uint64_t{0};
  memory.known = 3;
  sink_->on_memory(memory);
}

// ---- collectives ----------------------------------------------------------------------------------------------------

/// The next value, in the order of kCollective's.
void AssembledCollective::take(std::uint64_t value) noexcept {
  switch (known++) {
    case 0:
      handle = static_cast<std::uint32_t>(value);
      return;
    case 1:
      group = static_cast<std::uint32_t>(value);
      return;
    case 2:
      number = std::max<std::int64_t>(static_cast<std::int64_t>(value), -1);
      return;
    case 3:
      elements_in = std::max<std::int64_t>(static_cast<std::int64_t>(value), -1);
      return;
    case 4:
      elements_out = std::max<std::int64_t>(static_cast<std::int64_t>(value), -1);
      return;
    case 5:
      peer = static_cast<std::int32_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(value), -1, INT32_MAX));
      return;
    case 6:
      in_splits = static_cast<std::uint32_t>(value);
      return;
    case 7:
      out_splits = static_cast<std::uint32_t>(value);
      return;
    default:
      --known;  // of a newer version, or damage
  }
}

void HostAssembler::begin_collective(std::uint32_t index, Thread& thread, const Record& record) {
  AssembledCollective collective;
  collective.ticks = record.ticks;
  collective.thread = index;
  collective.signature = word_id(record.word);
  const std::uint32_t kind = word_aux(record.word) & 0xFF, source = word_aux(record.word) >> 8;
  if (kind <= static_cast<std::uint32_t>(CollectiveKind::kBarrier)) collective.kind = static_cast<CollectiveKind>(kind);
  if (source == static_cast<std::uint32_t>(CollectiveSource::kNccl)) collective.source = CollectiveSource::kNccl;
  thread.collective = collective;
  thread.pending = record;
}

/// Whole when the next record comes. One without a handle was cut off.
void HostAssembler::end_collective(Thread& thread) {
  if (word_kind(thread.pending.word) == RecordKind::kCollective && thread.collective.known != 0)
    sink_->on_collective(thread.collective);
}

void HostAssembler::on_collective_phase(std::uint32_t index, const Record& record, std::uint32_t handle) {
  const std::uint32_t phase = word_aux(record.word);
  if (phase < static_cast<std::uint32_t>(detail::CollectivePhase::kReturned) ||
      phase > static_cast<std::uint32_t>(detail::CollectivePhase::kWaitEnded))
    return;
  sink_->on_collective_phase({record.ticks, index, handle, static_cast<detail::CollectivePhase>(phase)});
}

}  // namespace rangefinder::importer
