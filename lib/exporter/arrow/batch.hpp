// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/arrow.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Columns in memory, and how they are handed over by Arrow's C data interface.
namespace rangefinder::arrow {

/// Memory that a column points into, and what keeps it there.
struct Buffer {
  const void* data = nullptr;
  std::shared_ptr<const void> owner;
};

/// A column as Arrow lays it out.
struct Column {
  std::string name;
  std::string format;  ///< of the specification: "l" is int64; of a column with a dictionary that of its indices
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  bool nullable = false;
  /// Validity bits (null where no row is null), then what the format wants.
  std::vector<Buffer> buffers;
  std::shared_ptr<const Column> dictionary;  ///< may be null
};

struct Batch {
  std::int64_t rows = 0;
  std::vector<Column> columns;
};

/// Key and value, stored with the schema.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// `count` values, all 0. Pages that are never written take no memory.
template <typename T>
std::shared_ptr<T[]> zeros(std::size_t count) {
  void* const memory = std::calloc(count == 0 ? 1 : count, sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return std::shared_ptr<T[]>(static_cast<T*>(memory), [](T* values) { std::free(values); });
}

/// Bits of validity, or of a column of true and false.
class Bits {
 public:
  explicit Bits(std::size_t count) : bytes_(zeros<std::uint8_t>((count + 7) / 8)) {}
  /// Of rows for which `is_set` is true.
  template <typename IsSet>
  Bits(std::size_t count, IsSet is_set) : Bits(count) {
    for (std::size_t byte = 0; byte < (count + 7) / 8; ++byte) {
      const std::size_t rows = std::min<std::size_t>(8, count - byte * 8);
      unsigned bits = 0;
      for (std::size_t i = 0; i < rows; ++i) bits |= (is_set(byte * 8 + i) ? 1u : 0u) << i;
      bytes_[static_cast<std::ptrdiff_t>(byte)] = static_cast<std::uint8_t>(bits);
    }
  }
  void set(std::size_t at) noexcept {
    std::uint8_t& byte = bytes_[static_cast<std::ptrdiff_t>(at / 8)];
    byte = static_cast<std::uint8_t>(byte | 1u << (at % 8));
  }
  Buffer buffer() const { return {bytes_.get(), bytes_}; }

 private:
  std::shared_ptr<std::uint8_t[]> bytes_;
};

/// A column that holds a vector of numbers.
template <typename T>
Buffer buffer_of(std::vector<T> values) {
  auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  return {kept->data(), kept};
}

/// Texts, one after the other, as strict UTF-8: a byte that is not becomes U+FFFD and its two hexadecimal digits. So do
/// the bytes of a U+FFFD itself: texts that differ stay different, for what groups by them.
class TextColumn {
 public:
  void add(std::string_view text);
  std::size_t size() const noexcept { return ends_.size() - 1; }
  std::size_t bytes() const noexcept { return text_.size(); }
  /// More text than the offsets of a column can tell.
  bool is_too_long() const noexcept { return too_long_; }
  Column take(std::string name) &&;

 private:
  std::string text_;
  std::vector<std::int32_t> ends_{0};
  bool too_long_ = false;
};

// These fill what the caller gives and throw std::bad_alloc, with nothing filled. What they fill is released by its
// `release`, from any thread.
void give_schema(const std::vector<Column>& columns, const Metadata& metadata, ArrowSchema* out);
void give_array(Batch batch, ArrowArray* out);
/// A stream of that batch.
void give_stream(Batch batch, Metadata metadata, ArrowArrayStream* out);

}  // namespace rangefinder::arrow
