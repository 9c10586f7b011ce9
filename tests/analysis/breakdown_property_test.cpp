// SPDX-License-Identifier: MIT
// The breakdown against a slow loop over every nanosecond, which asks each time what runs and why nothing does.
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/projection.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::below;
using rangefinder::testing::change_last;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr const char* kReduceName = "rccl::AllReduce";
constexpr std::int64_t kLastMoment = 400;  // of all times
constexpr std::int64_t kShortGap = 6;

struct SlowDevice {
  const Timeline& timeline;
  const Projection& projection;
  std::vector<ActivityIndex> work;  // in order of begin, then row

  const ActivityTable& table() const { return timeline.activities; }
  std::int64_t begin(ActivityIndex row) const { return table().begin_ns[row]; }
  std::int64_t end(ActivityIndex row) const { return std::max(begin(row), table().end_ns[row]); }
  std::optional<std::int64_t> launch(ActivityIndex row) const {
    const LaunchIndex index = table().launch[row];
    return index < timeline.launches.size() ? std::optional(timeline.launches.time_ns[index]) : std::nullopt;
  }
  bool communicates(ActivityIndex row) const {
    return table().kind[row] == ActivityKind::kKernel && timeline.text(table().name[row]) == kReduceName;
  }
  bool copies(ActivityIndex row) const { return table().kind[row] == ActivityKind::kMemcpy; }
  bool computes(ActivityIndex row) const { return !communicates(row) && !copies(row); }
  template <typename Which>
  bool any(std::int64_t at, Which which) const {
    return std::any_of(work.begin(), work.end(),
                       [&](ActivityIndex row) { return begin(row) <= at && at < end(row) && which(row); });
  }
  bool busy(std::int64_t at) const {
    return any(at, [](ActivityIndex) { return true; });
  }

  /// Of a moment at which nothing runs; null: nothing was recorded then.
  std::int64_t IdleReasons::*reason(std::int64_t at) const {
    const auto& windows = timeline.windows;
    if (!windows.empty() && std::none_of(windows.begin(), windows.end(),
                                         [at](const Window& one) { return one.begin_ns <= at && at < one.end_ns; }))
      return nullptr;
    std::int64_t gap = std::numeric_limits<std::int64_t>::min(), next = kLastMoment + 1;
    for (const ActivityIndex row : work) {
      if (end(row) <= at) gap = std::max(gap, end(row));
      if (begin(row) > at) next = std::min(next, begin(row));
    }
    ActivityIndex first = kNone;
    for (const ActivityIndex row : work)
      if (begin(row) == next && (first == kNone || (launch(row) && (!launch(first) || *launch(row) < *launch(first)))))
        first = row;
    if (first == kNone) return &IdleReasons::other_ns;
    const bool before = projection.owner[first] == static_cast<std::uint32_t>(Unowned::kBefore);
    if (!launch(first) && !before) return &IdleReasons::other_ns;
    if (launch(first) && *launch(first) > gap) return &IdleReasons::host_wait_ns;
    if (gap != std::numeric_limits<std::int64_t>::min() && next - gap <= kShortGap) return &IdleReasons::kernel_wait_ns;
    if (!launch(first)) return &IdleReasons::other_ns;
    std::int64_t after = std::numeric_limits<std::int64_t>::min();
    for (const ActivityIndex row : work)
      if (begin(row) < next && table().stream[row] == table().stream[first])
        after = launch(row).value_or(std::numeric_limits<std::int64_t>::min());
    const SyncTable& syncs = timeline.syncs;
    for (std::size_t row = 0; row < syncs.size(); ++row)
      if (syncs.type[row] == 2 && syncs.stream[row] == table().stream[first] && syncs.begin_ns[row] >= after &&
          syncs.begin_ns[row] <= *launch(first))
        return &IdleReasons::sync_wait_ns;
    return &IdleReasons::other_ns;
  }

