// SPDX-License-Identifier: MIT
#include "bench/profile.hpp"

#include "bench/results_tables.hpp"
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::CaptureBuilder;
using rangefinder::testing::ScratchFolder;

namespace {

/// A step of 9 us that launches a kernel of 2.5 us in its forward pass, and holds 612 bytes at most.
CaptureBuilder step() {
  CaptureBuilder capture;
  capture.h100().step(0, 0).step(1, 9'000);
  capture.range("step", 0, 9'000).range("forward", 500, 4'000).range("aten::mm", 600, 700, "operator");
  capture.launch(1'000).call("cudaLaunchKernel_v7000", 990, 1'400).kernel("gemm", 2'000, 4'500);
  capture.memory(MemoryAction::kAllocate, 650, -1, {0x1000, 512, 512});
  capture.memory(MemoryAction::kAllocate, 5'000, -1, {0x2000, 100, 612});
  return capture;
}

Json profiled(const std::string& capture, ProfileLevel level = ProfileLevel::kMinimal) {
  const Json answer = parse_json(R"({"wall_ns":[1100,1300,1200],"cpu_ns":[],"files":["snapshot.pickle"]})").value();
  VariantResult variant;
  variant.wall_ns = {1000, 1000};
  return profile_of(capture, answer, variant, level).value().tables;
}

}  // namespace

TEST_CASE("a profile has the report's figures, memory and the cost of recording", "[bench]") {
  const ScratchFolder folder;
  step().write(folder.file("variant.rfcap"));
  const Json document = profiled(folder.file("variant.rfcap"));
  const JsonView profile = document;
  CHECK(profile["steps"].integer() == 3);
  CHECK(profile["wall_overhead"].number() == Approx(0.2));
  CHECK(profile["cpu_overhead"].is_null());  // no samples: not measured, not 0
  CHECK(profile["files"].items().size() == 1);
  REQUIRE(profile["ranges"].items().size() == 2);
  const std::vector<JsonView> ranges = profile["ranges"].items();
  const JsonView forward = ranges[ranges[1]["range"].text() == "forward" ? 1 : 0];
  CHECK(forward["host_ns"].integer() == 3'500);
  CHECK(forward["gpu_busy_ns"].integer() == 2'500);
  CHECK(forward["gpu_ops"].integer() == 1);
  REQUIRE(profile["operators"].items().size() == 1);
  CHECK(profile["operators"].items()[0]["name"].text() == "aten::mm");
  CHECK(profile["memory"].items().size() == 2);
  CHECK(std::filesystem::exists(folder.file("variant.pt.trace.json.gz")));
}

TEST_CASE("a profile says where the time of its steps went", "[bench]") {
  const ScratchFolder folder;
  CaptureBuilder capture = step();  // the kernel runs from 2,000 to 4,500
  capture.range("data", 4'500, 8'500).write(folder.file("variant.rfcap"));
  const ProfileResult profile = profile_of(folder.file("variant.rfcap"), {}, {}, ProfileLevel::kMinimal).value();
  REQUIRE(profile.steps);
  CHECK(profile.steps->step_ns == 9'000);
  CHECK(profile.steps->computing_ns == 2'500);
  CHECK(profile.steps->input_ns == 4'000);
  CHECK(profile.steps->host_ns == 2'500);
  CHECK(profile.limits.source.empty());
}

TEST_CASE("a roofline profile has FLOPs, bytes, peaks and the point of each range and operator", "[bench]") {
  const ScratchFolder folder;
  CaptureBuilder capture;  // 10^9 multiply-adds in two kernels of 2 ms and 3 ms
  capture.h100().step(0, 0).step(1, 9'000'000);
  capture.range("step", 0, 9'000'000).range("forward", 500, 4'000'000).range("aten::linear", 550, 900'000, "operator");
  capture.range("aten::mm", 600, 800'000, "operator");
  capture.facts(1, 0, "[[1000, 1000], [1000, 1000]]\n[\"float\", \"float\"]\n[\"\", \"\"]");
  capture.launch(1'000).kernel("gemm", 2'000, 2'002'000).launch(2'000).kernel("gemm", 2'002'000, 5'002'000);
  capture.write(folder.file("variant.rfcap"));
  const Json answer = parse_json(R"({"wall_ns":[1,1],"cpu_ns":[]})").value();
  const MachinePeaks peaks{"c.json",
                           {{"NVIDIA H100 80GB HBM3", "flops", "fp32", 8e11},
                            {"NVIDIA H100 80GB HBM3", "bandwidth", "triad", 3e12},
                            {"NVIDIA H100 80GB HBM3", "latency", "launch", 3e-6},
                            {"host", "flops", "fp32", 1e10}}};
  const auto tables = [&](ProfileLevel level, const MachinePeaks* with) {
    return profile_of(folder.file("variant.rfcap"), answer, {}, level, with).value().tables;
  };
  const Json document = tables(ProfileLevel::kRoofline, &peaks);
  const JsonView roofline = JsonView(document)["roofline"];
  CHECK(JsonView(document)["flops_by_shapes"].number() == 1e9);  // of a step of two
  CHECK(roofline["device"].text() == "NVIDIA H100 80GB HBM3");
  REQUIRE(roofline["peaks"].items().size() == 2);
  CHECK(roofline["peaks"].items()[0]["value"].number() == 8e11);
  REQUIRE(roofline["operators"].items().size() == 1);
  const JsonView point = roofline["operators"].items()[0];
  CHECK(point["operator"].text() == "aten::mm");
  CHECK(point["flops"].number() == 2e9);
  CHECK(point["bytes_b"].number() == 12e6);
  CHECK(point["gflop_s"].number() == Approx(400));
  CHECK(point["flop_a_byte"].number() == Approx(166.67));
  CHECK(point["bound_by"].text() == "compute");
  CHECK(point["of_peak_percent"].number() == Approx(50));
  REQUIRE(roofline["ranges"].items().size() == 2);
  for (const JsonView range : roofline["ranges"].items()) {
    CHECK(range["flops"].number() == 2e9);
    CHECK(range["bound_by"].text() == "compute");
  }
  Json row = Json::object({{"name", "benchmark"}, {"optimized", Json::object({{"profile", document}})}});
  const Json results = Json::object({{"rows", Json::array({row})}});
  const std::string table = markdown_of(roofline_table(results));
  CHECK(table.find("| benchmark | optimized | aten::mm | 1.000 GFLOP | 6.000 MB | 166.67 | 400.000 | 2.400 | fp32 | "
                   "compute | 50.0 % |") != std::string::npos);
  CHECK(table.find("| benchmark | optimized | forward |") != std::string::npos);

  const Json alone = tables(ProfileLevel::kRoofline, nullptr);  // points without a roof
  CHECK(JsonView(alone)["roofline"]["peaks"].items().empty());
  CHECK(JsonView(alone)["roofline"]["operators"].items()[0]["bound_by"].text().empty());
  CHECK(JsonView(alone)["roofline"]["operators"].items()[0]["gflop_s"].number() == Approx(400));
  const Json deep = tables(ProfileLevel::kDeep, &peaks);
  CHECK_FALSE(JsonView(deep).has("roofline"));
  CHECK(JsonView(deep)["flops_by_shapes"].number() == 1e9);
  CHECK_FALSE(tables(ProfileLevel::kMinimal, &peaks).contains("flops_by_shapes"));
}

TEST_CASE("copies are hidden where kernels of their device run beside them", "[bench]") {
  const ScratchFolder folder;
  step().write(folder.file("none.rfcap"));
  CHECK_FALSE(profiled(folder.file("none.rfcap")).contains("copies"));
  CaptureBuilder capture = step();  // the kernel: 2,000 to 4,500
  capture.memcpy(1'000, 1'500, 64).memcpy(1'800, 2'100, 64).memcpy(2'050, 2'300, 64).memcpy(4'400, 4'600, 64);
  capture.write(folder.file("copies.rfcap"));
  const Json profile = profiled(folder.file("copies.rfcap"));
  const JsonView copies = JsonView(profile)["copies"];
  CHECK(copies["busy_ns"].integer() == 500 + 500 + 200);
  CHECK(copies["hidden_ns"].integer() == 300 + 100);
  CHECK(copies["hidden_share"].number() == Approx(1.0 / 3));
}

TEST_CASE("a deep profile has a snapshot of memory, where memory was recorded", "[bench]") {
  const ScratchFolder folder;
  step().write(folder.file("variant.rfcap"));
  for (int again = 0; again < 2; ++again) {  // an earlier run's is replaced
    const Json document = profiled(folder.file("variant.rfcap"), ProfileLevel::kDeep);
    const JsonView profile = document;
    REQUIRE(profile["files"].items().size() == 2);
    CHECK(profile["files"].items()[0].text() == "snapshot.pickle");
    CHECK(profile["files"].items()[1].text() == folder.file("variant.memory.pickle"));
    CHECK(std::filesystem::file_size(folder.file("variant.memory.pickle")) > 0);
  }
  CaptureBuilder without;
  without.step(0, 0).step(1, 9'000).range("step", 0, 9'000).write(folder.file("none.rfcap"));
  CHECK(profiled(folder.file("none.rfcap"), ProfileLevel::kDeep)["files"].size() == 1);
  CHECK_FALSE(std::filesystem::exists(folder.file("none.memory.pickle")));
}

TEST_CASE("what a device's allocator held is told, where it was asked", "[bench]") {
  const ScratchFolder folder;
  step().write(folder.file("none.rfcap"));
  CHECK_FALSE(profiled(folder.file("none.rfcap")).contains("allocator"));
  CaptureBuilder asked = step();
  const auto count = [&](const char* what, std::int64_t bytes) {
    asked.counter(std::string("cuda:0 ") + what + " bytes", 8'000, bytes);
  };
  count("reserved", 2'000'000), count("allocated", 1'000'000), count("requested", 900'000),
      count("inactive split", 50'000);
  asked.write(folder.file("asked.rfcap"));
  Json row = Json::object({{"name", "benchmark"}});
  row["baseline"] = Json::object({{"profile", profiled(folder.file("asked.rfcap"))}});
  Json results = Json::object({{"rows", Json::array({row})}});
  const std::string table = markdown_of(allocator_table(results));
  CHECK(table.find("| benchmark | baseline | cuda:0 | 2.000 MB | 1.000 MB | 900.0 kB | 2.5 % | 10.0 % |") !=
        std::string::npos);
}

TEST_CASE("sampled stacks are figures, a file and a table; why there are none is told", "[bench]") {
  const ScratchFolder folder;
  step().write(folder.file("variant.rfcap"));
  Json answer = parse_json(R"({"wall_ns":[1,1],"host_samples":{"functions":["f","main"],"stacks":[[0,1]],
    "samples":[[0,1,3000000,0],[0,1,1000000,0]],"lost":0}})")
                    .value();
  const Json document = profile_of(folder.file("variant.rfcap"), answer, {}, ProfileLevel::kDeep).value().tables;
  const JsonView profile = document;
  CHECK(profile["host_samples"]["cpu_ns"].integer() == 4'000'000);
  CHECK(profile["files"].items().back().text() == folder.file("variant.stacks.folded"));
  CHECK(testing::read_file(folder.file("variant.stacks.folded")) == "main;f 4000000\n");
  Json row = Json::object({{"name", "benchmark"}, {"optimized", Json::object({{"profile", document}})}});
  const Json results = Json::object({{"rows", Json::array({row})}});
  const std::string table = markdown_of(functions_table(results));
  CHECK(table.find("| benchmark | optimized | f | 2.000 ms | 2.000 ms | 100.0 % |") != std::string::npos);
  CHECK(table.find("main") == std::string::npos);  // nothing of its own
  answer["host_samples"] = Json::object({{"missing", "why"}});
  CHECK(profile_of(folder.file("variant.rfcap"), answer, {}, ProfileLevel::kDeep)
            .value()
            .tables["host_samples"]["missing"] == "why");
}

TEST_CASE("the table of ranges has both variants beside each other", "[bench]") {
  const ScratchFolder folder;
  step().write(folder.file("a.rfcap"));
  step().range("backward", 4'500, 8'000).write(folder.file("b.rfcap"));
  Json row = Json::object({{"name", "benchmark"}});
  row["baseline"] = Json::object({{"profile", profiled(folder.file("a.rfcap"))}});
  row["optimized"] = Json::object({{"profile", profiled(folder.file("b.rfcap"))}});
  Json results = Json::object({{"provenance", Json::object({{"device", "cpu"}})}});
  results["rows"] = Json::array({row});
  const std::string table = markdown_of(ranges_table(results));
  CHECK(table.find(
            "| benchmark | step | 3.000 us | 3.000 us | 833 ns | 833 ns | 0.3 | 0.3 | 0 ns | 0 ns | 612 B | 612 B |") !=
        std::string::npos);
  CHECK(table.find("| benchmark | backward | - | 1.167 us | - | 0 ns | - |") != std::string::npos);
}

TEST_CASE("a capture that cannot be read is an error", "[bench]") {
  const ScratchFolder folder;
  testing::write_file(folder.file("bad.rfcap"), "nothing");
  CHECK_FALSE(profile_of(folder.file("bad.rfcap"), {}, {}, ProfileLevel::kDeep).ok());
}
