// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct SyncRow {
  using Table = class SyncTable;

  std::uint32_t type = 0;  ///< CUPTI's: 1 event, 2 stream waits for event, 3 stream, 4 context
  StreamIndex stream = kNone;
  DeviceIndex device = kNone;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t correlation = 0;
  std::int64_t source_row = -1;
  StreamIndex event_stream = kNone;  ///< of a wait for an event: the stream that the event was recorded on
};

/// Waiting recorded by CUPTI.
class SyncTable : public detail::Table<SyncTable, SyncRow> {
 public:
  TableColumn<&SyncRow::type> type;
  TableColumn<&SyncRow::stream> stream;
  TableColumn<&SyncRow::device> device;
  TableColumn<&SyncRow::begin_ns> begin_ns;
  TableColumn<&SyncRow::end_ns> end_ns;
  OptionalTableColumn<&SyncRow::correlation> correlation;
  OptionalTableColumn<&SyncRow::source_row> source_row;
  OptionalTableColumn<&SyncRow::event_stream> event_stream;

 private:
  friend detail::Table<SyncTable, SyncRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.type, self.stream, self.device, self.begin_ns, self.end_ns, self.correlation, self.source_row,
                    self.event_stream);
  }
};

}  // namespace rangefinder
