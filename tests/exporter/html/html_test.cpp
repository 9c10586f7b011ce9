// SPDX-License-Identifier: MIT
#include "exporter/html/page_reader.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// A step with a range, a call that launches a kernel and a copy, on two streams.
TimelineBuilder small_step() {
  TimelineBuilder builder;
  builder.range("step", 1000, 2000).range("forward", 1100, 1600);
  builder.launch_call("cudaLaunchKernel", 1200, 1250).kernel(1300, 1500, "gemm");
  builder.on_stream(8).launch_call("cudaMemcpyAsync", 1260, 1280).memcpy(1400, 1450, 4096);
  builder.on_stream(7).launch(1290).kernel(1510, 1600, "ncclDevKernel_AllReduce");
  return builder;
}

std::int64_t sum_of(const PageColumn& column) {
  return std::accumulate(column.integers.begin(), column.integers.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("slices of a page have the times, names and kinds of the recording", "[exporter]") {
  const PageReader page = PageReader::of(small_step().build());
  CHECK(page.index()["begin_ns"].text() == "1000");
  CHECK(page.index()["end_ns"].text() == "2000");
  const std::vector<PageSlice> slices = page.slices();
  const std::string thread = "main thread (1)";
  const PageSlice& step = PageReader::find(slices, thread, "step");
  CHECK(step.begin_ns == 0);
  CHECK(step.end_ns == 1000);
  CHECK(step.depth == 0);
  const PageSlice& forward = PageReader::find(slices, thread, "forward");
  CHECK(forward.begin_ns == 100);
  CHECK(forward.depth == 1);
  CHECK(forward.category == 0);
  const PageSlice& call = PageReader::find(slices, thread, "cudaLaunchKernel");
  CHECK(call.depth == 2);
  CHECK(call.category == 5);
  const PageSlice& gemm = PageReader::find(slices, "stream 7", "gemm");
  CHECK(gemm.begin_ns == 300);
  CHECK(gemm.end_ns == 500);
  CHECK(gemm.category == 1);
  CHECK(PageReader::find(slices, "stream 7", "ncclDevKernel_AllReduce").category == 2);
  CHECK(PageReader::find(slices, "stream 8", "memcpy").category == 3);
  const PageSlice& projected = PageReader::find(slices, "ranges on the device", "forward");
  CHECK(projected.begin_ns == 300);
  CHECK(projected.end_ns == 600);
}

TEST_CASE("device slices of a page lead to what launched them", "[exporter]") {
  const std::vector<PageSlice> slices = PageReader::of(small_step().build()).slices();
  const auto cause_of = [&](std::string_view track, std::string_view name) {
    const std::int64_t cause = PageReader::find(slices, track, name).cause;
    return cause == 0 ? std::string("nothing") : slices.at(static_cast<std::size_t>(cause - 1)).name;
  };
  CHECK(cause_of("stream 7", "gemm") == "cudaLaunchKernel");
  CHECK(cause_of("stream 8", "memcpy") == "cudaMemcpyAsync");
  CHECK(cause_of("stream 7", "ncclDevKernel_AllReduce") == "forward");  // its call was not recorded
  CHECK(cause_of("ranges on the device", "forward") == "forward");
}

TEST_CASE("the same recording gives the same page", "[exporter]") {
  const Timeline timeline = small_step().build();
  CHECK(PageReader::of(timeline).html() == PageReader::of(timeline).html());
}

TEST_CASE("a page keeps device and host time of every path of ranges", "[exporter]") {
  const PageReader page = PageReader::of(small_step().build());
  const PageTable table = page.table(page.index()["ranges"]["table"]);
  CHECK(table.at("depth").integers == std::vector<std::int64_t>{0, 1});
  CHECK(table.at("host_ns").integers == std::vector<std::int64_t>{1000, 500});
  CHECK(table.at("host_self_ns").integers == std::vector<std::int64_t>{500, 500});
  CHECK(table.at("gpu_busy_ns").integers == std::vector<std::int64_t>{290, 290});
  CHECK(table.at("gpu_self_ns").integers == std::vector<std::int64_t>{0, 290});
  CHECK(table.at("gpu_ops").integers == std::vector<std::int64_t>{3, 3});
  CHECK(table.at("begin_ns").integers == std::vector<std::int64_t>{0, 100});
  CHECK(page.index()["ranges"]["accounts"][std::size_t{0}][std::size_t{1}].integer() == 340);
}

TEST_CASE("the page that every file has is at most 1 MB", "[exporter]") {
  HtmlExportReport report;
  const PageReader page = PageReader::of(small_step().build(), {}, &report);
  CHECK(report.page_bytes <= 1'000'000);
  CHECK(report.output_bytes == page.html().size());
  CHECK(report.policy.find("default-src 'none'") == 0);
  CHECK(page.html().find("content=\"" + report.policy + "\"") != std::string::npos);
  CHECK(report.left_out == 0);
  CHECK(report.notes.empty());
}

TEST_CASE("a page of many slices stays small, and no time is lost", "[exporter]") {
  constexpr std::uint64_t kSlices = 200'000;
  TimelineBuilder builder;
  std::int64_t recorded_ns = 0;
  for (std::int64_t i = 0; i < std::int64_t{kSlices}; ++i) {
    builder.range(i % 3 == 0 ? "a" : "b", 1000 * i, 1000 * i + 700 + i % 7);
    recorded_ns += 700 + i % 7;
  }
  HtmlExportReport report;
  const PageReader page = PageReader::of(builder.build(), {}, &report);
  CHECK(report.slices == kSlices);
  CHECK(report.output_bytes - report.page_bytes < 8 * kSlices);
  const PageTable table = page.table(page.index()["timeline"]["tracks"][std::size_t{0}]["table"]);
  CHECK(sum_of(table.at("duration_ns")) == recorded_ns);
}

TEST_CASE("a page says what it merged", "[exporter]") {
  TimelineBuilder builder;
  builder.range("whole", 0, 1'000'000);
  for (std::int64_t i = 0; i < 5000; ++i) builder.range("short", 100 * i, 100 * i + 50);
  const Timeline timeline = builder.build();
  HtmlExportOptions options;
  options.most_slices = 1000;
  HtmlExportReport report;
  const PageReader page = PageReader::of(timeline, options, &report);
  CHECK(report.slices <= 1000);
  CHECK(report.left_out > 0);
  CHECK(report.slices + report.left_out == 5001);
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes.front().find("were merged into") != std::string::npos);
  const JsonValue& exported = page.index()["lost"]["exported"];
  CHECK(exported["slices_left_out"].integer() == static_cast<std::int64_t>(report.left_out));
  CHECK(exported["why"].text() == report.notes.front());
  const PageTable table = page.table(page.index()["timeline"]["tracks"][std::size_t{0}]["table"]);
  std::int64_t shown = 0;
  for (const std::int64_t merged : table.at("merged").integers) shown += std::max<std::int64_t>(merged, 1);
  CHECK(shown == 5001);
  // Analyses see every slice.
  CHECK(page.table(page.index()["ranges"]["table"]).at("count").integers == std::vector<std::int64_t>{1, 5000});

  options.most_slices = 10;
  const ScratchFolder folder;
  const Status refused = export_html(timeline, folder.file("page.html"), options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kInvalidArgument);
  CHECK(folder.entries() == 0);
}

TEST_CASE("a page replaces a file only where it is asked to", "[exporter]") {
  const ScratchFolder folder;
  const std::string path = folder.file("page.html");
  const Timeline timeline = small_step().build();
  export_html(timeline, path).value();
  const Status refused = export_html(timeline, path);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kExists);
  HtmlExportOptions options;
  options.replace = true;
  CHECK(export_html(timeline, path, options).ok());
}

TEST_CASE("a page of an empty recording says what is missing", "[exporter]") {
  const PageReader page = PageReader::of(TimelineBuilder().build());
  for (const char* section : {"steps", "ranges", "timeline", "memory", "ranks", "roofline"}) {
    INFO(section);
    CHECK_FALSE(page.index().has(section));
    CHECK(page.index()["absent"].has(section));
  }
  CHECK(page.index()["lost"]["complete"].boolean());
  CHECK_FALSE(page.index()["verdict"]["text"].text().empty());
}
