// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "format/layout.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>

namespace rangefinder::format {

/// Fills in magic, sizes and checksums and appends header, payload and padding.
void append_chunk(base::Bytes& out, ChunkHeader header, base::ByteView payload);

/// A chunk found in a file; `payload` points into the bytes it was read from.
struct ChunkView {
  ChunkHeader header;
  base::ByteView payload;
  std::uint64_t offset = 0;
  std::uint64_t next_offset = 0;
};

/// Reads the chunk at `offset`. kIncomplete when the file ends in it, kUnreadable with the reason when there is none or
/// it is damaged. The payload's checksum is compared too, unless `trust_payload`.
Result<ChunkView> read_chunk(base::ByteView file, std::uint64_t offset, bool trust_payload);

/// The same in pieces: the header that `bytes` begin with, which stand at `offset` of a file of that size. The payload
/// of the chunk is empty.
Result<ChunkView> read_chunk_header(base::ByteView bytes, std::uint64_t offset, std::uint64_t file_bytes);
/// Takes `payload`, which stands behind the header, into `chunk`; kUnreadable where it is damaged.
Status take_payload(ChunkView& chunk, base::ByteView payload);

/// The first offset of the file where a whole, undamaged header stands, in a part of the file that stands at
/// `part_offset`, a multiple of 8; where there is none, the first offset whose header is not all in the part.
std::uint64_t find_chunk(base::ByteView part, std::uint64_t part_offset, std::uint64_t file_bytes) noexcept;

FileHeader sealed(FileHeader header) noexcept;
Result<FileHeader> read_file_header(base::ByteView file);
bool is_intact(const LiveHeader& header) noexcept;
std::uint64_t live_header_checksum(const LiveHeader& header) noexcept;

}  // namespace rangefinder::format
