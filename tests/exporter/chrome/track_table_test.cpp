// SPDX-License-Identifier: MIT
#include "exporter/chrome/track_table.hpp"

#include "exporter/chrome/layout.hpp"
#include "support/catch.hpp"

#include <set>
#include <string>

using namespace rangefinder::chrome;

TEST_CASE("rows keep their numbers where these are free and fit a viewer", "[exporter]") {
  TrackTable table;
  const GroupId process = table.add_group(4242, "train", "CPU", 4242);
  CHECK(table.group(process).pid == 4242);
  CHECK(table.find_group(4242) == process);
  const TrackId thread = table.add_track(process, 17, "main", 17);
  CHECK(table.ids(thread) == ",\"pid\":4242,\"tid\":17,\"ts\":");
  CHECK(table.find_track(process, 17) == thread);

  const TrackId twin = table.add_track(process, 17, "again", 17);
  CHECK(table.track(twin).tid != 17);
  const GroupId same_pid = table.add_group(4242, "other host", "CPU", 4242);
  CHECK(table.group(same_pid).pid != 4242);
  CHECK(table.find_group(4242) == process);
}

TEST_CASE("ids that viewers would cut or refuse get numbers of our own", "[exporter]") {
  TrackTable table;
  const GroupId process = table.add_group(-1, "", "", 0);
  CHECK(table.group(process).pid >= 0);
  CHECK(table.find_group(-1) == process);
  std::set<std::int64_t> tids;
  for (const std::int64_t tid :
       {std::int64_t{-1}, std::int64_t{1} << 40, std::int64_t{-(std::int64_t{1} << 62)}, std::int64_t{5}}) {
    const TrackId track = table.add_track(process, tid, "", 0);
    CHECK(table.track(track).tid >= 0);
    CHECK(table.track(track).tid <= 0x7FFFFFFF);
    CHECK(tids.insert(table.track(track).tid).second);
    CHECK(table.find_track(process, tid) == track);
  }
}

TEST_CASE("rows beside a row are made once, when they are first asked for", "[exporter]") {
  TrackTable table;
  const GroupId process = table.add_group(1, "p", "CPU", 1);
  const TrackId row = table.add_track(process, 7, "stream 7", 7);
  CHECK(table.overflow(row, 0) == row);
  const TrackId beside = table.overflow(row, 1);
  CHECK(beside != row);
  CHECK(table.overflow(row, 1) == beside);
  CHECK(table.track(beside).name == "stream 7, overlapping 1");
  CHECK(table.tracks().size() == 2);
}

TEST_CASE("streams of equal numbers in two contexts are two rows", "[exporter]") {
  TrackTable table;
  Layout layout(table, false, false);
  const GroupId device = layout.device(0, {1, "train", "", -1});
  const TrackId one = layout.stream(device, 1, 7, 0);
  const TrackId two = layout.stream(device, 2, 7, 0);
  CHECK(table.track(one).tid == 7);
  CHECK(table.track(two).tid != 7);
  CHECK(table.track(two).name == "stream 7 (context 2)");
  CHECK(table.track(layout.stream(device, 1, 9, 3)).name == "stream 9 (green context 3)");
  CHECK(table.track(layout.beside(one, Beside::kRanges, 2)).name == "stream 7 ranges, depth 2");
  CHECK(table.track(layout.beside(one, Beside::kWaits)).name == "stream 7 waits");
}

TEST_CASE("headings say rank and host only where there are several processes, and always what is simulated",
          "[exporter]") {
  TrackTable table;
  Layout one(table, true, false);
  CHECK(table.group(one.process({1, "train", "node3", 5})).name == "train");
  CHECK(table.group(one.device(0, {1, "train", "node3", 5})).labels == "GPU 0,SIMULATED: no GPU was used");
  TrackTable more;
  Layout many(more, false, true);
  CHECK(more.group(many.process({9, "train", "node3", 5})).name == "train (rank 5, node3, pid 9)");
  CHECK(more.group(many.process({10, "", "", -1})).name == "(pid 10)");
}
