// SPDX-License-Identifier: MIT
#include "importer/capture/window_store.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace rangefinder::importer {
namespace {

// An activity runs later than this after its launch only where the device is stuck.
constexpr std::int64_t kSettleNs = 60'000'000'000;
// The operations of a graph follow each other, but for those of the host.
constexpr std::int64_t kGraphLingerNs = 10'000'000'000;
// Some calls cause several activities (batches of copies, launches on several devices), and nothing says how many.
constexpr std::int64_t kLingerNs = 250'000'000;
// Looking at all that wait costs more than it gains where windows are short.
constexpr std::int64_t kForgetEveryNs = kLingerNs / 2;
constexpr std::int64_t kLatestForget = std::numeric_limits<std::int64_t>::max() - kForgetEveryNs;
// Operations of the last replays: some 30 MiB.
constexpr std::size_t kMaxReplayRows = std::size_t{1} << 18;
// A stream takes about a thousand launches before the next one blocks.
constexpr std::size_t kMaxWaiting = std::size_t{1} << 16;
constexpr std::size_t kMaxCalls = std::size_t{1} << 12;
// Recordings of a schedule have a window a step. Of older ones only what was before the first is asked.
constexpr std::size_t kMaxBounds = 1024;

std::int64_t patience(const WindowStore::Launch& launch) noexcept {
  if (launch.last_ns == kNoTime) return kSettleNs;
  return launch.is_graph ? kGraphLingerNs : kLingerNs;
}

}  // namespace

// ---- launches ---------------------------------------------------------------------------------------------------

void WindowStore::wait(const Launch& launch) {
  const auto [at, added] = waiting.try_emplace(launch.row.correlation, launch);
  if (!added) {  // ids have wrapped around
    silent_ -= is_silent(at->second) ? 1 : 0;
    at->second = launch;
  }
  silent_ += is_silent(launch) ? 1 : 0;
  oldest_waiting_ns_ = std::min(oldest_waiting_ns_, launch.row.time_ns);
}

void WindowStore::arrived(Launches::iterator at, std::int64_t last_ns, bool may_bring_more) {
  Launch& launch = at->second;
  silent_ -= is_silent(launch) ? 1 : 0;
  launch.last_ns = std::max(launch.last_ns, last_ns);
  if (!may_bring_more) waiting.erase(at);
}

void WindowStore::forget_launches(std::int64_t device_ns) {
  if (device_ns < next_forget_ns_ && waiting.size() < 2 * kept_waiting_ + kSlack) return;
  next_forget_ns_ = device_ns < kLatestForget ? device_ns + kForgetEveryNs : device_ns;
  const auto give_up = [&](const Launch& launch) {
    abandoned_ += launch.last_ns == kNoTime ? 1 : 0;
    silent_ -= is_silent(launch) ? 1 : 0;
  };
  std::erase_if(waiting, [&](const auto& entry) {
    const Launch& launch = entry.second;
    const std::int64_t since = launch.last_ns == kNoTime ? launch.row.time_ns : launch.last_ns;
    if (since >= device_ns || device_ns - since < patience(launch)) return false;
    give_up(launch);
    return true;
  });
  if (waiting.size() > kMaxWaiting) {
    std::vector<std::pair<std::int64_t, std::uint64_t>> oldest;
    oldest.reserve(waiting.size());
    for (const auto& [correlation, launch] : waiting) oldest.emplace_back(launch.row.time_ns, correlation);
    const auto kept = oldest.begin() + static_cast<std::ptrdiff_t>(oldest.size() - kMaxWaiting / 2);
    std::nth_element(oldest.begin(), kept, oldest.end());
    for (auto at = oldest.begin(); at != kept; ++at) {
      const auto found = waiting.find(at->second);
      give_up(found->second);
      waiting.erase(found);
    }
  }
  kept_waiting_ = waiting.size();
  oldest_waiting_ns_ = std::numeric_limits<std::int64_t>::max();
  for (const auto& [correlation, launch] : waiting)
    oldest_waiting_ns_ = std::min(oldest_waiting_ns_, launch.row.time_ns);
}

