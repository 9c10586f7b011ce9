// SPDX-License-Identifier: MIT
#include "timeline/move_times.hpp"

#include "timeline/row_times.hpp"

#include <tuple>
#include <type_traits>

namespace rangefinder::timeline {
namespace {

using Move = std::function<std::int64_t(std::int64_t)>;

template <typename Row>
void move_row(Row& row, const Move& moved) {
  std::apply([&](auto&... times) { ((times = times == kNoTime ? kNoTime : moved(times)), ...); }, times_of(row));
}

void move_row(ActivityRow& row, const Move& moved) {
  const std::int64_t length_ns = row.end_ns - row.begin_ns;
  move_row<ActivityRow>(row, moved);
  row.end_ns = row.begin_ns + length_ns;
}

}  // namespace

RowCounts count_rows(const Timeline& timeline) noexcept {
  RowCounts counts;
  std::size_t next = 0;
  for_each_timed_table(timeline, [&](const auto& table) { counts.of[next++] = table.size(); });
  return counts;
}

void move_times(Timeline& timeline, const RowCounts& from, const RowCounts& to, const Move& moved) {
  std::size_t next = 0;
  for_each_timed_table(timeline, [&](auto& table) {
    const std::size_t first = from.of[next], end = to.of[next];
    ++next;
    for (std::size_t at = first; at < end; ++at) {
      if constexpr (requires { table.row(at); }) {
        auto row = table.row(at);
        move_row(row, moved);
        table.set(at, row);
      } else {
        move_row(table[at], moved);
      }
    }
  });
}

}  // namespace rangefinder::timeline
