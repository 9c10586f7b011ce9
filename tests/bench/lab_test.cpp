// SPDX-License-Identifier: MIT
#include "bench/html_page.hpp"
#include "bench/lab_tables.hpp"
#include "bench/planted_bench.hpp"
#include "bench/results_tables.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

#include <rangefinder/bench/lab.hpp>

#include <initializer_list>
#include <string>
#include <utility>

using namespace rangefinder::bench;
using rangefinder::testing::PlantedBench;
using rangefinder::testing::read_file;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Json range(const char* name, std::int64_t host_ns, std::int64_t self_ns) {
  return Json::object({{"range", name}, {"host_ns", host_ns}, {"host_self_ns", self_ns}, {"gpu_self_ns", self_ns / 2}});
}

Json operation(const char* name, std::int64_t cpu_ns, std::int64_t device_ns) {
  return Json::object({{"name", name}, {"cpu_self_ns", cpu_ns}, {"device_self_ns", device_ns}});
}

Json part(const char* what, double share, Json range = {}) {
  return Json::object({{"class", what}, {"share", share}, {"range", std::move(range)}});
}

/// Two profiled steps of 1000 ns each: 40 % wait for input.
Json variant(double samples_per_s, Json operators = Json::array()) {
  return Json::object(
      {{"peak_bytes", 2'000'000},
       {"rates", Json::object({{"samples_per_s", samples_per_s}})},
       {"metrics", Json::array({Json::object({{"name", "accuracy"}, {"value", 0.5}, {"kind", "fact"}})})},
       {"bottleneck", Json::object({{"class", "host"},
                                    {"evidence", "host 60 % of a step, input 40 %"},
                                    {"missing", nullptr},
                                    {"parts", Json::array({part("host", 0.6), part("input", 0.4, "data_<b>")})}})},
       {"profile", Json::object({{"steps", 2},
                                 {"ranges", Json::array({range("step", 2000, 100), range("data_<b>", 800, 800),
                                                         range("forward", 1100, 1100)})},
                                 {"operators", std::move(operators)}})}});
}

Json row(const char* name, double speed_up, const char* builds_on = "", const char* series = "summary") {
  return Json::object({{"name", name},
                       {"purpose", "plain; changed"},
                       {"status", "passed"},
                       {"reason", ""},
                       {"series", series},
                       {"builds_on", builds_on},
                       {"ratios", Json::object({{"wall", Json::object({{"value", speed_up}})}, {"bytes", 2.0}})},
                       {"correctness", Json::object({{"passed", true}})},
                       {"baseline", variant(100)},
                       {"optimized", variant(100 * speed_up)}});
}

Json results(Json::array_t rows, const char* device = "cpu") {
  return Json::object({{"kind", "rangefinder.bench"},
                       {"schema_version", 3},
                       {"provenance", Json::object({{"hardware_key", "cpu_x_2t"}, {"device", device}})},
                       {"notes", Json::array({"not run within the time limit: <late>"})},
                       {"rows", std::move(rows)}});
}

rangefinder::report::Table causes(const Json& all) { return causes_table(all); }

std::string column(const rangefinder::report::Table& table, std::size_t index) {
  std::string out;
  for (std::size_t i = 0; i < table.row_count(); ++i) out += table.text_at(i, index) + ";";
  return out;
}

}  // namespace

TEST_CASE("changes stand in the order in which they add up", "[bench]") {
  Json wrong = row("wrong", 9);
  wrong["correctness"]["passed"] = false;
  wrong["status"] = "failed";
  const Json all = results({row("third", 8, "second"), row("second", 4, "first"), row("alone", 3, "", ""),
                            row("first", 2), row("lost", 6, "wrong"), wrong});
  const rangefinder::report::Table table = changes_table(all);
  CHECK(column(table, 0) == "baseline of summary;first;second;lost;third;baseline of alone;alone;");
  CHECK(column(table, 1) == "-;baseline;first;wrong;second;-;baseline;");
  CHECK(column(table, 2) ==
        "100 samples/s;200 samples/s;400 samples/s;600 samples/s;800 samples/s;100 samples/s;300 samples/s;");
  CHECK(column(table, 3) == "-;x2;x2;-;x2;-;x3;");
  CHECK(column(table, 4) == "-;x2;x4;x6;x8;-;x3;");
  CHECK(has(markdown_of(table), "| second | first | 400 samples/s | x2 | x4 | 2.000 MB | x2 | 50.0 % | host |"));
}

TEST_CASE("rows that build on each other end", "[bench]") {
  const Json all = results({row("a", 2, "b"), row("b", 4, "a"), row("c", 3, "c")});
  CHECK(changes_table(all).row_count() == 4);
}

