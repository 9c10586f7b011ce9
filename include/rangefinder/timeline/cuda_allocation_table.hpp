// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct CudaAllocationRow {
  using Table = class CudaAllocationTable;

  ProcessIndex process{};
  std::int64_t time_ns = 0;
  bool freed = false;        ///< the memory was given back
  std::uint32_t memory = 0;  ///< CUPTI's kind: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, ...
  DeviceIndex device = kNone;
  StreamIndex stream = kNone;  ///< of stream-ordered allocations
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pool = 0;         ///< address of the memory pool; 0: none
  std::uint64_t correlation = 0;  ///< of the call, which tells thread and function; 0: none
  std::int64_t source_row = -1;
};

/// Calls of CUDA's own functions that allocate and free: cudaMalloc, cudaMallocAsync, cudaHostAlloc, ... What a caching
/// allocator hands out of that memory is in AllocatorEventTable.
class CudaAllocationTable : public detail::Table<CudaAllocationTable, CudaAllocationRow> {
 public:
  TableColumn<&CudaAllocationRow::process> process;
  TableColumn<&CudaAllocationRow::time_ns> time_ns;
  TableColumn<&CudaAllocationRow::freed> freed;
  TableColumn<&CudaAllocationRow::memory> memory;
  TableColumn<&CudaAllocationRow::device> device;
  TableColumn<&CudaAllocationRow::stream> stream;
  TableColumn<&CudaAllocationRow::address> address;
  TableColumn<&CudaAllocationRow::bytes> bytes;
  OptionalTableColumn<&CudaAllocationRow::pool> pool;
  OptionalTableColumn<&CudaAllocationRow::correlation> correlation;
  OptionalTableColumn<&CudaAllocationRow::source_row> source_row;

 private:
  friend detail::Table<CudaAllocationTable, CudaAllocationRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.process, self.time_ns, self.freed, self.memory, self.device, self.stream, self.address,
                    self.bytes, self.pool, self.correlation, self.source_row);
  }
};

}  // namespace rangefinder
