// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

enum class ActivityKind : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kGraph,  ///< a launch of a CUDA graph as a whole, of which single operations are not recorded
};

constexpr bool is_copy(ActivityKind kind) noexcept {
  return kind == ActivityKind::kMemcpy || kind == ActivityKind::kMemset;
}

struct KernelDetail {
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint32_t block[3] = {0, 0, 0};
  std::uint32_t cluster[3] = {0, 0, 0};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes_per_thread = 0;
  std::uint32_t launch_type = 0;  ///< CUPTI's: 0 regular, 1 cooperative, 2 cooperative on several devices, ...
  /// Shared memory of a multiprocessor, as the driver divided it off for this launch; 0: not known.
  std::uint32_t shared_executed_bytes = 0;
  std::uint32_t max_active_clusters = 0;  ///< that the device can hold at once; 0: not known, or no clusters
  StringId demangled = StringId::kEmpty;  ///< Nsight keeps three spellings, and the first is the name; else empty
  StringId mangled = StringId::kEmpty;
  StringId base = StringId::kEmpty;  ///< without return type, template arguments and parameters
};

/// CUPTI's numbers: 1 host to device, 2 device to host, 8 device to device, 10 peer to peer, ...
struct CopyDetail {
  std::uint32_t copy_kind = 0;
  std::uint32_t source_memory = 0;  ///< 0 unknown, 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, ...
  std::uint32_t target_memory = 0;
  std::uint32_t source_device = kNone;
  std::uint32_t target_device = kNone;
  std::uint32_t value = 0;  ///< memset
  bool asynchronous = false;
};

struct ActivityRow {
  using Table = class ActivityTable;

  ActivityKind kind = ActivityKind::kKernel;
  StringId name = StringId::kEmpty;
  StreamIndex stream{};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t correlation = 0;
  LaunchIndex launch = kNone;
  std::uint64_t bytes = 0;       ///< copies and memsets
  std::uint32_t detail = kNone;  ///< row of Timeline::kernel_details or copy_details, or kNone
  std::uint64_t graph_node = 0;  ///< CUDA graph node; 0: not from a graph, or not recorded
  std::uint32_t graph = 0;       ///< executable graph's id; 0 likewise
  std::int64_t external_id = -1;
  std::int64_t source_row = -1;
  /// Of a graph's work: the launch that made its node, beside `launch`, which replays it; kNone where that is not in
  /// the data.
  LaunchIndex captured = kNone;
  /// A part of a graph's launch, whose time was measured as a whole and divided; see split_graph_launches.
  bool estimated = false;
  /// Of kernels, with latency timestamps: when the launch was put into the command buffer, and when that went to the
  /// device; kNoTime where not recorded.
  std::int64_t queued_ns = kNoTime;
  std::int64_t submitted_ns = kNoTime;
  CollectiveIndex collective = kNone;  ///< of kernels of NCCL and RCCL: what they are a part of
};

/// Work on devices.
class ActivityTable : public detail::Table<ActivityTable, ActivityRow> {
 public:
  TableColumn<&ActivityRow::kind> kind;
  TableColumn<&ActivityRow::name> name;
  TableColumn<&ActivityRow::stream> stream;
  TableColumn<&ActivityRow::begin_ns> begin_ns;
  TableColumn<&ActivityRow::end_ns> end_ns;
  OptionalTableColumn<&ActivityRow::correlation> correlation;
  TableColumn<&ActivityRow::launch> launch;
  OptionalTableColumn<&ActivityRow::bytes> bytes;
  TableColumn<&ActivityRow::detail> detail;
  OptionalTableColumn<&ActivityRow::graph_node> graph_node;
  OptionalTableColumn<&ActivityRow::graph> graph;
  OptionalTableColumn<&ActivityRow::external_id> external_id;
  OptionalTableColumn<&ActivityRow::source_row> source_row;
  OptionalTableColumn<&ActivityRow::captured> captured;
  OptionalTableColumn<&ActivityRow::estimated> estimated;
  OptionalTableColumn<&ActivityRow::queued_ns> queued_ns;
  OptionalTableColumn<&ActivityRow::submitted_ns> submitted_ns;
  OptionalTableColumn<&ActivityRow::collective> collective;

  void set_launch(ActivityIndex activity, LaunchIndex value) noexcept { launch.values_[activity] = value; }
  void set_collective(ActivityIndex activity, CollectiveIndex value) { collective.set(activity, value); }
  void set_captured(ActivityIndex activity, LaunchIndex value) { captured.set(activity, value); }

 private:
  friend detail::Table<ActivityTable, ActivityRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.kind, self.name, self.stream, self.begin_ns, self.end_ns, self.correlation, self.launch,
                    self.bytes, self.detail, self.graph_node, self.graph, self.external_id, self.source_row,
                    self.captured, self.estimated, self.queued_ns, self.submitted_ns, self.collective);
  }
};

}  // namespace rangefinder
