// SPDX-License-Identifier: MIT
#include "format/columns.hpp"

#include "base/zeros.hpp"
#include "format/layout.hpp"

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

void ColumnWriter::add(std::uint16_t id, base::ByteView raw, base::Compressor::Matches matches) {
  if (base::only_zeros(raw)) return;
  std::size_t packed = base::Compressor::append_run(stored_, raw);
  if (packed == 0) packed = compressor_.append_compressed(stored_, raw, kLevel, matches);
  if (packed == 0) return add_plain(id, raw);
  entries_.push_back({id, Packing::kZstd, static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(raw.size())});
}

void ColumnWriter::add_plain(std::uint16_t id, base::ByteView raw) {
  if (base::only_zeros(raw)) return;
  base::append_bytes(stored_, raw);
  const auto size = static_cast<std::uint32_t>(raw.size());
  entries_.push_back({id, Packing::kPlain, size, size});
}

void ColumnWriter::clear() noexcept {
  entries_.clear();
  stored_.clear();
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
  clear();
}

Status ColumnReader::open(base::ByteView payload) {
  entries_.clear();
  base::ByteReader reader(payload);
  const auto count = reader.value<std::uint16_t>();
  reader.bytes(6);
  std::uint64_t stored = 0;
  std::uint64_t raw = 0;
  for (std::uint16_t i = 0; i < count && reader.ok(); ++i) {
    Entry entry;
    entry.id = reader.value<std::uint16_t>();
    entry.packing = static_cast<Packing>(reader.value<std::uint8_t>());
    reader.bytes(1);
    entry.stored_bytes = reader.value<std::uint32_t>();
    entry.raw_bytes = reader.value<std::uint32_t>();
    stored += entry.stored_bytes;
    raw += entry.raw_bytes;
    if (raw > kMaxUnpackedBytes)
      return Error(ErrorCode::kUnreadable,
                   "column " + std::to_string(entry.id) + " claims " + std::to_string(entry.raw_bytes) + " bytes");
    if (entry.packing == Packing::kPlain && entry.raw_bytes != entry.stored_bytes)
      return Error(ErrorCode::kUnreadable, "column " + std::to_string(entry.id) + " is plain but its sizes differ");
    entries_.push_back(std::move(entry));
  }
  if (!reader.ok() || stored != reader.left()) {
    entries_.clear();
    return Error(ErrorCode::kUnreadable, "column directory does not fit the chunk");
  }
  for (Entry& entry : entries_) entry.stored = reader.bytes(entry.stored_bytes);
  return {};
}

Result<base::ByteView> ColumnReader::column(std::uint16_t id, std::size_t most) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.id == id; });
  if (entry == entries_.end()) return base::ByteView{};
  if (entry->raw_bytes > most)
    return Error(ErrorCode::kUnreadable, "column " + std::to_string(id) + " is larger than its rows can be");
  switch (entry->packing) {
    case Packing::kPlain:
      return entry->stored;
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
  return Error(ErrorCode::kUnsupported,
               "column " + std::to_string(id) + " is packed in a way this version does not know");
}

}  // namespace rangefinder::format
