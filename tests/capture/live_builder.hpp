// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "format/chunk.hpp"
#include "format/layout.hpp"

#include <rangefinder/detail/record.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::testing {

/// Live files by hand: what a recorder leaves that was killed, and what it never would.
struct LiveBuilder {
  struct Block {
    format::BlockState state = format::BlockState::kActive;
    std::uint32_t thread = 0;
    std::uint32_t tid = 1;
    std::uint64_t sequence = 0;
    std::uint32_t drained_records = 0;
    std::string name;
    std::vector<detail::Record> records;
    std::uint64_t dropped_ranges = 0;
    std::int64_t used = -1;  ///< what the block says of itself; -1: what is true
  };
  format::FileHeader header{};
  std::vector<std::pair<std::uint32_t, std::string>> names;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> health;
  std::vector<Block> blocks;

  base::Bytes build() const {
    constexpr std::uint64_t names_bytes = detail::kBlockBytes - format::kLiveHeaderBytes;
    base::Bytes file(detail::kBlockBytes * (1 + blocks.size()));
    std::uint64_t used = 0;
    for (const auto& [id, text] : names) {
      std::byte* const at = file.data() + format::kLiveHeaderBytes + used;
      const auto size = static_cast<std::uint32_t>(text.size());
      std::memcpy(at, &id, sizeof id);
      std::memcpy(at + 4, &size, sizeof size);
      std::memcpy(at + 8, text.data(), text.size());
      used += format::padded(8 + text.size());
    }
    format::LiveHeader live{};
    live.magic = format::kLiveMagic;
    live.version = std::uint32_t{format::kMajorVersion} << 16 | format::kMinorVersion;
    live.header_bytes = format::kLiveHeaderBytes;
    live.capture_id = header.capture_id;
    live.file_bytes = file.size();
    live.names_offset = format::kLiveHeaderBytes;
    live.names_bytes = names_bytes;
    live.blocks_offset = detail::kBlockBytes;
    live.block_bytes = detail::kBlockBytes;
    live.block_count = static_cast<std::uint32_t>(blocks.size());
    live.file_header = format::sealed(header);
    live.checksum = format::live_header_checksum(live);
    live.names_used = used;
    for (const auto& [number, count] : health) live.health[number] = count;
    std::memcpy(file.data(), static_cast<const void*>(&live), sizeof live);
    for (std::size_t i = 0; i < blocks.size(); ++i) put_block(blocks[i], file.data() + (1 + i) * detail::kBlockBytes);
    return file;
  }

 private:
  static void put_block(const Block& block, std::byte* at) {
    format::BlockHeader out{};
    const std::size_t bytes = sizeof out + block.records.size() * sizeof(detail::Record);
    out.used = static_cast<std::uint32_t>(block.used >= 0 ? static_cast<std::size_t>(block.used) : bytes);
    out.state = static_cast<std::uint32_t>(block.state);
    out.sequence = block.sequence;
    out.thread = block.thread;
    out.tid = block.tid;
    out.drained = static_cast<std::uint32_t>(sizeof out + block.drained_records * sizeof(detail::Record));
    out.dropped_ranges = block.dropped_ranges;
    block.name.copy(out.thread_name, sizeof out.thread_name);
    std::memcpy(at, static_cast<const void*>(&out), sizeof out);
    if (!block.records.empty()) std::memcpy(at + sizeof out, block.records.data(), bytes - sizeof out);
  }
};

}  // namespace rangefinder::testing
