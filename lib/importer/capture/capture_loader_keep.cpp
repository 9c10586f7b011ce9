// SPDX-License-Identifier: MIT
// What later windows of a capture can need, as one ends. Why and for how long: decision 0005.
#include "format/node_note.hpp"
#include "importer/capture/capture_loader.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace rangefinder::importer {
namespace {

constexpr std::int64_t kNoDeviceTime = std::numeric_limits<std::int64_t>::min();
// Of the activities that came last, launches may cause more.
constexpr std::size_t kLingering = 1024;
// Of the newest calls that are no launches, some may cause activities.
constexpr std::size_t kKeptCalls = 1024;

}  // namespace

/// All around the range is kept with it, as far as it was open then.
void CaptureLoader::pin(std::uint64_t key, std::int64_t time_ns) {
  while (key != 0) {
    if (const RangeIndex row = own_row(key); row != kNone) {
      if (pinned_[row] <= time_ns) return;
      pinned_[row] = time_ns;
      key = under_[row];
      continue;
    }
    const auto found = store_->ranges.find(key);
    if (found == store_->ranges.end() || found->second.pinned_ns <= time_ns) return;
    found->second.pinned_ns = time_ns;
    key = found->second.under;
  }
}

/// The first that is open, or was at the first time at which anything refers to what is inside.
std::uint64_t CaptureLoader::still_around(std::uint64_t under, std::int64_t pinned_ns) const {
  while (under != 0) {
    if (const RangeIndex row = own_row(under); row != kNone) {
      if (open_[row] || out_.ranges.end_ns[row] > pinned_ns) return under;
      under = under_[row];
      continue;
    }
    const auto found = store_->ranges.find(under);
    if (found == store_->ranges.end()) return 0;
    if (found->second.row.end_ns > pinned_ns) return under;
    under = found->second.under;
  }
  return 0;
}

WindowStore::Launch CaptureLoader::kept_launch(std::size_t row) const {
  WindowStore::Launch launch{out_.launches.row(row), launch_keys_[row], launch_nodes_[row], launch_is_graph_[row]};
  launch.row.range = kNone;
  launch.row.call = kNone;
  return launch;
}

void CaptureLoader::note_arrivals() {
  const ActivityTable& activities = out_.activities;
  const std::size_t known = launch_keys_.size();  // behind them stand those that calls tell of
  last_activity_.assign(known, kNoTime);
  lingers_.assign(known, false);
  for (std::size_t row = 0; row < own_activities_; ++row) {
    const LaunchIndex launch = activities.launch[row];
    if (launch >= known) continue;
    last_activity_[launch] = std::max(last_activity_[launch], activities.end_ns[row]);
    if (row + kLingering >= own_activities_) lingers_[launch] = true;
  }
}

void CaptureLoader::keep_launches(std::int64_t device_ns) {
  const auto& last = last_activity_;
  const auto& lingers = lingers_;
  const auto keep = [&](const WindowStore::Launch& launch) {
    pin(launch.range, launch.row.time_ns);
    if (launch.node != 0) store_->wanted_nodes.insert(launch.node);
  };
  for (std::size_t row = 0; row < launch_keys_.size(); ++row) {
    const std::uint64_t correlation = out_.launches.correlation[row];
    if (row >= own_launches_) {
      const auto waiting = store_->waiting.find(correlation);
      if (waiting == store_->waiting.end() || last[row] == kNoTime) continue;
      waiting->second.last_ns = std::max(waiting->second.last_ns, last[row]);
      if (!launch_is_graph_[row] && !lingers[row]) store_->waiting.erase(waiting);
      continue;
    }
    earlier_calls_.add(correlation, out_.launches.time_ns[row]);
    const bool is_maker = !store_->maker_keys.empty() && store_->maker_keys.contains(correlation);
    const bool may_bring =
        !format::is_node_note_key(correlation) && (last[row] == kNoTime || launch_is_graph_[row] || lingers[row]);
    if (!is_maker && !may_bring) continue;
    WindowStore::Launch launch = kept_launch(row);
    launch.last_ns = last[row];
    keep(launch);
    if (is_maker) store_->makers.insert_or_assign(correlation, launch);
    if (may_bring) store_->waiting.insert_or_assign(correlation, launch);
  }
  store_->forget_launches(device_ns);
}

