// SPDX-License-Identifier: MIT
#include "exporter/html/collect_tracks.hpp"

#include "analysis/device_states.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rangefinder::html {
namespace {

/// More than anybody scrolls through; a hostile file could have one for each slice.
constexpr std::size_t kMostTracks = 4096;

Category category_of(RangeKind kind) noexcept {
  switch (kind) {
    case RangeKind::kAnnotation:
      return Category::kRange;
    case RangeKind::kOperator:
      return Category::kOperator;
    case RangeKind::kPythonFunction:
    case RangeKind::kOther:
      return Category::kOther;
  }
  return Category::kOther;
}

/// Of the names that occur, each looked at once.
class NameKinds {
 public:
  explicit NameKinds(const Timeline& timeline) : timeline_(timeline), known_(timeline.string_count()) {}

  bool is_communication(StringId name) {
    return find(name, [](std::string_view text) { return analysis::is_communication(text); });
  }
  /// Of a CUDA call: cudaDeviceSynchronize, cuStreamSynchronize and the like.
  bool is_synchronization(StringId name) {
    return find(name, [](std::string_view text) { return text.find("ynchronize") != std::string_view::npos; });
  }

 private:
  template <typename Test>
  bool find(StringId name, Test test) {
    std::uint8_t& known = known_[static_cast<std::uint32_t>(name)];
    if (known == 0) known = test(timeline_.text(name)) ? 2 : 1;
    return known == 2;
  }

  const Timeline& timeline_;
  std::vector<std::uint8_t> known_;  // 0: not looked at yet, 1: no, 2: yes
};

class SliceCollector {
 public:
  SliceCollector(const PageInput& input, PageOutput& output)
      : input_(input),
        timeline_(input.timeline),
        output_(output),
        kernels_(input.timeline),
        calls_(input.timeline),
        threads_(input.timeline.threads.size()),
        steps_(input.timeline.processes.size()),
        streams_(input.timeline.streams.size()),
        waits_(input.timeline.streams.size()),
        projected_(input.timeline.devices.size()) {}

  std::vector<Track> collect() {
    add_ranges();
    add_host_rows();
    add_collectives();
    add_steps();
    add_activities();
    add_projected();
    for (ProcessIndex process{0}; process < timeline_.processes.size(); ++process) finish_process(process);
    for (DeviceIndex device{0}; device < timeline_.devices.size(); ++device) finish_device(device);
    if (too_deep_ != 0)
      left_out(too_deep_, base::with_thousands(too_deep_) + " slices lie under more than " +
                              std::to_string(kMostDepths) + " others and were left out");
    if (on_further_tracks_ != 0)
      left_out(on_further_tracks_, base::with_thousands(on_further_tracks_) + " slices are on tracks after the first " +
                                       base::with_thousands(kMostTracks) + " and were left out");
    if (without_thread_ != 0)
      left_out(without_thread_,
               base::with_thousands(without_thread_) + " slices of the host are of no known thread and were left out");
    return std::move(tracks_);
  }

 private:
  using Slices = std::vector<Slice>;

  void left_out(std::uint64_t count, std::string why) {
    output_.left_out += count;
    output_.left_why.push_back(std::move(why));
  }

  /// Cut at the begin of the timeline; nothing is longer than it.
  void add(Slices& slices, std::int64_t begin_ns, std::int64_t end_ns, Slice slice) {
    slice.begin_ns = std::clamp(begin_ns, timeline_.begin_ns, std::max(timeline_.begin_ns, timeline_.end_ns));
    slice.end_ns = std::clamp(end_ns, slice.begin_ns, std::max(slice.begin_ns, timeline_.end_ns));
    slices.push_back(slice);
  }

  void add_on_thread(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns, const Slice& slice) {
    if (thread < threads_.size())
      add(threads_[thread], begin_ns, end_ns, slice);
    else
      ++without_thread_;
  }

  void add_ranges() {
    const RangeTable& ranges = timeline_.ranges;
    for (RangeIndex range{0}; range < ranges.size(); ++range) {
      if ((ranges.flags[range] & kBeforeRecording) != 0) continue;  // no part of the recorded time
      add_on_thread(ranges.thread[range], ranges.begin_ns[range], ranges.end_ns[range],
                    {.row = range,
                     .name = ranges.name[range],
                     .source = SliceSource::kRange,
                     .category = category_of(ranges.kind[range])});
    }
  }

