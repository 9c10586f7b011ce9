// SPDX-License-Identifier: MIT
#include "exporter/html/encode.hpp"
#include "exporter/html/page_reader.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/projection.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::vector<std::string> real_traces() {
  std::vector<std::string> files;
  const std::string folder = shared_file("data/kineto");
  if (folder.empty()) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(".json.gz")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

constexpr std::size_t kLongestName = 4096;  // of a page

struct Sum {
  std::uint64_t count = 0;
  std::int64_t time_ns = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

}  // namespace

TEST_CASE("pages of real traces have every activity with its time, by name", "[exporter][data]") {
  const std::vector<std::string> traces = real_traces();
  if (traces.empty()) RANGEFINDER_SKIP("no real traces beside the source tree");
  for (const std::string& trace : traces) {
    INFO(trace);
    LoadOptions load;
    load.operator_inputs = true;
    const Result<Timeline> timeline = load_timeline(trace, load);
    REQUIRE(timeline.ok());
    if (timeline->ranges.size() + timeline->calls.size() + timeline->activities.size() > 1'000'000) continue;
    const PageReader page = PageReader::of(*timeline);
    std::map<std::string, Sum> recorded, shown;
    const ActivityTable& activities = timeline->activities;
    for (ActivityIndex i{0}; i < activities.size(); ++i) {
      Sum& sum = recorded[html::utf8_of(timeline->text(activities.name[i]), kLongestName)];
      ++sum.count;
      sum.time_ns += activities.end_ns[i] - activities.begin_ns[i];
    }
    for (const PageSlice& slice : page.slices()) {
      if (!slice.track.starts_with("stream ") || slice.track.ends_with(" waits")) continue;
      Sum& sum = shown[slice.name];
      ++sum.count;
      sum.time_ns += slice.end_ns - slice.begin_ns;
    }
    CHECK(shown.size() == recorded.size());
    for (const auto& [name, sum] : recorded) {
      INFO(name);
      CHECK(shown[name] == sum);
    }
  }
}

TEST_CASE("the tree of a page of a real trace has all owned device time", "[exporter][data]") {
  const std::vector<std::string> traces = real_traces();
  if (traces.empty()) RANGEFINDER_SKIP("no real traces beside the source tree");
  for (const std::string& trace : traces) {
    INFO(trace);
    const Result<Timeline> timeline = load_timeline(trace);
    REQUIRE(timeline.ok());
    const PageReader page = PageReader::of(*timeline);
    if (!page.index().has("ranges") || !page.index()["ranges"].has("accounts")) continue;
    std::int64_t total_ns = 0;
    for (const JsonValue& part : page.index()["ranges"]["accounts"].items()) total_ns += part[std::size_t{1}].integer();
    std::int64_t recorded_ns = 0;
    for (ActivityIndex i{0}; i < timeline->activities.size(); ++i)
      recorded_ns += timeline->activities.end_ns[i] - timeline->activities.begin_ns[i];
    CHECK(total_ns == recorded_ns);
  }
}
