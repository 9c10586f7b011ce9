// SPDX-License-Identifier: MIT
//
// Comparisons through the C interface.
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/c/rangefinder.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace {

using rangefinder::testing::ScratchFolder;

/// A trace of 12 steps of 100 us, in each of which a kernel runs for so long.
std::string write_run(const ScratchFolder& folder, const std::string& name, int kernel_us) {
  std::string events;
  for (int step = 0; step < 12; ++step) {
    const auto at = [&](int us) { return std::to_string(100 * step + us); };
    const std::string correlation = R"("args": {"correlation": )" + std::to_string(step + 1);
    events += R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + std::to_string(step) +
              R"(", "pid": 1, "tid": 1, "ts": )" + at(0) + R"(, "dur": 100},
{"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 1, "tid": 1, "ts": )" +
              at(10) + R"(, "dur": 80},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": )" +
              at(20) + R"(, "dur": 5, )" + correlation + R"(}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": )" +
              at(30) + R"(, "dur": )" + std::to_string(kernel_us) + ", " + correlation +
              R"(, "device": 0, "stream": 7}},)" + "\n";
  }
  events.resize(events.size() - 2);
  const std::string path = folder.file(name);
  rangefinder::testing::write_file(path, R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}");
  return path;
}

std::string diff(const std::string& baseline, const std::string& candidate, const rf_diff_options& options) {
  rf_text* text = nullptr;
  REQUIRE(rf_diff(baseline.c_str(), candidate.c_str(), &options, &text) == RF_STATUS_OK);
  std::string written(rf_text_data(text), rf_text_size(text));
  rf_text_free(text);
  return written;
}

