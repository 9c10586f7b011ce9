// SPDX-License-Identifier: MIT
#include "format/field_packer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace rangefinder::format {
namespace {

// Rows that are packed at once, column by column: they fit the first cache.
constexpr std::size_t kBlockRows = 64;
// What put_short_varint may write beyond what it needs.
constexpr std::size_t kSlack = 8;

using BlockNumbers = std::array<std::uint64_t, kBlockRows>;

template <typename Stored>
Stored number_at(const std::byte* at) noexcept {
  Stored value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Calls `use` with a number of the type that the field has in a row.
template <typename Use>
auto with_type_of(const Field& field, Use use) {
  if (field.bytes == 8) return use(std::uint64_t{});
  return field.is_signed ? use(std::int32_t{}) : use(std::uint32_t{});
}

std::uint64_t number_of(const Field& field, const std::byte* row) noexcept {
  return with_type_of(field, [&]<typename Stored>(Stored) {
    return static_cast<std::uint64_t>(number_at<Stored>(row + field.offset));
  });
}

// 16 bytes of a row in one register.
using Lanes [[gnu::vector_size(16)]] = std::uint64_t;

/// Adds the bits in which so many `Part`s of any row differ from those of the first. More at once are faster.
template <typename Part, std::size_t parts>
void find_differences(const std::byte* at, std::size_t row_bytes, std::size_t count, const std::byte* first,
                      std::byte* differs) noexcept {
  Part ones[parts], found[parts];
  std::memcpy(ones, first, sizeof ones);
  std::memcpy(found, differs, sizeof found);
  for (std::size_t row = 0; row < count; ++row, at += row_bytes) {
    for (std::size_t i = 0; i < parts; ++i) found[i] |= number_at<Part>(at + i * sizeof(Part)) ^ ones[i];
  }
  std::memcpy(differs, found, sizeof found);
}

void find_differences(const std::byte* rows, std::size_t row_bytes, std::size_t count, const std::byte* first,
                      std::byte* differs) noexcept {
  std::size_t at = 0;
  for (; at + 4 * sizeof(Lanes) <= row_bytes; at += 4 * sizeof(Lanes))
    find_differences<Lanes, 4>(rows + at, row_bytes, count, first + at, differs + at);
  for (; at + sizeof(Lanes) <= row_bytes; at += sizeof(Lanes))
    find_differences<Lanes, 1>(rows + at, row_bytes, count, first + at, differs + at);
  // Fields take 4 bytes or 8, so rows are multiples of 4.
  for (; at < row_bytes; at += sizeof(std::uint32_t))
    find_differences<std::uint32_t, 1>(rows + at, row_bytes, count, first + at, differs + at);
}

/// As many copies of `value` as asked for.
std::byte* put_copies(std::byte* at, std::uint64_t value, std::size_t count) noexcept {
  if (count == 0) return at;
  std::byte* const first = at;
  at = base::put_varint(at, value);
  const auto size = static_cast<std::size_t>(at - first);
  if (size == 1) {
    std::memset(at, std::to_integer<int>(*first), count - 1);
    return at + count - 1;
  }
  for (--count; count > 0; --count, at += size) std::memcpy(at, first, size);
  return at;
}

/// The column of a field that has this value in all rows.
std::byte* put_equal(std::byte* at, const Field& field, std::uint64_t value, std::size_t count) noexcept {
  if (count == 0) return at;
  const std::uint64_t zigzagged = base::zigzag(static_cast<std::int64_t>(value));
  // Signed values that are not differences are zigzagged too, or -1 would take ten bytes.
  if (field.coding == Coding::kPlain) return put_copies(at, field.is_signed ? zigzagged : value, count);
  return put_copies(base::put_varint(at, zigzagged), 0, count - 1);
}

/// In which field rows say when they ended; that of their begin is the first.
std::size_t end_field_of(ChunkKind kind, std::span<const Field> fields) noexcept {
  if (kind == ChunkKind::kClock || kind == ChunkKind::kDeviceSamples || kind == ChunkKind::kAllocations) return 0;
  const bool spans = fields.size() > 1 && fields[1].coding == Coding::kSinceBegin;
  return spans || kind == ChunkKind::kWindows ? 1 : fields.size();
}

}  // namespace

FieldPacker::FieldPacker(ChunkKind kind, std::span<const Field> fields, std::size_t row_bytes)
    : kind_(kind),
      fields_(fields),
      row_bytes_(row_bytes),
      end_field_(end_field_of(kind, fields)),
      columns_(fields.size()),
      first_(row_bytes),
      differs_(row_bytes) {}

void FieldPacker::add(const void* rows, std::size_t count) {
  const auto* at = static_cast<const std::byte*>(rows);
  while (count > 0) {
    const std::size_t part = std::min(count, kBlockRows);
    add_block(at, part);
    at += part * row_bytes_;
    count -= part;
  }
}

void FieldPacker::add_block(const std::byte* rows, std::size_t count) {
  if (rows_ == 0) std::memcpy(first_.data(), rows, row_bytes_);
  find_differences(rows, row_bytes_, count, first_.data(), differs_.data());
  const auto has_one_value = [this](const Field& field) {
    return field.coding != Coding::kSinceBegin && number_of(field, differs_.data()) == 0;
  };
  // First the memory for all columns: they have equally many rows at any time.
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (columns_[i].varies || !has_one_value(fields_[i]))
      make_room(columns_[i], count + (columns_[i].varies ? 0 : rows_));
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    Column& column = columns_[i];
    if (!column.varies) {
      if (has_one_value(fields_[i])) continue;
      begin_varying(fields_[i], column);
    }
    pack(fields_[i], column, rows, count);
  }
  if (end_field_ < fields_.size()) note_times(rows, count);
  rows_ += count;
}