/// The ranges of the window by thread and begin, with the latest end so far: what finds those that were open at a time.
CaptureLoader::RangesByBegin CaptureLoader::ranges_by_begin() const {
  const RangeTable& ranges = out_.ranges;
  RangesByBegin out;
  for (RangeIndex row{0}; row < ranges.size(); ++row)
    if ((ranges.flags[row] & kOwnerless) == 0) out.push_back({ranges.thread[row], row, ranges.begin_ns[row], 0});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.thread, a.begin_ns, a.row) < std::tie(b.thread, b.begin_ns, b.row);
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool is_first = i == 0 || out[i - 1].thread != out[i].thread;
    const std::int64_t end = ranges.end_ns[out[i].row];
    out[i].latest_end_ns = is_first ? end : std::max(end, out[i - 1].latest_end_ns);
  }
  return out;
}

/// Of the ranges that were open at a time, the one that began last.
std::uint64_t CaptureLoader::innermost_range(ThreadIndex thread, std::int64_t time_ns,
                                             const RangesByBegin& by_begin) const {
  auto at = std::partition_point(by_begin.begin(), by_begin.end(), [&](const auto& each) {
    return std::pair(each.thread, each.begin_ns) <= std::pair(thread, time_ns);
  });
  while (at != by_begin.begin()) {
    --at;
    if (at->thread != thread || at->latest_end_ns <= time_ns) return 0;
    if (out_.ranges.end_ns[at->row] > time_ns) return keys_[at->row];
  }
  return 0;
}

std::uint64_t CaptureLoader::innermost_node(ThreadIndex thread, std::int64_t time_ns) const {
  const AutogradNodeTable& nodes = out_.autograd_nodes;
  const auto none = node_facts_.size();
  const auto innermost = [&](auto&& counts) {
    std::size_t best = none;
    for (std::size_t row = 0; row < none; ++row) {
      if (nodes.thread[row] != thread || nodes.begin_ns[row] > time_ns || !counts(row, best)) continue;
      best = row;
    }
    return best;
  };
  const std::size_t running = innermost([&](std::size_t row, std::size_t best) {
    return nodes.end_ns[row] > time_ns && (best == none || nodes.begin_ns[row] >= nodes.begin_ns[best]);
  });
  std::size_t found = running;
  if (out_.threads[thread].is_engine) {  // what ended last in the node that runs goes on until the next one begins
    const std::size_t ended = innermost([&](std::size_t row, std::size_t best) {
      return nodes.end_ns[row] <= time_ns && (running == none || nodes.begin_ns[row] > nodes.begin_ns[running]) &&
             (best == none || nodes.end_ns[row] > nodes.end_ns[best]);
    });
    if (ended != none) found = ended;
  }
  return found == none ? 0 : node_facts_[found].number;
}

void CaptureLoader::keep_calls() {
  const CallTable& calls = out_.calls;
  std::vector<bool> launched(calls.size(), false);
  for (std::size_t row = 0; row < launch_keys_.size(); ++row)  // behind them stand calls that no launch was noted of
    if (const CallIndex call = out_.launches.call[row]; call != kNone) launched[call] = true;
  RangesByBegin by_begin;
  for (std::size_t row = 0; row < own_calls_; ++row) {
    const std::uint64_t correlation = calls.correlation[row];
    earlier_calls_.add(correlation, calls.begin_ns[row]);
    const bool is_maker = store_->maker_keys.contains(correlation) && !store_->makers.contains(correlation);
    const bool may_bring = !launched[row] && row + kKeptCalls >= own_calls_ && correlation != 0;
    if (!is_maker && !may_bring) continue;
    if (by_begin.empty()) {
      recall_recent();
      by_begin = ranges_by_begin();
    }
    WindowStore::Launch launch;
    launch.row = {.process = process_,
                  .correlation = correlation,
                  .thread = calls.thread[row],
                  .time_ns = calls.begin_ns[row],
                  .source = LaunchSource::kCall};
    launch.range = innermost_range(calls.thread[row], calls.begin_ns[row], by_begin);
    launch.node = innermost_node(calls.thread[row], calls.begin_ns[row]);
    pin(launch.range, launch.row.time_ns);
    if (launch.node != 0) store_->wanted_nodes.insert(launch.node);
    if (is_maker) store_->makers.insert_or_assign(correlation, launch);
    if (may_bring) store_->keep_call(launch);
  }
}