rf_diff_options default_diff() {
  rf_diff_options options;
  REQUIRE(rf_diff_options_init(&options, sizeof options) == RF_STATUS_OK);
  return options;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

TEST_CASE("C compares two runs", "[capi]") {
  const ScratchFolder folder;
  const std::string fast = write_run(folder, "fast.json", 20), slow = write_run(folder, "slow.json", 50);
  rf_diff_options options = default_diff();
  SECTION("as text: the path that takes longer") { CHECK(has(diff(fast, slow, options), "forward")); }
  SECTION("as JSON: exact numbers") {
    options.format = RF_REPORT_JSON;
    const std::string json = diff(fast, slow, options);
    CHECK(json.front() == '{');
    CHECK(has(json, "\"schema_version\""));
    CHECK(has(json, "forward"));
    CHECK(diff(fast, fast, options) != json);
  }
  SECTION("as CSV and as Markdown") {
    options.format = RF_REPORT_CSV;
    CHECK(has(diff(fast, slow, options), "forward"));
    options.format = RF_REPORT_MARKDOWN;
    CHECK(has(diff(fast, slow, options), "|---"));
  }
  SECTION("null options are the defaults") {
    rf_text* text = nullptr;
    REQUIRE(rf_diff(fast.c_str(), slow.c_str(), nullptr, &text) == RF_STATUS_OK);
    CHECK(diff(fast, slow, options) == rf_text_data(text));
    rf_text_free(text);
  }
}

TEST_CASE("C is told why two runs cannot be compared", "[capi]") {
  const ScratchFolder folder;
  const std::string run = write_run(folder, "run.json", 20), absent = folder.file("absent.json");
  rf_diff_options options = default_diff();
  rf_text* text = nullptr;
  SECTION("a file that is not there") {
    CHECK(rf_diff(run.c_str(), absent.c_str(), &options, &text) == RF_STATUS_NOT_FOUND);
    CHECK(has(rf_last_error(), "rf_diff: "));
    CHECK(has(rf_last_error(), "absent.json"));
  }
  SECTION("nulls") {
    CHECK(rf_diff(nullptr, run.c_str(), &options, &text) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_diff(run.c_str(), nullptr, &options, &text) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_diff(run.c_str(), run.c_str(), &options, nullptr) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_diff_options_init(nullptr, sizeof options) == RF_STATUS_INVALID_ARGUMENT);
  }
  SECTION("values that no version has") {
    options.format = RF_REPORT_MARKDOWN + 1;
    CHECK(rf_diff(run.c_str(), run.c_str(), &options, &text) == RF_STATUS_INVALID_ARGUMENT);
    options = default_diff();
    options.attribution = RF_ATTRIBUTION_CAPTURE + 1;
    CHECK(rf_diff(run.c_str(), run.c_str(), &options, &text) == RF_STATUS_INVALID_ARGUMENT);
    options = default_diff();
    options.reserved[0] = true;
    CHECK(rf_diff(run.c_str(), run.c_str(), &options, &text) == RF_STATUS_UNSUPPORTED);
  }
  CHECK(text == nullptr);
}

namespace {

/// The gate of two runs, one a side.
struct OneGate {
  OneGate(const std::string& baseline, const std::string& candidate, std::initializer_list<const char*> rules) {
    rf_gate_options options;
    REQUIRE(rf_gate_options_init(&options, sizeof options) == RF_STATUS_OK);
    options.rules = rules.begin();
    options.rule_count = rules.size();
    const char* const before = baseline.c_str();
    const char* const after = candidate.c_str();
    REQUIRE(rf_gate_run(&before, 1, &after, 1, &options, &gate) == RF_STATUS_OK);
  }
  ~OneGate() { rf_gate_free(gate); }
  OneGate(const OneGate&) = delete;
  OneGate& operator=(const OneGate&) = delete;

  rf_gate_check check(std::size_t index) const {
    rf_gate_check found{};
    found.struct_size = sizeof found;
    REQUIRE(rf_gate_check_at(gate, index, &found) == RF_STATUS_OK);
    return found;
  }
  std::string text(std::uint32_t format) const {
    rf_text* text = nullptr;
    REQUIRE(rf_gate_text(gate, format, &text) == RF_STATUS_OK);
    std::string written(rf_text_data(text), rf_text_size(text));
    rf_text_free(text);
    return written;
  }

  rf_gate* gate = nullptr;
};

}  // namespace

TEST_CASE("C asks a gate, and reads its checks", "[capi]") {
  const ScratchFolder folder;
  const std::string fast = write_run(folder, "fast.json", 20), slow = write_run(folder, "slow.json", 50);
  const OneGate gate(fast, slow, {"path.ops:*forward > +50%", "step.device_busy > +10%"});
  CHECK(rf_gate_get_verdict(gate.gate) == RF_GATE_REGRESSION);
  REQUIRE(rf_gate_check_count(gate.gate) == 2);
  const rf_gate_check slower = gate.check(0), same = gate.check(1);  // regressions first
  CHECK(std::string(slower.rule) == "step.device_busy > +10%");
  CHECK(std::string(slower.metric) == "step.device_busy");
  CHECK(std::string(slower.unit) == "ns");
  CHECK(slower.verdict == RF_GATE_REGRESSION);
  CHECK(slower.baseline == 20'000);
  CHECK(slower.candidate == 50'000);
  CHECK(slower.is_share);
  CHECK(slower.limit == 0.1);
  CHECK(slower.change == 1.5);
  CHECK(slower.change_low > slower.limit);
  CHECK(slower.change_high >= slower.change);
  CHECK(same.verdict == RF_GATE_PASS);
  CHECK(same.change == 0);
  CHECK(same.baseline == 1);
  CHECK(gate.text(RF_REPORT_JSON).front() == '{');
  CHECK(has(gate.text(RF_REPORT_JUNIT), "<testsuite"));
  CHECK(has(gate.text(RF_REPORT_MARKDOWN), "step.device_busy"));
  CHECK(has(gate.text(RF_REPORT_TEXT), "regression"));
}

TEST_CASE("C saves a baseline, against which a gate passes", "[capi]") {
  const ScratchFolder folder;
  const std::string one = write_run(folder, "one.json", 20), two = write_run(folder, "two.json", 20),
                    baseline = folder.file("main.rfbase");
  const char* const runs[] = {one.c_str(), two.c_str()};
  REQUIRE(rf_baseline_save(runs, 2, baseline.c_str(), false, nullptr) == RF_STATUS_OK);
  CHECK(rf_baseline_save(runs, 2, baseline.c_str(), false, nullptr) == RF_STATUS_EXISTS);
  CHECK(rf_baseline_save(runs, 2, baseline.c_str(), true, nullptr) == RF_STATUS_OK);
  const OneGate gate(baseline, one, {"step.device_busy > +10%"});
  CHECK(rf_gate_get_verdict(gate.gate) == RF_GATE_PASS);
}

TEST_CASE("C is told why a gate cannot be asked", "[capi]") {
  const ScratchFolder folder;
  const std::string run = write_run(folder, "run.json", 20);
  const char* const path = run.c_str();
  const char* const nothing = nullptr;
  rf_gate_options options;
  REQUIRE(rf_gate_options_init(&options, sizeof options) == RF_STATUS_OK);
  CHECK(options.rule_count == 0);
  CHECK(options.confidence == 0.95);
  rf_gate* gate = nullptr;
  const auto ask = [&] { return rf_gate_run(&path, 1, &path, 1, &options, &gate); };
  const auto ask_rule = [&](const char* rule) {
    options.rules = &rule;
    options.rule_count = 1;
    return ask();
  };
  SECTION("rules that cannot be put") {
    CHECK(ask_rule("step >") == RF_STATUS_INVALID_ARGUMENT);
    CHECK(has(rf_last_error(), "rf_gate_run: "));
    CHECK(ask_rule("path:nothing > +2%") == RF_STATUS_NOT_FOUND);
    CHECK(ask_rule(nullptr) == RF_STATUS_INVALID_ARGUMENT);
    options.rules = nullptr;
    CHECK(ask() == RF_STATUS_INVALID_ARGUMENT);
  }
  SECTION("options that have no such value") {
    options.confidence = 1;
    CHECK(ask() == RF_STATUS_INVALID_ARGUMENT);
    options.confidence = 0.95;
    options.attribution = RF_ATTRIBUTION_CAPTURE + 1;
    CHECK(ask() == RF_STATUS_INVALID_ARGUMENT);
  }
  SECTION("nulls") {
    CHECK(rf_gate_run(nullptr, 1, &path, 1, &options, &gate) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_gate_run(&path, 1, &nothing, 1, &options, &gate) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_gate_run(&path, 1, &path, 1, &options, nullptr) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_baseline_save(&path, 1, nullptr, false, nullptr) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_baseline_save(&nothing, 1, "x", false, nullptr) == RF_STATUS_INVALID_ARGUMENT);
    rf_text* text = nullptr;
    CHECK(rf_gate_text(nullptr, RF_REPORT_TEXT, &text) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_gate_get_verdict(nullptr) == RF_GATE_CANNOT_TELL);
    CHECK(rf_gate_check_count(nullptr) == 0);
    rf_gate_free(nullptr);
  }
  SECTION("what a result does not have") {
    const OneGate asked(run, run, {"step.device_busy > +10%"});
    rf_gate_check check{};
    check.struct_size = sizeof check;
    CHECK(rf_gate_check_at(asked.gate, 1, &check) == RF_STATUS_NOT_FOUND);
    rf_text* text = nullptr;
    CHECK(rf_gate_text(asked.gate, RF_REPORT_CSV, &text) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(rf_gate_text(asked.gate, RF_REPORT_JUNIT + 1, &text) == RF_STATUS_INVALID_ARGUMENT);
    CHECK(text == nullptr);
  }
  CHECK(gate == nullptr);
}