void WindowStore::keep_call(const Launch& call) {
  if (calls_.insert_or_assign(call.row.correlation, call).second) call_order_.push_back(call.row.correlation);
  if (call_order_.size() <= kMaxCalls) return;
  calls_.erase(call_order_.front());
  call_order_.pop_front();
}

const WindowStore::Launch* WindowStore::find_call(std::uint64_t correlation) const noexcept {
  const auto found = calls_.find(correlation);
  return found == calls_.end() ? nullptr : &found->second;
}

void WindowStore::call_arrived(std::uint64_t correlation, std::int64_t end_ns) {
  const auto found = calls_.find(correlation);
  if (found != calls_.end()) found->second.last_ns = std::max(found->second.last_ns, end_ns);
}

void WindowStore::keep_launch_call(const CallRow& call) {
  if (waiting.contains(call.correlation) || calls_.contains(call.correlation))
    launch_calls.insert_or_assign(call.correlation, call);
}

void WindowStore::forget_launch_calls() {
  if (launch_calls.size() < 2 * kept_calls_ + kSlack) return;
  std::erase_if(launch_calls,
                [&](const auto& entry) { return !waiting.contains(entry.first) && !calls_.contains(entry.first); });
  kept_calls_ = launch_calls.size();
}

void WindowStore::need(Needed& needed, std::uint64_t range, std::uint64_t node) const {
  // Nodes lead to ranges, to the node that ran where they were made, and to one that was made in them.
  std::vector<std::uint64_t> left;
  for (;;) {
    for (std::uint64_t key = range; key != 0 && needed.ranges.insert(key).second;) {
      const auto found = ranges.find(key);
      key = found == ranges.end() ? 0 : found->second.under;
    }
    range = 0;
    if (node != 0 && needed.nodes.insert(node).second) {
      if (const std::uint64_t made = made_in(node); made != 0) left.push_back(made);
      const auto next = nodes.find(node);
      node = 0;
      if (next == nodes.end()) continue;
      range = next->second.range;
      node = next->second.node;
      continue;
    }
    if (left.empty()) return;
    node = left.back();
    left.pop_back();
  }
}

void WindowStore::drop_all_but(const Needed& needed) {
  std::erase_if(ranges, [&](const auto& entry) { return !needed.ranges.contains(entry.first); });
  std::erase_if(nodes, [&](const auto& entry) { return !needed.nodes.contains(entry.first); });
  std::erase_if(made_in_, [&](const auto& entry) { return !needed.nodes.contains(entry.first); });
  wanted_nodes = needed.nodes;
}

std::uint64_t WindowStore::made_in(std::uint64_t node) const noexcept {
  const auto found = made_in_.find(node);
  return found == made_in_.end() ? 0 : found->second;
}

// ---- graphs -----------------------------------------------------------------------------------------------------

void WindowStore::add_graph_node(std::uint64_t node, std::int64_t time_ns, std::uint64_t key) {
  std::vector<Making>& makings = graph_nodes[node];
  makings.push_back({time_ns, key});
  if (makings.size() > 1) changed_nodes_.insert(node);
  if (key == 0) return;
  Maker& maker = makers[key];
  ++maker.uses;
  if (maker.launch) return;
  if (const auto found = waiting.find(key); found != waiting.end()) {
    silent_ -= is_silent(found->second) ? 1 : 0;
    found->second.makes_nodes = true;
    maker.launch = found->second;
  }
  for (const Launches* notes : {&notes_, &earlier_notes_})
    if (const auto found = notes->find(key); found != notes->end()) maker.launch = found->second;
}

/// The first `count` of what a node was.
void WindowStore::forget_made(std::vector<Making>& makings, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (const auto maker = makers.find(makings[i].maker); maker != makers.end() && --maker->second.uses == 0)
      makers.erase(maker);
  makings.erase(makings.begin(), makings.begin() + static_cast<std::ptrdiff_t>(count));
}

