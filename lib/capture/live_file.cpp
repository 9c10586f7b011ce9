// SPDX-License-Identifier: MIT
#include "capture/live_file.hpp"

#include "format/chunk.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace rangefinder::capture {
namespace {

using detail::Record;
using format::BlockHeader;
using format::BlockState;
using format::LiveHeader;

void read_names(base::ByteView area, LiveContent& out) {
  base::ByteReader reader(area);
  while (reader.left() >= 2 * sizeof(std::uint32_t)) {
    const auto id = reader.value<std::uint32_t>();
    const auto size = reader.value<std::uint32_t>();
    const base::ByteView text = reader.bytes(size);
    const std::size_t entry = 2 * sizeof(std::uint32_t) + size;
    reader.bytes(std::min(reader.left(), static_cast<std::size_t>(format::padded(entry) - entry)));
    if (!reader.ok()) return;  // cut short: what came before holds
    out.names.emplace_back(id, base::as_text(text));
  }
}

Status read_block(base::InputFile& file, std::uint64_t offset, bool ring, LiveContent& out) {
  const Result<base::ByteView> first = file.read(offset, sizeof(BlockHeader));
  if (!first) return first.error();
  BlockHeader header;
  std::memcpy(static_cast<void*>(&header), first->data(), sizeof header);
  const std::uint32_t used = header.used.load(std::memory_order_relaxed);
  const auto state = static_cast<BlockState>(header.state.load(std::memory_order_relaxed));
  const bool in_use = state == BlockState::kActive || state == BlockState::kFull;
  if (used == 0 || (!in_use && !ring)) return {};  // never used, just being opened, or in the capture
  if (used < sizeof header || used > detail::kBlockBytes || (used - sizeof header) % sizeof(Record) != 0) {
    out.damaged_blocks.push_back(offset);
    return {};
  }
  std::uint32_t from =
      ring ? static_cast<std::uint32_t>(sizeof header) : header.drained.load(std::memory_order_relaxed);
  if (from < sizeof header || from > used || (from - sizeof header) % sizeof(Record) != 0) from = sizeof header;
  if (in_use) out.health[1 /* dropped_ranges */] += header.dropped_ranges.load(std::memory_order_relaxed);
  out.threads.push_back(
      {header.thread, header.tid, {header.thread_name, ::strnlen(header.thread_name, sizeof header.thread_name)}});
  if (from >= used) return {};
  const Result<base::ByteView> records = file.read(offset + from, used - from);
  if (!records) return records.error();
  format::HostEvents events;
  events.run = {header.thread, header.tid, header.sequence,
                static_cast<std::uint32_t>((from - sizeof header) / sizeof(Record))};
  events.records.resize((used - from) / sizeof(Record));
  std::memcpy(events.records.data(), records->data(), records->size());
  out.events.push_back(std::move(events));
  return {};
}

/// Of a header that is intact.
Result<LiveContent> read_content(base::InputFile& file, const LiveHeader& header) {
  LiveContent content;
  content.header = header.file_header;
  const bool ring = (content.header.flags & format::kFlagRing) != 0;
  const std::uint64_t names_used = std::min(header.names_used.load(std::memory_order_relaxed), header.names_bytes);
  const Result<base::ByteView> names = file.read(header.names_offset, static_cast<std::size_t>(names_used));
  if (!names) return names.error();
  read_names(*names, content);
  for (std::uint32_t number = 0; number < format::kLiveCounters; ++number) {
    const std::uint64_t count = header.health[number].load(std::memory_order_relaxed);
    if (count != 0) content.health[number] = count;
  }
  for (std::uint64_t at = header.blocks_offset; file.size() - at >= header.block_bytes; at += header.block_bytes)
    if (Status read = read_block(file, at, ring, content); !read) return std::move(read).error();
  std::sort(content.events.begin(), content.events.end(), [](const auto& a, const auto& b) {
    return std::pair(a.run.thread, a.run.block_sequence) < std::pair(b.run.thread, b.run.block_sequence);
  });
  std::set<std::uint32_t> seen;
  std::erase_if(content.threads, [&](const auto& thread) { return !seen.insert(thread.index).second; });
  return content;
}

}  // namespace

bool is_live_file(base::ByteView first) noexcept {
  return first.size() >= sizeof(LiveHeader) &&
         std::memcmp(first.data(), format::kLiveMagic.data(), format::kLiveMagic.size()) == 0;
}

Result<LiveContent> read_live_file(base::InputFile& file) {
  const auto unreadable = [&](const char* why) { return Error(ErrorCode::kUnreadable, file.path() + ": " + why); };
  const Result<base::ByteView> first = file.read(0, sizeof(LiveHeader));
  if (!first) return first.error();
  const std::uint64_t size = file.size();
  if (!is_live_file(*first) || size < format::kLiveHeaderBytes) return unreadable("not a live file");
  LiveHeader header;
  std::memcpy(static_cast<void*>(&header), first->data(), sizeof header);
  if (!format::is_intact(header)) return unreadable("the live file's header is damaged");
  if (header.version >> 16 > format::kMajorVersion)
    return Error(ErrorCode::kUnsupported, file.path() + ": a live file of a newer version");
  const bool fits = header.names_offset <= size && header.names_bytes <= size - header.names_offset &&
                    header.blocks_offset <= size && header.block_bytes == detail::kBlockBytes;
  if (!fits) return unreadable("the live file is shorter than its header says");
  return read_content(file, header);
}

}  // namespace rangefinder::capture
