// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/exporters.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

TimelineBuilder three_steps() {
  return TimelineBuilder()
      .range("data", 0, 20)
      .range("forward", 20, 70)
      .step(0, 0, 100, 8)
      .step(1, 100, 250, 8)
      .step(2, 260, 400)
      .launch(30)
      .kernel(30, 70)
      .launch(110)
      .kernel(120, 140);
}

std::string metrics_of(const Timeline& timeline) {
  const ScratchFolder folder;
  const Status status = export_step_metrics(timeline, folder.file("out.prom"));
  INFO((status.ok() ? std::string() : status.error().message()));
  REQUIRE(status.ok());
  return read_file(folder.file("out.prom"));
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("metrics of steps are exact seconds and counts", "[exporter]") {
  const std::string text = metrics_of(three_steps().build());
  CHECK(has_line(text, "rangefinder_step_seconds_count{pid=\"1\"} 3"));
  CHECK(has_line(text, "rangefinder_step_seconds_sum{pid=\"1\"} 0.000000390"));
  CHECK(has_line(text, "rangefinder_step_seconds{pid=\"1\",quantile=\"0.5\"} 0.000000140"));
  CHECK(has_line(text, "rangefinder_step_items_total{pid=\"1\"} 16"));
  CHECK(has_line(text, "rangefinder_step_part_seconds_total{pid=\"1\",part=\"data\"} 0.000000020"));
  CHECK(has_line(text, "rangefinder_step_part_seconds_total{pid=\"1\",part=\"forward\"} 0.000000050"));
  CHECK(has_line(text, "rangefinder_step_part_seconds_total{pid=\"1\",part=\"other\"} 0.000000320"));
  CHECK(has_line(text, "rangefinder_step_device_busy_seconds_total{pid=\"1\"} 0.000000060"));
  CHECK(has_line(text, "rangefinder_last_step{pid=\"1\"} 2"));
  CHECK(has_line(text, "rangefinder_recording_complete 1"));
  CHECK(text.find("rangefinder_lost_records_total") == std::string::npos);
  CHECK(text.find("last_step_end") == std::string::npos);  // wall time is not known
}

TEST_CASE("each family of metrics is described once, before its samples, and the text ends with EOF", "[exporter]") {
  const std::string text = metrics_of(three_steps().on_process(2).step(0, 0, 90).step(1, 90, 200).build());
  for (const char* name : {"rangefinder_step_seconds", "rangefinder_step_items", "rangefinder_last_step"}) {
    const std::string type = std::string("# TYPE ") + name + " ";
    const std::size_t first = text.find(type);
    REQUIRE(first != std::string::npos);
    CHECK(text.find(type, first + 1) == std::string::npos);
    CHECK(text.find(std::string("\n") + name) > first);
  }
  CHECK(has_line(text, "rangefinder_step_seconds_count{pid=\"2\"} 2"));
  CHECK(text.ends_with("\n# EOF\n"));
}

TEST_CASE("metrics say what was lost, and where and when", "[exporter]") {
  TimelineBuilder builder = three_steps();
  builder.timeline().health.dropped_ranges = 7;
  builder.timeline().health.foreign_ends = 3;  // a note, no loss
  builder.timeline().realtime_offset_ns = 1'700'000'000'000'000'000;
  builder.timeline().processes[0].rank = 3;
  builder.timeline().processes[0].host = "a\"b\\c\n";
  const std::string text = metrics_of(builder.build());
  CHECK(has_line(text, "rangefinder_recording_complete 0"));
  CHECK(has_line(text, "rangefinder_lost_records_total{cause=\"dropped_ranges\"} 7"));
  CHECK(text.find("foreign_ends") == std::string::npos);
  const std::string labels = "{host=\"a\\\"b\\\\c\\\\x0a\",pid=\"1\",rank=\"3\"}";
  CHECK(has_line(text, "rangefinder_last_step_end_timestamp_seconds" + labels + " 1700000000.000000400"));
}

TEST_CASE("an input without steps has no metrics of them", "[exporter]") {
  const ScratchFolder folder;
  const Status status = export_step_metrics(TimelineBuilder().range("a", 0, 10).build(), folder.file("out"));
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kNotFound);
  CHECK(folder.entries() == 0);
}
