// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"
#include "bench/planted_bench.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"
#include "support/seed.hpp"

#include <rangefinder/timeline.hpp>

#include <filesystem>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::Environment;
using rangefinder::testing::PlantedBench;
using rangefinder::testing::ScratchFolder;

TEST_CASE("a good benchmark is checked, timed in turns and passes", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"good"}) == kAllMet);
  const JsonView row = bench.row();
  CHECK(row["status"].text() == "passed");
  CHECK(row["correctness"]["passed"].boolean());
  CHECK(row["correctness"]["elements"].integer() == 64);
  CHECK(row["correctness"]["inputs"].text().size() == 32);
  CHECK(row["ratios"]["basis"].text() == "cpu_ns");
  CHECK(row["ratios"]["time"]["value"].number() == 4);
  CHECK(row["ratios"]["time"]["low"].number() == 4);
  CHECK(row["ratios"]["wall"]["value"].number() == 4);
  for (const char* variant : {"baseline", "optimized"}) {
    CHECK(row[variant]["cpu_ns"]["count"].integer() == 7);
    CHECK(row[variant]["samples"]["cpu_ns"].items().size() == 7);
    CHECK(row[variant]["profile"].is_null());
    CHECK(row[variant]["growth_bytes"].integer(-1) == 0);
  }
  CHECK(row["baseline"]["cpu_ns"]["p50"].number() == 4000);
  CHECK(row["optimized"]["wall_ns"]["p50"].number() == 2000);
  CHECK(row["baseline"]["peak_bytes"].integer() == 1000 + 4096);
  CHECK(row["ratios"]["bytes"].number() == Approx(5096.0 / 2024));
  // 128 tokens in 2000 ns of wall time, half of them of use.
  CHECK(row["optimized"]["rates"]["tokens_per_s"].number() == 64e6);
  CHECK(row["optimized"]["rates"]["useful_tokens_per_s"].number() == 32e6);
  CHECK(std::filesystem::exists(bench.options.out + "/results.json"));
  CHECK(std::filesystem::exists(bench.options.out + "/results.md"));
  CHECK_FALSE(std::filesystem::exists(bench.options.out + "/good/baseline.outputs"));
  CHECK_FALSE(std::filesystem::exists(bench.options.expectations));  // a run that only reads writes nothing
}

TEST_CASE("caches are flushed before each step, untimed", "[bench]") {
  PlantedBench bench;
  const Environment device("PLANTED_DEVICE", "2");
  bench.options.update_expectations = true;
  CHECK(bench.run({"good"}) == kAllMet);
  bench.options.update_expectations = false;
  bench.options.flush_cache = true;
  CHECK(bench.run({"good"}) == kAllMet);
  const JsonView row = bench.row();
  CHECK(row["baseline"]["cpu_ns"]["p50"].number() == 4000);
  CHECK(row["baseline"]["device_ns"]["p50"].number() == 2000);
  CHECK(row["baseline"]["energy_j_per_step"].is_null());                   // that of flushing is in it
  CHECK(row["baseline"]["metrics"].items().at(2)["value"].number() == 9);  // two to warm up, seven timed
  CHECK(JsonView(bench.results)["provenance"]["caches"].text() == "flushed");
  CHECK(row["expectations"]["conflict"].text() == "caches \"flushed\", stored \"warm\"");
}

TEST_CASE("throughput is measured by wall time, whatever the processor does", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"good_throughput"}) == kAllMet);
  CHECK(bench.row()["ratios"]["basis"].text() == "wall_ns");
}

TEST_CASE("a memory goal is met by bytes, at a bounded loss of time", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"good_memory"}) == kAllMet);
  CHECK(bench.row()["ratios"]["bytes"].number() == 4);  // above set-up
  CHECK(bench.run({"slow_memory"}) == kRegression);
  CHECK(bench.row()["status"].text() == "below_goal");
  CHECK(bench.says("takes x1.5 of the baseline's time, and x1.3 is allowed"));
}

