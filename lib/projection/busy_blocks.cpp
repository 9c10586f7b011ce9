// SPDX-License-Identifier: MIT
#include "projection/busy_blocks.hpp"

#include <algorithm>

namespace rangefinder::projection {

std::int64_t BusyBlocks::busy() const noexcept {
  std::int64_t sum = 0;
  for (const Block& block : blocks_) sum = plus(sum, block.busy);
  return sum;
}

void BusyBlocks::insert(Block block) {
  const auto first = std::partition_point(blocks_.begin(), blocks_.end(),
                                          [&](const Block& candidate) { return candidate.end < block.begin; });
  auto last = first;
  for (; last != blocks_.end() && last->begin <= block.end; ++last) {
    const Block joined{std::min(block.begin, last->begin), std::max(block.end, last->end),
                       plus(block.busy, last->busy)};
    const std::int64_t span = minus(joined.end, joined.begin);
    const bool only_touch = last->end == block.begin || last->begin == block.end;
    if (block.solid() && last->solid()) {
      block = {joined.begin, joined.end, span};
    } else {
      exact_ = exact_ && only_touch;
      block = {joined.begin, joined.end, std::min(joined.busy, span)};
    }
  }
  if (first == last) {
    blocks_.insert(first, block);
  } else {
    *first = block;
    blocks_.erase(first + 1, last);
  }
  if (blocks_.size() > kMax) close_up();
}

void BusyBlocks::close_up() {
  const auto closed = blocks_.end() - kKept;
  Block all{blocks_.front().begin, (closed - 1)->end, 0};
  for (auto block = blocks_.begin(); block != closed; ++block) all.busy = plus(all.busy, block->busy);
  blocks_.front() = all;
  blocks_.erase(blocks_.begin() + 1, closed);
}

}  // namespace rangefinder::projection
