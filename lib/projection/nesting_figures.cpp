// SPDX-License-Identifier: MIT
#include "projection/nesting_figures.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::projection {

NestingFigures::NestingFigures(const Timeline& timeline, const LaunchOrder& launches, Output& output)
    : timeline_(timeline),
      launches_(launches),
      output_(output),
      first_device_(static_cast<std::uint32_t>(timeline.streams.size())),
      all_devices_(first_device_ + static_cast<std::uint32_t>(timeline.devices.size())),
      tracks_(all_devices_ + 1),
      plain_(timeline.streams.size() <= 1) {
  device_of_.reserve(timeline.streams.size());
  for (StreamIndex stream{0}; stream < timeline.streams.size(); ++stream) {
    device_of_.push_back(timeline.streams[stream].device);
    plain_ = plain_ && launches.never_overlaps(stream);
  }
}

void NestingFigures::begin_thread(ThreadIndex thread) {
  position_ = 0;
  next_block_ = plain_ ? std::uint32_t{kNone} : 0;
  if (!plain_ && output_.wants_figures) survey(thread);
}

void NestingFigures::abandon_thread() {
  for (const std::uint32_t track : touched_) {
    tracks_[track].open.clear();
    tracks_[track].coverage.clear();
  }
  touched_.clear();
  levels_.clear();
}

// Which tracks does this thread use, and on which can two of its activities overlap?
void NestingFigures::survey(ThreadIndex thread) {
  struct Use {
    std::uint32_t only = kNone;  // stream of a device, or device of all
    bool several = false;
    bool overlaps = false;
    std::int64_t covered_to = std::numeric_limits<std::int64_t>::min();
    void note(std::uint32_t member, const Interval& interval) {
      several = several || (only != kNone && only != member);
      only = member;
      overlaps = overlaps || interval.begin < covered_to;
      covered_to = std::max(covered_to, interval.end);
    }
  };
  const ActivityTable& activities = timeline_.activities;
  const ActivityOrder launched = launches_.of(thread);
  std::vector<Use> devices(timeline_.devices.size());
  Use all;
  std::vector<bool> used(device_of_.size(), false);
  earliest_from_.assign(launched.size() / kBlock + 1, std::numeric_limits<std::int64_t>::max());
  for (std::uint32_t position = 0; position < launched.size(); ++position) {
    const ActivityIndex activity = launched[position];
    const Interval interval(activities.begin_ns[activity], activities.end_ns[activity]);
    const StreamIndex stream = activities.stream[activity];
    used[stream] = true;
    devices[device_of_[stream]].note(stream, interval);
    all.note(device_of_[stream], interval);
    std::int64_t& earliest = earliest_from_[position / kBlock];
    earliest = std::min(earliest, interval.begin);
  }
  for (std::size_t block = earliest_from_.size() - 1; block-- > 0;)
    earliest_from_[block] = std::min(earliest_from_[block], earliest_from_[block + 1]);

  overlapping_.clear();
  device_unions_ = false;
  for (StreamIndex stream{0}; stream < used.size(); ++stream) {
    if (!used[stream]) continue;
    const Use& device = devices[device_of_[stream]];
    tracks_[stream].overlaps = !launches_.never_overlaps(stream);
    tracks_[stream].is_whole_device = !(device.several && device.overlaps);
    device_unions_ = device_unions_ || !tracks_[stream].is_whole_device;
    if (tracks_[stream].overlaps) overlapping_.push_back(stream);
  }
  for (DeviceIndex device{0}; device < devices.size(); ++device)
    if (devices[device].several && devices[device].overlaps) overlapping_.push_back(first_device_ + device);
  all_union_ = all.several && all.overlaps;
  if (all_union_) overlapping_.push_back(all_devices_);
}

void NestingFigures::forget_final_coverage() {
  const std::uint32_t block = position_ / kBlock;
  for (const std::uint32_t track : overlapping_) tracks_[track].coverage.forget_before(earliest_from_[block]);
  next_block_ = (block + 1) * kBlock;
}

inline NestingFigures::Entry& NestingFigures::entry(std::uint32_t track) {
  std::vector<Entry>& open = tracks_[track].open;
  const auto level = static_cast<std::uint32_t>(levels_.size() - 1);
  if (open.empty() || open.back().level != level) {
    Entry& added = open.emplace_back();
    added.level = level;
    added.first_position = levels_.back().first_position;
    touched_.push_back(track);
  }
  return open.back();
}

void NestingFigures::add(ActivityIndex activity, std::int64_t launch_time, std::uint32_t owner) {
  output_.projection.owner[activity] = owner;
  if (!output_.wants_figures) return;
  if (position_ >= next_block_) forget_final_coverage();
  if (!levels_.empty()) {
    const ActivityTable& activities = timeline_.activities;
    const bool own = owner == levels_.back().range;
    Extra& extra = own ? levels_.back().own : levels_.back().below;
    extra.bytes += activities.bytes[activity];
    extra.delay = plus(extra.delay, minus(activities.begin_ns[activity], launch_time));
    const StreamIndex stream = activities.stream[activity];
    const Interval interval(activities.begin_ns[activity], activities.end_ns[activity]);
    Entry& figures = entry(stream);
    (own ? figures.own : figures.below).add(interval);
    if (!plain_) add_unions(stream, figures, interval, own);
  }
  ++position_;
}

inline void NestingFigures::add_unions(StreamIndex stream, Entry& figures, const Interval& interval, bool own) {
  if (tracks_[stream].overlaps) add_union(stream, figures, interval, own);
  if (device_unions_ && !tracks_[stream].is_whole_device) {
    const std::uint32_t device = first_device_ + device_of_[stream];
    add_union(device, entry(device), interval, own);
  }
  if (all_union_) add_union(all_devices_, entry(all_devices_), interval, own);
}

