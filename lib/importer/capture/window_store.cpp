// SPDX-License-Identifier: MIT
#include "importer/capture/window_store.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::importer {
namespace {

// An activity runs later than this after its launch only where the device is stuck.
constexpr std::int64_t kSettleNs = 60'000'000'000;
// The operations of a graph follow each other, but for those of the host.
constexpr std::int64_t kGraphLingerNs = 10'000'000'000;
// Some calls cause several activities (batches of copies, launches on several devices), and nothing says how many.
constexpr std::int64_t kLingerNs = 250'000'000;
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

void WindowStore::forget_launches(std::int64_t device_ns) {
  std::erase_if(waiting, [&](const auto& entry) {
    const Launch& launch = entry.second;
    const std::int64_t since = launch.last_ns == kNoTime ? launch.row.time_ns : launch.last_ns;
    if (since >= device_ns || device_ns - since < patience(launch)) return false;
    abandoned_ += launch.last_ns == kNoTime ? 1 : 0;
    return true;
  });
  if (waiting.size() <= kMaxWaiting) return;
  std::vector<std::pair<std::int64_t, std::uint64_t>> oldest;
  oldest.reserve(waiting.size());
  for (const auto& [correlation, launch] : waiting) oldest.emplace_back(launch.row.time_ns, correlation);
  const auto kept = oldest.begin() + static_cast<std::ptrdiff_t>(oldest.size() - kMaxWaiting / 2);
  std::nth_element(oldest.begin(), kept, oldest.end());
  for (auto at = oldest.begin(); at != kept; ++at) {
    const auto found = waiting.find(at->second);
    abandoned_ += found->second.last_ns == kNoTime ? 1 : 0;
    waiting.erase(found);
  }
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

void WindowStore::need(Needed& needed, std::uint64_t range, std::uint64_t node) const {
  // Nodes lead to ranges and to the node that ran where they were made.
  for (;;) {
    for (std::uint64_t key = range; key != 0 && needed.ranges.insert(key).second;) {
      const auto found = ranges.find(key);
      key = found == ranges.end() ? 0 : found->second.under;
    }
    const auto next = nodes.find(node);
    if (node == 0 || !needed.nodes.insert(node).second || next == nodes.end()) return;
    range = next->second.range;
    node = next->second.node;
  }
}

void WindowStore::drop_all_but(const Needed& needed) {
  std::erase_if(ranges, [&](const auto& entry) { return !needed.ranges.contains(entry.first); });
  std::erase_if(nodes, [&](const auto& entry) { return !needed.nodes.contains(entry.first); });
  wanted_nodes = needed.nodes;
}

// ---- calls ------------------------------------------------------------------------------------------------------

void EarlierCalls::begin(ProcessIndex process, std::vector<Window> windows) {
  process_ = process;
  windows_ = std::move(windows);
  std::sort(windows_.begin(), windows_.end(), [](const Window& a, const Window& b) { return a.begin_ns < b.begin_ns; });
}

void EarlierCalls::add(std::uint64_t correlation, std::int64_t time_ns) {
  constexpr std::uint64_t kIds = std::uint64_t{1} << 32;
  if (correlation == 0 || correlation >= kIds) return;
  const auto after = std::partition_point(windows_.begin(), windows_.end(),
                                          [&](const Window& window) { return window.begin_ns <= time_ns; });
  const auto window = static_cast<std::size_t>(after - windows_.begin());
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