void FieldPacker::make_room(Column& column, std::size_t varints) {
  const std::size_t needed = column.used + varints * base::kMaxVarintBytes + kSlack;
  if (column.bytes.size() < needed) column.bytes.resize(std::max(needed, column.bytes.size() * 2));
}

/// Packs the rows before those that differ.
void FieldPacker::begin_varying(const Field& field, Column& column) noexcept {
  const std::uint64_t value = number_of(field, first_.data());
  std::byte* const begin = column.bytes.data();
  column.used = static_cast<std::size_t>(put_equal(begin, field, value, rows_) - begin);
  column.previous = rows_ != 0 ? value : 0;
  column.varies = true;
}

void FieldPacker::pack(const Field& field, Column& column, const std::byte* rows, std::size_t count) noexcept {
  BlockNumbers numbers;
  std::uint64_t any = 0;  // bits of all of them
  const auto take = [&]<typename Stored>(Stored) {
    const auto each = [&](auto coded) {
      const std::byte* row = rows;
      for (std::size_t i = 0; i < count; ++i, row += row_bytes_) {
        numbers[i] = coded(static_cast<std::uint64_t>(number_at<Stored>(row + field.offset)), row);
        any |= numbers[i];
      }
    };
    const auto difference = [](std::uint64_t number, std::uint64_t to) {
      return base::zigzag(static_cast<std::int64_t>(number - to));
    };
    switch (field.coding) {
      case Coding::kPlain:
        if (field.is_signed)
          each([&](std::uint64_t number, const std::byte*) { return difference(number, 0); });
        else
          each([](std::uint64_t number, const std::byte*) { return number; });
        break;
      case Coding::kDelta: {
        std::uint64_t previous = column.previous;
        each([&](std::uint64_t number, const std::byte*) {
          return difference(number, std::exchange(previous, number));
        });
        column.previous = previous;
        break;
      }
      case Coding::kSinceBegin:
        each([&, begin = fields_[0].offset](std::uint64_t number, const std::byte* row) {
          return difference(number, number_at<std::uint64_t>(row + begin));
        });
        break;
    }
  };
  with_type_of(field, take);
  std::byte* at = column.bytes.data() + column.used;
  if (any < 0x80)
    for (std::size_t i = 0; i < count; ++i) *at++ = static_cast<std::byte>(numbers[i]);
  else
    for (std::size_t i = 0; i < count; ++i) at = base::put_short_varint(at, numbers[i]);
  column.used = static_cast<std::size_t>(at - column.bytes.data());
}

void FieldPacker::note_times(const std::byte* rows, std::size_t count) noexcept {
  const std::size_t begin = fields_[0].offset, end = fields_[end_field_].offset;
  if (rows_ == 0) {
    earliest_ = number_at<std::int64_t>(rows + begin);
    latest_ = number_at<std::int64_t>(rows + end);
  }
  for (; count > 0; --count, rows += row_bytes_) {
    earliest_ = std::min(earliest_, number_at<std::int64_t>(rows + begin));
    latest_ = std::max(latest_, number_at<std::int64_t>(rows + end));
  }
}

ChunkHeader FieldPacker::header() const noexcept {
  ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(kind_);
  header.rows = static_cast<std::uint32_t>(rows_);
  if (rows_ == 0 || end_field_ == fields_.size()) return header;
  header.first = static_cast<std::uint64_t>(earliest_);
  header.last = static_cast<std::uint64_t>(std::max(earliest_, latest_));
  return header;
}

void FieldPacker::finish(ColumnWriter& out) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const Column& column = columns_[i];
    if (!column.varies) {
      const std::uint64_t value = number_of(fields_[i], first_.data());
      if (value == 0 || rows_ == 0) continue;
      if (equal_.size() < (rows_ + 1) * base::kMaxVarintBytes) equal_.resize((rows_ + 1) * base::kMaxVarintBytes);
      const std::byte* const end = put_equal(equal_.data(), fields_[i], value, rows_);
      out.add(fields_[i].column, base::ByteView(equal_).first(static_cast<std::size_t>(end - equal_.data())));
      continue;
    }
    out.add(fields_[i].column, base::ByteView(column.bytes).first(column.used));
  }
  clear();
}

void FieldPacker::clear() noexcept {
  for (Column& column : columns_) {
    column.used = 0;
    column.previous = 0;
    column.varies = false;
  }
  std::fill(differs_.begin(), differs_.end(), std::byte{0});
  rows_ = 0;
}

}  // namespace rangefinder::format
