// SPDX-License-Identifier: MIT
#include "timeline/nccl_calls.hpp"

#include "timeline/collectives.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::timeline {
namespace {

/// c10d's calls of a thread, as rows come.
struct CallingThread {
  CollectiveIndex outer = kNone;         ///< the latest that is in no other
  std::vector<CollectiveIndex> put_off;  ///< of the latest group: NCCL has told of none of them yet
  bool is_group_over = false;            ///< NCCL has told of calls outside of c10d's
};

class Merger {
 public:
  explicit Merger(Timeline& timeline) : timeline_(timeline), table_(timeline.collectives), gone_(table_.size()) {}

  NcclCalls run() {
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      if (table_.thread[row] == kNone || table_.begin_ns[row] == kNoTime) continue;
      CallingThread& thread = threads_[table_.thread[row]];
      table_.source[row] == CollectiveSource::kNccl ? on_nccl(thread, row) : on_c10d(thread, row);
    }
    if (std::find(gone_.begin(), gone_.end(), true) != gone_.end()) remove();
    return std::move(calls_);
  }

 private:
  /// One without an end is not over: its thread has called nothing since.
  bool is_inside(CollectiveIndex row, CollectiveIndex outer) const {
    return outer != kNone && (table_.end_ns[outer] == kNoTime || table_.begin_ns[row] < table_.end_ns[outer]);
  }

  void on_c10d(CallingThread& thread, CollectiveIndex row) {
    if (thread.outer != kNone && table_.end_ns[thread.outer] != kNoTime && is_inside(row, thread.outer)) return;
    if (std::exchange(thread.is_group_over, false)) thread.put_off.clear();
    thread.outer = row;
    if (table_.started_ns[row] == kNoTime) thread.put_off.push_back(row);  // Gloo's have a start on the host
  }

  void on_nccl(CallingThread& thread, CollectiveIndex row) {
    if (is_inside(row, thread.outer)) {
      // What came before it is of no group that is still open.
      thread.put_off.clear();
      return merge(row, thread.outer);
    }
    thread.is_group_over = true;
    const auto found = std::find_if(thread.put_off.begin(), thread.put_off.end(),
                                    [&](CollectiveIndex call) { return is_same(call, row); });
    CollectiveIndex told = row;
    if (found != thread.put_off.end()) {
      told = *found;
      thread.put_off.erase(found);
      merge(row, told);
    }
    calls_[table_.thread[row]].push_back({table_.begin_ns[row], told});
  }

  /// -1: not known.
  std::int64_t bytes(std::int64_t elements, CollectiveIndex row) const {
    const auto size = static_cast<std::int64_t>(element_bytes(timeline_.text(table_.dtype[row])));
    std::int64_t all = -1;
    return elements < 0 || size == 0 || __builtin_mul_overflow(elements, size, &all) ? -1 : all;
  }

  /// Whether NCCL's row may be what came of c10d's. NCCL counts some kinds in bytes.
  bool is_same(CollectiveIndex call, CollectiveIndex nccl) const {
    const auto agree = [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; };
    return table_.kind[call] == table_.kind[nccl] && agree(table_.peer[call], table_.peer[nccl]) &&
           agree(bytes(table_.elements_in[call], call), bytes(table_.elements_in[nccl], nccl)) &&
           agree(bytes(table_.elements_out[call], call), bytes(table_.elements_out[nccl], nccl));
  }

  void merge(CollectiveIndex nccl, CollectiveIndex call) {
    CollectiveRow outer = table_.row(call);
    const CollectiveRow inner = table_.row(nccl);
    if (outer.kind == inner.kind && outer.algorithm == StringId::kEmpty) {
      outer.algorithm = inner.algorithm;
      outer.protocol = inner.protocol;
      outer.channels = inner.channels;
    }
    if (inner.started_ns != kNoTime)
      outer.started_ns = outer.started_ns == kNoTime ? inner.started_ns : std::min(outer.started_ns, inner.started_ns);
    outer.completed_ns = std::max(outer.completed_ns, inner.completed_ns);  // kNoTime is before all times
    table_.set(call, outer);
    gone_[nccl] = true;
  }

  void remove() {
    CollectiveTable kept;
    std::vector<CollectiveIndex> now(table_.size(), CollectiveIndex(kNone));
    for (CollectiveIndex row{0}; row < table_.size(); ++row)
      if (!gone_[row]) now[row] = kept.append(table_.row(row));
    table_ = std::move(kept);
    for (auto& [thread, calls] : calls_)
      for (NcclCall& call : calls) call.row = now[call.row];
  }

  Timeline& timeline_;
  CollectiveTable& table_;
  std::vector<bool> gone_;
  std::unordered_map<ThreadIndex, CallingThread> threads_;
  NcclCalls calls_;
};

/// The launch that NCCL made itself: of a graph's work the one that was captured, not the replay.
LaunchIndex own_launch(const ActivityTable& activities, ActivityIndex kernel) {
  const bool is_of_graph = activities.graph[kernel] != 0 || activities.graph_node[kernel] != 0;
  return is_of_graph || activities.captured[kernel] != kNone ? activities.captured[kernel] : activities.launch[kernel];
}

}  // namespace

NcclCalls merge_nccl_calls(Timeline& timeline) { return Merger(timeline).run(); }

void NcclLaunches::add(const ActivityTable& activities, ActivityIndex kernel) {
  const LaunchIndex launch = own_launch(activities, kernel);
  if (launch != kNone && launch < timeline_.launches.size())
    launches_ns_[timeline_.launches.thread[launch]].push_back(timeline_.launches.time_ns[launch]);
}

void NcclLaunches::sort() {
  for (auto& [thread, times_ns] : launches_ns_) std::sort(times_ns.begin(), times_ns.end());
}

CollectiveIndex NcclLaunches::call_of(ActivityIndex kernel) const {
  const LaunchIndex launch = own_launch(timeline_.activities, kernel);
  if (calls_.empty() || launch == kNone || launch >= timeline_.launches.size()) return kNone;
  const ThreadIndex thread = timeline_.launches.thread[launch];
  const std::int64_t time_ns = timeline_.launches.time_ns[launch];
  const auto calls = calls_.find(thread);
  const auto launches = launches_ns_.find(thread);
  if (calls == calls_.end() || launches == launches_ns_.end()) return kNone;
  // What is told after the next launch belongs to that one.
  const auto next = std::upper_bound(launches->second.begin(), launches->second.end(), time_ns);
  const CollectiveTable& table = timeline_.collectives;
  const CollectiveKind kind = collective_kind_of_kernel(timeline_.text(timeline_.activities.name[kernel]));
  auto call = std::lower_bound(calls->second.begin(), calls->second.end(), time_ns,
                               [](const NcclCall& told, std::int64_t time) { return told.told_ns < time; });
  for (; call != calls->second.end() && (next == launches->second.end() || call->told_ns < *next); ++call) {
    if (timeline_.text(table.algorithm[call->row]) == "COPY_ENGINE") continue;  // has no kernel
    if (kind == CollectiveKind::kOther || kind == table.kind[call->row]) return call->row;
  }
  return kNone;
}

}  // namespace rangefinder::timeline
