// SPDX-License-Identifier: MIT
#include "format/columns.hpp"

#include <algorithm>
#include <string>

namespace rangefinder::format {
namespace {

// Level 1: the recorder's background thread must keep up with instrumented threads, and higher levels gain little on
// columns of small integers (docs/explanation/decisions/0003-packing.md).
constexpr int kLevel = 1;
constexpr std::size_t kDirectoryEntryBytes = 12;
constexpr std::size_t kDirectoryHeadBytes = 8;

}  // namespace

void ColumnWriter::add(std::uint16_t id, base::ByteView raw) {
  if (std::all_of(raw.begin(), raw.end(), [](std::byte b) { return b == std::byte{0}; })) return;
  Entry entry{id, Packing::kZstd, 0, static_cast<std::uint32_t>(raw.size())};
  entry.stored_bytes = static_cast<std::uint32_t>(compressor_.append_compressed(stored_, raw, kLevel));
  if (entry.stored_bytes == 0) {
    entry.packing = Packing::kPlain;
    entry.stored_bytes = entry.raw_bytes;
    base::append_bytes(stored_, raw);
  }
  entries_.push_back(entry);
}

void ColumnWriter::finish(base::Bytes& out) {
  out.reserve(out.size() + kDirectoryHeadBytes + entries_.size() * kDirectoryEntryBytes + stored_.size());
  base::append_value(out, static_cast<std::uint16_t>(entries_.size()));
  base::append_value(out, std::uint16_t{0});
  base::append_value(out, std::uint32_t{0});
  for (const Entry& entry : entries_) {
    base::append_value(out, entry.id);
    base::append_value(out, static_cast<std::uint8_t>(entry.packing));
    base::append_value(out, std::uint8_t{0});
    base::append_value(out, entry.stored_bytes);
    base::append_value(out, entry.raw_bytes);
  }
  base::append_bytes(out, stored_);
  entries_.clear();
  stored_.clear();
}

Status ColumnReader::open(base::ByteView payload) {
  entries_.clear();
  base::ByteReader reader(payload);
  const auto count = reader.value<std::uint16_t>();
  reader.bytes(6);
  std::uint64_t stored = 0;
  for (std::uint16_t i = 0; i < count && reader.ok(); ++i) {
    Entry entry;
    entry.id = reader.value<std::uint16_t>();
    entry.packing = static_cast<Packing>(reader.value<std::uint8_t>());
    reader.bytes(1);
    const auto stored_bytes = reader.value<std::uint32_t>();
    entry.raw_bytes = reader.value<std::uint32_t>();
    if (entry.raw_bytes > kMaxColumnBytes)
      return Error(ErrorCode::kUnreadable, "column " + std::to_string(entry.id) + " claims " + std::to_string(entry.raw_bytes) + " bytes");
    if (entry.packing == Packing::kPlain && entry.raw_bytes != stored_bytes)
      return Error(ErrorCode::kUnreadable, "column " + std::to_string(entry.id) + " is plain but its sizes differ");
    stored += stored_bytes;
    entry.stored = {static_cast<const std::byte*>(nullptr), stored_bytes};
    entries_.push_back(std::move(entry));
  }
  if (!reader.ok() || stored != reader.left()) return Error(ErrorCode::kUnreadable, "column directory does not fit the chunk");
  for (Entry& entry : entries_) entry.stored = reader.bytes(entry.stored.size());
  return {};
}

Result<base::ByteView> ColumnReader::column(std::uint16_t id) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.id == id; });
  if (entry == entries_.end()) return base::ByteView{};
  switch (entry->packing) {
    case Packing::kPlain: return entry->stored;
    case Packing::kZstd: {
      if (entry->unpacked.size() != entry->raw_bytes) {
        base::Bytes raw(entry->raw_bytes);
        Status status = decompressor_.decompress(entry->stored, raw);
        if (!status) return std::move(status).error().with_context("column " + std::to_string(id));
        entry->unpacked = std::move(raw);
      }
      return base::ByteView(entry->unpacked);
    }
  }
  return Error(ErrorCode::kUnsupported, "column " + std::to_string(id) + " is packed in a way this version does not know");
}

}  // namespace rangefinder::format
