// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rangefinder::projection {

/// Collects rows in any order and arranges them by range, then stream. Most ranges use one stream: its row says what
/// the range's figures say, so of those only the stream is kept.
class StreamRows {
 public:
  /// Takes no rows: for a projection without them.
  StreamRows() = default;
  /// Deep nesting over many streams, which only a hostile input has, would make a row for every pair: `most` bounds
  /// them.
  StreamRows(std::size_t ranges, std::uint64_t most) : only_(ranges, kNone), most_(most) {}

  void add(const StreamFigures& row) {
    if (size_ >= most_) {
      ++omitted_;
      return;
    }
    if (size_ == blocks_.size() * kBlockRows)
      blocks_.push_back(std::make_unique_for_overwrite<StreamFigures[]>(kBlockRows));
    blocks_[size_ / kBlockRows][size_ % kBlockRows] = row;
    ++size_;
  }
  std::size_t size() const noexcept { return size_; }
  void shrink(std::size_t size) noexcept { size_ = size; }
  /// The row added last is the only one of its range, and equals the range's figures.
  void keep_stream_only() {
    --size_;
    const StreamFigures& row = blocks_[size_ / kBlockRows][size_ % kBlockRows];
    only_[row.range] = row.stream;
  }
  void forget_stream(RangeIndex range) {
    if (!only_.empty()) only_[range] = kNone;
  }
  std::uint64_t omitted() const noexcept { return omitted_; }

  /// Into the columns of Projection; `figures` are the ranges'. Leaves nothing here.
  void arrange(const RangeFigures& figures, std::vector<StreamFigures>& rows, std::vector<std::uint32_t>& offset);

 private:
  template <typename Use>
  void each(Use&& use) const {
    for (std::size_t row = 0; row < size_; ++row) use(blocks_[row / kBlockRows][row % kBlockRows]);
  }

  // Blocks, because a vector that grows would have the system clear twice the memory.
  static constexpr std::size_t kBlockRows = 16384;
  std::vector<std::unique_ptr<StreamFigures[]>> blocks_;
  std::size_t size_ = 0;
  std::vector<StreamIndex> only_;  // by range
  std::uint64_t most_ = 0;
  std::uint64_t omitted_ = 0;
};

}  // namespace rangefinder::projection
