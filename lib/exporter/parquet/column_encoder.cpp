// SPDX-License-Identifier: MIT
#include "exporter/parquet/column_encoder.hpp"

#include "base/bytes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace rangefinder::parquet {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Encoding = EncodedColumn::Encoding;

// Of values that a dictionary of numbers has at most: an index takes a byte or less.
constexpr std::size_t kMostDistinct = 256;
// From how many equal values on a run is shorter than the bits of each.
constexpr std::size_t kLeastRun = 16;

/// Writes at most base::kMaxVarintBytes; returns the end.
std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) noexcept {
  return reinterpret_cast<std::uint8_t*>(base::put_varint(reinterpret_cast<std::byte*>(out), value));
}

void put_varint(Bytes& out, std::uint64_t value) {
  std::array<std::uint8_t, base::kMaxVarintBytes> bytes;
  out.insert(out.end(), bytes.data(), put_varint(bytes.data(), value));
}

template <typename Number>
void put_little_endian(Bytes& out, Number number) {
  const std::size_t at = out.size();
  out.resize(at + sizeof number);
  std::memcpy(out.data() + at, &number, sizeof number);
}

// ---- bits ----------------------------------------------------------------------------------------------------------

// Values that are packed at a time: whole bytes whatever their width.
constexpr std::size_t kPacked = 32;

/// Writes kPacked values of Width bits, the first one lowest: 4 * Width bytes.
template <unsigned Width>
void pack(const std::uint64_t* values, std::uint8_t* out) noexcept {
  if constexpr (Width == 64) {
    std::memcpy(out, values, kPacked * 8);
  } else if constexpr (Width != 0) {
    std::uint64_t word = 0;
    unsigned used = 0;
    for (std::size_t i = 0; i < kPacked; ++i) {
      word |= values[i] << used;
      used += Width;
      if (used < 64) continue;
      std::memcpy(out, &word, 8);
      out += 8;
      used -= 64;
      word = used == 0 ? 0 : values[i] >> (Width - used);
    }
    if (used != 0) std::memcpy(out, &word, 4);  // an odd width leaves half a word
  }
}

using Pack = void (*)(const std::uint64_t*, std::uint8_t*) noexcept;
template <std::size_t... Widths>
constexpr std::array<Pack, sizeof...(Widths)> packs(std::index_sequence<Widths...>) noexcept {
  return {pack<Widths>...};
}
constexpr auto kPack = packs(std::make_index_sequence<65>());

// ---- differences: DELTA_BINARY_PACKED ------------------------------------------------------------------------------

constexpr std::size_t kBlock = 128, kMiniblocks = kBlock / kPacked;

/// The differences of one block, which are fewer than kBlock at the end. `Unsigned` is as wide as the column:
/// differences wrap.
template <typename Unsigned>
std::uint8_t* put_block(std::uint8_t* out, const Unsigned* values, std::size_t count) noexcept {
  using Signed = std::make_signed_t<Unsigned>;
  std::array<std::uint64_t, kBlock> differences;
  auto least = static_cast<Signed>(values[0] - values[-1]);
  for (std::size_t i = 0; i < count; ++i) {
    const Unsigned difference = values[i] - values[static_cast<std::ptrdiff_t>(i) - 1];
    least = std::min(least, static_cast<Signed>(difference));
    differences[i] = difference;
  }
  for (std::size_t i = 0; i < count; ++i)
    differences[i] = static_cast<Unsigned>(static_cast<Unsigned>(differences[i]) - static_cast<Unsigned>(least));
  std::fill(differences.begin() + static_cast<std::ptrdiff_t>(count), differences.end(), 0);

  out = put_varint(out, base::zigzag(least));
  std::uint8_t* const widths = out;
  out += kMiniblocks;
  for (std::size_t i = 0; i < kMiniblocks; ++i) {
    const std::uint64_t* const packed = differences.data() + i * kPacked;
    std::uint64_t all = 0;
    for (std::size_t k = 0; k < kPacked; ++k) all |= packed[k];
    const auto width = static_cast<unsigned>(std::bit_width(all));
    widths[i] = static_cast<std::uint8_t>(width);
    kPack[width](packed, out);
    if (i * kPacked < count) out += kPacked / 8 * width;
  }
  return out;
}