void CaptureLoader::keep_replays() {
  if (!store_->has_whole_launches) return;
  const ActivityTable& activities = out_.activities;
  for (std::size_t row = 0; row < own_activities_; ++row) {
    const LaunchIndex launch = activities.launch[row];
    if (activities.graph_node[row] == 0 || activities.graph[row] == 0 || launch >= launch_keys_.size()) continue;
    WindowStore::Replay& replay = store_->replays[activities.graph[row]];
    if (replay.launch.row.correlation != out_.launches.correlation[launch] || replay.activities.empty()) {
      replay.activities.clear();
      replay.launch = kept_launch(launch);
      pin(replay.launch.range, replay.launch.row.time_ns);
      if (replay.launch.node != 0) store_->wanted_nodes.insert(replay.launch.node);
    }
    ActivityRow kept = activities.row(row);
    kept.launch = kNone;
    kept.captured = kNone;
    kept.detail = kNone;
    replay.activities.push_back(kept);
  }
}

void CaptureLoader::keep_nodes(std::int64_t device_ns) {
  for (const auto& [range, time_ns] : new_origins_) pin(range, time_ns);
  new_origins_.clear();
  node_origins_.for_each([&](const NodeOrigins::Origin& origin) {
    if (origin.node != 0) store_->wanted_nodes.insert(origin.node);
  });
  // What a node leads to began before it.
  std::vector<std::size_t> newest_first(node_facts_.size());
  std::iota(newest_first.begin(), newest_first.end(), std::size_t{0});
  std::sort(newest_first.begin(), newest_first.end(),
            [&](std::size_t a, std::size_t b) { return node_facts_[a].number > node_facts_[b].number; });
  for (const std::size_t row : newest_first) {
    const NodeFacts& facts = node_facts_[row];
    if (!facts.is_done || !store_->wanted_nodes.contains(facts.number)) continue;
    WindowStore::Node node{out_.autograd_nodes.row(row), facts.range, facts.node};
    node.row.range = kNone;
    if (facts.range != 0) pin(facts.range, node.row.forward_ns);
    if (facts.node != 0) store_->wanted_nodes.insert(facts.node);
    store_->nodes.insert_or_assign(facts.number, node);
  }
  if (device_ns == kNoDeviceTime) {
    std::erase_if(nodes_, [](const Node& node) { return node.node.end_ticks == kStillOpen; });
    return;
  }
  const std::vector<std::int64_t> until = until_of_nodes();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].node.end_ticks != kStillOpen && until[i] > device_ns - out_.clock_error_ns)
      nodes_[kept++] = nodes_[i];
  nodes_.resize(kept);
}

/// When each node is over for what its thread launches. On a thread of the engine that is when the next one begins or
/// the one around it ends; kLatest: neither has come yet.
std::vector<std::int64_t> CaptureLoader::until_of_nodes() {
  std::vector<std::int64_t> until(nodes_.size(), kLatest);
  std::vector<std::size_t> running;  // innermost last
  const auto end_of = [&](std::size_t i) {
    return nodes_[i].node.end_ticks == kStillOpen ? kLatest : host_time(nodes_[i].node.end_ticks);
  };
  const auto end_innermost = [&](std::int64_t next_begin) {
    const std::size_t node = running.back();
    running.pop_back();
    const std::int64_t around_end = running.empty() ? kLatest : end_of(running.back());
    until[node] = is_engine(nodes_[node].node.thread) ? std::min(around_end, next_begin) : end_of(node);
  };
  for (std::size_t next = 0; next < nodes_.size(); ++next) {
    const AssembledNode& node = nodes_[next].node;
    while (!running.empty() && nodes_[running.back()].node.thread != node.thread) end_innermost(kLatest);
    const std::int64_t begin = host_time(node.begin_ticks);
    while (!running.empty() && end_of(running.back()) <= begin) end_innermost(begin);
    running.push_back(next);
  }
  while (!running.empty()) end_innermost(kLatest);
  return until;
}

