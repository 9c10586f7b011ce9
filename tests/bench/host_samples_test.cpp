// SPDX-License-Identifier: MIT
#include "bench/host_samples.hpp"

#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::CaptureBuilder;
using rangefinder::testing::ScratchFolder;

namespace {

/// "step" from 0 to 9,000 with "a;b" in it from 1,000 to 2,000 and an operator in that from 1,200 to 1,600.
Timeline timeline() {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.range("step", 0, 9'000).range("a;b", 1'000, 2'000).range("aten::mm", 1'200, 1'600, "operator");
  capture.write(folder.file("a.rfcap"));
  return load_timeline(folder.file("a.rfcap")).value();
}

}  // namespace

TEST_CASE("sampled stacks stand below the ranges that were open", "[bench]") {
  const Timeline all = timeline();
  const std::int64_t thread = all.threads.at(0).tid, begin_ns = all.ranges.begin_ns[0];
  // main > work > work, main > rest; one on another thread, one after the ranges, one whose stack is empty.
  const std::string text = fmt::format(
      R"({{"functions":["work","main","rest"],"stacks":[[0,0,1],[2,1],[]],"lost":2,"samples":)"
      R"([[{0},{2},100,0],[{1},{2},30,0],[{0},{2},7,1],[{1},{3},40,1],[{4},{2},9,2],[1,2,3],[{1},{2},1,99]]}})",
      begin_ns + 500, begin_ns + 1'500, thread, thread + 1, begin_ns + 9'000);
  const Json document = parse_json(text).value();
  const HostSamples found = host_samples(document, all);
  const JsonView figures = found.figures;
  CHECK(found.folded ==
        "[unknown] 9\n"
        "main;rest 40\n"
        "step;a:b;aten::mm;[unknown] in aten::mm 1\n"
        "step;a:b;main;work;work 30\n"
        "step;main;rest 7\n"
        "step;main;work;work 100\n");
  CHECK(figures["count"].integer() == 6);
  CHECK(figures["lost"].integer() == 2);
  CHECK(figures["cpu_ns"].integer() == 187);
  const std::vector<JsonView> functions = figures["functions"].items();
  REQUIRE(functions.size() == 5);
  CHECK(functions[0]["name"].text() == "work");
  CHECK(functions[0]["self_ns"].integer() == 130);
  CHECK(functions[0]["total_ns"].integer() == 130);  // once, though it calls itself
  CHECK(functions[1]["name"].text() == "rest");
  CHECK(functions[3]["name"].text() == "[unknown] in aten::mm");
  CHECK(functions[4]["name"].text() == "main");
  CHECK(functions[4]["self_ns"].integer() == 0);
  CHECK(functions[4]["total_ns"].integer() == 177);
}

TEST_CASE("no samples are no lines", "[bench]") {
  const HostSamples found = host_samples({}, timeline());
  CHECK(found.folded.empty());
  CHECK(found.figures.at("count") == 0);
}