template <typename Number>
void put_differences(Bytes& out, std::span<const Number> values) {
  using Unsigned = std::make_unsigned_t<Number>;
  put_varint(out, kBlock);
  put_varint(out, kMiniblocks);
  put_varint(out, values.size());
  put_varint(out, base::zigzag(values.front()));
  constexpr std::size_t kMostOfBlock = base::kMaxVarintBytes + kMiniblocks + kBlock * 8;
  const std::size_t at = out.size();
  out.resize(at + (values.size() / kBlock + 1) * kMostOfBlock);
  std::uint8_t* end = out.data() + at;
  const auto* const numbers = reinterpret_cast<const Unsigned*>(values.data());
  for (std::size_t i = 1; i < values.size(); i += kBlock)
    end = put_block(end, numbers + i, std::min(kBlock, values.size() - i));
  out.resize(static_cast<std::size_t>(end - out.data()));
}

// ---- runs and bits: RLE --------------------------------------------------------------------------------------------

/// How many values from `at` on are equal; it stops to count at `most`.
std::size_t run_at(std::span<const std::uint32_t> values, std::size_t at, std::size_t most) noexcept {
  const std::size_t end = std::min(values.size(), most < values.size() - at ? at + most : values.size());
  std::size_t to = at + 1;
  while (to < end && values[to] == values[at]) ++to;
  return to - at;
}

void put_run(Bytes& out, std::uint32_t value, std::size_t length, unsigned width) {
  put_varint(out, std::uint64_t{length} << 1);
  for (unsigned bit = 0; bit < width; bit += 8) out.push_back(static_cast<std::uint8_t>(value >> bit));
}

/// Groups of eight values, of which the last may have fewer.
void put_bits(Bytes& out, std::span<const std::uint32_t> values, unsigned width) {
  const std::size_t groups = (values.size() + 7) / 8;
  put_varint(out, groups << 1 | 1);
  const std::size_t begin = out.size();
  out.resize(begin + (groups + 3) / 4 * 4 * width);
  std::array<std::uint64_t, kPacked> packed;
  for (std::size_t at = 0; at < values.size(); at += kPacked) {
    const std::size_t count = std::min(kPacked, values.size() - at);
    for (std::size_t i = 0; i < count; ++i) packed[i] = values[at + i];
    std::fill(packed.begin() + static_cast<std::ptrdiff_t>(count), packed.end(), 0);
    kPack[width](packed.data(), out.data() + begin + at / 8 * width);
  }
  out.resize(begin + groups * width);
}

void put_hybrid(Bytes& out, std::span<const std::uint32_t> values, unsigned width) {
  for (std::size_t at = 0; at < values.size();) {
    const std::size_t run = run_at(values, at, values.size());
    if (run >= kLeastRun || run == values.size() - at) {
      put_run(out, values[at], run, width);
      at += run;
      continue;
    }
    const std::size_t begin = at;
    do {
      at += 8;
    } while (at < values.size() && run_at(values, at, kLeastRun) < kLeastRun);
    at = std::min(at, values.size());
    put_bits(out, values.subspan(begin, at - begin), width);
  }
}

// ---- values --------------------------------------------------------------------------------------------------------

bool has_value(const std::uint8_t* bits, std::size_t row) noexcept { return (bits[row / 8] >> row % 8 & 1) != 0; }

std::size_t count_missing(Validity valid, std::size_t rows) noexcept {
  if (valid.bits == nullptr) return 0;
  std::size_t present = 0, row = 0;
  for (; row + 8 <= rows; row += 8) present += static_cast<std::size_t>(std::popcount(valid.bits[row / 8]));
  for (; row < rows; ++row) present += has_value(valid.bits, row) ? 1 : 0;
  return rows - present;
}

/// Numbers of distinct values, in the order in which they come.
template <typename Number>
class FewNumbers {
 public:
  FewNumbers() noexcept { slots_.fill(kFree); }
  /// kMostDistinct: there are too many.
  std::uint32_t index_of(Number value) noexcept {
    std::size_t at = static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15u >> (64 - kSlotBits);
    while (slots_[at] != kFree) {
      if (values_[slots_[at]] == value) return slots_[at];
      at = (at + 1) % slots_.size();
    }
    if (size_ == kMostDistinct) return kMostDistinct;
    slots_[at] = static_cast<std::uint16_t>(size_);
    values_[size_] = value;
    return static_cast<std::uint32_t>(size_++);
  }
  std::span<const Number> values() const noexcept { return {values_.data(), size_}; }

 private:
  static constexpr std::uint16_t kFree = 0xFFFF;
  static constexpr unsigned kSlotBits = 10;
  std::array<std::uint16_t, std::size_t{1} << kSlotBits> slots_;
  std::array<Number, kMostDistinct> values_{};
  std::size_t size_ = 0;
};

}  // namespace

