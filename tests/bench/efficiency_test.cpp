// SPDX-License-Identifier: MIT
// What of the processes' time, the machine and energy the timed steps used.
#include "base/cpu_key.hpp"
#include "bench/planted_bench.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"

#include <cstdint>
#include <string>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::Environment;
using rangefinder::testing::PlantedBench;

TEST_CASE("a device's own time and energy are told where they are measured", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(bench.row()["baseline"]["device_ns"].is_null());
  CHECK(bench.row()["baseline"]["energy_j_per_step"].is_null());
  CHECK(bench.row()["baseline"]["energy_missing"].text().find("no energy of this device") != std::string::npos);
  CHECK(bench.row()["baseline"]["process_energy_j"].is_null());
  CHECK(JsonView(bench.results)["energy"].is_null());
  const Environment device("PLANTED_DEVICE", "2");
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(bench.row()["baseline"]["device_ns"]["p50"].number() == 2000);
  CHECK(bench.row()["baseline"]["samples"]["device_ns"].items().size() == 7);
  CHECK(bench.row()["baseline"]["energy_j_per_step"].number() == Approx(0.008));
  CHECK(bench.row()["optimized"]["energy_j_per_step"].number() == Approx(0.002));
  CHECK(bench.row()["optimized"]["energy_missing"].is_null());
}

TEST_CASE("energy of a step is told where a round outlasts ten periods of the sensor", "[bench]") {
  PlantedBench bench;
  const Environment device("PLANTED_DEVICE", "2");
  bench.options.iterations = 10;  // five rounds of two steps: 16 us of the baseline, 4 us of the optimized variant
  const auto missing = [&](const char* period_ns, const char* variant) {
    const Environment period("PLANTED_PERIOD", period_ns);
    CHECK(bench.run({"good"}) == kAllMet);
    const JsonView measured = bench.row()[variant];
    CHECK(measured["energy_j_per_step"].is_null() != measured["energy_missing"].is_null());
    return measured["energy_missing"].text();
  };
  CHECK(missing("1600", "baseline").empty());
  CHECK(missing("1601", "baseline").find("a round of steps takes 16.00 us, less than ten periods of the sensor") !=
        std::string::npos);
  CHECK(missing("401", "optimized").find("--iterations") != std::string::npos);
  CHECK(missing("400", "optimized").empty());
  CHECK(missing("-1", "baseline").find("energy_period_ns") != std::string::npos);
}

TEST_CASE("goodput is the time of timed steps in all that a variant's process did", "[bench]") {
  PlantedBench bench;
  const Environment device("PLANTED_DEVICE", "2");
  bench.options.profile = ProfileLevel::kMinimal;
  bench.options.carbon_intensity = 400;
  CHECK(bench.run({"good"}) == kAllMet);
  // Steps of 8000 ns: seven timed, two to warm up, three recorded, four of the checks. Nothing else moves the clock.
  const JsonView baseline = bench.row()["baseline"], goodput = baseline["goodput"];
  CHECK(goodput["useful_ns"].integer() == 7 * 8000);
  CHECK(goodput["steps_ns"].integer() == 7 * 8000);
  CHECK(goodput["warm_up_ns"].integer() == 2 * 8000);
  CHECK(goodput["recording_ns"].integer() == 3 * 8000);
  CHECK(goodput["check_ns"].integer() % 8000 == 0);
  CHECK(goodput["check_ns"].integer() > 0);
  CHECK(goodput["setup_ns"].integer() == 0);
  CHECK(goodput["other_ns"].integer() == 0);
  std::int64_t sum = 0;
  for (const char* part : {"start_ns", "check_ns", "setup_ns", "warm_up_ns", "steps_ns", "recording_ns", "other_ns"})
    sum += goodput[part].integer();
  CHECK(goodput["process_ns"].integer() == sum);
  CHECK(goodput["value"].number() == Approx(7 * 8000.0 / static_cast<double>(sum)));
  // A millijoule each 1000 ns of wall time: of both variants, whatever they did.
  const double worked_ns = static_cast<double>(sum - goodput["start_ns"].integer());
  CHECK(baseline["process_energy_j"].number() == Approx(worked_ns / 1e6));
  const JsonView energy = JsonView(bench.results)["energy"];
  const double joules = baseline["process_energy_j"].number() + bench.row()["optimized"]["process_energy_j"].number();
  CHECK(energy["kwh"].number() == Approx(joules / 3.6e6));
  CHECK(energy["carbon_intensity_g_per_kwh"].number() == 400);
  CHECK(energy["co2e_g"].number() == Approx(joules / 3.6e6 * 400));
  CHECK(results_markdown(bench.outcome.json).value().find(" g CO2e at 400 g/kWh") != std::string::npos);
  CHECK(results_table(bench.outcome.json, {}).value().find(" g CO2e at 400 g/kWh\n") != std::string::npos);
  bench.options.carbon_intensity = 0;
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(JsonView(bench.results)["energy"]["co2e_g"].is_null());
  bench.options.carbon_intensity = -1;
  CHECK(bench::run(bench.options).error().code() == ErrorCode::kInvalidArgument);
}