TEST_CASE("a goal that is not met fails, except for information", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"below_goal"}) == kRegression);
  CHECK(bench.says("time x1.03, and the goal is x2"));
  CHECK(bench.run({"informational"}) == kAllMet);
  bench.options.validate = true;
  CHECK(bench.run({"below_goal"}) == kAllMet);
  bench.options.validate = false;
  bench.options.size = "smoke";  // too small to say anything about speed
  CHECK(bench.run({"below_goal"}) == kAllMet);
}

TEST_CASE("without a figure to compare with there is no expectation to meet", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"good_throughput"}) == kAllMet);
  CHECK(bench.row()["status"].text() == "no_expectation");
  CHECK(bench.reason().empty());
  bench.options.update_expectations = true;
  CHECK(bench.run({"good_throughput"}) == kAllMet);
  CHECK(bench.outcome.notes ==
        std::vector<std::string>{"results of an earlier run are kept as " + bench.options.out + "/results-1.json",
                                 "stored: good_throughput"});
  bench.options.update_expectations = false;
  CHECK(bench.run({"good_throughput"}) == kAllMet);
  CHECK(bench.row()["status"].text() == "passed");
  bench.options.flush_cache = true;
  CHECK(bench.run({"good_throughput"}) == kAllMet);
  CHECK(bench.row()["status"].text() == "no_expectation");
  CHECK_FALSE(bench.row()["expectations"]["conflict"].text().empty());
}

TEST_CASE("a ratio of a few steps has no interval", "[bench]") {
  PlantedBench bench;
  bench.options.iterations = 4;
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(bench.row()["ratios"]["time"]["value"].number() == 4);
  CHECK(bench.row()["ratios"]["time"]["low"].is_null());
  CHECK(bench.row()["ratios"]["time"]["high"].is_null());
  CHECK(results_table(bench.outcome.json, {}).value().find("x4 [unknown]") != std::string::npos);
}

TEST_CASE("outputs are compared at the size that the benchmark names", "[bench]") {
  PlantedBench bench;
  bench.options.size = "gpu";
  CHECK(bench.run({"checked_small", "good"}) == kAllMet);
  CHECK(bench.row(0)["correctness"]["size"].text() == "smoke");
  CHECK(bench.row(1)["correctness"]["size"].text() == "gpu");
  CHECK(bench.row(1)["correctness"]["input_bytes"].integer() == 256);
  CHECK(bench.row(1)["correctness"]["output_bytes"].integer() == 256);
  bench.options.size = "cpu";
  CHECK(bench.run({"checked_small"}) == kAllMet);
  CHECK(bench.row()["correctness"]["size"].text() == "cpu");
}

TEST_CASE("outputs that take more disk than allowed fail before they are written", "[bench][fault]") {
  PlantedBench bench;
  bench.options.disk_limit = 255;
  CHECK(bench.run({"good"}) == kFailure);
  CHECK(bench.says("its outputs take 256 bytes of disk, and the limit is 255"));
  bench.options.disk_limit = 256;
  CHECK(bench.run({"good"}) == kAllMet);
}

