// SPDX-License-Identifier: MIT
#include "projection/stream_rows.hpp"

#include "projection/large_vector.hpp"

#include <algorithm>

namespace rangefinder::projection {

void StreamRows::arrange(const RangeFigures& figures, std::vector<StreamFigures>& rows,
                         std::vector<std::uint32_t>& offset) {
  const auto ranges = static_cast<RangeIndex>(only_.size());
  assign_large(offset, only_.size() + 1, std::uint32_t{0});
  each([&](const StreamFigures& row) { ++offset[row.range + 1]; });
  for (RangeIndex range{0}; range < ranges; ++range)
    offset[range + 1] += offset[range] + (only_[range] != kNone ? 1 : 0);
  reserve_large(rows, offset.back());
  rows.resize(offset.back());
  std::vector<std::uint32_t> next;
  reserve_large(next, ranges);
  next.assign(offset.begin(), offset.end() - 1);
  each([&](const StreamFigures& row) { rows[next[row.range]++] = row; });
  const auto by_stream = [](const StreamFigures& a, const StreamFigures& b) { return a.stream < b.stream; };
  for (RangeIndex range{0}; range < ranges; ++range) {
    if (only_[range] != kNone) {
      const DeviceFigures& of = figures[range];
      rows[offset[range]] = {range, only_[range], of.gpu_ops, of.gpu_sum_ns, of.gpu_busy_ns, of.first_ns, of.last_ns};
    } else if (offset[range + 1] - offset[range] > 1) {
      const auto begin = rows.begin() + offset[range];
      const auto end = rows.begin() + offset[range + 1];
      if (!std::is_sorted(begin, end, by_stream)) std::sort(begin, end, by_stream);
    }
  }
  blocks_.clear();
  size_ = 0;
  std::vector<StreamIndex>().swap(only_);
}

}  // namespace rangefinder::projection