void NestingFigures::add_union(std::uint32_t track, Entry& figures, const Interval& interval, bool own) {
  if (own) figures.own_union.add(interval);
  std::vector<Entry>& open = tracks_[track].open;
  figures.covered = plus(figures.covered, interval.length());
  tracks_[track].coverage.cover(
      interval.begin, interval.end, position_, [&](std::uint32_t position, std::int64_t length) {
        // The time was counted by the innermost range that was open for that launch and still is.
        Entry* counted = &open.back();
        if (counted->first_position > position) {
          const auto after = std::partition_point(open.begin(), open.end(), [position](const Entry& candidate) {
            return candidate.first_position <= position;
          });
          if (after == open.begin()) return;
          counted = &*(after - 1);
        }
        counted->covered = minus(counted->covered, length);
      });
}

void NestingFigures::close() {
  if (!output_.wants_figures) return levels_.pop_back();
  const auto level = static_cast<std::uint32_t>(levels_.size() - 1);
  const Level closed = levels_.back();
  const std::size_t exclusive_rows = output_.exclusive_rows.size();
  const std::size_t inclusive_rows = output_.inclusive_rows.size();
  Closing closing;
  closing.by_sorting = closed.exclusive_by_owner;
  std::uint32_t kept = closed.first_touched;
  for (std::uint32_t index = closed.first_touched; index < touched_.size(); ++index) {
    const std::uint32_t track = touched_[index];
    const Entry& figures = tracks_[track].open.back();
    if (track < first_device_)
      close_stream(StreamIndex(track), figures, closing);
    else
      close_union(track, figures, closing);
    if (hand_up(tracks_[track], level)) touched_[kept++] = track;
  }
  touched_.resize(kept);
  levels_.pop_back();

  Extra all = closed.below;
  all.add(closed.own);
  closing.inclusive.bytes = all.bytes;
  closing.inclusive.launch_delay_ns = all.delay;
  closing.exclusive.bytes = closed.own.bytes;
  closing.exclusive.launch_delay_ns = closed.own.delay;
  if (plain_ || !all_union_) {
    closing.inclusive.any_busy_ns = closing.inclusive.gpu_busy_ns;
    closing.exclusive.any_busy_ns = closing.exclusive.gpu_busy_ns;
  }
  if (!levels_.empty()) levels_.back().below.add(all);

  output_.projection.inclusive.set(closed.range, closing.inclusive);
  if (output_.inclusive_rows.size() == inclusive_rows + 1) output_.inclusive_rows.keep_stream_only();
  if (closing.by_sorting) {
    output_.exclusive_rows.shrink(exclusive_rows);
    output_.exclusive_by_owner.push_back(closed.range);
  } else {
    output_.projection.exclusive.set(closed.range, closing.exclusive);
    if (output_.exclusive_rows.size() == exclusive_rows + 1) output_.exclusive_rows.keep_stream_only();
  }
}

void NestingFigures::close_stream(StreamIndex stream, const Entry& figures, Closing& closing) {
  const RangeIndex range = levels_.back().range;
  const Track& track = tracks_[stream];
  const bool overlaps = !plain_ && track.overlaps;
  const bool whole_device = plain_ || track.is_whole_device;
  Tally all = figures.own;
  all.add(figures.below);
  const std::int64_t busy = overlaps ? figures.covered : all.sum;
  output_.inclusive_rows.add(stream_figures(range, stream, all, busy));
  add_tally(closing.inclusive, all);
  if (whole_device) closing.inclusive.gpu_busy_ns = plus(closing.inclusive.gpu_busy_ns, busy);
  if (figures.own.ops == 0) return;
  const std::int64_t own_busy = overlaps ? figures.own_union.busy : figures.own.sum;
  output_.exclusive_rows.add(stream_figures(range, stream, figures.own, own_busy));
  add_tally(closing.exclusive, figures.own);
  if (whole_device) closing.exclusive.gpu_busy_ns = plus(closing.exclusive.gpu_busy_ns, own_busy);
  closing.by_sorting = closing.by_sorting || !figures.own_union.sorted;
}

void NestingFigures::close_union(std::uint32_t track, const Entry& figures, Closing& closing) {
  if (track == all_devices_) {
    closing.inclusive.any_busy_ns = figures.covered;
    closing.exclusive.any_busy_ns = figures.own_union.busy;
  } else {
    closing.inclusive.gpu_busy_ns = plus(closing.inclusive.gpu_busy_ns, figures.covered);
    closing.exclusive.gpu_busy_ns = plus(closing.exclusive.gpu_busy_ns, figures.own_union.busy);
  }
  closing.by_sorting = closing.by_sorting || !figures.own_union.sorted;
}

// Passes what the closing range has on a track to the range around it; false when that had something there already, or
// there is none.
bool NestingFigures::hand_up(Track& track, std::uint32_t level) {
  std::vector<Entry>& open = track.open;
  Entry& closed = open.back();
  if (level == 0) {
    open.pop_back();
    track.coverage.clear();
    return false;
  }
  if (open.size() >= 2 && open[open.size() - 2].level == level - 1) {
    Entry& outer = open[open.size() - 2];
    outer.below.add(closed.own);
    outer.below.add(closed.below);
    outer.covered = plus(outer.covered, closed.covered);
    open.pop_back();
    return false;
  }
  closed.below.add(closed.own);
  closed.own = {};
  closed.own_union = {};
  closed.level = level - 1;
  closed.first_position = levels_[level - 1].first_position;
  return true;
}

}  // namespace rangefinder::projection
