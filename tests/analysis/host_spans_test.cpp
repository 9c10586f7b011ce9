// SPDX-License-Identifier: MIT
#include "analysis/host_spans.hpp"

#include "analysis/random_device_job.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

const char* word(HostState state) {
  constexpr const char* kWords[] = {"operator", "range", "collective", "beside", "device", "engine"};
  return kWords[static_cast<std::size_t>(state)];
}

/// "0-10 range step, 10-20 operator step", a line for people.
std::string text_of(const Timeline& timeline, const std::vector<HostSpan>& spans) {
  std::string text;
  for (const HostSpan& span : spans) {
    text += (text.empty() ? "" : ", ") + std::to_string(span.begin_ns) + "-" + std::to_string(span.end_ns) + " " +
            word(span.state);
    if (span.range != kNone) text += " " + std::string(timeline.text(timeline.ranges.name[span.range]));
  }
  return text;
}

std::string text_of(const Timeline& timeline, std::uint32_t thread, const ProjectionOptions& options = {}) {
  return text_of(timeline, HostSpans(timeline, options).of(ThreadIndex(thread)));
}

}  // namespace

TEST_CASE("a thread is in its innermost range, and in an operator or not", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("layer", 10, 50).range("aten::mm", 20, 40).of_kind(RangeKind::kOperator);
  builder.range("later", 120, 130);
  const Timeline timeline = builder.build();
  CHECK(text_of(timeline, 0) ==
        "0-10 range step, 10-20 range layer, 20-40 operator layer, 40-50 range layer, 50-100 range step, "
        "120-130 range later");
  ProjectionOptions options;
  options.operators = true;
  CHECK(text_of(timeline, 0, options) ==
        "0-10 range step, 10-20 range layer, 20-40 operator aten::mm, 40-50 range layer, 50-100 range step, "
        "120-130 range later");
}

TEST_CASE("waits for devices lie over ranges, and stand where there are none", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).call("cudaStreamSynchronize", 30, 60).call("cudaDeviceSynchronize", 90, 140);
  const Timeline timeline = builder.build();
  CHECK(text_of(timeline, 0) ==
        "0-30 range step, 30-60 device step, 60-90 range step, 90-100 device step, 100-140 device");
  const std::vector<HostSpan> spans = HostSpans(timeline, {}).of(ThreadIndex{0});
  CHECK(spans[1].wait == std::optional(WaitReason::kStream));
  CHECK(spans[4].wait == std::optional(WaitReason::kDevice));
}

TEST_CASE("calls of collectives and waits for them are time in collectives, and so is Gloo's work", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).on_thread(2).range("gloo:all_reduce", 20, 70).of_kind(RangeKind::kOperator);
  Timeline timeline = builder.build();
  CollectiveRow row;
  row.thread = ThreadIndex{0};
  row.begin_ns = 10;
  row.end_ns = 15;
  row.wait_thread = ThreadIndex{0};
  row.wait_begin_ns = 40;
  row.wait_end_ns = 80;
  timeline.collectives.append(row);
  CHECK(text_of(timeline, 0) ==
        "0-10 range step, 10-15 collective step, 15-40 beside step, 40-80 collective step, 80-100 range step");
  CHECK(text_of(timeline, 1) == "20-70 collective");
}

TEST_CASE("a thread in a range and in no operator may wait for the collective that runs beside it", "[analysis]") {
  TimelineBuilder builder;
  builder.range("backward", 0, 100).range("aten::mm", 10, 50).of_kind(RangeKind::kOperator);
  Timeline timeline = builder.build();
  CollectiveRow row;
  row.thread = ThreadIndex{0};
  row.begin_ns = 30;
  row.end_ns = 31;
  row.started_ns = 32;
  row.completed_ns = 90;
  timeline.collectives.append(row);
  CHECK(text_of(timeline, 0) ==
        "0-10 range backward, 10-30 operator backward, 30-31 collective backward, 31-50 operator backward, "
        "50-90 beside backward, 90-100 range backward");
  // Without operators a range may be work.
  timeline.ranges.set_kind(RangeIndex{1}, RangeKind::kAnnotation);
  CHECK(text_of(timeline, 0).find("beside") == std::string::npos);
}

