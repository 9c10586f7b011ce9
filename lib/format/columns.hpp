// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "base/compress.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <vector>

// A chunk's payload is a set of numbered columns, each compressed on its own. A reader asks for the columns it knows
// and never looks at others, so that a newer recorder may add some; a column that is missing reads as zeros.
//
//   u16 count, u16 0, u32 0, then count x {u16 id, u8 packing, u8 0, u32 stored_bytes, u32 raw_bytes}, then the bytes
namespace rangefinder::format {

enum class Packing : std::uint8_t { kPlain = 0, kZstd = 1 };

class ColumnWriter {
 public:
  explicit ColumnWriter(base::Compressor& compressor) noexcept : compressor_(compressor) {}

  /// Columns of nothing but zero bytes are left out.
  void add(std::uint16_t id, base::ByteView raw, base::Compressor::Matches matches = base::Compressor::Matches::kAny);
  /// The same without compression: for what is small, or dense already.
  void add_plain(std::uint16_t id, base::ByteView raw);
  /// Appends the payload and forgets the columns.
  void finish(base::Bytes& out);
  /// Forgets the columns.
  void clear() noexcept;

 private:
  struct Entry {
    std::uint16_t id;
    Packing packing;
    std::uint32_t stored_bytes;
    std::uint32_t raw_bytes;
  };
  base::Compressor& compressor_;
  std::vector<Entry> entries_;
  base::Bytes stored_;
};

/// Unpacks columns one at a time; views stay valid until the next `open`.
class ColumnReader {
 public:
  /// Checks the directory against the payload's size, and that its columns unpack to kMaxUnpackedBytes at most.
  Status open(base::ByteView payload);
  /// The column's bytes; empty when it is missing. `most`: what its rows can take up; a column that claims more is not
  /// unpacked.
  Result<base::ByteView> column(std::uint16_t id, std::size_t most);

 private:
  struct Entry {
    std::uint16_t id;
    Packing packing;
    std::uint32_t stored_bytes;
    std::uint32_t raw_bytes;
    base::ByteView stored;
    base::Bytes unpacked;
  };
  std::vector<Entry> entries_;
  base::Decompressor decompressor_;
};

}  // namespace rangefinder::format
