// SPDX-License-Identifier: MIT
#include "analysis/waits.hpp"

#include "analysis/calls.hpp"
#include "analysis/spans.hpp"
#include "base/descending.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace rangefinder::analysis {
namespace {

/// "Memcpy", "MemcpyDtoH", "Memcpy2DToArray"; not "MemcpyAsync". CUDA writes no synchronisation record of them. Copies
/// between devices, or inside of one, do not hold the host up.
bool is_blocking_copy(std::string_view stem) noexcept {
  if (!stem.starts_with("Memcpy")) return false;
  for (const std::string_view part : {"Async", "Batch", "DtoD", "Peer"})
    if (stem.find(part) != std::string_view::npos) return false;
  return true;
}

/// What a call waits for, by its name; nothing for calls that do not wait.
std::optional<WaitReason> reason_of_call(std::string_view name) noexcept {
  static constexpr std::pair<std::string_view, WaitReason> kWaiting[] = {
      {"StreamSynchronize", WaitReason::kStream},
      {"EventSynchronize", WaitReason::kEvent},
      {"DeviceSynchronize", WaitReason::kDevice},
      {"ThreadSynchronize", WaitReason::kDevice},
      {"CtxSynchronize", WaitReason::kContext},
      {"StreamWaitEvent", WaitReason::kStreamForEvent},
      {"Free", WaitReason::kFree},
      {"MemFree", WaitReason::kFree},
  };
  const std::string_view stem = call_stem(name);
  for (const auto& [known, reason] : kWaiting)
    if (stem == known) return reason;
  return is_blocking_copy(stem) ? std::optional(WaitReason::kCopy) : std::nullopt;
}

/// CUpti_ActivitySynchronizationType; the call tells queries from waits, and the device from a context.
WaitReason reason_of_record(std::uint32_t type, std::string_view call) noexcept {
  const std::string_view stem = call_stem(call);
  if (stem == "EventQuery" || stem == "StreamQuery") return WaitReason::kQuery;
  switch (type) {
    case 1:
      return WaitReason::kEvent;
    case 2:
      return WaitReason::kStreamForEvent;
    case 3:
      return WaitReason::kStream;
    case 4:
      return reason_of_call(call) == WaitReason::kDevice ? WaitReason::kDevice : WaitReason::kContext;
    default:
      return WaitReason::kUnknown;
  }
}

std::vector<Wait> recorded_waits(const Timeline& timeline) {
  const SyncTable& syncs = timeline.syncs;
  if (syncs.empty()) return {};
  const CallFinder calls(timeline);
  std::vector<Wait> out;
  out.reserve(syncs.size());
  for (std::uint32_t row = 0; row < syncs.size(); ++row) {
    const DeviceIndex device = syncs.device[row];
    Wait wait;
    wait.sync = row;
    wait.begin_ns = syncs.begin_ns[row];
    wait.end_ns = syncs.end_ns[row];
    const ProcessIndex process = device < timeline.devices.size() ? timeline.devices[device].process : kNone;
    wait.call = calls.find(process, syncs.correlation[row], wait.begin_ns);
    const bool has_call = wait.call != kNone;
    if (has_call) wait.thread = timeline.calls.thread[wait.call];
    wait.reason = reason_of_record(syncs.type[row],
                                   has_call ? timeline.text(timeline.calls.name[wait.call]) : std::string_view());
    if (wait.reason == WaitReason::kContext || wait.reason == WaitReason::kDevice) wait.device = device;
    if (wait.reason == WaitReason::kStream) wait.stream = syncs.stream[row];
    if (syncs.type[row] == 1 || syncs.type[row] == 2) wait.stream = syncs.event_stream[row];
    out.push_back(wait);
  }
  return out;
}

/// By process: its device with streams; kNone where there are none or several.
std::vector<DeviceIndex> only_devices(const Timeline& timeline) {
  std::vector<DeviceIndex> only(timeline.processes.size(), kNone);
  std::vector<bool> several(timeline.processes.size());
  for (const StreamInfo& stream : timeline.streams) {
    const ProcessIndex process = timeline.devices[stream.device].process;
    if (only[process] != kNone && only[process] != stream.device) several[process] = true;
    only[process] = stream.device;
  }
  for (ProcessIndex process{0}; process < only.size(); ++process)
    if (several[process]) only[process] = kNone;
  return only;
}

/// By call: the copy that it made; kNone for all others.
std::vector<ActivityIndex> copies_of_calls(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  std::vector<ActivityIndex> copies(timeline.calls.size(), kNone);
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const LaunchIndex launch = activities.launch[activity];
    if (activities.kind[activity] != ActivityKind::kMemcpy || launch >= timeline.launches.size()) continue;
    const CallIndex call = timeline.launches.call[launch];
    if (call < copies.size()) copies[call] = activity;
  }
  return copies;
}

bool is_between_devices(const Timeline& timeline, ActivityIndex copy) noexcept {
  constexpr std::uint32_t kDeviceToDevice = 8, kPeerToPeer = 10;  // CUpti_ActivityMemcpyKind
  const std::uint32_t detail = timeline.activities.detail[copy];
  const std::uint32_t kind = detail < timeline.copy_details.size() ? timeline.copy_details[detail].copy_kind : 0;
  return kind == kDeviceToDevice || kind == kPeerToPeer;
}

