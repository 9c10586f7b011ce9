// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock_table.hpp"
#include "format/rows.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace rangefinder::importer {

/// What a recording tells beside its events. Of a file all of it is known from the start; of a session that still
/// runs, it is known by the time at which events refer to it.
class RecordingFacts {
 public:
  virtual ~RecordingFacts() = default;
  /// The same object as long as the recording is read; what it holds may change between windows.
  virtual const clock::ClockTable& clock() const noexcept = 0;
  /// What was over by then is no part of the recording.
  virtual std::uint64_t first_ticks() const noexcept = 0;
  virtual bool has_name(format::NameId id) const noexcept = 0;
  /// Empty for id 0, and where there is none.
  virtual std::string_view name(format::NameId id) const noexcept = 0;
  /// For people: as CaptureReader::name_or_placeholder.
  virtual std::string name_or_placeholder(format::NameId id) const = 0;
  virtual std::string_view category(std::uint32_t id) const noexcept = 0;
  /// The NVTX domain that the category is of.
  virtual std::string_view domain(std::uint32_t category) const noexcept = 0;
};

}  // namespace rangefinder::importer
