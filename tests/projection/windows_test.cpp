// SPDX-License-Identifier: MIT
#include "capture/capture_reader.hpp"
#include "importer/capture/capture_windows.hpp"
#include "support/catch.hpp"
#include "support/differing_lines.hpp"
#include "support/random_program.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/projection.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

// The owners that windows of a capture give its activities are those that the whole capture gives them.
using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr std::array kAttributions{Attribution::kAuto, Attribution::kLaunch, Attribution::kForward,
                                   Attribution::kCapture};

std::string owner_text(const Timeline& timeline, std::uint32_t owner) {
  switch (owner) {
    case static_cast<std::uint32_t>(Unowned::kOutside):
      return "outside";
    case static_cast<std::uint32_t>(Unowned::kBefore):
      return "before";
    case static_cast<std::uint32_t>(Unowned::kUnknown):
      return "unknown";
    default:
      return std::string(timeline.text(timeline.ranges.name[owner])) + " of thread " +
             std::to_string(timeline.threads[timeline.ranges.thread[owner]].tid) + " from " +
             std::to_string(timeline.ranges.begin_ns[owner]);
  }
}

/// A line for each of the first `rows` activities.
void add_lines(const Timeline& timeline, const Projection& projection, std::size_t rows,
               std::vector<std::string>& lines) {
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < rows; ++row)
    lines.push_back(std::to_string(activities.begin_ns[row]) + "-" + std::to_string(activities.end_ns[row]) + " " +
                    std::string(timeline.text(activities.name[row])) + " #" +
                    std::to_string(activities.correlation[row]) + ": " + owner_text(timeline, projection.owner[row]));
}

std::vector<std::string> whole_owners(const std::string& path, Attribution attribution) {
  Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline);
  (void)split_graph_launches(*timeline, {attribution, true, false});
  std::vector<std::string> lines;
  add_lines(*timeline, project(*timeline, {attribution, true, false}), timeline->activities.size(), lines);
  std::sort(lines.begin(), lines.end());
  return lines;
}

struct Windowed {
  std::vector<std::string> owners;
  std::size_t windows = 0;
  std::size_t rows = 0, own_rows = 0;  // of ranges, in all windows
};

Windowed windowed_owners(const std::string& path, Attribution attribution, std::size_t events) {
  Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
  REQUIRE(reader);
  Windowed out;
  importer::CaptureWindows::Options options;
  options.events = events;
  importer::CaptureWindows windows(*reader, options);
  windows.run([&](Timeline& window, bool) {
    const std::size_t earlier = window.activities.size() - windows.activity_rows();
    (void)split_graph_launches(window, {attribution, true, false});
    const Projection projection = project(window, {attribution, true, false});
    add_lines(window, projection, window.activities.size() - earlier, out.owners);
    ++out.windows;
    out.rows += window.ranges.size();
    out.own_rows += windows.range_rows();
  });
  std::sort(out.owners.begin(), out.owners.end());
  return out;
}

std::size_t compare_programs(const RandomProgramShape& shape, int rounds) {
  std::size_t windows = 0;
  for (const std::uint64_t seed : property_seeds("owners of windows", repeats(rounds))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const ScratchFolder folder;
    random_program(random, shape).write(folder.file("x.rfcap"));
    for (const Attribution attribution : kAttributions) {
      INFO("attribution " << static_cast<int>(attribution));
      const std::vector<std::string> whole = whole_owners(folder.file("x.rfcap"), attribution);
      for (const std::size_t events : {std::size_t{1}, std::size_t{7}, std::size_t{50}, std::size_t{1} << 20}) {
        INFO("windows of " << events);
        const Windowed windowed = windowed_owners(folder.file("x.rfcap"), attribution, events);
        REQUIRE(differing_lines(whole, windowed.owners) == "");
        windows = std::max(windows, windowed.windows);
      }
    }
  }
  return windows;
}

}  // namespace

TEST_CASE("windows give launches the owners of the whole capture", "[projection][property]") {
  RandomProgramShape shape;
  shape.autograd = shape.graphs = shape.elsewhere = false;
  const std::size_t windows = compare_programs(shape, 50);
  CHECK((windows > 3 || given_seed() != nullptr));
}

TEST_CASE("windows give what autograd runs the owners of the whole capture", "[projection][property]") {
  RandomProgramShape shape;
  shape.graphs = shape.elsewhere = false;
  (void)compare_programs(shape, 100);
}

TEST_CASE("windows give graphs the owners of the whole capture", "[projection][property]") {
  RandomProgramShape shape;
  shape.autograd = shape.elsewhere = false;
  (void)compare_programs(shape, 50);
}

TEST_CASE("windows give everything together the owners of the whole capture", "[projection][property]") {
  (void)compare_programs({}, 100);
}

TEST_CASE("windows get longer where many ranges stay open", "[projection]") {
  constexpr std::int64_t kDepth = 1000, kLaunches = 2000, kStep = 10'000'000;
  CaptureBuilder capture;
  capture.h100().on_thread(1, "main");
  for (std::int64_t i = 0; i < kDepth; ++i)
    capture.range("range " + std::to_string(i), i, kDepth + (kLaunches + 10) * kStep - i);
  for (std::int64_t i = 1; i <= kLaunches; ++i) {
    const std::int64_t time = kDepth + i * kStep;
    capture.launch(time).call("cudaLaunchKernel", time - 2, time + 3).kernel("kernel", time + 20, time + 40);
  }
  const ScratchFolder folder;
  capture.write(folder.file("deep.rfcap"));
  const Windowed windowed = windowed_owners(folder.file("deep.rfcap"), Attribution::kAuto, 16);
  CHECK(differing_lines(whole_owners(folder.file("deep.rfcap"), Attribution::kAuto), windowed.owners) == "");
  CHECK(windowed.windows > 10);
  CHECK(windowed.rows < 40 * kDepth);  // of some 6,000 rows that are new; each window holds all that is open
}
