// SPDX-License-Identifier: MIT
#include "exporter/chrome/launch_table.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

// A stream takes about a thousand launches before the next one blocks. A power of two, as the ring is.
constexpr std::size_t kMaxLaunches = std::size_t{1} << 16;
constexpr std::size_t kFirstLaunches = 1024;

}  // namespace

LaunchTable::Entry* LaunchTable::known(std::uint32_t correlation) noexcept {
  if (count_ == 0) return nullptr;
  // Launches are numbered, noted and asked for in order: mostly the wanted one is as far from the last one as their
  // numbers are.
  const std::size_t near = (last_place_ + (correlation - entries_[last_place_].correlation)) & (entries_.size() - 1);
  const bool is_near = entries_[near].is_used && entries_[near].correlation == correlation;
  const std::uint32_t place = is_near ? static_cast<std::uint32_t>(near) : places_.find(correlation);
  if (place == projection::FlatMap::kAbsent) return nullptr;
  last_place_ = place;
  return &entries_[place];
}

LaunchTable::Entry& LaunchTable::entry(std::uint32_t correlation) {
  if (count_ == entries_.size() || count_ == kMaxLaunches) {
    if (Entry* const found = known(correlation)) return *found;
    if (count_ == kMaxLaunches) forget_oldest();
    if (count_ == entries_.size()) grow();
  }
  const auto free = static_cast<std::uint32_t>((first_ + count_) & (entries_.size() - 1));
  const std::uint32_t place = places_.find_or_set(correlation, free);
  if (place != free) return entries_[place];
  ++count_;
  entries_[place] = {};
  entries_[place].correlation = correlation;
  entries_[place].is_used = true;
  return entries_[place];
}

void LaunchTable::grow() {
  std::rotate(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_), entries_.end());
  first_ = 0;
  for (std::size_t place = 0; place < count_; ++place)
    places_.set(entries_[place].correlation, static_cast<std::uint32_t>(place));
  entries_.resize(std::max(kFirstLaunches, entries_.size() * 2));
}

void LaunchTable::forget_oldest() {
  Entry& oldest = entries_[first_];
  draw_waiting(oldest, oldest.launch.anchor);
  places_.erase(oldest.correlation);
  oldest.is_used = false;
  first_ = (first_ + 1) & (entries_.size() - 1);
  --count_;
}

void LaunchTable::note(std::uint32_t correlation, const NotedLaunch& launch) {
  Entry& mine = entry(correlation);
  if (mine.noted) {  // Ids wrap around after 2^32 calls; then the entry is of another launch.
    mine = {};
    mine.correlation = correlation;
    mine.is_used = true;
  }
  mine.launch = launch;
  mine.noted = true;
}

void LaunchTable::expect_call(std::uint32_t correlation) {
  if (!arrows_) return;
  Entry& mine = entry(correlation);
  if (mine.state == Call::kNone) mine.state = Call::kExpected;
}

void LaunchTable::place_call(std::uint32_t correlation, const SlicePlace& call) {
  Entry* const mine = known(correlation);
  // A call within a call has the id of the outer one; that comes first.
  if (mine == nullptr || mine->state == Call::kPlaced) return;
  mine->call = call;
  mine->state = Call::kPlaced;
  draw_waiting(*mine, call);
}

void LaunchTable::draw_waiting(Entry& entry, const SlicePlace& from) {
  if (waiting_.empty()) return;
  const auto waiting = waiting_.find(entry.correlation);
  if (waiting == waiting_.end()) return;
  for (const SlicePlace& activity : waiting->second) draw(entry, from, activity);
  waiting_.erase(waiting);
}

void LaunchTable::arrow_to(std::uint32_t correlation, const SlicePlace& activity) {
  if (!arrows_ || activity.track == kNoTrack) return;
  Entry* const mine = known(correlation);
  if (mine == nullptr) return;  // launched before the recording, or unknown
  if (mine->state == Call::kPlaced) return draw(*mine, mine->call, activity);
  if (mine->state == Call::kExpected) {
    waiting_[correlation].push_back(activity);
    return;
  }
  draw(*mine, mine->launch.anchor, activity);
}

void LaunchTable::draw(Entry& entry, const SlicePlace& from, const SlicePlace& to) {
  if (from.track == kNoTrack) return flows_.missing();
  const std::uint64_t id = entry.id_used ? 0 : entry.correlation;
  entry.id_used = true;
  flows_.arrow(id, {tracks_.ids(from.track), from.begin_ns, from.end_ns},
               {tracks_.ids(to.track), to.begin_ns, to.end_ns});
}

void LaunchTable::finish() {
  while (count_ != 0) forget_oldest();
}

const NotedLaunch* LaunchTable::find(std::uint32_t correlation) noexcept {
  const Entry* const found = known(correlation);
  return found == nullptr || !found->noted ? nullptr : &found->launch;
}

}  // namespace rangefinder::chrome
