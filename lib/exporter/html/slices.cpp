// SPDX-License-Identifier: MIT
#include "exporter/html/slices.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace rangefinder::html {
namespace {

void count_depths(Track& track) {
  track.depths.clear();
  for (const Slice& slice : track.slices) {
    if (slice.depth >= track.depths.size()) track.depths.resize(slice.depth + std::size_t{1});
    ++track.depths[slice.depth];
  }
}

bool is_short(const Slice& slice, std::int64_t limit_ns) noexcept {
  return static_cast<std::uint64_t>(slice.end_ns) - static_cast<std::uint64_t>(slice.begin_ns) <
         static_cast<std::uint64_t>(limit_ns);
}

/// Whether `next`, on the depth of `first`, is one with it.
bool are_merged(const Slice& first, const Slice& next, std::int64_t limit_ns) noexcept {
  return next.depth == first.depth && is_short(first, limit_ns) && is_short(next, limit_ns) &&
         next.begin_ns / limit_ns == first.begin_ns / limit_ns;
}

/// Where the slices that are one with the one at `first` end.
std::size_t end_of_run(const std::vector<Slice>& slices, std::size_t first, std::int64_t limit_ns) noexcept {
  std::size_t end = first + 1;
  while (end < slices.size() && are_merged(slices[first], slices[end], limit_ns)) ++end;
  return end;
}

std::uint64_t count_after(const std::vector<Track>& tracks, std::int64_t limit_ns) noexcept {
  std::uint64_t count = 0;
  for (const Track& track : tracks)
    for (std::size_t at = 0; at < track.slices.size(); at = end_of_run(track.slices, at, limit_ns)) ++count;
  return count;
}

/// The name and category that took most of the time.
void take_most(Slice& into, const Slice* first, const Slice* end) {
  std::unordered_map<std::uint64_t, std::int64_t> time_ns;
  std::int64_t most_ns = -1;
  for (const Slice* slice = first; slice != end; ++slice) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(slice->name)} << 8 | static_cast<std::uint64_t>(slice->category);
    std::int64_t& sum_ns = time_ns[key];
    sum_ns += slice->end_ns - slice->begin_ns;  // each is short, and so is the stretch
    if (sum_ns <= most_ns) continue;
    most_ns = sum_ns;
    into.name = slice->name;
    into.category = slice->category;
    into.row = slice->row;
    into.source = slice->source;
  }
}

void merge(Track& track, std::int64_t limit_ns, Merged& merged) {
  std::vector<Slice>& slices = track.slices;
  std::size_t kept = 0;
  for (std::size_t at = 0, end = 0; at < slices.size(); at = end) {
    end = end_of_run(slices, at, limit_ns);
    Slice one = slices[at];
    if (end - at > 1) {
      take_most(one, &slices[at], slices.data() + end);
      one.end_ns = slices[end - 1].end_ns;
      one.merged = static_cast<std::uint32_t>(end - at);
      merged.slices += end - at;
      ++merged.into;
    }
    slices[kept++] = one;
  }
  slices.resize(kept);
  count_depths(track);
}

}  // namespace

std::size_t place(Track& track) {
  std::vector<Slice>& slices = track.slices;
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.begin_ns, b.end_ns, a.source, a.row) < std::tie(b.begin_ns, a.end_ns, b.source, b.row);
  });
  std::vector<std::int64_t> end_of_depth;
  std::size_t kept = 0;
  for (const Slice& slice : slices) {
    std::size_t depth = 0;
    while (depth < end_of_depth.size() && end_of_depth[depth] > slice.begin_ns) ++depth;
    if (depth == kMostDepths) continue;
    if (depth == end_of_depth.size()) end_of_depth.emplace_back();
    end_of_depth[depth] = slice.end_ns;
    slices[kept] = slice;
    slices[kept++].depth = static_cast<std::uint16_t>(depth);
  }
  const std::size_t left_out = slices.size() - kept;
  slices.resize(kept);
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.depth < b.depth; });
  count_depths(track);
  return left_out;
}

Merged merge_short(std::vector<Track>& tracks, std::uint64_t most) {
  Merged merged;
  std::uint64_t count = 0;
  for (const Track& track : tracks) count += track.slices.size();
  if (count <= most) return merged;
  // More exponents than this are not times; with the greatest one every row has a handful of slices.
  int low = 1, high = 61;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (count_after(tracks, std::int64_t{1} << middle) <= most)
      high = middle;
    else
      low = middle + 1;
  }
  merged.shorter_than_ns = std::int64_t{1} << low;
  for (Track& track : tracks) merge(track, merged.shorter_than_ns, merged);
  return merged;
}

}  // namespace rangefinder::html
