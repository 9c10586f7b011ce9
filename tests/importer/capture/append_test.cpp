// SPDX-License-Identifier: MIT
#include "timeline/append.hpp"

#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/random_program.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <string>
#include <tuple>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline loaded(const std::vector<std::string>& paths) {
  Result<Timeline> timeline = load_job(paths);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  return std::move(*timeline);
}

/// What a job holds, in words: where rows stand, and which numbers names have, may differ.
std::vector<std::string> told(const Timeline& timeline) {
  std::vector<std::string> out;
  const auto text = [&](StringId id) { return std::string(timeline.text(id)); };
  const auto thread = [&](ThreadIndex index) {
    return index == kNone
               ? std::string("-")
               : std::to_string(timeline.threads[index].process) + "/" + std::to_string(timeline.threads[index].tid);
  };
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex i{0}; i < ranges.size(); ++i)
    out.push_back("range " + text(ranges.name[i]) + " " + text(ranges.category[i]) + " " + thread(ranges.thread[i]) +
                  " " + std::to_string(ranges.begin_ns[i]) + " " + std::to_string(ranges.end_ns[i]) + " " +
                  std::to_string(ranges.flags[i]));
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex i{0}; i < activities.size(); ++i) {
    const LaunchIndex launch = activities.launch[i];
    const RangeIndex range = launch == kNone ? RangeIndex(kNone) : timeline.launches.range[launch];
    const DeviceInfo& device = timeline.devices[timeline.streams[activities.stream[i]].device];
    out.push_back("activity " + text(activities.name[i]) + " " + std::to_string(device.process) + "/" +
                  std::to_string(device.id) + "/" + std::to_string(timeline.streams[activities.stream[i]].id) + " " +
                  std::to_string(activities.begin_ns[i]) + " " + std::to_string(activities.end_ns[i]) + " in " +
                  (range == kNone ? "-" : text(ranges.name[range]) + std::to_string(ranges.begin_ns[range])));
  }
  for (std::size_t i = 0; i < timeline.marks.size(); ++i)
    out.push_back("mark " + text(timeline.marks.name[i]) + " " + thread(timeline.marks.thread[i]) + " " +
                  std::to_string(timeline.marks.time_ns[i]));
  for (const Attachment& value : timeline.attachments) {
    const bool of_mark = value.target == Attachment::Target::kMark;
    out.push_back(
        "value of " + text(of_mark ? timeline.marks.name[value.row] : ranges.name[value.row]) + " " +
        (value.type == Attachment::Type::kText ? text(static_cast<StringId>(value.bits)) : std::to_string(value.bits)));
  }
  for (std::size_t i = 0; i < timeline.autograd_nodes.size(); ++i)
    out.push_back("node " + text(timeline.autograd_nodes.name[i]) + " " + thread(timeline.autograd_nodes.thread[i]) +
                  " " + thread(timeline.autograd_nodes.forward_thread[i]) + " " +
                  std::to_string(timeline.autograd_nodes.forward_ns[i]));
  return out;
}

}  // namespace

TEST_CASE("timelines that are put together are as captures that are read together", "[importer][property]") {
  for (const std::uint64_t seed : property_seeds("appended timelines", 20)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const ScratchFolder folder(true);
    std::vector<std::string> paths;
    for (int process = 0; process < 3; ++process) {
      paths.push_back(folder.file("r" + std::to_string(process) + ".rfcap"));
      random_program(random).meta("host", "one").meta("rank", std::to_string(process)).write(paths.back());
    }
    const Timeline together = loaded(paths);
    Timeline appended = loaded({paths[0]});
    for (std::size_t i = 1; i < paths.size(); ++i)
      timeline::append(appended, loaded({paths[i]}), [](std::int64_t time_ns) { return time_ns; });
    CHECK(told(appended) == told(together));
    CHECK(appended.health.entries().size() == together.health.entries().size());
    const Projection a = project(appended, {}), b = project(together, {});
    CHECK(a.account.total.gpu_ops == b.account.total.gpu_ops);
    CHECK(a.account.owned.gpu_sum_ns == b.account.owned.gpu_sum_ns);
    CHECK(a.account.outside.gpu_sum_ns == b.account.outside.gpu_sum_ns);
  }
}

TEST_CASE("times are moved, and what is no time stays", "[importer]") {
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  CaptureBuilder().range("step", 0, 900).launch(20).kernel("gemm", 100, 300).mark("m", 5, "c").write(path);
  const Timeline one = loaded({path});
  Timeline job = one;
  timeline::append(job, one, [](std::int64_t time_ns) { return time_ns + 1'000'000; });
  REQUIRE(job.ranges.size() == 2);
  CHECK(job.ranges.begin_ns[1] == job.ranges.begin_ns[0] + 1'000'000);
  CHECK(job.ranges.opened_ns[1] == kNoTime);
  CHECK(job.activities.begin_ns[1] == job.activities.begin_ns[0] + 1'000'000);
  CHECK(job.activities.launch[1] == LaunchIndex(1));
  CHECK(job.launches.range[1] == RangeIndex(1));
  CHECK(job.marks.time_ns[1] == job.marks.time_ns[0] + 1'000'000);
  CHECK(job.processes.size() == 2);
}