void CaptureLoader::keep_ranges(std::int64_t device_ns) {
  // Calls from then on may still come.
  const std::int64_t calls_from = device_ns == kNoDeviceTime ? kNotPinned : device_ns - out_.clock_error_ns;
  std::erase_if(recent_, [&](std::uint64_t key) {
    const auto found = store_->ranges.find(key);
    return found == store_->ranges.end() || found->second.row.end_ns <= calls_from;
  });
  for (std::size_t row = 0; row < own_ranges_; ++row) {
    if (open_[row] || out_.ranges.end_ns[row] <= calls_from) continue;
    recent_.push_back(keys_[row]);
    pin(keys_[row], calls_from);
  }
  std::vector<std::uint64_t> carried, around;
  std::vector<std::int64_t> pinned;
  for (std::size_t row = 0; row < own_ranges_; ++row) {
    if (!open_[row] && pinned_[row] == kNotPinned) continue;
    const std::uint64_t under = still_around(under_[row], std::min(pinned_[row], calls_from));
    if (!open_[row]) {
      store_->ranges.insert_or_assign(keys_[row], WindowStore::Range{out_.ranges.row(row), under, pinned_[row]});
      continue;
    }
    carried.push_back(keys_[row]);
    around.push_back(under);
    pinned.push_back(pinned_[row]);
  }
  store_->drop_unneeded([&](auto use) {
    node_origins_.for_each([&](const NodeOrigins::Origin& origin) { use(origin.range, origin.node); });
    for (const std::uint64_t under : around) use(under, 0);
    for (const std::uint64_t key : recent_) use(key, 0);
    for (const RunningNodes& running : running_) {
      use(0, running.done);
      for (const std::uint64_t number : running.numbers) use(0, number);
    }
  });
  // Values of those that go on move with them.
  std::erase_if(out_.attachments, [&](const Attachment& value) {
    return value.target != Attachment::Target::kRange || value.row >= own_ranges_ || !open_[value.row];
  });
  for (Attachment& value : out_.attachments)
    value.row = static_cast<std::uint32_t>(std::lower_bound(carried.begin(), carried.end(), keys_[value.row]) -
                                           carried.begin());
  std::erase_if(operators_, [&](const AssembledOperator& facts) {
    return !std::binary_search(carried.begin(), carried.end(), facts.range);
  });
  carried_ = std::move(carried);
  under_ = std::move(around);
  pinned_ = std::move(pinned);
}

void CaptureLoader::keep_rest() {
  for (auto* lists : {&recalled_launches_, &recalled_nodes_, &recalled_graph_nodes_, &recalled_around_}) lists->clear();
  recalled_.clear();
  if (!steps_.empty()) steps_.erase(steps_.begin(), steps_.end() - 1);  // the one that is not over
  std::fill(last_step_.begin(), last_step_.end(), kNone);
  std::fill(last_mark_.begin(), last_mark_.end(), kNone);
  launch_keys_.clear();
  launch_nodes_.clear();
  launch_is_graph_.clear();
  node_facts_.clear();
  cpu_counts_.clear();
  const auto empty = [](auto&... tables) { (tables.cut_to(0), ...); };
  empty(out_.ranges, out_.calls, out_.launches, out_.activities, out_.syncs, out_.overheads, out_.cuda_allocations,
        out_.marks, out_.counters, out_.steps, out_.autograd_nodes, out_.graph_nodes, out_.operators,
        out_.allocator_events, out_.sensor_samples, out_.cpu_counters, out_.range_metrics, out_.pm_samples);
  out_.kernel_details.clear();
  out_.copy_details.clear();
}

void CaptureLoader::next_window(std::int64_t device_ns) {
  keep_launches(device_ns);
  keep_calls();
  keep_nodes(device_ns);
  keep_ranges(device_ns);
  keep_rest();
  first_range_ = static_cast<RangeIndex>(carried_.size());
  first_key_ = last_key_ + 1;
  out_.ranges.grow_to(carried_.size());
}

}  // namespace rangefinder::importer