TEST_CASE("a run goes on where an earlier one ended", "[bench]") {
  PlantedBench bench;
  bench.options.time_limit_s = 1e-9;  // a benchmark a run
  const auto names = [&] {
    std::string out;
    for (const JsonView row : JsonView(bench.results)["rows"].items()) out += row["name"].text() + " ";
    return out;
  };
  CHECK(bench.run({"good", "good_memory", "skipped", "throw"}) == kOutOfTime);
  CHECK(names() == "good ");
  CHECK(bench.outcome.notes ==
        std::vector<std::string>{
            "not run within the time limit (--resume goes on with them): skipped, throw, good_memory"});
  bench.options.resume = true;
  for (const char* expected :
       {"good skipped ", "good skipped throw ", "good skipped throw "}) {  // what failed runs again
    CHECK(bench.run(bench.options.targets) == kOutOfTime);
    CHECK(names() == expected);  // one of each family first
  }
  bench.options.targets = {"good", "good_memory", "skipped"};
  CHECK(bench.run(bench.options.targets) == kAllMet);
  CHECK(names() == "good skipped good_memory ");
  CHECK_FALSE(std::filesystem::exists(bench.options.out + "/results-1.json"));

  SECTION("not under other conditions") {
    bench.options.seed = 7;
    const auto refused = bench::run(bench.options);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message() == bench.options.out +
                                           "/results.json: measured under other conditions: seed 7, stored 42; leave "
                                           "out --resume to begin anew");
  }
  SECTION("a file that holds something else is named") {
    rangefinder::testing::write_file(bench.options.out + "/results.json", "{}");
    const auto refused = bench::run(bench.options);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message().find("results.json: not a results file") != std::string::npos);
  }
}

TEST_CASE("expectations are stored benchmark by benchmark", "[bench]") {
  PlantedBench bench;
  bench.options.update_expectations = true;
  bench.options.time_limit_s = 1e-9;
  CHECK(bench.run({"good", "good_memory"}) == kOutOfTime);
  const Json stored = load_json(bench.options.expectations).value();
  CHECK(JsonView(stored)["examples"].has("good"));
  CHECK_FALSE(JsonView(stored)["examples"].has("good_memory"));
}

TEST_CASE("a planted slowdown is caught against what is stored", "[bench][fault]") {
  PlantedBench bench;
  bench.options.update_expectations = true;
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(bench.row()["expectations"]["state"].text() == "new");
  bench.options.update_expectations = false;
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(bench.row()["expectations"]["state"].text() == "met");
  {
    const Environment slowdown("PLANTED_SLOWDOWN",
                               "1.3");  // still x3.1 of the baseline: the goal alone would not see it
    CHECK(bench.run({"good"}) == kRegression);
    CHECK(bench.row()["status"].text() == "regressed");
    CHECK(bench.reason() == "optimized.cpu_ns was 1000 and is 1300");
    bench.options.update_expectations = true;
    CHECK(bench.run({"good"}) == kRegression);
    bench.options.accept_regressions = true;
    CHECK(bench.run({"good"}) == kAllMet);
    CHECK(bench.reason().find("accepted: ") == 0);
  }
  bench.options.update_expectations = bench.options.accept_regressions = false;
  CHECK(bench.run({"good"}) == kAllMet);  // better than what was accepted
  const Environment slight("PLANTED_SLOWDOWN", "1.25");
  CHECK(bench.run({"good"}) == kAllMet);
}

