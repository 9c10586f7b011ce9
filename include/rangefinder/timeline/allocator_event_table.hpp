// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct AllocatorEventRow {
  using Table = class AllocatorEventTable;

  ThreadIndex thread{};
  std::int64_t time_ns = 0;
  MemoryAction action = MemoryAction::kAllocate;
  std::int32_t device = -1;      ///< CUDA's index; -1: memory of the host
  std::uint64_t address = 0;     ///< 0 where unknown
  std::uint64_t bytes = 0;       ///< of the block, segment or request
  std::int64_t allocated = -1;   ///< by all blocks of the device afterwards; -1 where unknown
  std::int64_t reserved = -1;    ///< by all segments of the device afterwards; -1 where unknown
  std::uint64_t stream = 0;      ///< the allocator's, 0 where unknown
  std::uint64_t pool = 0;        ///< private pool; 0: the default one
  std::int64_t source_row = -1;  ///< as in RangeRow
};

/// Events of caching allocators, in order of time within a thread.
class AllocatorEventTable : public detail::Table<AllocatorEventTable, AllocatorEventRow> {
 public:
  TableColumn<&AllocatorEventRow::thread> thread;
  TableColumn<&AllocatorEventRow::time_ns> time_ns;
  TableColumn<&AllocatorEventRow::action> action;
  TableColumn<&AllocatorEventRow::device> device;
  TableColumn<&AllocatorEventRow::address> address;
  OptionalTableColumn<&AllocatorEventRow::bytes> bytes;
  OptionalTableColumn<&AllocatorEventRow::allocated> allocated;
  OptionalTableColumn<&AllocatorEventRow::reserved> reserved;
  OptionalTableColumn<&AllocatorEventRow::stream> stream;
  OptionalTableColumn<&AllocatorEventRow::pool> pool;
  OptionalTableColumn<&AllocatorEventRow::source_row> source_row;

 private:
  friend detail::Table<AllocatorEventTable, AllocatorEventRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.thread, self.time_ns, self.action, self.device, self.address, self.bytes, self.allocated,
                    self.reserved, self.stream, self.pool, self.source_row);
  }
};

}  // namespace rangefinder
