// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/json_value.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

using namespace rangefinder;
using rangefinder::testing::TimelineBuilder;

namespace {

/// Twelve steps of a millisecond, in each of which the host waits for the device and then works for 200 us.
Timeline waiting_loop(const char* range = "step") {
  constexpr std::int64_t kUs = 1000;
  TimelineBuilder build;
  for (int step = 0; step < 12; ++step) {
    const std::int64_t at = step * 1000 * kUs;
    build.step(step, at, at + 1000 * kUs).range(range, at, at + 1000 * kUs);
    build.launch_call("cudaLaunchKernel", at + 5 * kUs, at + 10 * kUs).kernel(at + 12 * kUs, at + 400 * kUs, "first");
    build.call("cudaStreamSynchronize", at + 20 * kUs, at + 402 * kUs);
    build.launch_call("cudaLaunchKernel", at + 600 * kUs, at + 605 * kUs)
        .kernel(at + 607 * kUs, at + 998 * kUs, "second");
  }
  return build.build();
}

std::string report_of(const Timeline& timeline, ReportOptions options) {
  options.view = "advice";
  std::string out;
  REQUIRE(write_report(timeline, options, [&](std::string_view text) {
            out.append(text);
            return true;
          }).ok());
  return out;
}

}  // namespace

TEST_CASE("advice begins with the verdict, then findings with their evidence, then what was not judged", "[report]") {
  const std::string text = report_of(waiting_loop(), {});
  INFO(text);
  const std::size_t verdict = text.find("bounds the step; up to"), step = text.find("A step takes 1.000 ms"),
                    finding = text.find("1.  Up to "), evidence = text.find("cudaStreamSynchronize", finding),
                    change = text.find("    change  "), check = text.find("    check   "),
                    rule = text.find("    rule    implicit_synchronization"),
                    missing = text.find("Not judged, because this is not in the data:");
  CHECK(verdict < step);
  CHECK(step < finding);
  CHECK(finding < evidence);
  CHECK(evidence < change);
  CHECK(change < check);
  CHECK(check < rule);
  CHECK(rule < missing);
  CHECK(missing < text.size());
}

TEST_CASE("advice says what of a gain decides the order where that is not all of it", "[report]") {
  constexpr std::int64_t kUs = 1000;
  // The host waits for its input, and then launches more slowly than the device works: launches gain more, but most of
  // it is the input's.
  TimelineBuilder build;
  for (int step = 0; step < 12; ++step) {
    const std::int64_t at = step * 1000 * kUs;
    build.step(step, at, at + 1000 * kUs).range("step", at, at + 1000 * kUs).range("load_batch", at, at + 400 * kUs);
    for (std::int64_t launch = 410; launch <= 970; launch += 140)
      build.launch_call("cudaLaunchKernel", at + launch * kUs, at + (launch + 5) * kUs)
          .kernel(at + (launch + 7) * kUs, at + (launch + 107) * kUs, "work");
  }
  const Timeline timeline = build.build();
  ReportOptions wide;
  wide.width = 200;
  const std::string text = report_of(timeline, wide);
  INFO(text);
  const std::size_t first = text.find("1.  Up to "), second = text.find("2.  Up to ");
  REQUIRE(second != std::string::npos);
  CHECK(text.substr(first, second - first).find("beyond other causes") == std::string::npos);
  CHECK(text.find(" % beyond other causes): The device waits for the host", second) != std::string::npos);
  ReportOptions options;
  options.format = ReportFormat::kJson;
  const testing::JsonValue json = testing::JsonValue::parse(report_of(timeline, options));
  const auto& rows = json["rows"].items();
  REQUIRE(rows.size() >= 2);
  CHECK(rows[0]["own_gain_ns"].integer() == rows[0]["gain_ns"].integer());
  CHECK(rows[1]["gain_ns"].integer() > rows[0]["gain_ns"].integer());
  CHECK(rows[1]["own_gain_ns"].integer() < rows[0]["own_gain_ns"].integer());
}

TEST_CASE("advice as text keeps to the width of the terminal", "[report]") {
  ReportOptions options;
  options.width = 60;
  const std::string text = report_of(waiting_loop(), options);
  for (std::size_t at = 0; at < text.find("device time");) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::size_t columns = 0;
    for (std::size_t i = at; i < end; ++i) columns += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 ? 1 : 0;
    INFO(text.substr(at, end - at));
    CHECK(columns <= 60);
    at = end + 1;
  }
}

TEST_CASE("names in advice cannot steer a terminal", "[report]") {
  const std::string text = report_of(waiting_loop("\x1b[31mred\x1b[0m"), {});
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("advice for programs has a row per finding and one per rule that was not judged", "[report]") {
  ReportOptions options;
  options.format = ReportFormat::kJson;
  const testing::JsonValue json = testing::JsonValue::parse(report_of(waiting_loop(), options));
  const auto& rows = json["rows"].items();
  REQUIRE(rows.size() > 1);
  CHECK(rows[0]["rule"].text() == "implicit_synchronization");
  CHECK(rows[0]["state"].text() == "found");
  CHECK(rows[0]["range"].text() == "step");
  CHECK(rows[0]["gain_ns"].integer() > 150'000);
  CHECK(rows[0]["evidence"].text().find("cudaStreamSynchronize, 1 a step, 382000 ns") != std::string::npos);
  CHECK(rows[rows.size() - 1]["state"].text() == "not judged");
  ReportOptions filtered;
  filtered.filter = "implicit";
  CHECK(report_of(waiting_loop(), filtered).find("not judged") == std::string::npos);
}