TEST_CASE("ratios are compared with those of the processor's family", "[bench]") {
  PlantedBench bench;
  bench.options.expectations = bench.folder.file("ratios");
  std::filesystem::create_directory(bench.options.expectations);
  const std::string path = bench.options.expectations + "/expectations_" + base::cpu_family() + ".json";
  bench.options.ratios = true;
  CHECK(bench.run({"good"}) == kAllSkipped);  // no success without anything to compare with
  CHECK(bench.row()["status"].text() == "passed");
  CHECK(bench.outcome.notes.back() == "no ratio was compared: " + path +
                                          " has none of these benchmarks under these conditions "
                                          "(--update-expectations stores them)");
  bench.options.update_expectations = true;
  CHECK(bench.run({"good"}) == kAllMet);
  const Json stored = load_json(path).value();
  const JsonView entry = JsonView(stored)["examples"]["good"];
  CHECK(JsonView(stored)["hardware_key"].text() == base::cpu_family());
  CHECK(entry["provenance"]["hardware_key"].text() == base::cpu_family());
  CHECK(entry["ratios"]["time"]["least"].number() == Approx(3.68));
  CHECK(entry["ratios"]["bytes"]["least"].number() == Approx(2.392));
  bench.options.update_expectations = false;
  CHECK(bench.run({"good"}) == kAllMet);
  CHECK(bench.row()["expectations"]["state"].text() == "met");
  CHECK(JsonView(bench.results)["provenance"]["hardware_key"].text() == base::cpu_key());
  {
    const Environment slight("PLANTED_SLOWDOWN", "1.08");
    CHECK(bench.run({"good"}) == kAllMet);
    const Environment slowdown("PLANTED_SLOWDOWN", "1.2");
    CHECK(bench.run({"good"}) == kRegression);
    CHECK(bench.reason() == "ratio.time was at least 3.68 and is 3.33333");
    // What slows one measurement, but not the next, was something else on the machine.
    bench.options.progress = [](std::uint64_t done, std::uint64_t all) {
      if (2 * done > all) ::setenv("PLANTED_SLOWDOWN", "1", 1);
    };
    CHECK(bench.run({"good"}) == kAllMet);
    bench.options.progress = {};
  }
  {
    const Environment bytes("PLANTED_BYTES", "1.2");
    CHECK(bench.run({"good"}) == kRegression);
    CHECK(bench.says("ratio.bytes was at least 2.392"));
  }
  bench.options.update_expectations = true;
  CHECK(bench.run({"informational"}) == kAllMet);
  bench.options.update_expectations = false;
  {
    const Environment slowdown("PLANTED_SLOWDOWN", "1.2");
    CHECK(bench.run({"informational"}) == kRegression);  // what it promises or not: its ratio is stored
  }
  bench.options.iterations = 4;
  CHECK(bench.run({"good"}) == kAllSkipped);
  CHECK(bench.row()["expectations"]["conflict"].text() == "fewer than 5 timed steps, too few for a ratio");
  bench.options.iterations = 0;
  bench.options.ratios = false;
  bench.options.expectations = path;
  CHECK(run(bench.options).error().message().find("hardware_key is \"" + base::cpu_family() + "\"") !=
        std::string::npos);
}

TEST_CASE("a slowdown of 20 % is caught on this machine's clock", "[bench][fault]") {
  if (!testing::exhaustive()) return;  // a real clock proves nothing but on a quiet machine
  const Environment clock("PLANTED_CLOCK", "0");
  PlantedBench bench;
  bench.options.ratios = bench.options.update_expectations = true;
  for (int run = 0; run < 5; ++run) CHECK(bench.run({"arithmetic"}) == kAllMet);
  bench.options.update_expectations = false;
  // Of three: a machine can be so busy that all steps of one variant meet it.
  const auto regressions = [&] {
    int out = 0;
    for (int run = 0; run < 3; ++run) out += bench.run({"arithmetic"}) == kRegression;
    return out;
  };
  CHECK(regressions() <= 1);
  const Environment slowdown("PLANTED_SLOWDOWN", "1.2");
  CHECK(regressions() >= 2);
}

TEST_CASE("a planted memory growth is caught against what is stored", "[bench][fault]") {
  PlantedBench bench;
  bench.options.update_expectations = true;
  CHECK(bench.run({"good", "grow"}) == kAllMet);
  bench.options.update_expectations = false;
  SECTION("a higher peak") {
    const Environment bytes("PLANTED_BYTES", "1.05");
    CHECK(bench.run({"good"}) == kRegression);
    CHECK(bench.says("optimized.peak_bytes was 2024 and is 2075"));
  }
  SECTION("a leak of 16 bytes a step") {
    const Environment growth("PLANTED_GROWTH", "2");
    CHECK(bench.run({"grow"}) == kRegression);
    CHECK(bench.row()["optimized"]["growth_bytes"].integer() == 7 * 16);
  }
  SECTION("a launch more") {
    const Environment launches("PLANTED_LAUNCHES", "1.34");
    CHECK(bench.run({"good"}) == kRegression);
    CHECK(bench.says("optimized.launches was 3"));
  }
}

