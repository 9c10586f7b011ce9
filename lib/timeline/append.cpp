// SPDX-License-Identifier: MIT
#include "timeline/append.hpp"

#include "timeline/collectives.hpp"
#include "timeline/row_times.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::timeline {
namespace {

constexpr auto kNotYet = static_cast<StringId>(0xFFFFFFFFu);

/// Gives rows of one timeline the numbers and times that they have in another.
class Rebase {
 public:
  Rebase(Timeline& to, const Timeline& from, const std::function<std::int64_t(std::int64_t)>& moved)
      : to_(to),
        from_(from),
        moved_(moved),
        process_(to.processes.size()),
        thread_(to.threads.size()),
        device_(to.devices.size()),
        stream_(to.streams.size()),
        range_(to.ranges.size()),
        call_(to.calls.size()),
        launch_(to.launches.size()),
        kernel_detail_(to.kernel_details.size()),
        copy_detail_(to.copy_details.size()),
        mark_(to.marks.size()),
        collective_(to.collectives.size()),
        texts_(from.string_count() + std::size_t{1}, kNotYet) {}

  void run() {
    add_places();
    add_groups();
    add(from_.ranges, to_.ranges);
    add(from_.calls, to_.calls);
    add(from_.launches, to_.launches);
    add_details();
    add(from_.activities, to_.activities);
    add(from_.syncs, to_.syncs);
    add(from_.overheads, to_.overheads);
    add(from_.cuda_allocations, to_.cuda_allocations);
    add(from_.marks, to_.marks);
    add(from_.counters, to_.counters);
    add(from_.steps, to_.steps);
    add(from_.autograd_nodes, to_.autograd_nodes);
    add(from_.graph_nodes, to_.graph_nodes);
    add(from_.operators, to_.operators);
    add(from_.collectives, to_.collectives);
    add(from_.allocator_events, to_.allocator_events);
    add(from_.sensor_samples, to_.sensor_samples);
    add(from_.cpu_counters, to_.cpu_counters);
    add(from_.range_metrics, to_.range_metrics);
    add(from_.pm_samples, to_.pm_samples);
    add_rest();
  }

 private:
  // ---- numbers and times: each changes what it is given
  void text(StringId& id) {
    StringId& known = texts_[static_cast<std::size_t>(id)];
    if (known == kNotYet) known = to_.intern(from_.text(id));
    id = known;
  }
  template <typename Of>
  static void shift(Index<Of>& index, std::size_t by) noexcept {
    if (index != Index<Of>(kNone)) index = Index<Of>(std::uint32_t{index} + by);
  }
  void place(ProcessIndex& index) const noexcept { shift(index, process_); }
  void place(ThreadIndex& index) const noexcept { shift(index, thread_); }
  void place(DeviceIndex& index) const noexcept { shift(index, device_); }
  void place(StreamIndex& index) const noexcept { shift(index, stream_); }
  void place(RangeIndex& index) const noexcept { shift(index, range_); }
  void place(CallIndex& index) const noexcept { shift(index, call_); }
  void place(LaunchIndex& index) const noexcept { shift(index, launch_); }
  void place(CollectiveIndex& index) const noexcept { shift(index, collective_); }
  /// Rows of some kinds tell no times.
  template <typename Row>
  void move(Row& row) const {
    if constexpr (requires { times_of(row); })
      std::apply([this](auto&... times) { ((times = times == kNoTime ? kNoTime : moved_(times)), ...); },
                 times_of(row));
  }
  template <typename... Ids>
  void texts(Ids&... ids) {
    (text(ids), ...);
  }
  template <typename... Indexes>
  void places(Indexes&... indexes) const noexcept {
    (place(indexes), ...);
  }

