// SPDX-License-Identifier: MIT
#include "bench/host_peaks.hpp"
#include "bench/json.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/bench/measure_peaks.hpp>

#include <algorithm>
#include <string>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::Environment;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::write_file;

namespace {

std::string file_with(const ScratchFolder& folder, const std::string& text) {
  const std::string path = folder.file("peaks.json");
  write_file(path, text);
  return path;
}

/// Of one thread and a cache.
PeakOptions quick() {
  PeakOptions options;
  options.seconds = 0.01;
  options.threads = 1;
  options.array_bytes = std::size_t{1} << 20;
  return options;
}

}  // namespace

TEST_CASE("peaks of the host are measured with their spread", "[bench]") {
  PeakOptions options = quick();
  const std::string json = measure_peaks(options).value();
  const Json parsed = parse_json(json).value();
  const JsonView document = parsed;
  CHECK(document["schema_version"].integer() == 2);
  CHECK(document["host_threads"].integer() == 1);
  CHECK(document["cpu_key"].text().rfind("cpu_", 0) == 0);
  REQUIRE(document["peaks"].items().size() == 4);
  for (const JsonView row : document["peaks"].items()) {
    INFO(json_line(row.json()));
    CHECK(row["device"].text() == "host");
    CHECK(row["least"].number() > 1e6);
    CHECK(row["least"].number() <= row["median"].number());
    CHECK(row["median"].number() <= row["value"].number());
    CHECK(row["samples"].integer() >= 2);
    CHECK(row["unit"].text() == (row["what"].text() == "flops" ? "FLOP/s" : "B/s"));
  }
  CHECK(document["notes"].items().at(0).text() == "no worker: peaks of the host only");
  const ScratchFolder folder;
  const MachinePeaks read = read_peaks(file_with(folder, json)).value();
  REQUIRE(read.rows.size() == 4);
  CHECK(read.best("host", "flops", "fp32") > 0);
  CHECK(read.best("host", "flops", "fp64") > 0);
  CHECK(read.best("host", "bandwidth") ==
        std::max(read.best("host", "bandwidth", "copy"), read.best("host", "bandwidth", "triad")));
  CHECK(read.best("host", "flops", "bf16") == 0);
  const std::string text = peaks_text(json).value();
  CHECK(text.find("GFLOP/s") != std::string::npos);
  CHECK(text.find("triad") != std::string::npos);
}

TEST_CASE("measuring ends soon when it is interrupted", "[bench]") {
  PeakOptions options;
  options.seconds = 3600;
  options.threads = 2;
  options.cancelled = [] { return true; };
  const Result<std::string> json = measure_peaks(options);
  REQUIRE_FALSE(json);
  CHECK(json.error().message() == "interrupted");
}

TEST_CASE("what cannot be measured is refused", "[bench]") {
  PeakOptions options;
  options.seconds = 0;
  CHECK(measure_peaks(options).error().code() == ErrorCode::kInvalidArgument);
  options.seconds = 0.01;
  options.threads = 1'000'000;
  CHECK(measure_peaks(options).error().code() == ErrorCode::kInvalidArgument);
}

TEST_CASE("a file without peaks is named", "[bench]") {
  const ScratchFolder folder;
  CHECK(read_peaks(folder.file("nowhere.json")).error().code() == ErrorCode::kNotFound);
  const std::string results = file_with(folder, R"({"schema_version": 1, "rows": []})");
  CHECK(read_peaks(results).error().message() == results + ": not a file that `rangefinder measure-peaks -o` wrote");
  CHECK_FALSE(read_peaks(file_with(folder, "{")));
  const std::string newer = file_with(folder, R"({"schema_version": 3, "kind": "rangefinder.peaks"})");
  CHECK(read_peaks(newer).error().code() == ErrorCode::kUnsupported);
}

#ifdef PLANTED_WORKER
TEST_CASE("a worker measures its device", "[bench]") {
  PeakOptions options = quick();
  options.worker = PLANTED_WORKER;
  SECTION("where it has one") {
    const Environment planted("PLANTED_PEAKS", "2");
    const std::string json = measure_peaks(options).value();
    const ScratchFolder folder;
    const MachinePeaks read = read_peaks(file_with(folder, json)).value();
    CHECK(read.best("PLANTED 9000", "flops", "bf16") == 9e14);
    CHECK(read.best("PLANTED 9000", "bandwidth") == 3e12);
    CHECK(read.best("PLANTED 9000", "latency") == 2e-6);  // the shortest
    CHECK(read.rows.size() == 4 + 3);                     // none without samples
    const Json parsed = parse_json(json).value();
    const JsonView document = parsed;
    CHECK(document["gpu_key"].text() == "planted_9000");
    CHECK(document["torch"].text() == "none");
    CHECK(document["notes"].items().empty());
  }
  SECTION("where it has none") {
    const Json parsed = parse_json(measure_peaks(options).value()).value();
    const JsonView document = parsed;
    CHECK(document["peaks"].items().size() == 4);
    CHECK(document["notes"].items().at(0).text() == "no CUDA device: peaks of the host only");
  }
  SECTION("a worker that is none is an error") {
    options.worker = "/bin/false";
    CHECK_FALSE(measure_peaks(options));
  }
}
#endif