TEST_CASE("a wrong output fails whatever the speed, and is not timed", "[bench][fault]") {
  PlantedBench bench;
  CHECK(bench.run({"wrong_output"}) == kFailure);
  CHECK(bench.row()["status"].text() == "failed");
  CHECK(bench.says("wrong output: output \"y\", element 63"));
  CHECK(bench.row()["correctness"]["outside"].integer() == 1);
  CHECK(bench.row()["optimized"]["cpu_ns"].is_null());
  CHECK(bench.row()["ratios"]["time"].is_null());
}

TEST_CASE("results that are cached, or depend on nothing, are caught", "[bench][fault]") {
  PlantedBench bench;
  CHECK(bench.run({"cached"}) == kFailure);
  CHECK(bench.reason() == "fresh-input check: another seed leaves the optimized output as it was");
  CHECK(bench.run({"cached_in_variant"}) == kFailure);
  CHECK(bench.reason() == "perturbation check: a changed input element leaves the optimized output as it was");
  CHECK(bench.run({"seedless"}) == kFailure);
  CHECK(bench.reason() == "fresh-input check: the baseline inputs do not depend on the seed");
  CHECK(bench.run({"other_inputs"}) == kFailure);
  CHECK(bench.says("the variants have different inputs"));
  CHECK(bench.run({"empty"}) == kFailure);
  CHECK(bench.says("no output to compare"));
}

TEST_CASE("a looser tolerance on the optimized variant is refused", "[bench][fault]") {
  PlantedBench bench;
  CHECK(bench.run({"looser"}) == kFailure);
  CHECK(bench.reason() == "refused: the optimized variant declares a looser tolerance than the baseline");
}

TEST_CASE("a worker that crashes, ends, throws or hangs is a failed row", "[bench][fault]") {
  PlantedBench bench;
  bench.options.expectations = bench.folder.file("none.json");
  CHECK(bench.run({"crash", "good"}) == kFailure);
  CHECK(bench.row()["status"].text() == "failed");
  CHECK(bench.says("optimized: the worker crashed by SIGABRT at \"check\""));
  CHECK(std::filesystem::exists(bench.row()["optimized"]["log"].text()));
  CHECK(bench.row(1)["status"].text() == "passed");  // the others run on
  CHECK(bench.run({"exit"}) == kFailure);
  CHECK(bench.says("ended with exit code 9"));
  CHECK(bench.run({"throw"}) == kFailure);
  CHECK(bench.reason() == "optimized: planted exception");
  bench.options.timeout_s = 2;
  CHECK(bench.run({"hang"}) == kFailure);
  CHECK(bench.reason() == "optimized: no answer to \"check\" within 2 s: ended");
}

TEST_CASE("what is skipped says why, and is no success", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"skipped*"}) == kAllSkipped);
  REQUIRE(JsonView(bench.results)["rows"].items().size() == 3);
  CHECK(bench.row(0)["reason"].text() == "feature_not_built");
  CHECK(bench.row(1)["reason"].text() == "no_cuda_device");
  CHECK(bench.row(2)["reason"].text() == "needs_world_size_2");
  CHECK(bench.run({"skipped*", "good"}) == kAllMet);
  bench.options.device = "cuda";
  CHECK(bench.run({"good"}) == kAllSkipped);
}

TEST_CASE("an example that is stored and fails is missing", "[bench]") {
  PlantedBench bench;
  Json document = Json::object({{"schema_version", 1},
                                {"hardware_key", rangefinder::base::cpu_key()},
                                {"examples", Json::object({{"crash", Json::object()}})}});
  rangefinder::testing::write_file(bench.options.expectations, json_line(document));
  CHECK(bench.run({"crash"}) == kFailure);
  CHECK(bench.row()["expectations"]["state"].text() == "missing");
}