  void add_time(BreakdownRow& row, std::int64_t from, std::int64_t to) const {
    for (std::int64_t at = from; at < to; ++at) add_moment(row, at, [](ActivityIndex) { return true; });
  }
  /// `mine`: whose work is the row's.
  template <typename Mine>
  void add_moment(BreakdownRow& row, std::int64_t at, Mine mine) const {
    const auto of = [&](auto which) { return any(at, [&](ActivityIndex one) { return mine(one) && which(one); }); };
    const bool computing = any(at, [&](ActivityIndex one) { return computes(one); });
    const bool communicating = any(at, [&](ActivityIndex one) { return communicates(one); });
    if (!busy(at)) {
      std::int64_t IdleReasons::*const why = reason(at);
      if (why == nullptr) return;
      ++(row.idle.*why);
      ++row.idle_ns;
      ++row.total_ns;
      return;
    }
    ++row.total_ns;
    row.computation_ns += of([&](ActivityIndex one) { return computes(one); });
    const bool communicates_here = of([&](ActivityIndex one) { return communicates(one); });
    row.communication_ns += communicates_here;
    row.exposed_communication_ns += communicates_here && !computing;
    const bool copies_here = of([&](ActivityIndex one) { return copies(one); });
    row.memcpy_ns += copies_here;
    row.exposed_memcpy_ns += copies_here && !computing && !communicating;
    const bool mine_runs = of([](ActivityIndex) { return true; });
    row.busy_ns += mine_runs;
    row.other_work_ns += !mine_runs;
    row.orphan_busy_ns += of([&](ActivityIndex one) { return !launch(one); });
    row.graph_busy_ns += of([&](ActivityIndex one) { return table().kind[one] == ActivityKind::kGraph; });
  }
  void count(BreakdownRow& row, ActivityIndex one) const {
    ++row.ops;
    row.orphan_ops += !launch(one);
    row.graph_ops += table().kind[one] == ActivityKind::kGraph;
  }
  std::pair<std::int64_t, std::int64_t> extent() const {
    std::int64_t last = 0;
    for (const ActivityIndex row : work) last = std::max(last, end(row));
    return {begin(work.front()), last};
  }
};

std::vector<SlowDevice> slow_devices(const Timeline& timeline, const Projection& projection) {
  std::vector<SlowDevice> devices(timeline.devices.size(), SlowDevice{timeline, projection, {}});
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
    devices[timeline.streams[timeline.activities.stream[row]].device].work.push_back(row);
  for (SlowDevice& device : devices)
    std::stable_sort(device.work.begin(), device.work.end(),
                     [&](ActivityIndex a, ActivityIndex b) { return device.begin(a) < device.begin(b); });
  return devices;
}

bool is_in(const Projection& projection, std::uint32_t owner, RangeIndex range) {
  if (owner >= projection.parent.size()) return false;
  for (RangeIndex at(owner); at != kNone; at = projection.parent[at])
    if (at == range) return true;
  return false;
}

/// The row of all ranges of a name on a device; those inside one of the same name add nothing.
BreakdownRow slow_range_row(const SlowDevice& device, StringId name) {
  const Timeline& timeline = device.timeline;
  const Projection& projection = device.projection;
  BreakdownRow row;
  row.instances = 0;
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    if (timeline.ranges.name[range] != name) continue;
    bool inside_its_like = false;
    for (RangeIndex at = projection.parent[range]; at != kNone; at = projection.parent[at])
      inside_its_like = inside_its_like || timeline.ranges.name[at] == name;
    if (inside_its_like) continue;
    std::int64_t first = kLastMoment + 1, last = -1;
    const auto mine = [&](ActivityIndex one) { return is_in(projection, projection.owner[one], range); };
    for (const ActivityIndex one : device.work) {
      if (!mine(one)) continue;
      device.count(row, one);
      first = std::min(first, device.begin(one));
      last = std::max(last, device.end(one));
    }
    row.instances += last >= 0 ? 1 : 0;
    for (std::int64_t at = first; at < last; ++at) device.add_moment(row, at, mine);
  }
  return row;
}

