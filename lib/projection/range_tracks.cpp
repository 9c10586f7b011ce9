// SPDX-License-Identifier: MIT
#include "projection/range_tracks.hpp"

#include <limits>

namespace rangefinder::projection {

namespace {
constexpr std::uint64_t kNoStream = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kNoDevice = std::numeric_limits<std::uint32_t>::max();
constexpr Place kEverything{kNoDevice, kNoStream};
Place device_place(std::uint32_t device) { return {device, kNoStream}; }
bool same(Place a, Place b) { return a.device == b.device && a.stream == b.stream; }
}  // namespace

void RangeTracks::Track::add(const Interval& interval, bool is_own) {
  if (is_own) {
    own_busy.add(interval);
    if (has_below) all_busy.add(interval);
    return;
  }
  if (!has_below) all_busy = own_busy;
  has_below = true;
  all_busy.add(interval);
}

void RangeTracks::Track::add_inner(const Track& inner) {
  below.add(inner.own);
  below.add(inner.below);
  if (!has_below) all_busy = own_busy;
  has_below = true;
  all_busy.add(inner.all());
}

RangeTracks::Track* RangeTracks::find(Place place) noexcept {
  if (latest_ < tracks_.size() && same(tracks_[latest_].place, place)) return &tracks_[latest_];
  for (Track& track : tracks_)
    if (same(track.place, place)) return &track;
  return nullptr;
}

const RangeTracks::Track* RangeTracks::of_device(std::uint32_t device) const noexcept {
  const Track* stream = nullptr;
  for (const Track& track : tracks_) {
    if (track.place.device != device) continue;
    if (track.place.stream == kNoStream) return &track;
    stream = &track;
  }
  return stream;
}

const RangeTracks::Track* RangeTracks::of_everything() const noexcept {
  for (const Track& track : tracks_)
    if (same(track.place, kEverything)) return &track;
  return tracks_.empty() ? nullptr : of_device(tracks_.front().place.device);
}

// A joint track starts from what the first of its parts has by now.
void RangeTracks::join(Place joint, const Track* first) {
  Track track;
  track.place = joint;
  track.own_busy = first->own_busy;
  track.all_busy = first->all_busy;
  track.has_below = first->has_below;
  tracks_.push_back(std::move(track));
}

RangeTracks::Track& RangeTracks::stream_track(Place place) {
  if (Track* known = find(place)) {
    latest_ = static_cast<std::size_t>(known - tracks_.data());
    return *known;
  }
  const Track* const on_device = of_device(place.device);
  if (on_device != nullptr) {
    if (on_device->place.stream != kNoStream) join(device_place(place.device), on_device);
  } else if (const Track* const before = of_everything(); before != nullptr && before->place.device != kNoDevice) {
    join(kEverything, before);
  }
  latest_ = tracks_.size();
  tracks_.emplace_back().place = place;
  return tracks_.back();
}

void RangeTracks::add(Place place, const Interval& interval, std::uint64_t bytes, std::int64_t delay, bool own) {
  Track& track = stream_track(place);
  (own ? track.own : track.below).add(interval);
  track.add(interval, own);
  Extra& extra = own ? own_ : below_;
  extra.bytes += bytes;
  extra.delay = plus(extra.delay, delay);
  if (tracks_.size() == 1) return;
  if (Track* device = find(device_place(place.device))) device->add(interval, own);
  if (Track* everything = find(kEverything)) everything->add(interval, own);
}

void RangeTracks::add_inner(const RangeTracks& inner) {
  for (const Track& track : inner.tracks_)
    if (track.place.stream != kNoStream) stream_track(track.place);
  for (Track& track : tracks_) {
    const Track* part = nullptr;
    if (same(track.place, kEverything)) {
      part = inner.of_everything();
    } else if (track.place.stream == kNoStream) {
      part = inner.of_device(track.place.device);
    } else {
      for (const Track& candidate : inner.tracks_)
        if (same(candidate.place, track.place)) part = &candidate;
    }
    if (part != nullptr) track.add_inner(*part);
  }
  below_.bytes += inner.own_.bytes + inner.below_.bytes;
  below_.delay = plus(below_.delay, plus(inner.own_.delay, inner.below_.delay));
}

void RangeTracks::clear() noexcept {
  tracks_.clear();
  latest_ = 0;
  own_ = {};
  below_ = {};
}

void RangeTracks::figures(StreamingFigures& figures, bool inclusive) const {
  figures.total = {};
  figures.busy_is_exact = true;
  figures.streams.clear();
  bool several_devices = false;
  for (const Track& track : tracks_) {
    const BusyBlocks& busy = inclusive ? track.all() : track.own_busy;
    const std::int64_t busy_ns = busy.busy();
    if (same(track.place, kEverything)) {
      several_devices = true;
      figures.total.any_busy_ns = busy_ns;
      figures.busy_is_exact = figures.busy_is_exact && busy.exact();
      continue;
    }
    if (of_device(track.place.device) == &track) {  // stands for its device
      figures.total.gpu_busy_ns = plus(figures.total.gpu_busy_ns, busy_ns);
      figures.busy_is_exact = figures.busy_is_exact && busy.exact();
    }
    if (track.place.stream == kNoStream) continue;
    Tally tally = track.own;
    if (inclusive) tally.add(track.below);
    if (tally.ops == 0) continue;
    add_tally(figures.total, tally);
    figures.busy_is_exact = figures.busy_is_exact && busy.exact();
    figures.streams.push_back({track.place, tally.ops, tally.sum, busy_ns, tally.first, tally.last, busy.exact()});
  }
  if (!several_devices) figures.total.any_busy_ns = figures.total.gpu_busy_ns;
  figures.total.bytes = own_.bytes + (inclusive ? below_.bytes : 0);
  figures.total.launch_delay_ns = inclusive ? plus(own_.delay, below_.delay) : own_.delay;
}

void RangeTracks::exclusive(StreamingFigures& result) const { figures(result, false); }
void RangeTracks::inclusive(StreamingFigures& result) const { figures(result, true); }

}  // namespace rangefinder::projection
