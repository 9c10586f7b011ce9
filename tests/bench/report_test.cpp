// SPDX-License-Identifier: MIT
#include "bench/json.hpp"
#include "bench/results_tables.hpp"
#include "bench/statistics.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/bench/harness.hpp>

#include <fmt/format.h>

using namespace rangefinder::bench;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::write_file;

namespace {

Json variant(double wall_ns, double cpu_ns) {
  const auto median = [](double value) { return Json::object({{"p50", value}}); };
  Json ranges = Json::array();
  ranges.push_back(Json::object({{"range", "step"}, {"count", 2}, {"host_ns", 2000}, {"gpu_busy_ns", 0}}));
  ranges.push_back(Json::object({{"range", "forward"}, {"count", 2}, {"host_ns", 1500}, {"gpu_busy_ns", 0}}));
  return Json::object(
      {{"wall_ns", median(wall_ns)},
       {"cpu_ns", median(cpu_ns)},
       {"peak_bytes", 2000000},
       {"rates", Json::object({{"tokens_per_s", 1e9 / wall_ns}, {"samples_per_s", 4e8 / wall_ns}})},
       {"metrics", Json::array({Json::object({{"name", "accuracy"}, {"value", 0.5}, {"kind", "fact"}}),
                                Json::object({{"name", "pool"}, {"value", wall_ns * 1000}, {"kind", "bytes"}})})},
       {"bottleneck", Json::object({{"class", "device_memory"}, {"evidence", "figures"}, {"missing", nullptr}})},
       {"profile", Json::object({{"steps", 2}, {"ranges", std::move(ranges)}})}});
}

Json row(const char* name, const char* status) {
  return Json::object({{"name", name},
                       {"purpose", "a|b"},
                       {"goal", "speed"},
                       {"status", status},
                       {"reason", ""},
                       {"ratios", Json::object({{"basis", "cpu_ns"},
                                                {"time", Json::object({{"value", 2.0}, {"low", 1.9}, {"high", 2.1}})},
                                                {"wall", Json::object({{"value", 1.5}})},
                                                {"bytes", nullptr}})},
                       {"correctness", Json::object({{"passed", true}})},
                       {"baseline", variant(4000, 3900)},
                       {"optimized", variant(2000, 300)},
                       {"expectations", Json::object({{"state", "met"}})}});
}

std::string results(Json::array_t rows) {
  return json_line(Json::object({{"kind", "rangefinder.bench"},
                                 {"schema_version", 3},
                                 {"provenance", Json::object({{"hardware_key", "cpu_x_2t"}, {"device", "cpu"}})},
                                 {"rows", std::move(rows)}}));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("recommendations are of measured rows", "[bench]") {
  Json failed = row("broken", "failed");
  failed["reason"] = "wrong output";
  failed["correctness"]["passed"] = false;
  Json fine = row("fine", "passed");
  fine["optimized"]["bottleneck"] = parse_json(R"({"class":"undecided","evidence":null,"missing":"counters"})").value();
  const std::string text = recommendations(results({fine, failed})).value();
  CHECK(has(text, "## fine"));
  CHECK(has(text, "| CPU time a step | 3.900 us | 300 ns | x2 |"));
  CHECK(has(text, "| peak memory | 2.000 MB | 2.000 MB | - |"));
  CHECK(has(text, "| accuracy | 0.5 | 0.5 | - |"));
  CHECK(has(text, "| pool | 4.000 MB | 2.000 MB | x2 |"));
  CHECK(has(text, "**baseline**: bound by device memory (figures).\n- Utilisation: processor 97.5 %, device -\n"));
  CHECK(has(text, "**optimized**: what bounds it is undecided; missing: counters.\n"));
  CHECK(has(text, "- Next: -\n"));
  CHECK(has(text, "1. `step`: host 1.000 us, device -"));
  CHECK(has(text, "2. `forward`: host 750 ns"));
  const std::string rest = text.substr(text.find("## broken"));
  CHECK(has(rest, "failed: wrong output"));
  CHECK(has(rest, "Not measured."));
  CHECK_FALSE(has(rest, "x2"));
}

TEST_CASE("a failed row names the logs of the variants that were started", "[bench]") {
  Json failed = row("broken", "failed");
  failed["reason"] = "wrong output";
  CHECK(has(results_table(results({failed}), {}).value(), "broken: failed: wrong output\n"));
  failed["baseline"]["log"] = "out/a.log";
  failed["optimized"]["log"] = "";  // not started
  CHECK(has(results_table(results({failed}), {}).value(), "broken: failed: wrong output (logs: out/a.log)"));
  failed["optimized"]["log"] = "out/b.log";
  failed["correctness"]["reference"] = Json::object({{"log", "out/c.log"}});
  CHECK(has(results_table(results({failed}), {}).value(), "(logs: out/a.log, out/b.log, out/c.log)"));
}

TEST_CASE("results become a table and Markdown", "[bench]") {
  Json skipped = row("late", "skipped");
  skipped["reason"] = "no_cuda_device";
  for (const char* part : {"ratios", "baseline", "optimized", "expectations"}) skipped[part] = nullptr;
  const std::string json = results({row("fine", "passed"), skipped});
  const std::string table = results_table(json, {}).value();
  CHECK(has(table, "x2 [1.9, 2.1]"));
  CHECK(has(table, "late: skipped: no_cuda_device"));
  const std::string markdown = results_markdown(json).value();
  CHECK(has(markdown, "| fine | passed | speed | CPU time | 3.900 us | 300 ns | x2 [1.9, 2.1] | x1.5 |"));
  CHECK(has(markdown, "| late | skipped | speed | wall time | - | - | - | - | - | - | - | - |"));
  CHECK(has(markdown, "- late: skipped: no_cuda_device"));
}

TEST_CASE("benchmarks of requests have a table of first tokens and decoding", "[bench]") {
  const auto metrics = [](double first_token_ns, double tokens_per_s) {
    return Json::array({Json::object({{"name", "first_token_ns"}, {"value", first_token_ns}, {"kind", "time"}}),
                        Json::object({{"name", "decode_tokens_per_s"}, {"value", tokens_per_s}, {"kind", "rate"}})});
  };
  Json served = row("served", "passed"), half = row("half", "passed");
  served["baseline"]["metrics"] = metrics(4000000, 500);
  served["optimized"]["metrics"] = metrics(1000000, 1250.25);
  half["baseline"]["metrics"] = metrics(2000000, 400);
  const std::string json = results({row("other", "passed"), served, half});
  const std::string markdown = results_markdown(json).value();
  const Json document = parse_json(json).value();
  CHECK(serving_table(document).row_count() == 2);
  CHECK(has(markdown, "## First token and decoding"));
  CHECK(has(markdown, "| served | 4.000 ms | 1.000 ms | x4 | 500.0 | 1250.3 | x2.5 |"));
  CHECK(has(markdown, "| half | 2.000 ms | - | - | 400.0 | - | - |"));
  CHECK(has(results_table(json, {}).value(), "until the first token"));
  CHECK_FALSE(has(results_markdown(results({row("other", "passed")})).value(), "First token"));
}

TEST_CASE("the ten costliest operators of each variant are shown, a step's share", "[bench]") {
  Json operators = Json::array();
  for (int i = 0; i < 12; ++i)
    operators.push_back(Json::object({{"name", fmt::format("aten::op{}", i)},
                                      {"calls", 3},
                                      {"cpu_self_ns", 100 * i},
                                      {"device_self_ns", 2400 - 200 * i}}));
  Json shown = row("benchmark", "passed");
  shown["baseline"]["profile"]["operators"] = operators;
  const auto rows_on = [&](const char* device) {
    Json document = parse_json(results({shown})).value();
    document["provenance"] = Json::object({{"hardware_key", "x"}, {"device", device}});
    return operators_table(document);
  };
  const std::string on_device = markdown_of(rows_on("cuda")), on_host = markdown_of(rows_on("cpu"));
  CHECK(rows_on("cuda").row_count() == 10);
  CHECK(has(on_device,
            "|\n| benchmark | baseline | aten::op0 | 1.5 | 0 ns | 1.200 us |\n| benchmark | baseline | aten::op1 |"));
  CHECK_FALSE(has(on_device, "aten::op10"));
  CHECK(has(on_host,
            "|\n| benchmark | baseline | aten::op11 | 1.5 | 550 ns | 100 ns |\n| benchmark | baseline | aten::op10 |"));
  CHECK_FALSE(has(on_host, "aten::op1 "));
  CHECK(has(results_table(results({shown}), {}).value(), "the costliest operators"));
  CHECK_FALSE(has(results_table(results({row("benchmark", "passed")}), {}).value(), "the costliest operators"));
}

TEST_CASE("other documents are refused", "[bench]") {
  for (const char* text : {"", "{}", "[1]", "{\"kind\":\"rangefinder.bench\",\"schema_version\":99}"}) {
    CHECK_FALSE(results_table(text, {}).ok());
    CHECK_FALSE(results_markdown(text).ok());
    CHECK_FALSE(recommendations(text).ok());
  }
  CHECK(results_markdown("{\"kind\":\"rangefinder.bench\",\"schema_version\":1}").error().message() ==
        "results have schema_version 1; this version reads 3: run `rangefinder bench run` again");
}

namespace {

/// Rates by wall time of an example, whose steps take these times.
std::string timed(const std::vector<double>& baseline_ns, const std::vector<double>& optimized_ns, double tokens = 1) {
  const auto variant = [&](const std::vector<double>& samples) {
    Json list = Json::array();
    for (const double each : samples) list.push_back(each);
    return Json::object({{"samples", Json::object({{"wall_ns", std::move(list)}})},
                         {"rates", Json::object({{"tokens_per_s", tokens * 1e9 / statistics_of(samples).p50}})}});
  };
  return results({Json::object({{"name", "x"},
                                {"status", "passed"},
                                {"baseline", variant(baseline_ns)},
                                {"optimized", variant(optimized_ns)}})});
}

std::vector<double> scaled(std::vector<double> samples, double factor) {
  for (double& each : samples) each *= factor;
  return samples;
}

}  // namespace

TEST_CASE("a candidate falls behind only where noise is excluded", "[bench]") {
  using Verdict = PerformanceComparison::Verdict;
  const ScratchFolder folder;
  const auto compared = [&](const std::string& a, const std::string& b) {
    write_file(folder.file("a"), a);
    write_file(folder.file("b"), b);
    return compare_performance(folder.file("a"), folder.file("b")).value().rows.at(0);
  };
  const std::vector<double> steady{1000, 1001, 999, 1002, 998, 1000, 1001};
  const std::vector<double> noisy{700, 1400, 900, 1500, 1000, 600, 1300};
  SECTION("steady steps that are slower") {
    const auto row = compared(timed(steady, steady), timed(steady, scaled(steady, 1.1)));
    CHECK(row.verdict == Verdict::kFellBehind);
    CHECK_FALSE(row.kept);
    CHECK(row.ratio == Approx(1 / 1.1));
    CHECK(row.low > 0.9);
    CHECK(row.high < 0.92);
    CHECK(row.control == Approx(1));
  }
  SECTION("steps whose spread is larger than the difference") {
    const auto row = compared(timed(steady, noisy), timed(steady, scaled(noisy, 1.1)));
    CHECK(row.ratio < 0.95);
    CHECK(row.high > 0.95);
    CHECK(row.verdict == Verdict::kKeptUp);
  }
  SECTION("all of a run slower, the baseline variant too") {
    const auto row = compared(timed(steady, steady), timed(scaled(steady, 1.1), scaled(steady, 1.1)));
    CHECK(row.verdict == Verdict::kUnclear);
    CHECK(row.kept);
    CHECK(row.control == Approx(1 / 1.1));
  }
  SECTION("slower than the baseline variant became") {
    const auto row = compared(timed(steady, steady), timed(scaled(steady, 1.1), scaled(steady, 1.3)));
    CHECK(row.verdict == Verdict::kFellBehind);
  }
  SECTION("a faster baseline variant excuses nothing, and accuses nobody") {
    CHECK(compared(timed(steady, steady), timed(scaled(steady, 0.5), scaled(steady, 1.1))).verdict ==
          Verdict::kFellBehind);
    CHECK(compared(timed(steady, steady), timed(scaled(steady, 0.5), steady)).verdict == Verdict::kKeptUp);
  }
  SECTION("more work in a step counts for the interval, too") {
    const auto row = compared(timed(steady, steady), timed(steady, scaled(steady, 2), 2));
    CHECK(row.verdict == Verdict::kKeptUp);
    CHECK(row.low < 1);
    CHECK(row.high > 1);
    CHECK(row.high < 1.1);
  }
  SECTION("without samples the ratio decides") {
    const auto row = compared("{\"tokens_per_s\": 1000}", "{\"tokens_per_s\": 900}");
    CHECK(row.verdict == Verdict::kFellBehind);
    CHECK(row.high == 0);
  }
}

TEST_CASE("a candidate keeps up with 95 % of the baseline's rate", "[bench]") {
  const ScratchFolder folder;
  const auto verdict = [&](const std::string& a, const std::string& b) {
    write_file(folder.file("a"), a);
    write_file(folder.file("b"), b);
    return compare_performance(folder.file("a"), folder.file("b"));
  };
  CHECK(verdict("{\"tokens_per_s\": 1000}", "{\"tokens_per_s\": 950}").value().kept);
  CHECK_FALSE(verdict("{\"tokens_per_s\": 1000}", "{\"tokens_per_s\": 949}").value().kept);
  CHECK_FALSE(verdict("{\"tokens_per_s\": 1000}", "{\"samples_per_s\": 9999}").value().kept);
  CHECK_FALSE(verdict("{}", "{\"tokens_per_s\": 1}").ok());
  CHECK_FALSE(verdict("{\"tokens_per_s\": 1}", "{}").ok());
  CHECK_FALSE(verdict("{", "{}").ok());
  Json slower = row("fine", "passed");
  slower["optimized"] = variant(2200, 300);
  CHECK(verdict(results({row("fine", "passed")}), results({row("fine", "passed")})).value().kept);
  const auto slow = verdict(results({row("fine", "passed")}), results({slower})).value();
  CHECK_FALSE(slow.kept);
  REQUIRE(slow.rows.size() == 1);
  CHECK(slow.rows[0].unit == "tokens_per_s");
  const Json json = parse_json(comparison_json(slow)).value();
  CHECK(JsonView(json)["kept"].boolean(true) == false);
  CHECK(JsonView(json)["rows"].items().at(0)["verdict"].text() == "fell behind");
  CHECK(JsonView(json)["rows"].items().at(0)["ratio"].number() == slow.rows[0].ratio);
  // One that the candidate lacks, or that failed there, does not keep up.
  CHECK_FALSE(
      verdict(results({row("fine", "passed"), row("gone", "passed")}), results({row("fine", "passed")})).value().kept);
  CHECK_FALSE(
      verdict(results({row("a", "passed"), row("b", "passed")}), results({row("a", "failed"), row("b", "passed")}))
          .value()
          .kept);
}

TEST_CASE("rows that report an accuracy have a table of what a change brings and costs", "[bench]") {
  const std::string table = results_markdown(results({row("some", "passed")})).value();
  CHECK(has(table, "## Changes to a training\n"));
  CHECK(has(table, "| some | 100000.0 | 200000.0 | x1.5 | 2.000 MB | 2.000 MB | - | 50.0 % | 50.0 % |\n"));
  Json without = row("some", "passed");
  without["baseline"]["metrics"] = Json::array();
  CHECK_FALSE(has(results_markdown(results({without})).value(), "Changes to a training"));
}
