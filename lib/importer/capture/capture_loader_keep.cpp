// SPDX-License-Identifier: MIT
// What later windows of a capture can need, as one ends. Why and for how long: decision 0005.
#include "format/node_note.hpp"
#include "importer/capture/capture_loader.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::importer {
namespace {

constexpr std::int64_t kNoDeviceTime = std::numeric_limits<std::int64_t>::min();
// Of the activities that came last, launches may cause more.
constexpr std::size_t kLingering = 1024;
// Of the newest calls that are no launches, some may cause activities.
constexpr std::size_t kKeptCalls = 1024;

}  // namespace

/// The range is a row of the window itself, or kept of an earlier one; else empty.
std::optional<CaptureLoader::KnownRange> CaptureLoader::known_range(std::uint64_t key) {
  if (key == 0) return {};
  if (const RangeIndex row = own_row(key); row != kNone)
    return KnownRange{open_[row], out_.ranges.end_ns[row], under_[row], &pinned_[row]};
  const auto found = store_->ranges.find(key);
  if (found == store_->ranges.end()) return {};
  return KnownRange{false, found->second.row.end_ns, found->second.under, &found->second.pinned_ns};
}

/// All around the range is kept with it, as far as it was open then.
void CaptureLoader::pin(std::uint64_t key, std::int64_t time_ns) {
  for (auto range = known_range(key); range && *range->pinned_ns > time_ns; range = known_range(range->under))
    *range->pinned_ns = time_ns;
}

/// Until when a range of the window goes on, if it is not over and that is known; else kNotPinned.
std::int64_t CaptureLoader::inside_until(std::size_t row) const {
  return open_[row] && windowed_.known_ends != nullptr ? out_.ranges.end_ns[row] - 1 : kNotPinned;
}

/// Ranges that are over are kept where what is inside of them is not, as far as events have been read.
void CaptureLoader::pin_around_open() {
  if (windowed_.known_ends == nullptr) return;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> over_ns(own_ranges_, kNever);  // by row: when the last of those around it was over
  for (std::size_t row = 0; row < own_ranges_; ++row) {
    for (std::uint64_t key = under_[row]; key != 0;) {
      const std::optional<KnownRange> around = known_range(key);
      if (!around) break;
      if (!around->is_open) over_ns[row] = std::max(over_ns[row], around->end_ns);
      const RangeIndex own = own_row(key);  // above this one
      if (own != kNone) over_ns[row] = std::max(over_ns[row], over_ns[own]);
      key = own != kNone ? 0 : around->under;
    }
    if (over_ns[row] > inside_until(row)) pin(under_[row], inside_until(row));
  }
}

/// The first that is open, or was at the first time at which anything refers to what is inside.
std::uint64_t CaptureLoader::still_around(std::uint64_t under, std::int64_t pinned_ns) {
  for (auto range = known_range(under); range; range = known_range(under = range->under))
    if (range->is_open || range->end_ns > pinned_ns) return under;
  return 0;
}

void CaptureLoader::keep_around(const WindowStore::Launch& launch) {
  pin(launch.range, launch.row.time_ns);
  if (launch.node != 0) store_->wanted_nodes.insert(launch.node);
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
  for (std::size_t row = 0; row < launch_keys_.size(); ++row) {
    const std::uint64_t correlation = out_.launches.correlation[row];
    if (row >= own_launches_) {
      const auto waiting = store_->waiting.find(correlation);
      if (waiting != store_->waiting.end() && last[row] != kNoTime)
        store_->arrived(waiting, last[row], launch_is_graph_[row] || lingers[row]);
      continue;
    }
    earlier_calls_.add(correlation, out_.launches.time_ns[row]);
    const auto maker = store_->makers.find(correlation);
    const bool is_maker = maker != store_->makers.end();
    const bool is_note = format::is_node_note_key(correlation);
    const bool may_bring = !is_note && (last[row] == kNoTime || launch_is_graph_[row] || lingers[row]);
    if (!is_maker && !is_note && !may_bring) continue;
    WindowStore::Launch launch = kept_launch(row);
    launch.last_ns = last[row];
    launch.makes_nodes = is_maker;
    keep_around(launch);
    if (is_maker) maker->second.launch = launch;
    if (is_note && !is_maker) store_->keep_note(launch);
    if (may_bring) store_->wait(launch);
  }
  store_->forget_notes();
  store_->forget_launches(device_ns);
  store_->forget_graph_nodes(device_ns);
}

OpenIntervals CaptureLoader::open_ranges() const {
  const RangeTable& ranges = out_.ranges;
  std::vector<OpenIntervals::Interval> out;
  for (RangeIndex row{0}; row < ranges.size(); ++row)
    if ((ranges.flags[row] & kOwnerless) == 0)
      out.push_back({ranges.thread[row], ranges.begin_ns[row], ranges.end_ns[row], keys_[row]});
  return OpenIntervals(std::move(out));
}