TEST_CASE("flushed caches are no part of goodput", "[bench]") {
  PlantedBench bench;
  bench.options.flush_cache = true;
  CHECK(bench.run({"good"}) == kAllMet);
  const JsonView goodput = bench.row()["baseline"]["goodput"];
  CHECK(goodput["useful_ns"].integer() == 7 * 8000);
  CHECK(goodput["steps_ns"].integer() == 7 * (8000 + 10'000'000));
  CHECK(bench.row()["baseline"]["energy_j_per_step"].is_null());
}

TEST_CASE("FLOPs of a step are held against the peak of their type", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(bench.row()["baseline"]["mfu"].is_null());
  CHECK(bench.row()["baseline"]["mfu_missing"].text().find("--peaks") != std::string::npos);
  bench.options.peaks = bench.folder.file("peaks.json");
  const auto with_peaks = [&](const std::string& host, const std::string& type) {
    testing::write_file(bench.options.peaks, R"({"schema_version": 2, "kind": "rangefinder.peaks", "cpu_key": ")" +
                                                 host +
                                                 R"(", "peaks": [{"device": "host", "what": "flops", "type": ")" +
                                                 type + R"(", "unit": "FLOP/s", "value": 6.4e7}]})");
    CHECK(bench.run({"good"}) == kAllMet);
    return bench.row();
  };
  // 64 FLOPs in 8000 ns, and in 2000.
  const std::string here = base::cpu_key(), other_count = std::string(base::cpu_model(here)) + "_999t";
  for (const std::string& key : {here, other_count}) {
    const JsonView row = with_peaks(key, "fp32");
    CHECK(row["baseline"]["mfu"]["value"].number() == Approx(0.125));
    CHECK(row["optimized"]["mfu"]["value"].number() == Approx(0.5));
    CHECK(row["optimized"]["mfu"]["flops_per_step"].number() == 64);
    CHECK(row["optimized"]["mfu"]["type"].text() == "fp32");
    CHECK(row["optimized"]["mfu_missing"].is_null());
  }
  const std::string markdown = results_markdown(bench.outcome.json).value();
  CHECK(markdown.find("| 64 FLOP | fp32 | 50.0 % |") != std::string::npos);
  CHECK(recommendations(bench.outcome.json).value().find("- MFU: 50.0 % of 6.4e+07 FLOP/s in fp32") !=
        std::string::npos);
  const JsonView other_type = with_peaks(here, "bf16");
  CHECK(other_type["baseline"]["mfu"].is_null());
  CHECK(other_type["baseline"]["mfu_missing"].text().find("no FLOP/s in fp32") != std::string::npos);
  const JsonView other_host = with_peaks("cpu_another_1t", "fp32");
  CHECK(other_host["baseline"]["mfu"].is_null());
  CHECK(other_host["baseline"]["mfu_missing"].text().find("cpu_another_1t") != std::string::npos);
}
