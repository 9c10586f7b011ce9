// SPDX-License-Identifier: MIT
#include "report/cells.hpp"

#include <algorithm>

namespace rangefinder::report {

Cells::Packed Cells::measure(const Values& values, std::uint32_t offset) noexcept {
  const auto [first, last] = std::minmax_element(values.begin(), values.end());  // kNull is the least of all numbers
  std::int64_t least = *first;
  const std::int64_t most = *last;
  if (least == most) return {least, offset, 0};
  if (least == kNull) {
    least = most;
    for (const std::int64_t value : values)
      if (value != kNull) least = std::min(least, value);
  }
  const std::uint64_t distance = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
  const auto fits = [&](std::uint64_t greatest) { return distance < greatest; };  // one number is kNull's
  const std::uint32_t bytes = fits(0xFF) ? 1 : fits(0xFFFF) ? 2 : fits(0xFFFFFFFF) ? 4 : 8;
  return {least, offset, bytes};
}

void Cells::write(const Packed& packed, const Values& values, std::byte* to) noexcept {
  const auto write_as = [&]<typename Number>(Number) {
    for (const std::int64_t value : values) {
      const auto distance = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(packed.least);
      const auto number = static_cast<Number>(value == kNull ? 0 : distance + 1);
      std::memcpy(to, &number, sizeof number);
      to += sizeof number;
    }
  };
  switch (packed.bytes) {
    case 0:
      return;
    case 1:
      return write_as(std::uint8_t{});
    case 2:
      return write_as(std::uint16_t{});
    case 4:
      return write_as(std::uint32_t{});
    default:
      std::memcpy(to, values.data(), sizeof values);
  }
}

void Cells::close_block() {
  const std::size_t first = packed_.size();
  std::uint32_t size = 0;
  for (const Values& values : open_) {
    packed_.push_back(measure(values, size));
    size += packed_.back().bytes * static_cast<std::uint32_t>(kBlockRows);
  }
  blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
  for (std::size_t column = 0; column < open_.size(); ++column) {
    const Packed& packed = packed_[first + column];
    write(packed, open_[column], blocks_.back().get() + packed.offset);
  }
  open_rows_ = 0;
}

}  // namespace rangefinder::report
