// SPDX-License-Identifier: MIT
#include "format/chunk.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace rangefinder::format {
namespace {

template <typename Struct, typename Member>
std::uint64_t checksum_before(const Struct& value, const Member& member) noexcept {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  return base::checksum({first, static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&member) - first)});
}

Error bad_chunk(std::uint64_t offset, const char* what, ErrorCode code = ErrorCode::kUnreadable) {
  return Error(code, "byte " + std::to_string(offset) + ": " + what);
}

}  // namespace

void append_chunk(base::Bytes& out, ChunkHeader header, base::ByteView payload) {
  header.magic = kChunkMagic;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = base::checksum(payload);
  header.header_checksum = checksum_before(header, header.header_checksum);
  base::append_bytes(out, std::as_bytes(std::span(&header, 1)));
  base::append_bytes(out, payload);
  out.resize(padded(out.size()));
}

Result<ChunkView> read_chunk_header(base::ByteView bytes, std::uint64_t offset, std::uint64_t file_bytes) {
  if (bytes.size() < sizeof(ChunkHeader))
    return bad_chunk(offset, "file ends in a chunk header", ErrorCode::kIncomplete);
  ChunkView chunk;
  chunk.offset = offset;
  std::memcpy(&chunk.header, bytes.data(), sizeof chunk.header);
  if (chunk.header.magic != kChunkMagic) return bad_chunk(offset, "no chunk begins here");
  if (chunk.header.header_checksum != checksum_before(chunk.header, chunk.header.header_checksum))
    return bad_chunk(offset, "chunk header is damaged");
  if (chunk.header.payload_bytes > kMaxPayloadBytes) return bad_chunk(offset, "chunk claims too many bytes");
  const std::uint64_t payload_at = offset + sizeof(ChunkHeader);
  if (file_bytes - payload_at < chunk.header.payload_bytes)
    return bad_chunk(offset, "file ends in a chunk", ErrorCode::kIncomplete);
  chunk.next_offset = padded(payload_at + chunk.header.payload_bytes);
  return chunk;
}

Status take_payload(ChunkView& chunk, base::ByteView payload) {
  if (payload.size() != chunk.header.payload_bytes || base::checksum(payload) != chunk.header.payload_checksum)
    return bad_chunk(chunk.offset, "chunk payload is damaged");
  chunk.payload = payload;
  return {};
}

Result<ChunkView> read_chunk(base::ByteView file, std::uint64_t offset, bool trust_payload) {
  const base::ByteView rest = offset <= file.size() ? file.subspan(offset) : base::ByteView{};
  Result<ChunkView> chunk = read_chunk_header(rest, offset, file.size());
  if (!chunk) return chunk;
  const base::ByteView payload = rest.subspan(sizeof(ChunkHeader), chunk->header.payload_bytes);
  if (trust_payload)
    chunk->payload = payload;
  else if (Status whole = take_payload(*chunk, payload); !whole)
    return std::move(whole).error();
  return chunk;
}

std::uint64_t find_chunk(base::ByteView part, std::uint64_t part_offset, std::uint64_t file_bytes) noexcept {
  std::size_t at = 0;
  for (; at + sizeof(ChunkHeader) <= part.size(); at += 8) {
    std::uint32_t magic = 0;
    std::memcpy(&magic, part.data() + at, sizeof magic);
    if (magic == kChunkMagic && read_chunk_header(part.subspan(at), part_offset + at, file_bytes).ok()) break;
  }
  return part_offset + at;
}

FileHeader sealed(FileHeader header) noexcept {
  header.magic = kFileMagic;
  header.major = kMajorVersion;
  header.minor = kMinorVersion;
  header.header_bytes = sizeof header;
  header.checksum = checksum_before(header, header.checksum);
  return header;
}

Result<FileHeader> read_file_header(base::ByteView file) {
  FileHeader header;
  if (file.size() < sizeof header) {
    return Error(ErrorCode::kUnreadable, "not a capture: " + std::to_string(file.size()) +
                                             " bytes, a capture's header has " + std::to_string(sizeof header));
  }
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kFileMagic) return Error(ErrorCode::kUnreadable, "not a capture: its first bytes are others");
  if (header.major > kMajorVersion) {
    return Error(ErrorCode::kUnsupported, "capture format " + std::to_string(header.major) + "." +
                                              std::to_string(header.minor) + "; this version reads up to " +
                                              std::to_string(kMajorVersion) + ".x: use a newer rangefinder");
  }
  if (header.checksum != checksum_before(header, header.checksum) || header.header_bytes < sizeof header ||
      header.header_bytes % 8 != 0)
    return Error(ErrorCode::kUnreadable, "the capture's header is damaged");
  return header;
}

std::uint64_t live_header_checksum(const LiveHeader& header) noexcept {
  return checksum_before(header, header.checksum);
}

bool is_intact(const LiveHeader& header) noexcept {
  return header.magic == kLiveMagic && header.header_bytes == kLiveHeaderBytes &&
         header.checksum == live_header_checksum(header);
}

}  // namespace rangefinder::format