OpenIntervals CaptureLoader::open_nodes(std::span<const std::int64_t> until) const {
  const AutogradNodeTable& nodes = out_.autograd_nodes;
  std::vector<OpenIntervals::Interval> out;
  for (std::size_t row = 0; row < node_facts_.size(); ++row)  // like nodes_
    out.push_back({nodes.thread[row], nodes.begin_ns[row], until[row], node_facts_[row].number});
  return OpenIntervals(std::move(out));
}

void CaptureLoader::keep_calls(std::span<const std::int64_t> node_ends) {
  const CallTable& calls = out_.calls;
  std::vector<bool> launched(calls.size(), false);
  for (std::size_t row = 0; row < launch_keys_.size(); ++row)  // behind them stand calls that no launch was noted of
    if (const CallIndex call = out_.launches.call[row]; call != kNone) launched[call] = true;
  std::optional<OpenIntervals> ranges;
  OpenIntervals nodes;
  for (std::size_t row = 0; row < own_calls_; ++row) {
    const std::uint64_t correlation = calls.correlation[row];
    earlier_calls_.add(correlation, calls.begin_ns[row]);
    const auto maker = store_->makers.find(correlation);
    const bool is_maker = maker != store_->makers.end() && !maker->second.launch;
    const bool may_bring = !launched[row] && row + kKeptCalls >= own_calls_ && correlation != 0;
    if (!is_maker && !may_bring) continue;
    if (!ranges) {
      recall_recent();
      ranges = open_ranges();
      nodes = open_nodes(node_ends);
    }
    WindowStore::Launch launch;
    launch.row = {.process = process_,
                  .correlation = correlation,
                  .thread = calls.thread[row],
                  .time_ns = calls.begin_ns[row],
                  .source = LaunchSource::kCall};
    launch.range = ranges->innermost(calls.thread[row], calls.begin_ns[row]);
    launch.node = nodes.innermost(calls.thread[row], calls.begin_ns[row]);
    keep_around(launch);
    if (is_maker) maker->second.launch = launch;
    if (may_bring) store_->keep_call(launch);
  }
}

void CaptureLoader::keep_launch_calls() {
  if (!windowed_.launch_calls) return;
  for (std::size_t row = 0; row < own_calls_; ++row) store_->keep_launch_call(out_.calls.row(row));
  const ActivityTable& activities = out_.activities;
  for (std::size_t row = 0; row < own_activities_; ++row) {
    const LaunchIndex launch = activities.launch[row];
    if (launch < out_.launches.size() && out_.launches.source[launch] == LaunchSource::kCall)
      store_->call_arrived(activities.correlation[row], activities.end_ns[row]);
  }
  store_->forget_launch_calls();
}

void CaptureLoader::keep_replays() {
  if (!windowed_.whole_launches) return;
  const ActivityTable& activities = out_.activities;
  for (std::size_t row = 0; row < own_activities_; ++row) {
    const LaunchIndex launch = activities.launch[row];
    if (activities.graph_node[row] == 0 || activities.graph[row] == 0 || launch >= launch_keys_.size()) continue;
    WindowStore::Replay& replay = store_->replays[activities.graph[row]];
    if (replay.launch.row.correlation != out_.launches.correlation[launch] || replay.activities.empty()) {
      store_->replay_rows -= replay.activities.size();
      replay.activities.clear();
      replay.launch = kept_launch(launch);
      keep_around(replay.launch);
    }
    ActivityRow kept = activities.row(row);
    kept.launch = kNone;
    kept.captured = kNone;
    kept.detail = kNone;
    replay.activities.push_back(kept);
    ++store_->replay_rows;
  }
  store_->forget_replays();
}

/// What a node launches in ranges of its own is a forward pass done again if nodes were made in it that ran: of those,
/// one is remembered.
void CaptureLoader::note_makers_of_nodes() {
  std::unordered_map<std::uint64_t, std::size_t> row_of;
  for (std::size_t row = 0; row < node_facts_.size(); ++row) row_of[node_facts_[row].number] = row;
  const AutogradNodeTable& nodes = out_.autograd_nodes;
  for (std::size_t row = 0; row < node_facts_.size(); ++row) {
    const NodeFacts& made = node_facts_[row];
    const std::int64_t time_ns = nodes.forward_ns[row];
    if (!made.is_done || made.node == 0) continue;
    for (std::uint64_t maker = made.node, outer = 0; maker != 0; maker = outer) {
      const auto own = row_of.find(maker);
      const auto stored = store_->nodes.find(maker);
      if (own == row_of.end() && stored == store_->nodes.end()) break;
      const std::int64_t end_ns = own != row_of.end() ? nodes.end_ns[own->second] : stored->second.row.end_ns;
      outer = own != row_of.end() ? node_facts_[own->second].outer : stored->second.outer;
      // The engine's threads go on with a node when it is over.
      if (time_ns < end_ns && !store_->note_made(maker, made.number)) break;
      if (time_ns < end_ns) store_->wanted_nodes.insert(made.number);
    }
  }
}

