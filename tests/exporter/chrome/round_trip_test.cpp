// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

// Export, import, project: the figures must be those of the original.
using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Nested ranges on threads, launches by API calls inside and outside of them, work on streams. Calls begin where no
/// range begins or ends: imported traces count a range's last instant as its own, ours do not.
Timeline random_run(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  TimelineBuilder builder;
  std::int64_t device_free = 0;
  const std::int64_t threads = pick(1, 3);
  for (std::int64_t thread = 1; thread <= threads; ++thread) {
    std::vector<std::int64_t> open;
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    std::vector<std::int64_t> calls;
    std::int64_t now = pick(0, 5) * 10;
    for (std::int64_t steps = pick(0, 40); steps > 0; --steps) {
      now += 10 * pick(1, 3);
      switch (pick(0, 2)) {
        case 0:
          open.push_back(now);
          break;
        case 1:
          calls.push_back(now + 3);
          break;
        default:
          if (open.empty()) break;
          spans.emplace_back(open.back(), now);
          open.pop_back();
      }
    }
    for (now += 10; !open.empty(); open.pop_back(), now += 10) spans.emplace_back(open.back(), now);
    builder.on_thread(thread);
    for (const auto& [begin, end] : spans)
      builder.range("range " + std::to_string(builder.timeline().ranges.size()), begin, end);
    for (const std::int64_t call : calls) {
      builder.on_device(static_cast<std::uint32_t>(pick(0, 1))).on_stream(pick(7, 9));
      if (pick(0, 9) == 0)
        builder.without_launch(static_cast<std::uint64_t>(pick(100'000, 200'000)));
      else
        builder.launch_call("cudaLaunchKernel", call, call + 4);
      for (std::int64_t count = pick(0, 4) == 0 ? 3 : 1; count > 0; --count) {
        device_free = std::max(device_free, call) + pick(-3, 30);
        const std::int64_t end = device_free + pick(0, 60);
        if (pick(0, 3) == 0)
          builder.memcpy(device_free, end, static_cast<std::uint64_t>(pick(0, 4096)));
        else
          builder.kernel(device_free, end, "kernel " + std::to_string(pick(0, 3)));
      }
    }
  }
  return builder.build();
}

using Key = std::tuple<std::string, std::int64_t, std::int64_t>;  // name, begin and length

std::string figures(const DeviceFigures& f, std::int64_t zero) {
  if (f.gpu_ops == 0) return "nothing";
  return std::to_string(f.gpu_ops) + " ops, sum " + std::to_string(f.gpu_sum_ns) + ", busy " +
         std::to_string(f.gpu_busy_ns) + ", any " + std::to_string(f.any_busy_ns) + ", [" +
         std::to_string(f.first_ns - zero) + ", " + std::to_string(f.last_ns - zero) + "), bytes " +
         std::to_string(f.bytes) + ", delay " + std::to_string(f.launch_delay_ns);
}

/// Every annotation's figures; times from the timeline's begin.
std::multimap<Key, std::string> all_figures(const Timeline& timeline, const Projection& projection, std::int64_t zero) {
  std::multimap<Key, std::string> out;
  for (RangeIndex r{0}; r < timeline.ranges.size(); ++r) {
    if (timeline.ranges.kind[r] != RangeKind::kAnnotation) continue;
    const Key key{std::string(timeline.text(timeline.ranges.name[r])), timeline.ranges.begin_ns[r] - zero,
                  timeline.ranges.end_ns[r] - timeline.ranges.begin_ns[r]};
    out.emplace(key, "inclusive " + figures(projection.inclusive[r], zero) + "; exclusive " +
                         figures(projection.exclusive[r], zero));
  }
  return out;
}

void require_same(const Timeline& before, const Timeline& after, std::int64_t before_zero, std::int64_t after_zero) {
  const Projection first = project(before, {});
  const Projection second = project(after, {});
  const auto expected = all_figures(before, first, before_zero);
  const auto got = all_figures(after, second, after_zero);
  REQUIRE(got.size() == expected.size());
  auto other = got.begin();
  for (auto row = expected.begin(); row != expected.end(); ++row, ++other) {
    INFO(std::get<0>(row->first) << " at " << std::get<1>(row->first));
    REQUIRE(other->first == row->first);
    REQUIRE(other->second == row->second);
  }
  const auto& a = first.account;
  const auto& b = second.account;
  REQUIRE(a.total.gpu_ops == b.total.gpu_ops);
  REQUIRE(a.total.gpu_sum_ns == b.total.gpu_sum_ns);
  REQUIRE(a.owned.gpu_sum_ns == b.owned.gpu_sum_ns);
  REQUIRE(a.outside.gpu_sum_ns == b.outside.gpu_sum_ns);
  REQUIRE(a.before.gpu_sum_ns + a.unknown.gpu_sum_ns == b.before.gpu_sum_ns + b.unknown.gpu_sum_ns);
}

}  // namespace