  // ---- rows
  void rebase(RangeRow& row) {
    texts(row.name, row.domain, row.category);
    places(row.thread, row.end_thread);
  }
  void rebase(CallRow& row) {
    text(row.name);
    place(row.thread);
  }
  void rebase(LaunchRow& row) const { places(row.process, row.thread, row.range, row.call); }
  void rebase(ActivityRow& row) {
    text(row.name);
    places(row.stream, row.launch, row.captured, row.collective);
    if (row.detail != kNone)
      row.detail += static_cast<std::uint32_t>(is_copy(row.kind) ? copy_detail_ : kernel_detail_);
  }
  void rebase(SyncRow& row) const { places(row.stream, row.device, row.event_stream); }
  void rebase(OverheadRow& row) {
    text(row.name);
    place(row.thread);
  }
  void rebase(CudaAllocationRow& row) const { places(row.process, row.device, row.stream); }
  void rebase(MarkRow& row) {
    texts(row.name, row.category);
    place(row.thread);
  }
  void rebase(CounterRow& row) {
    text(row.name);
    place(row.thread);
  }
  void rebase(StepRow& row) const { place(row.thread); }
  void rebase(AutogradNodeRow& row) {
    text(row.name);
    places(row.thread, row.forward_thread, row.range);
  }
  void rebase(GraphNodeRow& row) const { place(row.process); }
  void rebase(OperatorRow& row) {
    texts(row.shapes, row.types, row.values);
    place(row.range);
  }
  void rebase(CollectiveRow& row) {
    texts(row.name, row.dtype, row.in_splits, row.out_splits, row.algorithm, row.protocol);
    places(row.process, row.thread, row.wait_thread);
    if (row.group != ProcessGroupIndex(kNone)) row.group = groups_[row.group];
  }
  void rebase(AllocatorEventRow& row) const { place(row.thread); }
  void rebase(SensorSampleRow& row) const { place(row.device); }
  void rebase(CpuCounterRow& row) const { place(row.range); }
  void rebase(RangeMetricRow& row) {
    places(row.range, row.device);
    text(row.metric);
  }
  void rebase(PmSampleRow& row) {
    place(row.device);
    text(row.metric);
  }

  template <typename Table>
  void add(const Table& from, Table& to) {
    to.reserve(to.size() + from.size());
    for (std::size_t at = 0; at < from.size(); ++at) {
      typename Table::Row row = from.row(at);
      rebase(row);
      move(row);
      to.append(row);
    }
  }

  // ---- what is no table
  void add_places() {
    to_.processes.insert(to_.processes.end(), from_.processes.begin(), from_.processes.end());
    for (std::size_t i = process_; i < to_.processes.size(); ++i) move(to_.processes[i]);
    for (ThreadInfo thread : from_.threads) {
      place(thread.process);
      to_.threads.push_back(std::move(thread));
    }
    for (DeviceInfo device : from_.devices) {
      place(device.process);
      to_.devices.push_back(std::move(device));
    }
    for (StreamInfo stream : from_.streams) {
      place(stream.device);
      to_.streams.push_back(stream);
    }
  }
  void add_groups() {
    for (const ProcessGroupInfo& group : from_.process_groups) groups_.push_back(add_process_group(to_, group));
  }
  void add_details() {
    for (KernelDetail detail : from_.kernel_details) {
      texts(detail.demangled, detail.mangled, detail.base);
      to_.kernel_details.push_back(detail);
    }
    to_.copy_details.insert(to_.copy_details.end(), from_.copy_details.begin(), from_.copy_details.end());
  }
  void add_rest() {
    for (auto [process, graph] : from_.conditional_graphs) {
      place(process);
      to_.conditional_graphs.emplace_back(process, graph);
    }
    for (Attachment attachment : from_.attachments) {
      const bool of_mark = attachment.target == Attachment::Target::kMark;
      attachment.row += static_cast<std::uint32_t>(of_mark ? mark_ : range_);
      if (attachment.type == Attachment::Type::kText) {
        auto id = static_cast<StringId>(attachment.bits);
        text(id);
        attachment.bits = static_cast<std::uint64_t>(id);
      }
      to_.attachments.push_back(attachment);
    }
    std::stable_sort(to_.attachments.begin(), to_.attachments.end(), [](const Attachment& a, const Attachment& b) {
      return std::pair(a.target, a.row) < std::pair(b.target, b.row);
    });
    for (Window window : from_.windows) {
      move(window);
      to_.windows.push_back(window);
    }
    for (EarlierCall call : from_.earlier_calls) {
      place(call.process);
      move(call);
      to_.earlier_calls.push_back(call);
    }
    to_.health += from_.health;
    to_.simulated = to_.simulated || from_.simulated;
    to_.clock_error_ns = std::max(to_.clock_error_ns, from_.clock_error_ns);
  }

  Timeline& to_;
  const Timeline& from_;
  const std::function<std::int64_t(std::int64_t)>& moved_;
  // How many of each `to` had.
  std::size_t process_, thread_, device_, stream_, range_, call_, launch_, kernel_detail_, copy_detail_, mark_,
      collective_;
  std::vector<StringId> texts_;  // by id in `from`
  std::vector<ProcessGroupIndex> groups_;
};

}  // namespace

void append(Timeline& to, const Timeline& from, const std::function<std::int64_t(std::int64_t)>& moved) {
  Rebase(to, from, moved).run();
}

}  // namespace rangefinder::timeline
