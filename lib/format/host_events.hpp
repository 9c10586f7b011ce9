// SPDX-License-Identifier: MIT
#pragma once

#include "format/columns.hpp"
#include "format/layout.hpp"

#include <rangefinder/detail/record.hpp>
#include <rangefinder/result.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// A kHostEvents chunk: a run of one thread's records, in the order in which the thread wrote them.
namespace rangefinder::format {

/// Which part of which block the records are: the reader of a live file skips what the capture holds already.
struct HostRun {
  std::uint32_t thread = 0;           // thread index; the chunk header's subject
  std::uint32_t tid = 0;
  std::uint64_t block_sequence = 0;
  std::uint32_t first_record = 0;     // within the block
};

struct HostEvents {
  HostRun run;
  std::vector<detail::Record> records;
};

/// First and last time of the records, for the chunk's header; both 0 where none has a time.
std::pair<std::uint64_t, std::uint64_t> tick_span(std::span<const detail::Record> records) noexcept;

/// Packs runs; keeps its scratch memory. One per thread.
class HostEventPacker {
 public:
  void pack(const HostRun& run, std::span<const detail::Record> records, ColumnWriter& out);

 private:
  std::uint32_t symbol_of(std::uint64_t word);

  std::vector<std::uint64_t> dictionary_;
  struct Slot {
    std::uint64_t word = 0;
    std::uint32_t symbol = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> open_;
  base::Bytes symbols_, low_[2], high_[2], values_, launches_, head_, words_;
};

/// `first_ticks` from the chunk's header.
Result<HostEvents> unpack_host_events(base::ByteView payload, const ChunkHeader& header, ColumnReader& in);

}  // namespace rangefinder::format