TEST_CASE("a thread whose backward pass runs on another one waits for the engine", "[analysis]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 40).range("aten::mm", 10, 20).of_kind(RangeKind::kOperator).range("backward", 50, 200);
  builder.on_thread(9).engine().node(60, 80, 3, 1, 12).gradient_accumulation(90, 100).node(110, 150, 2, 1, 11);
  const Timeline timeline = builder.build();
  // No range of the waiting thread begins or ends between two nodes, so it waits there too.
  CHECK(text_of(timeline, 0) ==
        "0-10 range forward, 10-20 operator forward, 20-40 range forward, 50-60 range backward, "
        "60-150 engine backward, 150-200 range backward");
}

TEST_CASE("between two backward passes a thread does not wait for the engine", "[analysis]") {
  TimelineBuilder builder;
  builder.range("backward", 0, 50).range("step", 60, 90).range("backward", 100, 150);
  builder.on_thread(9).engine().node(10, 40, 3, 1, 2).node(110, 140, 4, 1, 65);
  const Timeline timeline = builder.build();
  CHECK(text_of(timeline, 0) ==
        "0-10 range backward, 10-40 engine backward, 40-50 range backward, 60-90 range step, 100-110 range backward, "
        "110-140 engine backward, 140-150 range backward");
}

TEST_CASE("nodes on the thread that made them are its own work", "[analysis]") {
  TimelineBuilder builder;
  builder.range("backward", 0, 50).node(10, 40, 3, 1, 2);
  CHECK(text_of(builder.build(), 0) == "0-50 range backward");
}

TEST_CASE("spans of the host where times are as far apart as a file can claim", "[analysis]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kMost = -(kLeast + 1);
  TimelineBuilder builder;
  builder.range("all", kLeast, kMost).range("turned", 50, 20).range("real", 0, 10).range("end", kMost, kMost);
  builder.on_thread(9).engine().node(kLeast, kMost, 3, 1, 5).node(kMost, kLeast, 4, 1, 5);
  CHECK(text_of(builder.build(), 0) == "0-10 range real");
}

TEST_CASE("spans of the host are those of a slow loop over every nanosecond", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("spans of the host", repeats(150))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = random_device_job(random);
    const RangeTable& ranges = timeline.ranges;
    const HostSpans host(timeline, {});
    for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
      const std::vector<HostSpan> spans = host.of(thread);
      std::size_t next = 0;
      for (std::int64_t at = 0; at < 520; ++at) {
        while (next < spans.size() && spans[next].end_ns <= at) ++next;
        const bool known = next < spans.size() && spans[next].begin_ns <= at;
        RangeIndex innermost = kNone;  // ranges are nested: the last one that began
        bool in_operator = false, in_any = false, waits = false;
        for (RangeIndex range{0}; range < ranges.size(); ++range) {
          if (ranges.thread[range] != thread || at < ranges.begin_ns[range] || at >= ranges.end_ns[range]) continue;
          in_any = true;
          if (ranges.kind[range] == RangeKind::kOperator)
            in_operator = true;
          else
            innermost = range;
        }
        for (CallIndex call{0}; call < timeline.calls.size(); ++call)
          waits = waits || (timeline.calls.thread[call] == thread && timeline.calls.begin_ns[call] <= at &&
                            at < timeline.calls.end_ns[call]);
        REQUIRE(known == (in_any || waits));
        if (!known) continue;
        CHECK(spans[next].range == innermost);
        CHECK(spans[next].state == (waits         ? HostState::kDeviceWait
                                    : in_operator ? HostState::kOperator
                                                  : HostState::kRange));
      }
    }
  }
}