TEST_CASE("a profiled step leaves a capture, a trace and a table per variant", "[bench]") {
  PlantedBench bench;
  bench.options.profile = ProfileLevel::kMinimal;
  CHECK(bench.run({"good"}) == kAllMet);
  for (const char* variant : {"baseline", "optimized"}) {
    const JsonView profile = bench.row()[variant]["profile"];
    CHECK(profile["steps"].integer() == 3);
    const auto timeline = load_timeline(profile["capture"].text());
    REQUIRE(timeline.ok());
    CHECK(timeline->ranges.size() == 6);  // step and double, three times
    CHECK(std::filesystem::file_size(profile["trace"].text()) > 100);
    REQUIRE(profile["ranges"].items().size() == 2);
    CHECK(profile["ranges"].items()[0]["range"].text() == "step");
    CHECK(profile["ranges"].items()[1]["count"].integer() == 3);
    // The planted processor works half of the wall time, and no range says what it waits for.
    CHECK(bench.row()[variant]["bottleneck"]["class"].text() == "undecided");
    CHECK(bench.row()[variant]["bottleneck"]["evidence"].text() == "host 50 % of a step, not known 50 %");
    CHECK(profile["cpu_overhead"].number(-1) == 0);                 // by the planted clock recording is free
    CHECK(bench.row()[variant]["cpu_ns"]["count"].integer() == 7);  // profiled steps are not among the timed ones
  }
}

TEST_CASE("an interrupt ends the workers and fails what is left", "[bench]") {
  PlantedBench bench;
  bool begun = false;
  int asked = 0;
  bench.options.progress = [&](std::uint64_t, std::uint64_t) { begun = true; };
  bench.options.cancelled = [&] { return begun && ++asked > 3; };
  bench.options.targets = {"hang", "good"};
  const RunOutcome outcome = bench::run(bench.options).value();
  CHECK(outcome.exit_code == kFailure);
  const Json document = parse_json(outcome.json).value();
  const JsonView results = document;
  REQUIRE(results["rows"].items().size() == 2);
  for (const JsonView row : results["rows"].items())
    CHECK(row["reason"].text().find("interrupted") != std::string::npos);
}

TEST_CASE("without a warm-up the timed steps are the first of their process", "[bench]") {
  PlantedBench bench;
  CHECK(bench.run({"cold"}) == kAllMet);
  CHECK(bench.row()["baseline"]["cpu_ns"]["max"].number() == 4000);
  bench.options.warmup = 0;
  CHECK(bench.run({"cold"}) == kAllMet);
  const auto& samples = bench.row()["baseline"]["samples"]["cpu_ns"].items();
  REQUIRE(samples.size() == 7);
  CHECK(samples[0].integer() == 1'004'000);
  CHECK(samples[1].integer() == 4000);
}

TEST_CASE("progress reaches the end and never goes back", "[bench]") {
  PlantedBench bench;
  std::uint64_t last = 0, all = 0, calls = 0;
  bench.options.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done >= last);
    last = done;
    all = total;
    ++calls;
  };
  bench.run({"good", "skipped"});
  CHECK(calls > 10);
  CHECK(last == all);
}

TEST_CASE("wrong use is an error before anything runs", "[bench]") {
  PlantedBench bench;
  const auto refused = [&](auto change) {
    RunOptions options = bench.options;
    change(options);
    return run(options).error().message();
  };
  CHECK(refused([](RunOptions& o) { o.targets = {"goood"}; }).find("did you mean good?") != std::string::npos);
  CHECK_FALSE(refused([](RunOptions& o) { o.device = "tpu"; }).empty());
  CHECK_FALSE(refused([](RunOptions& o) { o.size = "large"; }).empty());
  CHECK_FALSE(refused([](RunOptions& o) { o.accept_regressions = true; }).empty());
  CHECK_FALSE(refused([](RunOptions& o) { o.timeout_s = 0; }).empty());
  CHECK(refused([](RunOptions& o) { o.ratios = true, o.device = "cuda"; }).find("--device cpu") != std::string::npos);
  CHECK_FALSE(refused([](RunOptions& o) { o.time_limit_s = -1; }).empty());
  CHECK_FALSE(refused([](RunOptions& o) { o.worker = "/nonexistent/worker"; }).empty());
  CHECK_FALSE(refused([](RunOptions& o) { o.worker = "/bin/true"; }).empty());
  CHECK_FALSE(std::filesystem::exists(bench.options.out));
}