Timeline random_timeline(std::mt19937_64& random) {
  TimelineBuilder builder;
  builder.correlation(50);
  const auto any_time = [&] { return static_cast<std::int64_t>(below(random, kLastMoment - 60)); };
  if (below(random, 3) == 0) {
    const std::int64_t split = any_time();
    builder.window(0, split).window(split + static_cast<std::int64_t>(below(random, 60)), kLastMoment);
  }
  const std::int64_t processes = 1 + static_cast<std::int64_t>(below(random, 2));
  for (std::int64_t process = 1; process <= processes; ++process) {
    builder.on_process(process);
    for (std::int64_t step = 0, now = any_time() / 4; below(random, 4) != 0; ++step) {
      const auto length = static_cast<std::int64_t>(below(random, 120));
      builder.step(step, now, std::min(kLastMoment, now + length));
      now = std::min(kLastMoment, now + 1 + static_cast<std::int64_t>(below(random, 140)));
    }
    std::vector<std::int64_t> ends{kLastMoment};
    for (std::int64_t now = 0; now < kLastMoment - 60; now += 1 + static_cast<std::int64_t>(below(random, 50))) {
      while (ends.size() > 1 && ends.back() <= now) ends.pop_back();
      if (below(random, 2) == 0) {
        const std::int64_t end = now + static_cast<std::int64_t>(below(random, ends.back() - now + 1));
        builder.range("r" + std::to_string(below(random, 3)), now, end);
        ends.push_back(end);
      }
      builder.on_device(static_cast<std::uint32_t>(below(random, 2))).on_stream(7 + below(random, 3));
      if (below(random, 4) == 0)
        builder.timeline().syncs.append({.type = 2,
                                         .stream = StreamIndex(below(random, builder.timeline().streams.size())),
                                         .begin_ns = now,
                                         .end_ns = now + 1});
      if (below(random, 6) == 0)
        builder.without_launch(below(random, 2) == 0 ? 0 : 3);  // not known, and before the recording
      else
        builder.launch(now);
      for (std::uint64_t works = below(random, 3); works > 0; --works) {
        const std::int64_t begin = below(random, 3) == 0 ? now : any_time();
        const std::int64_t end = begin + static_cast<std::int64_t>(below(random, 25)) - 1;
        switch (below(random, 6)) {
          case 0:
            builder.memcpy(begin, end, 1);
            break;
          case 1:
            builder.memset(begin, end, 1);
            break;
          case 2:
          case 3:
            builder.kernel(begin, end, kReduceName);
            break;
          default:
            builder.kernel(begin, end);
        }
        if (below(random, 12) == 0)
          change_last(builder.timeline().activities, [](ActivityRow& row) { row.kind = ActivityKind::kGraph; });
      }
    }
  }
  return builder.build();
}

std::string text_of(const BreakdownRow& row) {
  std::string text;
  for (const auto figure :
       {row.computation_ns, row.communication_ns, row.exposed_communication_ns, row.memcpy_ns, row.exposed_memcpy_ns,
        row.busy_ns, row.idle_ns, row.total_ns, row.idle.host_wait_ns, row.idle.kernel_wait_ns, row.idle.sync_wait_ns,
        row.idle.other_ns, row.other_work_ns, static_cast<std::int64_t>(row.ops),
        static_cast<std::int64_t>(row.orphan_ops), row.orphan_busy_ns, static_cast<std::int64_t>(row.graph_ops),
        row.graph_busy_ns, static_cast<std::int64_t>(row.instances)})
    text += std::to_string(figure) + " ";
  return text;
}

void check_devices(const std::vector<SlowDevice>& devices, const std::vector<BreakdownRow>& rows) {
  std::size_t at = 0;
  for (const SlowDevice& device : devices) {
    if (device.work.empty()) continue;
    BreakdownRow slow;
    device.add_time(slow, device.extent().first, device.extent().second);
    for (const ActivityIndex one : device.work) device.count(slow, one);
    REQUIRE(at < rows.size());
    CHECK(text_of(rows[at++]) == text_of(slow));
  }
  CHECK(at == rows.size());
}

