// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/json_value.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/projection.hpp>

#include <map>
#include <sstream>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string exported_stacks(const Timeline& timeline, StackFormat format, StackTime time) {
  const ScratchFolder folder;
  StackExportOptions options;
  options.format = format;
  options.time = time;
  const Status status = export_stacks(timeline, folder.file("out"), options);
  INFO((status.ok() ? std::string() : status.error().message()));
  REQUIRE(status.ok());
  return read_file(folder.file("out"));
}

/// "a;b 7" -> {"a;b": 7}; a stack that stands there twice fails the test.
std::map<std::string, std::int64_t> folded_stacks(const Timeline& timeline, StackTime time = StackTime::kDevice) {
  std::map<std::string, std::int64_t> out;
  std::istringstream lines(exported_stacks(timeline, StackFormat::kFolded, time));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    REQUIRE(space != std::string::npos);
    REQUIRE(out.emplace(line.substr(0, space), std::stoll(line.substr(space + 1))).second);
  }
  return out;
}

TimelineBuilder two_layers() {
  return TimelineBuilder()
      .range("step", 0, 100)
      .range("layer.0", 10, 40)
      .range("layer.1", 40, 60)
      .launch(12)
      .kernel(20, 50, "gemm")
      .launch(13)
      .kernel(50, 60, "gemm")
      .launch(45)
      .kernel(60, 65, "relu")
      .launch(70)
      .memcpy(70, 72, 64)
      .launch(150)
      .kernel(160, 163, "late");
}

std::int64_t sum_of(const std::map<std::string, std::int64_t>& stacks) {
  std::int64_t sum = 0;
  for (const auto& [stack, ns] : stacks) sum += ns;
  return sum;
}

/// The node of that name among some of Hatchet's; the names of all are different.
const JsonValue& hatchet_child(const JsonValue& nodes, const std::string& name) {
  for (const JsonValue& node : nodes.items())
    if (node["frame"]["name"].text() == name) return node;
  throw std::runtime_error("no node " + name);
}

}  // namespace

TEST_CASE("folded stacks by device time add up to the device time", "[exporter]") {
  const Timeline timeline = two_layers().build();
  const auto stacks = folded_stacks(timeline);
  CHECK(stacks ==
        std::map<std::string, std::int64_t>{
            {"step;layer.0;gemm", 40}, {"step;layer.1;relu", 5}, {"step;memcpy", 2}, {"(outside of ranges);late", 3}});
  CHECK(sum_of(stacks) == project(timeline, {}).account.total.gpu_sum_ns);
}

TEST_CASE("folded stacks by host time are what ranges took without those inside", "[exporter]") {
  CHECK(folded_stacks(two_layers().build(), StackTime::kHost) ==
        std::map<std::string, std::int64_t>{{"step", 50}, {"step;layer.0", 30}, {"step;layer.1", 20}});
  SECTION("runs of one range are one stack") {
    CHECK(folded_stacks(TimelineBuilder().range("a", 0, 10).range("a", 20, 25).build(), StackTime::kHost) ==
          std::map<std::string, std::int64_t>{{"a", 15}});
  }
  SECTION("a range that is its own child is another stack") {
    CHECK(folded_stacks(TimelineBuilder().range("a", 0, 10).range("a", 2, 6).build(), StackTime::kHost) ==
          std::map<std::string, std::int64_t>{{"a", 6}, {"a;a", 4}});
  }
}

TEST_CASE("stacks of several threads and devices stand below their names", "[exporter]") {
  TimelineBuilder builder;
  builder.range("a", 0, 10).launch(1).kernel(2, 5, "k").on_device(1).launch(3).kernel(4, 8, "k");
  builder.on_thread(2).range("b", 0, 7);
  const Timeline timeline = builder.build();
  CHECK(folded_stacks(timeline) == std::map<std::string, std::int64_t>{{"cuda:0;a;k", 3}, {"cuda:1;a;k", 4}});
  CHECK(folded_stacks(timeline, StackTime::kHost) ==
        std::map<std::string, std::int64_t>{{"thread 1;a", 10}, {"thread 2;b", 7}});
}

TEST_CASE("names do not break lines or stacks", "[exporter]") {
  const Timeline timeline = TimelineBuilder().range("a;b\nc 1", 0, 10).range("", 2, 4).build();
  CHECK(folded_stacks(timeline, StackTime::kHost) ==
        std::map<std::string, std::int64_t>{{"a:b\\x0ac 1", 8}, {"a:b\\x0ac 1;(unnamed)", 2}});
  const JsonValue document = JsonValue::parse(exported_stacks(timeline, StackFormat::kSpeedscope, StackTime::kHost));
  CHECK(document["shared"]["frames"].items()[0]["name"].text() == "a;b\nc 1");
}