TEST_CASE("targets are chosen by name, chapter and pattern", "[bench]") {
  const auto count = [](std::vector<std::string> targets) {
    return list_targets(PLANTED_WORKER, targets).value().size();
  };
  const std::size_t all = count({});
  CHECK(all > 15);
  CHECK(count({"all"}) == all);
  CHECK(count({"planted"}) == all);
  CHECK(count({"good"}) == 1);
  CHECK(count({"good*"}) == 3);
  CHECK(count({"planted:good_?emory", "good"}) == 2);
  CHECK_FALSE(list_targets(PLANTED_WORKER, {"ch12:good"}).ok());
  const auto benchmarks = list_targets(PLANTED_WORKER, {"good_memory"}).value();
  CHECK(benchmarks[0].goal == Goal::kMemory);
  CHECK(benchmarks[0].optimized.cpu.relative == 1e-5);
  CHECK(parse_json(targets_json(benchmarks)).value()["targets"][0]["variants"].size() == 2);
}

TEST_CASE("what would run, and what it would take, is told without running it", "[bench]") {
  PlantedBench bench;
  bench.options.targets = {"crash", "good"};
  bench.options.iterations = 9;
  const PlanOutcome told = plan(bench.options).value();
  CHECK(told.exit_code == kAllMet);
  CHECK(
      told.text ==
      "crash: cpu cpu, 9 iterations after 2 to warm up, profile none\n"
      "  check at cpu: outputs on disk not known, time not known; a step: FLOPs not known, bytes not known, launches "
      "not known; timing not known\n"
      "good: cpu cpu, 9 iterations after 2 to warm up, profile none\n"
      "  check at cpu: outputs on disk 256 B, time 0.0 s; a step: 64 FLOP, bytes 512 B, launches not known; timing 0.0 "
      "s\n"
      "assumed: 1e+10 FLOP/s (by default), 1e+10 in half precision, 1e+10 B/s, 5 us a launch, 1e+08 random numbers a "
      "second in 8 set-ups of a check\n");
  const Json json = parse_json(told.json).value();
  const std::vector<JsonView> rows = JsonView(json)["rows"].items();
  CHECK(rows.at(0)["check"]["output_bytes"].is_null());
  CHECK(rows.at(1)["check"]["input_bytes"].number() == 256);
  CHECK(rows.at(1)["step"]["flops"].number() == 64);
  CHECK_FALSE(std::filesystem::exists(bench.options.out));
}

TEST_CASE("a plan's estimates are those of the size whose outputs are compared", "[bench]") {
  PlantedBench bench;
  bench.options.targets = {"checked_small"};
  bench.options.size = "gpu";
  CHECK(plan(bench.options).value().exit_code == kAllMet);
  CHECK(plan(bench.options).value().text.find("check at smoke: outputs on disk 256 B") != std::string::npos);
  bench.options.size = "cpu";
  const PlanOutcome over = plan(bench.options).value();
  CHECK(over.exit_code == kFailure);
  CHECK(over.text.find("over the limit: checked_small: its outputs take 1.000 TB of disk, and --disk-limit is "
                       "8.590 GB\n") != std::string::npos);
  bench.options.disk_limit = std::uint64_t{1} << 40;
  CHECK(plan(bench.options).value().exit_code == kAllMet);
}