TEST_CASE("an export comes back with the figures of the original", "[exporter][property]") {
  std::uint64_t owned = 0;
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("round trip", rangefinder::testing::repeats(300))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = random_run(random);
    const ScratchFolder folder;
    REQUIRE(export_chrome_trace(timeline, folder.file("1.json")).ok());
    const Result<Timeline> once = load_timeline(folder.file("1.json"));
    REQUIRE(once);
    require_same(timeline, *once, 0, 0);
    REQUIRE(export_chrome_trace(folder.file("1.json"), folder.file("2.json")).ok());
    const Result<Timeline> twice = load_timeline(folder.file("2.json"));
    REQUIRE(twice);
    require_same(timeline, *twice, 0, 0);
    owned += project(timeline, {}).account.owned.gpu_ops;
  }
  CHECK((owned > 0 || rangefinder::testing::given_seed() != nullptr));
}

TEST_CASE("a range that was suspended comes back as one, as often as it goes out", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder()
      .range_in_parts("request", {{1'000, 2'000}, {5'000, 6'000}, {8'000, 9'000}})
      .range_in_parts("request", {{3'000, 4'000}, {7'000, 7'500}})
      .write(folder.file("0.rfcap"));
  const Result<Timeline> recorded = load_timeline(folder.file("0.rfcap"));
  REQUIRE(recorded);
  REQUIRE(export_chrome_trace(folder.file("0.rfcap"), folder.file("1.json")).ok());
  REQUIRE(export_chrome_trace(*recorded, folder.file("2.json")).ok());
  REQUIRE(export_chrome_trace(folder.file("1.json"), folder.file("3.json")).ok());
  for (const char* name : {"0.rfcap", "1.json", "2.json", "3.json"}) {
    INFO(name);
    const Result<Timeline> returned = load_timeline(folder.file(name));
    REQUIRE(returned);
    const RangeTable& ranges = returned->ranges;
    REQUIRE(ranges.size() == 5);
    std::vector<std::int64_t> runs;
    for (RangeIndex range{0}; range < ranges.size(); ++range)
      if (ranges.is_run(range)) runs.push_back(ranges.run_ns(range));
    std::sort(runs.begin(), runs.end());
    CHECK(runs == std::vector<std::int64_t>{4'500, 8'000});
  }
}

TEST_CASE("steps come back with their items, as often as they go out", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder()
      .range("work", 0, 9'000)
      .step(4, 1'000)
      .step(5, 2'000)
      .payload(std::uint64_t{64})
      .step(6, 4'000)
      .payload(std::uint64_t{9'007'199'254'740'993})
      .step(7, 5'000)
      .write(folder.file("0.rfcap"));
  const Result<Timeline> recorded = load_timeline(folder.file("0.rfcap"));
  REQUIRE(recorded);
  REQUIRE(recorded->steps.items == std::vector<std::uint64_t>{64, 9'007'199'254'740'993, 0});
  REQUIRE(export_chrome_trace(folder.file("0.rfcap"), folder.file("1.json")).ok());
  REQUIRE(export_chrome_trace(folder.file("1.json"), folder.file("2.json")).ok());
  for (const char* name : {"1.json", "2.json"}) {
    const Result<Timeline> returned = load_timeline(folder.file(name));
    REQUIRE(returned);
    CHECK(returned->steps.items == recorded->steps.items);
    CHECK(returned->steps.number == recorded->steps.number);
    CHECK(returned->counters.size() == 3);  // two rates, and the end of the second
  }
}

TEST_CASE("real traces come back with the figures of the original", "[exporter][data]") {
  const std::string folder = shared_file("data/kineto");
  if (folder.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
  std::size_t traces = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find("/expected/") != std::string::npos || !path.ends_with(".json.gz"))
      continue;
    INFO(path);
    const ScratchFolder work;
    REQUIRE(export_chrome_trace(path, work.file("1.json")).ok());
    const Result<Timeline> original = load_timeline(path);
    const Result<Timeline> returned = load_timeline(work.file("1.json"));
    REQUIRE(original);
    REQUIRE(returned);
    CHECK(returned->activities.size() == original->activities.size());
    CHECK(returned->calls.size() == original->calls.size());
    require_same(*original, *returned, original->begin_ns, returned->begin_ns);
    ++traces;
  }
  CHECK(traces >= 20);
}

TEST_CASE("exports of real traces are sound", "[exporter][data]") {
  const std::string folder = shared_file("data/kineto");
  if (folder.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
  for (const char* name :
       {"nccl_a100_rank0of2.json.gz", "h100_Qwen_Qwen1.5-0.5B-Chat.json.gz", "minitoy_mi250.json.gz",
        "event_sync_multistream_a100.json.gz", "simple_add_a100.json.gz", "step_annotations_gp100.json.gz",
        "vllm_decode_fullgraph_exec_mi300.json.gz", "triton_a100.json.gz"}) {
    INFO(name);
    require_sound(Exported::of_file(folder + "/" + name));
  }
  const std::string nsys = shared_file("data/nsys/mini/mini.sqlite");
  if (!nsys.empty()) require_sound(Exported::of_file(nsys));
}