void ColumnEncoder::begin(std::size_t rows, Validity valid) {
  out_.encoding = Encoding::kPlain;
  out_.page.clear();
  out_.dictionary.clear();
  out_.dictionary_values = 0;
  out_.has_range = false;
  out_.missing = count_missing(valid, rows);
  if (valid.nullable) put_levels(rows, valid);
}

/// A level is 1 where there is a value.
void ColumnEncoder::put_levels(std::size_t rows, Validity valid) {
  Bytes& page = out_.page;
  page.resize(sizeof(std::uint32_t));
  if (out_.missing == 0 || out_.missing == rows) {
    put_run(page, out_.missing == 0 ? 1 : 0, rows, 1);
  } else {
    const std::size_t bytes = (rows + 7) / 8;
    put_varint(page, bytes << 1 | 1);
    page.insert(page.end(), valid.bits, valid.bits + bytes);
  }
  const auto length = static_cast<std::uint32_t>(page.size() - sizeof(std::uint32_t));
  std::memcpy(page.data(), &length, sizeof length);
}

void ColumnEncoder::put_indices(std::span<const std::uint32_t> indices, std::size_t values) {
  out_.encoding = Encoding::kDictionary;
  out_.dictionary_values = values;
  const unsigned width = std::max(1u, static_cast<unsigned>(std::bit_width(values - 1)));
  out_.page.push_back(static_cast<std::uint8_t>(width));
  put_hybrid(out_.page, indices, width);
}

template <typename Number>
void ColumnEncoder::note_range(std::span<const Number> values) noexcept {
  Number least = values.front(), greatest = least;
  for (const Number value : values) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  out_.has_range = true;
  out_.least = least;
  out_.greatest = greatest;
}

template <typename Number>
bool ColumnEncoder::find_dictionary(std::span<const Number> values) {
  FewNumbers<Number> few;
  indices_.resize(values.size());
  Number last = values.front();
  std::uint32_t index = few.index_of(last);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != last) {
      last = values[i];
      index = few.index_of(last);
      if (index == kMostDistinct) return false;
    }
    indices_[i] = index;
  }
  for (const Number value : few.values()) put_little_endian(out_.dictionary, value);
  note_range(few.values());
  put_indices(indices_, few.values().size());
  return true;
}

template <typename Number>
const EncodedColumn& ColumnEncoder::encode_numbers(std::span<const Number> values, Validity valid) {
  begin(values.size(), valid);
  if (out_.missing == values.size()) return out_;
  if (out_.missing != 0) {
    present_.resize(values.size());
    auto* const present = reinterpret_cast<Number*>(present_.data());
    std::size_t count = 0;
    for (std::size_t row = 0; row < values.size(); ++row)
      if (has_value(valid.bits, row)) present[count++] = values[row];
    values = {present, count};
  }
  if (find_dictionary(values)) return out_;
  out_.encoding = Encoding::kDelta;
  note_range(values);
  put_differences(out_.page, values);
  return out_;
}

const EncodedColumn& ColumnEncoder::numbers(std::span<const std::int64_t> values, Validity valid) {
  return encode_numbers(values, valid);
}
const EncodedColumn& ColumnEncoder::numbers(std::span<const std::int32_t> values, Validity valid) {
  return encode_numbers(values, valid);
}

const EncodedColumn& ColumnEncoder::texts(std::span<const std::int32_t> indices,
                                          std::span<const std::string_view> texts, Validity valid) {
  begin(indices.size(), valid);
  if (out_.missing == indices.size()) return out_;
  std::span<const std::uint32_t> present(reinterpret_cast<const std::uint32_t*>(indices.data()), indices.size());
  if (out_.missing != 0) {
    indices_.clear();
    for (std::size_t row = 0; row < indices.size(); ++row)
      if (has_value(valid.bits, row)) indices_.push_back(present[row]);
    present = indices_;
  }
  for (const std::string_view text : texts) {
    put_little_endian(out_.dictionary, static_cast<std::uint32_t>(text.size()));
    out_.dictionary.insert(out_.dictionary.end(), text.begin(), text.end());
  }
  put_indices(present, texts.size());
  return out_;
}

const EncodedColumn& ColumnEncoder::flags(const std::uint8_t* bits, std::size_t rows) {
  begin(rows, {});
  out_.page.assign(bits, bits + (rows + 7) / 8);
  return out_;
}

}  // namespace rangefinder::parquet
