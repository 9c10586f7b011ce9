// SPDX-License-Identifier: MIT
#include "exporter/chrome/launch_table.hpp"

namespace rangefinder::chrome {
namespace {

// A stream takes about a thousand launches before the next one blocks.
constexpr std::size_t kMaxLaunches = std::size_t{1} << 16;

}  // namespace

LaunchTable::Entry& LaunchTable::entry(std::uint32_t correlation) {
  const auto [found, added] = entries_.try_emplace(correlation);
  if (!added) return found->second;
  order_.push_back(correlation);
  if (order_.size() <= kMaxLaunches) return found->second;
  forget_oldest();
  return entries_.find(correlation)->second;
}

void LaunchTable::forget_oldest() {
  const std::uint32_t oldest = order_.front();
  order_.pop_front();
  if (const auto waiting = waiting_.find(oldest); waiting != waiting_.end()) {
    Entry& entry = entries_.find(oldest)->second;
    for (const SlicePlace& activity : waiting->second) draw(oldest, entry, entry.launch.anchor, activity);
    waiting_.erase(waiting);
  }
  entries_.erase(oldest);
}

void LaunchTable::note(std::uint32_t correlation, const NotedLaunch& launch) {
  // Ids wrap around after 2^32 calls; then the entry is of another launch.
  if (const auto old = entries_.find(correlation); old != entries_.end() && old->second.noted) old->second = {};
  Entry& mine = entry(correlation);
  mine.launch = launch;
  mine.noted = true;
}

void LaunchTable::expect_call(std::uint32_t correlation) {
  if (!arrows_) return;
  Entry& mine = entry(correlation);
  if (mine.state == Call::kNone) mine.state = Call::kExpected;
}

void LaunchTable::place_call(std::uint32_t correlation, const SlicePlace& call) {
  const auto found = entries_.find(correlation);
  // A call within a call has the id of the outer one; that comes first.
  if (found == entries_.end() || found->second.state == Call::kPlaced) return;
  found->second.call = call;
  found->second.state = Call::kPlaced;
  const auto waiting = waiting_.find(correlation);
  if (waiting == waiting_.end()) return;
  for (const SlicePlace& activity : waiting->second) draw(correlation, found->second, call, activity);
  waiting_.erase(waiting);
}

void LaunchTable::arrow_to(std::uint32_t correlation, const SlicePlace& activity) {
  if (!arrows_ || activity.track == kNoTrack) return;
  const auto found = entries_.find(correlation);
  if (found == entries_.end()) return;  // launched before the recording, or unknown
  Entry& mine = found->second;
  if (mine.state == Call::kPlaced) return draw(correlation, mine, mine.call, activity);
  if (mine.state == Call::kExpected) {
    waiting_[correlation].push_back(activity);
    return;
  }
  draw(correlation, mine, mine.launch.anchor, activity);
}

void LaunchTable::draw(std::uint32_t correlation, Entry& entry, const SlicePlace& from, const SlicePlace& to) {
  if (from.track == kNoTrack) return flows_.missing();
  const std::uint64_t id = entry.id_used ? 0 : correlation;
  entry.id_used = true;
  flows_.arrow(id, {tracks_.ids(from.track), from.begin_ns, from.end_ns},
               {tracks_.ids(to.track), to.begin_ns, to.end_ns});
}

void LaunchTable::finish() {
  while (!order_.empty()) forget_oldest();
}

const NotedLaunch* LaunchTable::find(std::uint32_t correlation) const noexcept {
  const auto found = entries_.find(correlation);
  return found == entries_.end() || !found->second.noted ? nullptr : &found->second.launch;
}

}  // namespace rangefinder::chrome
