// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/cupti_api.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rangefinder::source::cupti {

/// How long the records of each kind are in the library at hand, asked of its own parser. A newer CUPTI appends members
/// to the structs of our header, an older one lacks the last of them; either way the front is the same, so a record is
/// copied as far as both go.
class RecordSizes {
 public:
  explicit RecordSizes(decltype(&::cuptiActivityGetNextRecord) parser) noexcept : next_(parser) {}
  /// 0 for a kind that the parser refuses.
  std::size_t bytes(std::uint32_t kind) noexcept;

 private:
  static constexpr std::uint32_t kKinds = 256;  // 55 in CUDA 13.0
  static constexpr std::uint16_t kUnasked = 0xFFFF;
  std::size_t ask(std::uint32_t kind) noexcept;

  decltype(&::cuptiActivityGetNextRecord) next_;
  std::array<std::uint16_t, kKinds> bytes_ = filled();
  static constexpr std::array<std::uint16_t, kKinds> filled() noexcept {
    std::array<std::uint16_t, kKinds> all{};
    all.fill(kUnasked);
    return all;
  }
};

/// One record where it lies. Records are packed on 8 bytes, so they are copied out and never referred to.
struct RawRecord {
  std::uint32_t kind = 0;
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;

  /// What the record holds of a `T`; the rest is zero.
  template <typename T>
  T as() const noexcept {
    T value;
    std::memset(&value, 0, sizeof value);
    std::memcpy(&value, data, std::min(bytes, sizeof value));
    return value;
  }
};

/// Walks the records of a buffer with cuptiActivityGetNextRecord.
class ActivityReader {
 public:
  ActivityReader(decltype(&::cuptiActivityGetNextRecord) parser, RecordSizes& sizes, std::uint8_t* data,
                 std::size_t valid) noexcept
      : next_(parser), sizes_(sizes), data_(data), valid_(valid) {}

  bool next(RawRecord& record) noexcept;
  /// After the last record: true when bytes are left that are no whole record.
  bool truncated() const noexcept { return truncated_; }

 private:
  bool end(bool damaged) noexcept;

  decltype(&::cuptiActivityGetNextRecord) next_;
  RecordSizes& sizes_;
  std::uint8_t* data_;
  std::size_t valid_;
  CUpti_Activity* at_ = nullptr;
  std::size_t read_ = 0;  // bytes up to the end of the last record
  bool truncated_ = false;
};

}  // namespace rangefinder::source::cupti
