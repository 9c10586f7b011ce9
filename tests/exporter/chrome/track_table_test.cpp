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
  Layout layout(table, {});
  const GroupId device = layout.device(0, "", {1, "train", "", -1});
  const TrackId one = layout.stream(device, 1, 7, 0);
  const TrackId two = layout.stream(device, 2, 7, 0);
  CHECK(table.track(one).tid == 7);
  CHECK(table.track(two).tid != 7);
  CHECK(table.track(two).name == "stream 7 (context 2)");
  CHECK(table.track(layout.stream(device, 1, 9, 3)).name == "stream 9 (green context 3)");
}

TEST_CASE("a row beside a stream has the stream's number behind a digit for what it is", "[exporter]") {
  TrackTable table;
  Layout layout(table, {});
  const GroupId device = layout.device(0, "", {1, "train", "", -1});
  const TrackId late = layout.stream(device, 1, 13, 0);
  const TrackId early = layout.stream(device, 1, 7, 0);
  const TrackId large = layout.stream(device, 1, 400'000, 0);
  const Track waits = table.track(layout.beside(late, Beside::kWaits));
  CHECK(waits.name == "stream 13 waits");
  CHECK(waits.tid == 5'000'013);
  CHECK(table.track(layout.beside(early, Beside::kWaits)).tid == 5'000'007);
  const Track ranges = table.track(layout.beside(early, Beside::kRanges));
  CHECK(ranges.name == "stream 7 ranges");
  CHECK(ranges.tid == 5'100'007);
  CHECK(table.track(layout.beside(early, Beside::kStartEnd)).name == "stream 7 start/end ranges");
  const Track beyond = table.track(layout.beside(large, Beside::kWaits));  // no room for such a number
  CHECK(beyond.name == "stream 400000 waits");
  CHECK(beyond.tid >= 6'000'000);
}

TEST_CASE("steps stand before all threads but the main one", "[exporter]") {
  TrackTable table;
  Layout layout(table, {});
  const GroupId process = layout.process({4242, "train", "", -1});
  const TrackId first = layout.thread(process, 4242, "main");
  const TrackId steps = layout.steps(process);
  CHECK(table.track(steps).name == "steps");
  CHECK(table.track(steps).tid == 1);
  CHECK(layout.steps(process) == steps);
  const GroupId init = layout.process({1, "train", "", -1});  // in a container
  const TrackId main = layout.thread(init, 1, "main");
  CHECK(table.track(main).tid == 1);
  CHECK(layout.main_thread(process, kNoTrack) == first);
  CHECK(layout.main_thread(init, kNoTrack) == main);
  CHECK(layout.main_thread(layout.process({9, "train", "", -1}), kNoTrack) == kNoTrack);
  CHECK(table.track(layout.steps(init)).tid >= 6'000'000);
}

TEST_CASE("what another tool means by two numbers is the first row that asked for them", "[exporter]") {
  TrackTable table;
  const GroupId device = table.add_group(0, "GPU 0", "GPU 0", 0);
  const GroupId process = table.add_group(0, "python", "CPU", 0);
  REQUIRE(table.group(process).pid != 0);
  const TrackId stream = table.add_track(device, 7, "stream 7", 7);
  const TrackId thread = table.add_track(process, 8, "thread 8", 8);
  CHECK(table.find(0, 7) == stream);
  CHECK(table.find(0, 8) == thread);
  CHECK_FALSE(table.find(0, 9).has_value());
  CHECK_FALSE(table.find(1, 7).has_value());
}

TEST_CASE("headings begin with rank or process where there are several, and name hosts where there are several",
          "[exporter]") {
  const ProcessLabel ranked{9, "train", "node3", 5};
  const ProcessLabel unranked{10, "", "node3", -1};
  TrackTable table;
  Layout one(table, {});
  CHECK(table.group(one.process(ranked)).name == "train");
  CHECK(table.group(one.device(0, "NVIDIA H100", ranked)).name == "GPU 0 (NVIDIA H100)");
  CHECK(table.group(one.device(1, "", ranked)).name == "GPU 1");
  TrackTable several;
  Layout processes(several, {false, true, false});
  CHECK(several.group(processes.process(ranked)).name == "rank 5: train");
  CHECK(several.group(processes.process(unranked)).name == "pid 10");
  CHECK(several.group(processes.device(0, "NVIDIA H100", ranked)).name == "rank 5: GPU 0 (NVIDIA H100)");
  TrackTable many;
  Layout hosts(many, {false, true, true});
  CHECK(many.group(hosts.process(ranked)).name == "rank 5 on node3: train");
  CHECK(many.group(hosts.device(0, "", unranked)).name == "pid 10 on node3: GPU 0");
}

TEST_CASE("devices say that they are simulated", "[exporter]") {
  TrackTable table;
  Layout layout(table, {true, false, false});
  CHECK(table.group(layout.device(0, "", {1, "train", "", -1})).labels == "GPU 0,SIMULATED: no GPU was used");
}
