// SPDX-License-Identifier: MIT
#include "exporter/chrome/track_table.hpp"

namespace rangefinder::chrome {
namespace {

// Linux gives out process and thread ids below 2^22, devices and streams count from 0. Below 2^31, because some viewers
// keep them in 32 bits.
constexpr std::int64_t kFirstOwnPid = 5'000'000;
constexpr std::int64_t kFirstOwnTid = 6'000'000;

/// Perfetto takes an id that does not fit in 32 bits without a sign for missing, and puts the slice on another row.
constexpr bool is_usable(std::int64_t id) noexcept { return id >= 0 && id <= 0x7FFFFFFF; }

/// Old traces have thread ids with a sign; torch.profiler drops it today.
constexpr std::int64_t without_sign(std::int64_t id) noexcept { return id < 0 && id >= -0x7FFFFFFF ? -id : id; }

}  // namespace

TrackTable::TrackTable() : next_pid_(kFirstOwnPid) {}

GroupId TrackTable::add_group(std::int64_t pid, std::string_view name, std::string_view labels, std::int64_t sort_index,
                              const GroupOwner& owner) {
  const auto id = static_cast<GroupId>(groups_.size());
  const std::int64_t wanted = pid;
  while (!is_usable(pid) || groups_by_pid_.contains(pid)) pid = next_pid_++;
  groups_by_pid_.emplace(pid, id);
  groups_by_pid_.emplace(wanted, id);
  groups_.push_back({pid, std::string(name), std::string(labels), sort_index, wanted, kFirstOwnTid, owner});
  return id;
}

std::optional<GroupId> TrackTable::find_group(std::int64_t pid) const {
  const auto found = groups_by_pid_.find(pid);
  return found == groups_by_pid_.end() ? std::nullopt : std::optional(found->second);
}

TrackId TrackTable::add_track(GroupId group, std::optional<std::int64_t> tid, std::string_view name,
                              std::int64_t sort_index, bool is_thread) {
  const auto id = static_cast<TrackId>(tracks_.size());
  const std::optional<std::int64_t> wanted = tid;
  TrackGroup& in = groups_[group];
  if (tid) tid = without_sign(*tid);
  while (!tid || !is_usable(*tid) || tracks_by_tid_.contains({group, *tid})) tid = in.next_tid++;
  tracks_by_tid_.emplace(std::pair(group, *tid), id);
  if (wanted) {
    tracks_by_tid_.emplace(std::pair(group, *wanted), id);
    wanted_.emplace(std::pair(in.wanted_pid, *wanted), id);
  }
  Track track{group, *tid, std::string(name), sort_index, {}, is_thread};
  track.ids = ",\"pid\":" + std::to_string(in.pid) + ",\"tid\":" + std::to_string(*tid) + ",\"ts\":";
  tracks_.push_back(std::move(track));
  return id;
}

std::optional<TrackId> TrackTable::find_track(GroupId group, std::int64_t tid) const {
  const auto found = tracks_by_tid_.find({group, tid});
  return found == tracks_by_tid_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TrackId> TrackTable::find(std::int64_t pid, std::int64_t tid) const {
  const auto found = wanted_.find({pid, tid});
  return found == wanted_.end() ? std::nullopt : std::optional(found->second);
}

TrackId TrackTable::overflow(TrackId track, std::uint32_t level) {
  if (level == 0) return track;
  const auto [found, added] = overflow_.try_emplace({track, level}, kNoTrack);
  if (added) {
    const Track base = tracks_[track];
    // Viewers sort rows of equal index by name, and this name begins with the other.
    found->second =
        add_track(base.group, std::nullopt, base.label() + ", overlapping " + std::to_string(level), base.sort_index);
  }
  return found->second;
}

}  // namespace rangefinder::chrome