/// Adds waits that only their calls tell of: the outermost, where no record is of them or of what they call.
void add_unrecorded(const Timeline& timeline, std::vector<Wait>& waits) {
  const CallTable& calls = timeline.calls;
  std::vector<bool> recorded(calls.size());
  for (const Wait& wait : waits)
    if (wait.call != kNone) recorded[wait.call] = true;
  std::vector<std::pair<CallIndex, WaitReason>> waiting;
  for (CallIndex call{0}; call < calls.size(); ++call) {
    if (calls.thread[call] >= timeline.threads.size()) continue;
    const auto reason = reason_of_call(timeline.text(calls.name[call]));
    if (reason || recorded[call]) waiting.emplace_back(call, reason.value_or(WaitReason::kUnknown));
  }
  std::sort(waiting.begin(), waiting.end(), [&](const auto& a, const auto& b) {
    return std::tuple(calls.thread[a.first], calls.begin_ns[a.first], base::Descending{calls.end_ns[a.first]},
                      a.first) <
           std::tuple(calls.thread[b.first], calls.begin_ns[b.first], base::Descending{calls.end_ns[b.first]}, b.first);
  });
  const std::vector<DeviceIndex> devices = only_devices(timeline);
  const std::vector<ActivityIndex> copies = copies_of_calls(timeline);
  for (std::size_t i = 0; i < waiting.size();) {
    const auto [call, reason] = waiting[i];
    const ThreadIndex thread = calls.thread[call];
    bool is_recorded = false;
    ActivityIndex copy = kNone;
    for (; i < waiting.size() && calls.thread[waiting[i].first] == thread &&
           (waiting[i].first == call || calls.end_ns[waiting[i].first] <= calls.end_ns[call]);
         ++i) {
      is_recorded = is_recorded || recorded[waiting[i].first];
      if (copies[waiting[i].first] != kNone) copy = copies[waiting[i].first];
    }
    const bool is_copy = reason == WaitReason::kCopy && copy != kNone;
    if (is_recorded || (is_copy && is_between_devices(timeline, copy))) continue;
    Wait wait;
    wait.reason = reason;
    wait.call = call;
    wait.thread = thread;
    wait.begin_ns = calls.begin_ns[call];
    wait.end_ns = calls.end_ns[call];
    if (is_copy) wait.stream = timeline.activities.stream[copy];
    if (reason == WaitReason::kDevice || reason == WaitReason::kContext || reason == WaitReason::kFree)
      wait.device = devices[timeline.threads[thread].process];
    waits.push_back(wait);
  }
}

/// The work of a stream or a device, to be asked what of it ran in a stretch of time.
class Work {
 public:
  void add(ActivityIndex activity, const ActivityTable& table) {
    by_end_.emplace_back(table.end_ns[activity], activity);
    busy_.push_back({table.begin_ns[activity], std::max(table.begin_ns[activity], table.end_ns[activity])});
  }
  void finish() {
    std::sort(by_end_.begin(), by_end_.end());
    make_disjoint(busy_);
    busy_before_.reserve(busy_.size());
    std::int64_t total = 0;
    for (const Span& span : busy_) {
      busy_before_.push_back(total);
      total += span.end - span.begin;
    }
  }
  std::int64_t busy_ns(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return begin_ns < end_ns ? busy_until(end_ns) - busy_until(begin_ns) : 0;
  }
  /// What ended last in (begin, end]; kNone when nothing did.
  ActivityIndex last_to_end(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    const auto after = std::upper_bound(by_end_.begin(), by_end_.end(), std::pair(end_ns, ActivityIndex{kNone}));
    if (after == by_end_.begin() || (after - 1)->first <= begin_ns) return kNone;
    return (after - 1)->second;
  }

 private:
  std::int64_t busy_until(std::int64_t time_ns) const noexcept {
    const auto after =
        std::partition_point(busy_.begin(), busy_.end(), [time_ns](const Span& span) { return span.begin < time_ns; });
    if (after == busy_.begin()) return 0;
    const Span& span = *(after - 1);
    return busy_before_[static_cast<std::size_t>(after - busy_.begin()) - 1] + std::min(time_ns, span.end) - span.begin;
  }

  std::vector<std::pair<std::int64_t, ActivityIndex>> by_end_;
  std::vector<Span> busy_;  // disjoint, in order
  std::vector<std::int64_t> busy_before_;
};

void find_work(const Timeline& timeline, std::vector<Wait>& waits) {
  std::vector<Work> of_stream(timeline.streams.size()), of_device(timeline.devices.size());
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    const StreamIndex stream = activities.stream[activity];
    of_stream[stream].add(activity, activities);
    of_device[timeline.streams[stream].device].add(activity, activities);
  }
  for (std::vector<Work>* works : {&of_stream, &of_device})
    for (Work& work : *works) work.finish();
  for (Wait& wait : waits) {
    const Work* work = wait.stream < of_stream.size()   ? &of_stream[wait.stream]
                       : wait.device < of_device.size() ? &of_device[wait.device]
                                                        : nullptr;
    if (work == nullptr || !wait.blocks_host()) continue;
    wait.busy_ns = work->busy_ns(wait.begin_ns, wait.end_ns);
    // A device time can be off by the clock's error.
    std::int64_t end = wait.end_ns;
    if (__builtin_add_overflow(end, timeline.clock_error_ns, &end)) end = wait.end_ns;
    wait.last = work->last_to_end(wait.begin_ns, end);
  }
}

}  // namespace

std::vector<Wait> waits_without_work(const Timeline& timeline) {
  std::vector<Wait> waits = recorded_waits(timeline);
  add_unrecorded(timeline, waits);
  return waits;
}

std::vector<Wait> waits_of(const Timeline& timeline) {
  std::vector<Wait> waits = waits_without_work(timeline);
  find_work(timeline, waits);
  std::stable_sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.begin_ns < b.begin_ns; });
  return waits;
}

}  // namespace rangefinder::analysis