  void add_host_rows() {
    const CallTable& calls = timeline_.calls;
    for (CallIndex call{0}; call < calls.size(); ++call)
      add_on_thread(calls.thread[call], calls.begin_ns[call], calls.end_ns[call],
                    {.row = call,
                     .name = calls.name[call],
                     .source = SliceSource::kCall,
                     .category = calls_.is_synchronization(calls.name[call]) ? Category::kSync : Category::kCall});
    const OverheadTable& overheads = timeline_.overheads;
    for (std::uint32_t row = 0; row < overheads.size(); ++row)
      add_on_thread(
          overheads.thread[row], overheads.begin_ns[row], overheads.end_ns[row],
          {.row = row, .name = overheads.name[row], .source = SliceSource::kOverhead, .category = Category::kOther});
    const AutogradNodeTable& nodes = timeline_.autograd_nodes;
    for (std::uint32_t row = 0; row < nodes.size(); ++row) {
      if (nodes.range[row] != kNone) continue;  // an operator stands for it
      add_on_thread(
          nodes.thread[row], nodes.begin_ns[row], nodes.end_ns[row],
          {.row = row, .name = nodes.name[row], .source = SliceSource::kNode, .category = Category::kOperator});
    }
    const MarkTable& marks = timeline_.marks;
    for (std::uint32_t row = 0; row < marks.size(); ++row)
      add_on_thread(marks.thread[row], marks.time_ns[row], marks.time_ns[row],
                    {.row = row, .name = marks.name[row], .source = SliceSource::kMark, .category = Category::kOther});
  }

  /// Calls of collectives that no range stands for: in our captures those of c10d. Other inputs have operators of them,
  /// and NCCL's are ranges of NVTX.
  void add_collectives() {
    const CollectiveTable& collectives = timeline_.collectives;
    if (timeline_.format != InputFormat::kCapture) return;
    for (std::uint32_t row = 0; row < collectives.size(); ++row) {
      if (collectives.source[row] != CollectiveSource::kC10d || collectives.thread[row] == kNone) continue;
      if (collectives.begin_ns[row] == kNoTime) continue;
      const std::int64_t end_ns = collectives.end_ns[row] == kNoTime ? timeline_.end_ns : collectives.end_ns[row];
      add_on_thread(collectives.thread[row], collectives.begin_ns[row], end_ns,
                    {.row = row,
                     .name = collectives.name[row],
                     .source = SliceSource::kCollective,
                     .category = Category::kCollective});
    }
  }

  void add_steps() {
    const StepTable& steps = timeline_.steps;
    for (std::uint32_t row = 0; row < steps.size(); ++row) {
      if (steps.thread[row] >= timeline_.threads.size()) continue;
      const ProcessIndex process = timeline_.threads[steps.thread[row]].process;
      if (process < steps_.size())
        add(steps_[process], steps.begin_ns[row], steps.end_ns[row], {.row = row, .source = SliceSource::kStep});
    }
  }

  Category category_of_activity(ActivityIndex activity) {
    switch (timeline_.activities.kind[activity]) {
      case ActivityKind::kMemcpy:
        return Category::kCopy;
      case ActivityKind::kMemset:
        return Category::kMemset;
      case ActivityKind::kGraph:
        return Category::kComputation;
      case ActivityKind::kKernel:
        break;
    }
    return kernels_.is_communication(timeline_.activities.name[activity]) ? Category::kCommunication
                                                                          : Category::kComputation;
  }

  void add_activities() {
    const ActivityTable& activities = timeline_.activities;
    for (ActivityIndex i{0}; i < activities.size(); ++i) {
      const StreamIndex stream = activities.stream[i];
      if (stream >= streams_.size()) continue;
      add(streams_[stream], activities.begin_ns[i], activities.end_ns[i],
          {.row = i,
           .name = activities.name[i],
           .source = SliceSource::kActivity,
           .category = category_of_activity(i)});
    }
    const SyncTable& syncs = timeline_.syncs;
    for (std::uint32_t row = 0; row < syncs.size(); ++row) {
      if (syncs.stream[row] >= waits_.size()) continue;  // the host's, which its calls show
      add(waits_[syncs.stream[row]], syncs.begin_ns[row], syncs.end_ns[row],
          {.row = row, .source = SliceSource::kSync, .category = Category::kSync});
    }
  }

  /// Each range with device work from its first activity of a device to its last.
  void add_projected() {
    const std::vector<StreamFigures>& rows = input_.projection().inclusive_streams;
    for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
      end = first;
      while (end < rows.size() && rows[end].range == rows[first].range) ++end;
      for (std::size_t at = first; at < end; ++at) {
        const DeviceIndex device = timeline_.streams[rows[at].stream].device;
        bool is_first = true;
        for (std::size_t other = first; other < at; ++other)
          is_first = is_first && timeline_.streams[rows[other].stream].device != device;
        if (is_first) add_projected(rows, at, end, device);
      }
    }
  }

