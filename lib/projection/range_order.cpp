// SPDX-License-Identifier: MIT
#include "projection/range_order.hpp"

#include "projection/large_vector.hpp"

namespace rangefinder::projection {

namespace {
unsigned bit(RangeKind kind) { return 1u << static_cast<unsigned>(kind); }
}  // namespace

RangeOrder::RangeOrder(const Timeline& timeline, const ProjectionOptions& options)
    : ranges_(timeline.ranges),
      rule_(timeline.range_end),
      threads_(timeline.threads.size()),
      kinds_((options.annotations ? bit(RangeKind::kAnnotation) : 0) |
             (options.operators ? bit(RangeKind::kOperator) : 0)) {
  collect();
  sort(scoped_);
  sort(start_end_);
}

void RangeOrder::collect() {
  const auto count = static_cast<RangeIndex>(ranges_.size());
  for (ByThread* table : {&scoped_, &start_end_}) table->offset.assign(threads_ + 1, 0);
  for (RangeIndex range{0}; range < count; ++range)
    if (takes_part(range)) ++(is_scoped(range) ? scoped_ : start_end_).offset[ranges_.thread[range] + 1];
  for (ByThread* table : {&scoped_, &start_end_}) {
    for (std::size_t thread = 0; thread < threads_; ++thread) table->offset[thread + 1] += table->offset[thread];
    reserve_large(table->rows, table->offset.back());
    table->rows.resize(table->offset.back());
  }
  std::vector<std::uint32_t> next_scoped(scoped_.offset);
  std::vector<std::uint32_t> next_start_end(start_end_.offset);
  for (RangeIndex range{0}; range < count; ++range) {
    if (!takes_part(range)) continue;
    if (is_scoped(range))
      scoped_.rows[next_scoped[ranges_.thread[range]]++] = range;
    else
      start_end_.rows[next_start_end[ranges_.thread[range]]++] = range;
  }
}

void RangeOrder::sort(ByThread& table) const {
  const auto by_order = [this](RangeIndex a, RangeIndex b) { return before(a, b); };
  for (std::size_t thread = 0; thread < threads_; ++thread) {
    const auto begin = table.rows.begin() + table.offset[thread];
    const auto end = table.rows.begin() + table.offset[thread + 1];
    // Mostly in order; of a window of a capture some earlier ranges stand behind the others.
    const auto sorted_to = std::is_sorted_until(begin, end, by_order);
    if (sorted_to == end) continue;
    std::sort(sorted_to, end, by_order);
    std::inplace_merge(begin, sorted_to, end, by_order);
  }
}

}  // namespace rangefinder::projection