TEST_CASE("causes are operators, else ranges, and what is waited for", "[bench]") {
  SECTION("ranges by their own time; a range that waits is not counted twice") {
    const std::string table = markdown_of(causes(results({row("first", 2)})));
    CHECK(has(table, "| summary | forward | range | 550 ns | 55.0 % | host | fewer and larger launches"));
    CHECK(has(table, "| summary | waiting for input in data_\\<b> | waiting | 400 ns | 40.0 % | input | read ahead"));
    CHECK(has(table, "| summary | step | range | 50 ns | 5.0 % | host |"));
    CHECK(causes(results({row("first", 2)})).row_count() == 3);
  }
  Json operators = Json::array();
  for (int i = 1; i <= 6; ++i) operators.push_back(operation(("op" + std::to_string(i)).c_str(), 100 * i, 50 * i));
  operators.push_back(operation("small", 9, 9));
  Json shown = row("first", 2);
  shown["baseline"] = variant(100, operators);
  SECTION("the five largest") {
    const rangefinder::report::Table table = causes(results({shown}));
    CHECK(column(table, 1) == "waiting for input in data_<b>;op6;op5;op4;op3;");
  }
  SECTION("on a device kernels, by what bounds them where that is known") {
    shown["baseline"]["profile"]["roofline"]["operators"] =
        Json::array({Json::object({{"operator", "op6"}, {"bound_by", "memory"}})});
    const std::string table = markdown_of(causes(results({shown}, "cuda")));
    CHECK(has(table, "| summary | the device waits for launches | waiting | 600 ns | 60.0 % | host |"));
    CHECK(has(table, "| summary | op6 | operator | 150 ns | 15.0 % | device memory | move fewer bytes"));
    CHECK(
        has(table, "| summary | op5 | operator | 125 ns | 12.5 % | device | `--profile roofline --peaks FILE` tells"));
  }
  SECTION("without a profile there are none") {
    shown["baseline"]["profile"] = nullptr;
    CHECK(causes(results({shown})).row_count() == 0);
    CHECK(has(lab_page(json_line(results({shown}))).value().markdown, "No steps were profiled."));
  }
}

TEST_CASE("the page says what is not there, and no name in it is markup", "[bench]") {
  Json failed = row("broken", 2), skipped = row("late", 2);
  failed["status"] = "failed";
  failed["correctness"]["passed"] = false;
  failed["reason"] = "<script>alert(1)</script> \"quoted\" & `one";
  failed["baseline"]["log"] = "out/a.log";
  failed["optimized"]["log"] = "out/b.log";
  skipped["status"] = "skipped";
  skipped["reason"] = "no_cuda_device";
  const LabPage page =
      lab_page(json_line(results({row("first", 2), failed, skipped})), "rangefinder bench lab --out '<x>'").value();
  CHECK(has(page.markdown, "\n    rangefinder bench lab --out '<x>'\n"));
  CHECK(has(page.markdown, "| late | skipped | no_cuda_device |"));
  CHECK(has(page.markdown, "| broken | failed | \\<script>alert(1)\\</script>"));
  CHECK(has(page.markdown, "(logs: out/a.log, out/b.log) |"));
  CHECK(has(page.markdown, "- not run within the time limit: \\<late>"));
  CHECK(has(page.html, "<pre>rangefinder bench lab --out &#39;&lt;x&gt;&#39;</pre>"));
  CHECK(has(page.html, "&lt;script&gt;alert(1)&lt;/script&gt; &quot;quoted&quot; &amp; `one"));
  CHECK(has(page.html, "<td data-label=\"Row\">first</td>"));
  for (const char* never : {"<script", "<b>", "<late>", "http://", "https://", "src=", "href="})
    CHECK_FALSE(has(page.html, never));
  CHECK(has(page.html, "default-src 'none'"));
}

TEST_CASE("sentences of a page have code between backticks", "[bench]") {
  CHECK(html_sentence("run `a<b>` & see") == "run <code>a&lt;b&gt;</code> &amp; see");
  CHECK(html_sentence("one ` alone") == "one ` alone");
}

TEST_CASE("other documents make no page", "[bench]") {
  CHECK_FALSE(lab_page("{}").ok());
  CHECK_FALSE(lab_text("[]", {}).ok());
}

TEST_CASE("the command of a page runs it again", "[bench]") {
  RunOptions options = lab_options();
  options.worker = "/a b/worker";
  CHECK(lab_command(options) == "rangefinder bench lab --worker '/a b/worker'");
  options.targets = {"x*", "y"};
  options.iterations = 3;
  options.out = "it's";
  CHECK(lab_command(options) ==
        "rangefinder bench lab --targets 'x*,y' --worker '/a b/worker' --iterations 3 --out 'it'\\''s'");
}

TEST_CASE("a lab run leaves its page, whatever became of the benchmarks", "[bench]") {
  PlantedBench bench;
  bench.options.profile = ProfileLevel::kMinimal;
  bench.options.targets = {"change_*", "wrong_output", "skipped"};
  const RunOutcome outcome = lab(bench.options).value();
  CHECK(outcome.exit_code == kFailure);
  const std::string markdown = read_file(bench.options.out + "/lab.md");
  CHECK(has(markdown, "| change_two | change_one | 6.4e+07 tokens/s | x2 | x4 |"));
  CHECK(has(markdown, "| change_one | baseline |"));
  CHECK(has(markdown, "| changes | waiting that no range names | waiting |"));
  CHECK(has(markdown, "| skipped | skipped | feature_not_built |"));
  CHECK(has(markdown, "| wrong_output | failed |"));
  CHECK(has(read_file(bench.options.out + "/lab.html"), "</html>"));
  CHECK(has(lab_text(outcome.json, {}).value(), "change_two"));
}
