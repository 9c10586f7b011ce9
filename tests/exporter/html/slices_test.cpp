// SPDX-License-Identifier: MIT
#include "exporter/html/slices.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace rangefinder::html {
namespace {

Track track_of(const std::vector<std::pair<std::int64_t, std::int64_t>>& times) {
  Track track;
  std::uint32_t row = 0;
  for (const auto& [begin_ns, end_ns] : times) track.slices.push_back({begin_ns, end_ns, row++});
  return track;
}

std::vector<std::uint16_t> depths_by_row(const Track& track) {
  std::vector<std::uint16_t> depths(track.slices.size());
  for (const Slice& slice : track.slices) depths[slice.row] = slice.depth;
  return depths;
}

/// Whether slices are by depth, then begin, none overlaps another on its depth, and `depths` counts them.
bool is_laid_out(const Track& track) {
  std::size_t row = 0;
  for (std::size_t depth = 0; depth < track.depths.size(); ++depth) {
    for (std::uint64_t i = 0; i < track.depths[depth]; ++i, ++row) {
      if (row >= track.slices.size() || track.slices[row].depth != depth) return false;
      if (i != 0 && track.slices[row].begin_ns < track.slices[row - 1].end_ns) return false;
    }
  }
  return row == track.slices.size();
}

TEST_CASE("slices inside others lie below them", "[exporter]") {
  Track track = track_of({{20, 30}, {0, 100}, {10, 50}, {60, 70}});
  CHECK(place(track) == 0);
  CHECK(depths_by_row(track) == std::vector<std::uint16_t>{2, 0, 1, 1});
  CHECK(track.depths == std::vector<std::uint64_t>{1, 2, 1});
  CHECK(is_laid_out(track));
}

TEST_CASE("slices that cut each other share no depth", "[exporter]") {
  Track track = track_of({{0, 20}, {10, 30}, {25, 40}, {40, 40}});
  place(track);
  CHECK(depths_by_row(track) == std::vector<std::uint16_t>{0, 1, 0, 0});
  CHECK(is_laid_out(track));
}

TEST_CASE("what lies too deep is left out and counted", "[exporter]") {
  std::vector<std::pair<std::int64_t, std::int64_t>> nested;
  for (std::int64_t i = 0; i < 300; ++i) nested.emplace_back(i, 1000 - i);
  Track track = track_of(nested);
  CHECK(place(track) == 300 - kMostDepths);
  CHECK(track.slices.size() == kMostDepths);
  CHECK(is_laid_out(track));
}

TEST_CASE("few slices are kept as they are", "[exporter]") {
  std::vector<Track> tracks{track_of({{0, 1}, {2, 3}, {4, 5}})};
  place(tracks.front());
  CHECK(merge_short(tracks, 3).shorter_than_ns == 0);
  CHECK(tracks.front().slices.size() == 3);
}

TEST_CASE("of too many slices short neighbours become one, and long ones stay", "[exporter]") {
  std::vector<std::pair<std::int64_t, std::int64_t>> times{{0, 1'000'000}};
  for (std::int64_t i = 0; i < 10'000; ++i) times.emplace_back(2'000'000 + 100 * i, 2'000'000 + 100 * i + 60);
  std::vector<Track> tracks{track_of(times)};
  place(tracks.front());
  const Merged merged = merge_short(tracks, 1000);
  const std::vector<Slice>& slices = tracks.front().slices;
  CHECK(slices.size() <= 1000);
  CHECK(slices.size() > 100);  // no fewer than need be
  CHECK(merged.shorter_than_ns > 60);
  CHECK(slices.front().end_ns == 1'000'000);
  CHECK(slices.front().merged == 0);
  std::uint64_t recorded = 0, into = 0;
  for (const Slice& slice : slices) {
    recorded += std::max(slice.merged, 1u);
    into += slice.merged != 0 ? 1 : 0;
  }
  CHECK(recorded == 10'001);
  CHECK(merged.into == into);
  CHECK(is_laid_out(tracks.front()));
}

TEST_CASE("a merged slice is called by what took most of its time", "[exporter]") {
  std::vector<Track> tracks(1);
  for (std::int64_t i = 0; i < 2000; ++i) {
    const bool is_long = i % 4 == 3;
    tracks.front().slices.push_back({i * 100, i * 100 + (is_long ? 90 : 10), static_cast<std::uint32_t>(i), 0,
                                     static_cast<StringId>(is_long ? 7 : 3), SliceSource::kActivity,
                                     is_long ? Category::kCopy : Category::kComputation});
  }
  place(tracks.front());
  merge_short(tracks, 100);
  for (const Slice& slice : tracks.front().slices) {
    if (slice.merged < 4) continue;
    CHECK(slice.name == static_cast<StringId>(7));
    CHECK(slice.category == Category::kCopy);
  }
}

TEST_CASE("placing and merging keep their promises for any slices", "[exporter][property]") {
  std::mt19937_64 random(testing::property_seed("html slices"));
  for (int round = testing::repeats(20); round > 0; --round) {
    std::vector<Track> tracks(1 + random() % 3);
    std::uint64_t kept = 0;
    for (Track& track : tracks) {
      const std::size_t count = random() % 3000;
      for (std::size_t i = 0; i < count; ++i) {
        const auto begin_ns = static_cast<std::int64_t>(random() % 1'000'000) - 500'000;
        track.slices.push_back({begin_ns,
                                begin_ns + static_cast<std::int64_t>(random() % (random() % 2 == 0 ? 100 : 100'000)),
                                static_cast<std::uint32_t>(i)});
      }
      const std::size_t left_out = place(track);
      CHECK(track.slices.size() + left_out == count);
      CHECK(is_laid_out(track));
      kept += track.slices.size();
    }
    const std::uint64_t most = 1000 + random() % 2000;
    merge_short(tracks, most);
    std::uint64_t after = 0, recorded = 0;
    for (const Track& track : tracks) {
      CHECK(is_laid_out(track));
      after += track.slices.size();
      for (const Slice& slice : track.slices) recorded += std::max(slice.merged, 1u);
    }
    CHECK(after <= std::max(most, std::uint64_t{3} * kMostDepths * 4));
    CHECK(recorded == kept);
  }
}

}  // namespace
}  // namespace rangefinder::html
