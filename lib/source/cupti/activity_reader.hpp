// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/cupti_api.hpp"

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
  std::size_t bytes(std::uint32_t kind) noexcept {
    if (kind >= kKinds) return ask(kind);
    if (bytes_[kind] == kUnasked) bytes_[kind] = static_cast<std::uint16_t>(ask(kind));
    return bytes_[kind];
  }

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

/// One record where it lies, at a multiple of 8 bytes, as CUPTI's structs ask for.
struct RawRecord {
  std::uint32_t kind = 0;
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;

  /// The record where it is as long as a `T`, so that what nobody asks for is not read; else `copy`, in which what the
  /// record lacks is zero.
  template <typename T>
  const T& as(T& copy) const noexcept {
    if (bytes >= sizeof copy) [[likely]]
      return *static_cast<const T*>(static_cast<const void*>(data));
    std::memset(&copy, 0, sizeof copy);
    std::memcpy(&copy, data, bytes);
    return copy;
  }
};

/// Walks the records of a buffer with cuptiActivityGetNextRecord, and leaves zeros behind: what the next use of the
/// buffer begins with costs least while it is in the cache.
class ActivityReader {
 public:
  ActivityReader(decltype(&::cuptiActivityGetNextRecord) parser, RecordSizes& sizes, std::uint8_t* data,
                 std::size_t valid) noexcept
      : next_(parser), sizes_(sizes), data_(data), valid_(valid) {}

  bool next(RawRecord& record) noexcept {
    if (valid_ == 0) return false;
    const CUptiResult result = next_(data_, valid_, &at_);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED || result == CUPTI_ERROR_INVALID_KIND) return end(false);
    if (result != CUPTI_SUCCESS || at_ == nullptr) return end(true);
    record.data = reinterpret_cast<const std::uint8_t*>(at_);
    std::memcpy(&record.kind, record.data, sizeof record.kind);
    record.bytes = sizes_.bytes(record.kind);
    const std::size_t begin = static_cast<std::size_t>(record.data - data_);
    // What the parser hands out lies inside the buffer and behind the record before it, or we stop here.
    if (record.data < data_ || begin % 8 != 0 || begin < read_ || record.bytes < 8 || begin + record.bytes > valid_)
      return end(true);
    read_ = begin + record.bytes;
    if (begin - zeroed_ >= kZeroedAtOnce) zero_until(begin);
    return true;
  }
  /// The buffer is zeros up to here. The last record is not: the parser looks at it.
  std::size_t zeroed() const noexcept { return zeroed_; }
  /// After the last record: true when bytes are left that are no whole record.
  bool truncated() const noexcept { return truncated_; }

 private:
  static constexpr std::size_t kZeroedAtOnce = 4096;

  bool end(bool damaged) noexcept;
  void zero_until(std::size_t end) noexcept {
    std::memset(data_ + zeroed_, 0, end - zeroed_);
    zeroed_ = end;
  }

  decltype(&::cuptiActivityGetNextRecord) next_;
  RecordSizes& sizes_;
  std::uint8_t* data_;
  std::size_t valid_;
  CUpti_Activity* at_ = nullptr;
  std::size_t read_ = 0;  // bytes up to the end of the last record
  std::size_t zeroed_ = 0;
  bool truncated_ = false;
};

}  // namespace rangefinder::source::cupti
