// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::chrome {

using GroupId = std::uint32_t;
using TrackId = std::uint32_t;
inline constexpr TrackId kNoTrack = 0xFFFFFFFFu;

/// A row of the viewer.
struct Track {
  GroupId group = 0;
  std::int64_t tid = 0;
  std::string name;
  std::int64_t sort_index = 0;
  std::string ids;  ///< `,"pid":1,"tid":2,"ts":`, as it stands in each of its events
  bool is_thread = false;

  /// What to call it where it has no name.
  std::string label() const { return name.empty() ? "thread " + std::to_string(tid) : name; }
};

/// Whose rows stand under a heading.
struct GroupOwner {
  std::int64_t pid = -1;    ///< the process, or the one whose device it is; -1: not known
  bool is_process = false;  ///< the heading is the process itself
};

/// The rows under one heading: a process, or a device of one.
struct TrackGroup {
  std::int64_t pid = 0;
  std::string name;
  std::string labels;
  std::int64_t sort_index = 0;
  std::int64_t wanted_pid = 0;  ///< the one that was asked for
  std::int64_t next_tid = 0;    ///< of those that the table gives out itself
  GroupOwner owner;
};

/// Gives every row a pair of numbers of its own. Real ids are kept where they are free; the others get numbers that no
/// system gives out, in the order in which they are asked for.
///
/// Perfetto shows the numbers behind the names, and sorts the rows of a process by them (the main thread first),
/// whatever their sort index says.
class TrackTable {
 public:
  TrackTable();

  GroupId add_group(std::int64_t pid, std::string_view name, std::string_view labels, std::int64_t sort_index,
                    const GroupOwner& owner = {});
  /// The group that has that number, or asked for it first.
  std::optional<GroupId> find_group(std::int64_t pid) const;
  /// The first row that asked for these numbers: what another tool's event means by them.
  std::optional<TrackId> find(std::int64_t pid, std::int64_t tid) const;

  /// Without a tid, or when it is taken or no viewer could take it: a number of our own.
  TrackId add_track(GroupId group, std::optional<std::int64_t> tid, std::string_view name, std::int64_t sort_index,
                    bool is_thread = false);
  std::optional<TrackId> find_track(GroupId group, std::int64_t tid) const;

  /// The row for slices that would cut others on `track`; level 0 is the track itself. Made when it is first asked for.
  TrackId overflow(TrackId track, std::uint32_t level);

  const Track& track(TrackId id) const noexcept { return tracks_[id]; }
  std::string_view ids(TrackId id) const noexcept { return tracks_[id].ids; }
  const TrackGroup& group(GroupId id) const noexcept { return groups_[id]; }
  const std::vector<Track>& tracks() const noexcept { return tracks_; }
  const std::vector<TrackGroup>& groups() const noexcept { return groups_; }

 private:
  std::vector<TrackGroup> groups_;
  std::vector<Track> tracks_;
  std::map<std::int64_t, GroupId> groups_by_pid_;
  std::map<std::pair<GroupId, std::int64_t>, TrackId> tracks_by_tid_;
  std::map<std::pair<TrackId, std::uint32_t>, TrackId> overflow_;
  std::map<std::pair<std::int64_t, std::int64_t>, TrackId> wanted_;
  std::int64_t next_pid_;
};

}  // namespace rangefinder::chrome
