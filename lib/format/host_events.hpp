// SPDX-License-Identifier: MIT
#pragma once

#include "format/columns.hpp"
#include "format/layout.hpp"
#include "format/time_coder.hpp"

#include <rangefinder/detail/record.hpp>
#include <rangefinder/result.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// A kHostEvents chunk: a run of one thread's records, in the order in which the thread wrote them. Its columns:
//
//   1 head      varints: tid, block sequence, first record, number of lowest bits that are zero in every difference
//   2 words     the dictionary, each entry three varints: kind, aux, zigzag difference of its id to the entry before;
//               launches without id, kHostBlock as kind alone
//   3 symbols   a varint a record that is no matching end: its word's index in the dictionary * 4 + how many matching
//               ends follow; 3 stands for 3 and another varint
//   4 times     bits, time_coder.hpp: the differences from one record that has a time to the next, the first one taken
//               from the chunk header's `first`; each without the zero bits
//   5 values    a record whose ticks are a value (kExtra, kSequence, kOperator, kHostBlockFact): of a double a u64, of
//               all others the zigzag varint of the difference to the value of the same word before, 0 at first
//   6 launches  a zigzag varint a launch: difference of its correlation id to the launch before
//   7 blocks    u16 a kHostBlock: bit 0 freed, bits 1 to 11 the place where it is remembered; bit 15: it takes that
//               place now, and a u64 follows, its word without kind and freed bit
//
// A matching end closes the range that was opened last in this chunk and is open: it needs no symbol.
namespace rangefinder::format {

/// Which part of which block the records are: the reader of a live file skips what the capture holds already.
struct HostRun {
  std::uint32_t thread = 0;  // thread index; the chunk header's subject
  std::uint32_t tid = 0;
  std::uint64_t block_sequence = 0;
  std::uint32_t first_record = 0;  // within the block
};

struct HostEvents {
  HostRun run;
  std::vector<detail::Record> records;
};

/// First and last time of the records, for the chunk's header; both 0 where none has a time.
using TickSpan = std::pair<std::uint64_t, std::uint64_t>;
TickSpan tick_span(std::span<const detail::Record> records) noexcept;

/// Packs runs; keeps its scratch memory. One per thread.
class HostEventPacker {
 public:
  /// At most kMaxRows records.
  TickSpan pack(const HostRun& run, std::span<const detail::Record> records, ColumnWriter& out);

  /// The different words of what was packed last, launches without id and kHostBlock as kind alone: all
  /// names and categories that it refers to.
  std::span<const std::uint64_t> words() const noexcept { return words_; }

 private:
  struct Slot {
    std::uint64_t word = 0;
    std::uint32_t symbol = 0;  // index in words_ + 1; 0: free
  };
  struct Open {
    std::uint64_t end_word;
    std::uint32_t symbol;
  };
  struct Step {
    std::uint64_t passed;  // since the record before that has a time
    std::uint32_t model;
  };
  struct Steps {
    TickSpan span{0, 0};
    std::uint64_t bits = 0;  // that are set in any of them
    std::size_t count = 0;
  };
  void start(std::size_t records);
  std::uint32_t symbol_of(std::uint64_t word);
  void double_slots();
  Steps pack_symbols(std::span<const detail::Record> records, ColumnWriter& out);
  std::byte* put_value(std::byte* at, std::uint32_t symbol, const detail::Record& record);
  void pack_head(const HostRun& run, int zeros, ColumnWriter& out);
  void pack_words(ColumnWriter& out);
  void pack_times(std::size_t count, int zeros, ColumnWriter& out);

  std::vector<std::uint64_t> words_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> last_values_;  // by symbol
  std::vector<Open> open_;
  std::vector<Step> steps_;
  std::vector<TimeModel> models_;
  base::Bytes symbols_, times_, values_, launches_, blocks_, small_;
};

Result<HostEvents> unpack_host_events(base::ByteView payload, const ChunkHeader& header, ColumnReader& in);

}  // namespace rangefinder::format
