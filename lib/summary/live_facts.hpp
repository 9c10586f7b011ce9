// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock_table.hpp"
#include "format/rows.hpp"
#include "importer/capture/recording_facts.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::session {
class SessionCore;
}

namespace rangefinder::summary {

/// What a session tells that still runs. Its clock is that of its capture, as far as that is written.
class LiveFacts final : public importer::RecordingFacts {
 public:
  explicit LiveFacts(session::SessionCore& core);

  void add(std::span<const format::ClockRow> rows);
  /// Brings the clock up to the points that were added. Memory: some of them.
  void refresh_clock();
  /// Times up to then are as the capture will have them.
  std::uint64_t known_to_ticks() const noexcept { return known_to_ticks_; }

  const clock::ClockTable& clock() const noexcept override { return clock_; }
  std::uint64_t first_ticks() const noexcept override { return first_ticks_; }
  bool has_name(format::NameId) const noexcept override { return true; }
  std::string_view name(format::NameId id) const noexcept override;
  std::string name_or_placeholder(format::NameId id) const override;
  std::string_view category(std::uint32_t id) const noexcept override;
  std::string_view domain(std::uint32_t category) const noexcept override;

 private:
  std::uint64_t first_ticks_;
  std::uint64_t ticks_per_second_;
  std::vector<clock::ClockPoint> points_;
  bool has_new_points_ = false;
  std::uint64_t known_to_ticks_ = 0;
  clock::ClockTable clock_;
};

}  // namespace rangefinder::summary
