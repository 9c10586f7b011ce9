// SPDX-License-Identifier: MIT
//
// The view families.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline two_families() {
  TimelineBuilder builder;
  builder.range("forward", 0, 100'000);
  builder.range("aten::addmm", 1'000, 9'000).of_kind(RangeKind::kOperator);
  builder.launch(2'000).kernel(10'000, 40'000, "ampere_sgemm_32x128_tn");
  builder.launch(50'000).memcpy(60'000, 65'000, 4096).launch(150'000).kernel(160'000, 165'000, "mine");
  return builder.build();
}

std::string families_report(const Timeline& timeline, ReportFormat format, std::string by = {}) {
  ReportOptions options;
  options.view = "families";
  options.format = format;
  options.by = std::move(by);
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("families of device work as CSV", "[report]") {
  CHECK(families_report(two_families(), ReportFormat::kCsv) ==
        "Family,GPU ops,GPU sum (ns),Share (%),GPU sum avg (ns),GPU busy (ns),Kernels,Main operator,Main kernel\n"
        "GEMM,1,30000,75.0,30000,30000,1,aten::addmm,ampere_sgemm_32x128_tn\n"
        "copy,1,5000,12.5,5000,5000,1,,memcpy\n"
        "other,1,5000,12.5,5000,5000,1,,mine\n");
}

TEST_CASE("families by range as CSV, with the work that no range owns last", "[report]") {
  CHECK(families_report(two_families(), ReportFormat::kCsv, "range") ==
        "Range,Family,GPU ops,GPU sum (ns),Share (%),GPU sum avg (ns)\n"
        "forward,GEMM,1,30000,75.0,30000\n"
        "forward,copy,1,5000,12.5,5000\n"
        "(outside any range),other,1,5000,12.5,5000\n");
}

TEST_CASE("a note says what counts as other because nothing tells", "[report]") {
  const std::string text = families_report(two_families(), ReportFormat::kText);
  INFO(text);
  CHECK(has(text, "the names of 1 operations say nothing"));
}

TEST_CASE("families have no rows by step, and views that have rows by something are named", "[report]") {
  ReportOptions options;
  options.view = "families";
  options.by = "step";
  const auto ignore = [](std::string_view) { return true; };
  CHECK(has(write_report(two_families(), options, ignore).error().message(), "families: by \"step\": there is range"));
  options.view = "kernels";
  CHECK(has(write_report(two_families(), options, ignore).error().message(),
            "use --view breakdown, critical_path, families or launch_queue"));
}