void CaptureLoader::keep_nodes(std::int64_t device_ns, std::span<const std::int64_t> node_ends) {
  for (const NewOrigin& origin : new_origins_) {
    pin(origin.range, origin.time_ns);
    if (origin.node != 0) store_->wanted_nodes.insert(origin.node);
  }
  new_origins_.clear();
  note_makers_of_nodes();
  // What a node leads to began before it.
  std::vector<std::size_t> newest_first(node_facts_.size());
  std::iota(newest_first.begin(), newest_first.end(), std::size_t{0});
  std::sort(newest_first.begin(), newest_first.end(),
            [&](std::size_t a, std::size_t b) { return node_facts_[a].number > node_facts_[b].number; });
  for (const std::size_t row : newest_first) {
    const NodeFacts& facts = node_facts_[row];
    if (!facts.is_done || !store_->wanted_nodes.contains(facts.number)) continue;
    WindowStore::Node node{out_.autograd_nodes.row(row), facts.range, facts.node, facts.outer};
    node.row.range = kNone;
    if (facts.range != 0) pin(facts.range, node.row.forward_ns);
    if (facts.node != 0) store_->wanted_nodes.insert(facts.node);
    store_->nodes.insert_or_assign(facts.number, node);
  }
  // Launches and calls to come may be of those that are not over by then.
  const std::int64_t over_by = std::min(calls_from(device_ns), kLatest - 1);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].node.end_ticks != kStillOpen && node_ends[i] > over_by) nodes_[kept++] = nodes_[i];
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

/// Calls from then on may still come; kNotPinned: none.
std::int64_t CaptureLoader::calls_from(std::int64_t device_ns) const noexcept {
  return windowed_.calls && device_ns != kNoDeviceTime ? device_ns - out_.clock_error_ns : kNotPinned;
}

void CaptureLoader::keep_ranges(std::int64_t device_ns) {
  const std::int64_t calls_to_come = calls_from(device_ns);
  std::erase_if(recent_, [&](std::uint64_t key) {
    const auto found = store_->ranges.find(key);
    return found == store_->ranges.end() || found->second.row.end_ns <= calls_to_come;
  });
  for (std::size_t row = 0; row < own_ranges_; ++row) {
    if (open_[row] || out_.ranges.end_ns[row] <= calls_to_come) continue;
    recent_.push_back(keys_[row]);
    pin(keys_[row], calls_to_come);
  }
  pin_around_open();
  std::vector<std::uint64_t> carried, around;
  std::vector<std::int64_t> pinned, begin;
  for (std::size_t row = 0; row < own_ranges_; ++row) {
    if (!open_[row] && pinned_[row] == kNotPinned) continue;
    const std::uint64_t under = still_around(under_[row], std::min({pinned_[row], calls_to_come, inside_until(row)}));
    if (!open_[row]) {
      store_->ranges.insert_or_assign(keys_[row], WindowStore::Range{out_.ranges.row(row), under, pinned_[row]});
      continue;
    }
    carried.push_back(keys_[row]);
    around.push_back(under);
    pinned.push_back(pinned_[row]);
    begin.push_back(out_.ranges.begin_ns[row]);
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
  carried_begin_ = std::move(begin);
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
  recalled_brought_.clear();
  node_facts_.clear();
  cpu_counts_.clear();
  cpu_counts_of_.clear();
  keep_collectives();
  const auto empty = [](auto&... tables) { (tables.cut_to(0), ...); };
  empty(out_.ranges, out_.calls, out_.launches, out_.activities, out_.syncs, out_.overheads, out_.cuda_allocations,
        out_.marks, out_.counters, out_.steps, out_.autograd_nodes, out_.graph_nodes, out_.operators,
        out_.allocator_events, out_.sensor_samples, out_.cpu_counters, out_.range_metrics, out_.pm_samples,
        out_.collectives);
  out_.kernel_details.clear();
  out_.copy_details.clear();
}

void CaptureLoader::next_window(std::int64_t device_ns) {
  keep_launches(device_ns);
  const std::vector<std::int64_t> node_ends = until_of_nodes();
  keep_calls(node_ends);
  keep_launch_calls();
  keep_nodes(device_ns, node_ends);
  keep_ranges(device_ns);
  keep_rest();
  first_range_ = static_cast<RangeIndex>(carried_.size());
  first_key_ = last_key_ + 1;
  out_.ranges.grow_to(carried_.size());
  range_count_ = carried_.size();
}

}  // namespace rangefinder::importer