TEST_CASE("ranges that nest deeper than readers bear count for the deepest one that is written", "[exporter]") {
  TimelineBuilder builder;
  for (int i = 0; i < 400; ++i) builder.range("r" + std::to_string(i), i, 1000 - i);
  const Timeline timeline = builder.launch(399).kernel(2000, 2010, "k").build();
  const auto host = folded_stacks(timeline, StackTime::kHost);
  CHECK(host.size() == 256);
  CHECK(sum_of(host) == 1000);
  const auto device = folded_stacks(timeline);
  REQUIRE(device.size() == 1);
  CHECK(device.begin()->second == 10);
}

TEST_CASE("speedscope has a profile for each device, whose weights are its stacks", "[exporter]") {
  const Timeline timeline = two_layers().build();
  const JsonValue document = JsonValue::parse(exported_stacks(timeline, StackFormat::kSpeedscope, StackTime::kDevice));
  CHECK(document["$schema"].text() == "https://www.speedscope.app/file-format-schema.json");
  REQUIRE(document["profiles"].items().size() == 1);
  const JsonValue& profile = document["profiles"].items()[0];
  CHECK(profile["type"].text() == "sampled");
  CHECK(profile["name"].text() == "cuda:0");
  CHECK(profile["unit"].text() == "nanoseconds");
  CHECK(profile["startValue"].integer() == 0);
  CHECK(profile["endValue"].integer() == 50);
  std::map<std::string, std::int64_t> stacks;
  const auto& samples = profile["samples"].items();
  REQUIRE(samples.size() == profile["weights"].items().size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::string stack;
    for (const JsonValue& frame : samples[i].items()) {
      const auto number = static_cast<std::size_t>(frame.integer());
      stack += (stack.empty() ? "" : ";") + document["shared"]["frames"].items().at(number)["name"].text();
    }
    stacks[stack] += profile["weights"].items()[i].integer();
  }
  CHECK(stacks == folded_stacks(timeline));
}

TEST_CASE("Hatchet's nodes have inclusive times, and theirs own", "[exporter]") {
  const JsonValue roots =
      JsonValue::parse(exported_stacks(two_layers().build(), StackFormat::kHatchet, StackTime::kDevice));
  REQUIRE(roots.items().size() == 2);
  const JsonValue& step = hatchet_child(roots, "step");
  CHECK(step["frame"]["type"].text() == "range");
  CHECK(step["metrics"]["time"].integer() == 0);
  CHECK(step["metrics"]["time (inc)"].integer() == 47);
  CHECK(step["children"].items().size() == 3);
  const JsonValue& layer = hatchet_child(step["children"], "layer.0");
  CHECK(layer["metrics"]["time (inc)"].integer() == 40);
  const JsonValue& gemm = hatchet_child(layer["children"], "gemm");
  CHECK(gemm["frame"]["type"].text() == "activity");
  CHECK(gemm["metrics"]["time"].integer() == 40);
  CHECK(gemm["metrics"]["count"].integer() == 2);
  CHECK(gemm["children"].items().empty());
  CHECK(hatchet_child(roots, "(outside of ranges)")["metrics"]["time (inc)"].integer() == 3);
  SECTION("of several threads, the threads are roots") {
    const Timeline timeline = TimelineBuilder().range("a", 0, 10).on_thread(2).range("a", 0, 4).build();
    const JsonValue threads = JsonValue::parse(exported_stacks(timeline, StackFormat::kHatchet, StackTime::kHost));
    REQUIRE(threads.items().size() == 2);
    CHECK(threads.items()[0]["frame"]["type"].text() == "place");
    CHECK(threads.items()[0]["metrics"]["time (inc)"].integer() == 10);
    CHECK(threads.items()[1]["metrics"]["time (inc)"].integer() == 4);
    CHECK(threads.items()[1]["children"].items().size() == 1);
  }
}

TEST_CASE("an input without device work has no stacks of it", "[exporter]") {
  const ScratchFolder folder;
  const Status status = export_stacks(TimelineBuilder().range("a", 0, 10).build(), folder.file("out"));
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kNotFound);
  CHECK(folder.entries() == 0);
  StackExportOptions options;
  options.time = StackTime::kHost;
  REQUIRE(export_stacks(TimelineBuilder().range("a", 0, 10).build(), folder.file("out"), options).ok());
  const Status again = export_stacks(TimelineBuilder().range("a", 0, 10).build(), folder.file("out"), options);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code() == ErrorCode::kExists);
}