TEST_CASE("a plan refuses a correctness check of more than a minute", "[bench]") {
  PlantedBench bench;
  bench.options.targets = {"good", "looser"};
  const Environment random("PLANTED_RANDOM_NUMBERS", "1.2e7");  // 8 x 64 x 1.2e7 at 1e8 a second: 61 s
  const PlanOutcome over = plan(bench.options).value();
  CHECK(over.exit_code == kFailure);
  CHECK(over.text.find("over the limit: good: its correctness check takes about 61 s, and the limit is 60\n") !=
        std::string::npos);
  const Json json = parse_json(over.json).value();
  CHECK(JsonView(json)["rows"].items().at(0)["over"].items().size() == 1);
  CHECK(JsonView(json)["rows"].items().at(1)["over"].items().empty());
  SECTION("what is not offered here is not refused") {
    bench.options.device = "cuda";
    const PlanOutcome skipped = plan(bench.options).value();
    CHECK(skipped.exit_code == kAllMet);
    CHECK(skipped.text.find("  skipped: device_not_offered\n") != std::string::npos);
  }
}

TEST_CASE("a plan's timing is of launches or of what they do, whichever takes longer, and of set-up", "[bench]") {
  PlantedBench bench;
  bench.options.targets = {"checked_small"};  // a set-up draws nothing; 64 FLOPs
  bench.options.size = "smoke";
  bench.options.iterations = 9;
  bench.options.warmup = 1;
  bench.options.peaks = bench.folder.file("peaks.json");
  const auto timing = [&](const std::string& flops_per_s, const std::string& bytes_per_s) {
    testing::write_file(bench.options.peaks, R"({"schema_version": 2, "kind": "rangefinder.peaks", "peaks": [
      {"device": "host", "what": "flops", "type": "fp32", "value": )" +
                                                 flops_per_s + R"(},
      {"device": "host", "what": "bandwidth", "type": "copy", "value": )" +
                                                 bytes_per_s + "}]}");
    const Json json = parse_json(plan(bench.options).value().json).value();
    const JsonView row = JsonView(json)["rows"].items().at(0);
    CHECK(row["step"]["launches"].number() == 1e6);
    return row["timing"]["seconds"].number();
  };
  // Two variants of ten steps, each of which waits 0.25 s.
  CHECK(timing("1e9", "1e9") == Approx(2 * 10 * (0.25 + 5)));
  CHECK(timing("1e9", "8") == Approx(2 * 10 * (0.25 + 8)));
  CHECK(timing("32", "8") == Approx(2 * 10 * (0.25 + 8 + 2)));
}

TEST_CASE("a plan's steps are as fast as was assumed or measured", "[bench]") {
  PlantedBench bench;
  bench.options.targets = {"checked_small"};  // 12 steps of 64 FLOPs, a second of waiting
  bench.options.disk_limit = std::uint64_t{1} << 40;
  const auto seconds = [&] {
    const Json json = parse_json(plan(bench.options).value().json).value();
    return JsonView(json)["rows"].items().at(0)["check"]["seconds"].number();
  };
  CHECK(seconds() == Approx(1));
  bench.options.peaks = bench.folder.file("peaks.json");
  testing::write_file(bench.options.peaks, R"({"schema_version": 2, "kind": "rangefinder.peaks", "peaks": [
    {"device": "host", "what": "flops", "type": "fp32", "value": 96}]})");
  CHECK(seconds() == Approx(9));
  CHECK(plan(bench.options).value().text.find("assumed: 96 FLOP/s (fp32 of host in ") != std::string::npos);
  bench.options.assumed_flops = 13.1;
  CHECK(plan(bench.options).value().exit_code == kAllMet);
  bench.options.assumed_flops = 12.9;
  CHECK(plan(bench.options).value().exit_code == kFailure);
  SECTION("a file without the device's peak is an error") {
    bench.options.assumed_flops = 0;
    testing::write_file(bench.options.peaks, R"({"schema_version": 2, "kind": "rangefinder.peaks", "peaks": []})");
    CHECK(plan(bench.options).error().code() == ErrorCode::kNotFound);
  }
}