  void add_projected(const std::vector<StreamFigures>& rows, std::size_t first, std::size_t end, DeviceIndex device) {
    std::int64_t begin_ns = rows[first].first_ns, end_ns = rows[first].last_ns;
    for (std::size_t at = first; at < end; ++at) {
      if (timeline_.streams[rows[at].stream].device != device) continue;
      begin_ns = std::min(begin_ns, rows[at].first_ns);
      end_ns = std::max(end_ns, rows[at].last_ns);
    }
    const RangeIndex range = rows[first].range;
    if (device >= projected_.size()) return;
    add(projected_[device], begin_ns, end_ns,
        {.row = range, .name = timeline_.ranges.name[range], .source = SliceSource::kProjected});
  }

  void finish(TrackKind kind, const std::string& group, std::string label, Slices slices) {
    if (slices.empty()) return;
    if (tracks_.size() >= kMostTracks) {
      on_further_tracks_ += slices.size();
      return;
    }
    Track& track = tracks_.emplace_back();
    track.kind = kind;
    track.group = group;
    track.label = std::move(label);
    track.slices = std::move(slices);
    too_deep_ += place(track);
  }

  std::string thread_label(const ThreadInfo& thread) const {
    const bool is_main = thread.tid == timeline_.processes[thread.process].pid;
    const std::string number = std::to_string(thread.tid);
    if (!thread.name.empty()) return thread.name + " (" + number + (is_main ? ", main)" : ")");
    return is_main ? "main thread (" + number + ")" : "thread " + number;
  }

  void finish_process(ProcessIndex process) {
    const std::string group = process_label(timeline_, process);
    finish(TrackKind::kThread, group, "steps", std::move(steps_[process]));
    std::vector<ThreadIndex> threads;
    for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread)
      if (timeline_.threads[thread].process == process) threads.push_back(thread);
    std::stable_partition(threads.begin(), threads.end(), [&](ThreadIndex thread) {
      return timeline_.threads[thread].tid == timeline_.processes[process].pid;
    });
    for (const ThreadIndex thread : threads)
      finish(TrackKind::kThread, group, thread_label(timeline_.threads[thread]), std::move(threads_[thread]));
  }

  std::string stream_label(const StreamInfo& stream) const {
    std::string label = "stream " + std::to_string(stream.id);
    const auto is_like_it = [&](const StreamInfo& other) {
      return other.device == stream.device && other.id == stream.id;
    };
    if (std::count_if(timeline_.streams.begin(), timeline_.streams.end(), is_like_it) > 1)
      label += " (context " + std::to_string(stream.context) + ")";
    return label;
  }

  void finish_device(DeviceIndex device) {
    const std::string group = device_label(timeline_, device);
    finish(TrackKind::kProjected, group, "ranges on the device", std::move(projected_[device]));
    for (StreamIndex stream{0}; stream < timeline_.streams.size(); ++stream) {
      const StreamInfo& info = timeline_.streams[stream];
      if (info.device != device || (streams_[stream].empty() && waits_[stream].empty())) continue;
      const std::string label = stream_label(info);
      finish(TrackKind::kStream, group, label, std::move(streams_[stream]));
      finish(TrackKind::kStream, group, label + " waits", std::move(waits_[stream]));
    }
  }

  const PageInput& input_;
  const Timeline& timeline_;
  PageOutput& output_;
  NameKinds kernels_, calls_;
  std::vector<Slices> threads_, steps_, streams_, waits_, projected_;
  std::vector<Track> tracks_;
  std::uint64_t too_deep_ = 0, on_further_tracks_ = 0, without_thread_ = 0;
};

}  // namespace

std::vector<Track> collect_tracks(const PageInput& input, PageOutput& output) {
  return SliceCollector(input, output).collect();
}

std::string process_label(const Timeline& timeline, ProcessIndex process) {
  const ProcessInfo& info = timeline.processes[process];
  std::string label = info.rank >= 0 ? "rank " + std::to_string(info.rank) : "";
  if (!info.host.empty()) label += (label.empty() ? "on " : " on ") + info.host;
  if (!label.empty()) label += ": ";
  if (!info.name.empty()) label += info.name + ", ";
  return label + "process " + std::to_string(info.pid);
}

std::string device_label(const Timeline& timeline, DeviceIndex device) {
  const DeviceInfo& info = timeline.devices[device];
  std::string label = "device " + std::to_string(info.id);
  if (!info.name.empty()) label += ": " + info.name;
  if (timeline.format != InputFormat::kKineto && timeline.processes.size() > 1 &&
      info.process < timeline.processes.size())
    label += " (" + process_label(timeline, info.process) + ")";
  return label;
}

}  // namespace rangefinder::html
