// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/scan.hpp"
#include "importer/kineto/tracks.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>

namespace rangefinder::importer::kineto {

/// The members of a trace other than its events. They may stand before or after the events: on-demand traces have
/// distributedInfo behind them.
class Metadata {
 public:
  Metadata(Timeline& timeline, Tracks& tracks) noexcept : timeline_(timeline), tracks_(tracks) {}

  /// The value at `cursor.at` was scanned and is whole, up to `value_end`.
  void add(std::string_view key, const Cursor& cursor, const char* value_end);
  /// What needs all events to have been seen.
  void finish();

 private:
  void read_ours(Cursor cursor);
  void read_devices(Cursor cursor);
  void read_device(Cursor& cursor, const char*& at, bool& whole);
  void read_distributed(Cursor cursor);

  Timeline& timeline_;
  Tracks& tracks_;
  std::int64_t rank_ = -1;
  std::int64_t world_size_ = -1;
  std::int64_t base_ns_ = kNoTime;
  std::string host_;
};

}  // namespace rangefinder::importer::kineto
