// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct GraphNodeRow {
  using Table = class GraphNodeTable;

  ProcessIndex process{};
  std::uint64_t node = 0;         ///< as in ActivityRow::graph_node
  std::int64_t time_ns = 0;       ///< from when on
  std::uint64_t correlation = 0;  ///< of the call or note that made it, or its first original; 0: not known
};

/// Nodes of CUDA graphs and the calls that made them. An update gives a node another row, which counts for what is
/// launched from then on.
class GraphNodeTable : public detail::Table<GraphNodeTable, GraphNodeRow> {
 public:
  TableColumn<&GraphNodeRow::process> process;
  TableColumn<&GraphNodeRow::node> node;
  TableColumn<&GraphNodeRow::time_ns> time_ns;
  TableColumn<&GraphNodeRow::correlation> correlation;

 private:
  friend detail::Table<GraphNodeTable, GraphNodeRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.process, self.node, self.time_ns, self.correlation);
  }
};

}  // namespace rangefinder
