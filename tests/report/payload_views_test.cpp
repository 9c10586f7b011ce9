// SPDX-License-Identifier: MIT
//
// Payloads in the view ranges.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <cstdint>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Batches of 128, 16 and 128 with device work, one kind of file each, and a range without a payload.
Timeline batches() {
  TimelineBuilder builder;
  const std::uint64_t sizes[] = {128, 16, 128};
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t t = 1'000 * i;
    builder.range("batch", t, t + 500 + 100 * i).payload(sizes[i]).launch(t + 10).kernel(t + 20, t + 40 + 10 * i);
    builder.range("read", t + 50, t + 60).payload(i == 1 ? "text" : "json");
  }
  builder.range("end", 5'000, 5'100);
  return builder.build();
}

std::string csv(const Timeline& timeline, ReportOptions options) {
  options.format = ReportFormat::kCsv;
  return rendered(timeline, options);
}

Status refused(const Timeline& timeline, const ReportOptions& options) {
  return write_report(timeline, options, [](std::string_view) { return true; });
}

}  // namespace

TEST_CASE("each instance says its payload", "[report]") {
  ReportOptions options;
  options.instances = true;
  options.columns = "range,payload,host";
  CHECK(csv(batches(), options) ==
        "Range,Payload,Host (ns)\n"
        "batch,128,500\nbatch/read,json,10\nbatch,16,600\nbatch/read,text,10\nbatch,128,700\nbatch/read,json,10\n"
        "end,,100\n");
  const Timeline negative = TimelineBuilder().range("n", 0, 1).payload(std::int64_t{-4}).build();
  CHECK(csv(negative, options) == "Range,Payload,Host (ns)\nn,-4,1\n");
  options.columns.clear();
  CHECK(has(rendered(batches(), {.instances = true}), "Payload"));
  CHECK_FALSE(has(rendered(TimelineBuilder().range("a", 0, 1).build(), {.instances = true}), "Payload"));
}

TEST_CASE("instances are told by a condition on their payload", "[report]") {
  ReportOptions options;
  options.instances = true;
  options.columns = "range,payload";
  options.payload = ">=64";
  CHECK(csv(batches(), options) == "Range,Payload\nbatch,128\nbatch,128\n");
  options.payload = "read!=text";
  CHECK(csv(batches(), options) == "Range,Payload\nbatch/read,json\nbatch/read,json\n");
  options.instances = false;
  options.columns = "range,count,host,gpu_busy";
  options.payload = "batch>=64";
  CHECK(csv(batches(), options) == "Range,Count,Host (ns),GPU busy (ns)\nbatch,2,1200,60\n");
}

TEST_CASE("one row per name and payload sorts by size", "[report]") {
  ReportOptions options;
  options.by_payload = true;
  options.columns = "range,payload,count,host,gpu_busy";
  options.sort = "+payload";
  CHECK(csv(batches(), options) ==
        "Range,Payload,Count,Host (ns),GPU busy (ns)\n"
        "batch,16,1,600,30\nbatch,128,2,1200,60\nend,,1,100,0\nread,json,2,20,0\nread,text,1,10,0\n");
}

TEST_CASE("numbers among payloads have least, mean and most", "[report]") {
  ReportOptions options;
  options.columns = "range,payload_min,payload_mean,payload_max";
  options.sort = "+range";
  const Timeline timeline = TimelineBuilder()
                                .range("loss", 0, 10)
                                .payload(0.5)
                                .range("loss", 10, 20)
                                .payload(0.00025)
                                .range("n", 20, 30)
                                .payload(std::int64_t{-4})
                                .range("n", 30, 40)
                                .payload(std::uint64_t{7})
                                .range("text", 40, 50)
                                .payload("5")
                                .build();
  CHECK(csv(timeline, options) ==
        "Range,Payload min,Payload mean,Payload max\n"
        "loss,0.00025,0.250125,0.5\nn,-4,1.5,7\ntext,,,\n");
  CHECK(has(rendered(timeline, {}), "Payload mean"));
  options.format = ReportFormat::kJson;
  CHECK(has(rendered(timeline, options), R"("payload_min": -4, "payload_mean": 1.5, "payload_max": 7)"));
  options = {};
  options.sort = "payload_mean";
  options.columns = "range";
  CHECK(csv(timeline, options) == "Range\nn\nloss\ntext\n");
}

TEST_CASE("what payloads cannot answer is said", "[report]") {
  const Timeline none = TimelineBuilder().range("a", 0, 1).build();
  ReportOptions options;
  options.payload = ">1";
  CHECK(has(rendered(none, options), "no range of this input has a payload"));
  CHECK(has(rendered(batches(), {.payload = ">1000"}), "no range has a payload that matches >1000"));
  options.payload = "64";
  CHECK(refused(batches(), options).error().message().find("write '>=64'") != std::string::npos);
  options.payload = ">1";
  options.view = "kernels";
  CHECK(refused(batches(), options).error().message() == "kernels has no payloads; use --view ranges");
  options = {};
  options.instances = options.by_payload = true;
  CHECK_FALSE(refused(batches(), options).ok());
}
