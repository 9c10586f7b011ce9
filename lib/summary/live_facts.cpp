// SPDX-License-Identifier: MIT
#include "summary/live_facts.hpp"

#include "buffer/category_text.hpp"
#include "buffer/name_table.hpp"
#include "session/session_core.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rangefinder::summary {
namespace {

constexpr std::size_t kMaxClockPoints = 128;
constexpr std::size_t kNewestPoints = 32;

buffer::CategoryText category_of(std::uint32_t id) noexcept {
  return buffer::parts_of_category(id != 0 ? buffer::categories().text(id) : std::string_view{});
}

}  // namespace

LiveFacts::LiveFacts(session::SessionCore& core)
    : first_ticks_(core.start_ticks()),
      ticks_per_second_(core.clock().ticks_per_second()),
      clock_({core.clock().sample()}, ticks_per_second_) {}

void LiveFacts::add(std::span<const format::ClockRow> rows) {
  for (const format::ClockRow& row : rows) {
    points_.push_back({row.ticks, row.monotonic_ns, row.realtime_ns, row.width_ns});
    known_to_ticks_ = std::max(known_to_ticks_, row.ticks);
  }
  has_new_points_ = has_new_points_ || !rows.empty();
}

/// A program may ask after each step of a year. Old points matter less than new ones: every second of them goes.
void LiveFacts::refresh_clock() {
  if (!std::exchange(has_new_points_, false)) return;
  while (points_.size() > kMaxClockPoints) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (i % 2 == 0 || i + kNewestPoints >= points_.size()) points_[kept++] = points_[i];
    points_.resize(kept);
  }
  clock_ = clock::ClockTable(points_, ticks_per_second_);
}

std::string_view LiveFacts::name(format::NameId id) const noexcept {
  return id != 0 ? buffer::names().text(id) : std::string_view{};
}

std::string LiveFacts::name_or_placeholder(format::NameId id) const {
  return id != 0 ? std::string(name(id)) : std::string("(unnamed)");
}

std::string_view LiveFacts::category(std::uint32_t id) const noexcept { return category_of(id).category; }

std::string_view LiveFacts::domain(std::uint32_t category) const noexcept {
  return category_of(category).domain.value_or(std::string_view{});
}

}  // namespace rangefinder::summary