void WindowStore::forget_graph_nodes(std::int64_t device_ns) {
  if (device_ns < std::numeric_limits<std::int64_t>::min() + kSettleNs || device_ns < next_forget_graphs_ns_) return;
  next_forget_graphs_ns_ = device_ns < kLatestForget ? device_ns + kForgetEveryNs : device_ns;
  const std::int64_t before_ns = device_ns - kSettleNs;
  std::erase_if(gone_nodes_, [&](const auto& gone) {
    if (gone.first >= before_ns) return false;
    const auto found = graph_nodes.find(gone.second);
    if (found == graph_nodes.end()) return true;
    // It may have been made again since.
    const auto later = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const Making& making) { return making.time_ns > gone.first; });
    forget_made(found->second, static_cast<std::size_t>(later - found->second.begin()));
    if (found->second.empty()) graph_nodes.erase(found);
    return true;
  });
  std::erase_if(changed_nodes_, [&](std::uint64_t node) {
    const auto found = graph_nodes.find(node);
    if (found == graph_nodes.end()) return true;
    std::vector<Making>& makings = found->second;
    std::size_t over = 0;
    while (over + 1 < makings.size() && makings[over + 1].time_ns < before_ns) ++over;
    forget_made(makings, over);
    return makings.size() < 2;
  });
}

void WindowStore::forget_notes() { earlier_notes_ = std::exchange(notes_, {}); }

void WindowStore::forget_replays() {
  while (replay_rows > kMaxReplayRows && replays.size() > 1) {
    replay_rows -= replays.begin()->second.activities.size();
    replays.erase(replays.begin());
  }
}

// ---- calls ------------------------------------------------------------------------------------------------------

void EarlierCalls::begin(ProcessIndex process, std::vector<Window> windows) {
  process_ = process;
  windows_ = std::move(windows);
  begun_ = 0;
  std::sort(windows_.begin(), windows_.end(), [](const Window& a, const Window& b) { return a.begin_ns < b.begin_ns; });
}

void EarlierCalls::add(std::uint64_t correlation, std::int64_t time_ns) {
  constexpr std::uint64_t kIds = std::uint64_t{1} << 32;
  if (correlation == 0 || correlation >= kIds) return;
  // How many have begun; mostly as many as for the last call.
  const auto has_begun = [&](const Window& each) { return each.begin_ns <= time_ns; };
  if ((begun_ != 0 && !has_begun(windows_[begun_ - 1])) || (begun_ != windows_.size() && has_begun(windows_[begun_])))
    begun_ =
        static_cast<std::size_t>(std::partition_point(windows_.begin(), windows_.end(), has_begun) - windows_.begin());
  const std::size_t window = begun_;
  if (!windows_.empty() && (window == 0 || time_ns > windows_[window - 1].end_ns)) return;
  const EarlierCall call{process_, correlation, time_ns};
  if (bounds_.empty()) origin_ = correlation;
  auto bounds = std::find_if(bounds_.rbegin(), bounds_.rend(), [&](const Bounds& b) { return b.window <= window; });
  if (bounds == bounds_.rend() || bounds->window != window) {
    bounds_.insert(bounds.base(), {call, call, call, window});
    if (bounds_.size() > kMaxBounds) bounds_.erase(bounds_.begin() + 1);
    return;
  }
  // Ids wrap around.
  const auto place = [&](const EarlierCall& each) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(each.correlation) -
                                     static_cast<std::uint32_t>(origin_));
  };
  if (time_ns < bounds->first.time_ns) bounds->first = call;
  if (place(call) < place(bounds->low)) bounds->low = call;
  if (place(call) > place(bounds->high)) bounds->high = call;
}

void EarlierCalls::write(std::vector<EarlierCall>& out) const {
  out.clear();
  // What counts from where: the first id of all.
  if (!bounds_.empty()) out.push_back({process_, origin_, bounds_.front().first.time_ns});
  for (const Bounds& bounds : bounds_) out.insert(out.end(), {bounds.first, bounds.low, bounds.high});
}

}  // namespace rangefinder::importer
