// SPDX-License-Identifier: MIT
#include "summary/live_facts.hpp"

#include "buffer/name_table.hpp"
#include "session/session_core.hpp"

#include <rangefinder/detail/nvtx.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rangefinder::summary {
namespace {

constexpr std::size_t kMaxClockPoints = 128;
constexpr std::size_t kNewestPoints = 32;

/// A category's text is its domain, what is behind it, and a colour.
std::pair<std::string_view, std::string_view> domain_and_category(std::uint32_t id) noexcept {
  std::string_view text = id != 0 ? buffer::categories().text(id) : std::string_view{};
  text = text.substr(0, text.rfind(detail::kBehindCategory));
  const std::size_t end = text.find(detail::kBehindDomain);
  if (end == std::string_view::npos) return {{}, text};
  return {text.substr(0, end), text.substr(end + 1)};
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

std::string_view LiveFacts::category(std::uint32_t id) const noexcept { return domain_and_category(id).second; }

std::string_view LiveFacts::domain(std::uint32_t category) const noexcept {
  return domain_and_category(category).first;
}

}  // namespace rangefinder::summary
