// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

enum class CallDomain : std::uint8_t { kRuntime, kDriver, kInternal };

struct CallRow {
  using Table = class CallTable;

  StringId name = StringId::kEmpty;
  CallDomain domain = CallDomain::kRuntime;
  ThreadIndex thread{};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t correlation = 0;  ///< within the process; 0: none
  std::int32_t result = 0;        ///< cudaError_t or CUresult; 0 where unknown
  std::int64_t external_id = -1;
  std::int64_t source_row = -1;
};

/// CUDA API calls on host threads.
class CallTable : public detail::Table<CallTable, CallRow> {
 public:
  TableColumn<&CallRow::name> name;
  TableColumn<&CallRow::domain> domain;
  TableColumn<&CallRow::thread> thread;
  TableColumn<&CallRow::begin_ns> begin_ns;
  TableColumn<&CallRow::end_ns> end_ns;
  OptionalTableColumn<&CallRow::correlation> correlation;
  OptionalTableColumn<&CallRow::result> result;
  OptionalTableColumn<&CallRow::external_id> external_id;
  OptionalTableColumn<&CallRow::source_row> source_row;

 private:
  friend detail::Table<CallTable, CallRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.name, self.domain, self.thread, self.begin_ns, self.end_ns, self.correlation, self.result,
                    self.external_id, self.source_row);
  }
};

}  // namespace rangefinder