void check_steps(const Timeline& timeline, const std::vector<SlowDevice>& devices, std::vector<BreakdownRow> rows) {
  const StepTable& steps = timeline.steps;
  std::size_t at = 0;
  for (std::size_t index = 0; index < devices.size(); ++index) {
    const SlowDevice& device = devices[index];
    if (device.work.empty()) continue;
    std::vector<bool> inside(kLastMoment + 1);
    BreakdownRow outside;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const ProcessIndex process = timeline.threads[steps.thread[step]].process;
      if (process != timeline.devices[index].process) continue;
      std::int64_t end = steps.end_ns[step];
      if (step + 1 < steps.size() && timeline.threads[steps.thread[step + 1]].process == process)
        end = std::min(end, steps.begin_ns[step + 1]);
      BreakdownRow slow;
      device.add_time(slow, steps.begin_ns[step], end);
      for (std::int64_t time = steps.begin_ns[step]; time < end; ++time) inside[static_cast<std::size_t>(time)] = true;
      for (const ActivityIndex one : device.work)
        if (device.begin(one) >= steps.begin_ns[step] && device.begin(one) < end) device.count(slow, one);
      REQUIRE(at < rows.size());
      CHECK(rows[at].step == steps.number[step]);
      CHECK(text_of(rows[at++]) == text_of(slow));
    }
    for (std::int64_t time = device.extent().first; time < device.extent().second; ++time)
      if (!inside[static_cast<std::size_t>(time)]) device.add_time(outside, time, time + 1);
    for (const ActivityIndex one : device.work)
      if (!inside[static_cast<std::size_t>(device.begin(one))]) device.count(outside, one);
    if (outside.total_ns == 0 && outside.ops == 0) continue;
    REQUIRE(at < rows.size());
    CHECK_FALSE(rows[at].step.has_value());
    CHECK(text_of(rows[at++]) == text_of(outside));
  }
  CHECK(at == rows.size());
}

void check_ranges(const Timeline& timeline, const std::vector<SlowDevice>& devices,
                  const std::vector<BreakdownRow>& rows) {
  std::uint64_t unowned = 0, ops_unowned = 0;
  for (const BreakdownRow& row : rows) {
    const SlowDevice& device = devices[row.device];
    if (!row.unowned) {
      CHECK(text_of(row) == text_of(slow_range_row(device, row.range)));
      continue;
    }
    BreakdownRow slow;
    std::int64_t first = kLastMoment + 1, last = -1;
    const auto mine = [&](ActivityIndex one) {
      return device.projection.owner[one] == static_cast<std::uint32_t>(*row.unowned);
    };
    for (const ActivityIndex one : device.work) {
      if (!mine(one)) continue;
      device.count(slow, one);
      first = std::min(first, device.begin(one));
      last = std::max(last, device.end(one));
    }
    for (std::int64_t at = first; at < last; ++at) device.add_moment(slow, at, mine);
    CHECK(text_of(row) == text_of(slow));
    ops_unowned += row.ops;
  }
  for (const SlowDevice& device : devices)
    for (const ActivityIndex one : device.work) unowned += device.projection.owner[one] >= timeline.ranges.size();
  CHECK(unowned == ops_unowned);  // no owner is forgotten
  for (const SlowDevice& device : devices)
    for (const ActivityIndex one : device.work) {
      const std::uint32_t owner = device.projection.owner[one];
      if (owner >= timeline.ranges.size()) continue;
      const StringId name = timeline.ranges.name[owner];
      const DeviceIndex index = timeline.streams[timeline.activities.stream[one]].device;
      CHECK(std::any_of(rows.begin(), rows.end(), [&](const BreakdownRow& row) {
        return row.device == index && !row.unowned && row.range == name;
      }));
    }
}

}  // namespace

TEST_CASE("every row is what a loop over all moments counts", "[analysis][property]") {
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("breakdown", rangefinder::testing::repeats(120))) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = random_timeline(random);
    const Projection projection = project(timeline, {});
    const std::vector<SlowDevice> devices = slow_devices(timeline, projection);
    BreakdownOptions options;
    options.usual_gap_ns = kShortGap;
    check_devices(devices, breakdown(timeline, options));
    options.by = BreakdownBy::kStep;
    check_steps(timeline, devices, breakdown(timeline, options));
    options.by = BreakdownBy::kRange;
    check_ranges(timeline, devices, breakdown(timeline, options));
  }
}
