// SPDX-License-Identifier: MIT
//
// SQL through the C interface.
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/c/rangefinder.h>

#include <cstring>
#include <string>

namespace {

using rangefinder::testing::ScratchFolder;

/// A trace with two ranges and a kernel.
std::string write_queried_trace(const ScratchFolder& folder) {
  const std::string path = folder.file("trace.json");
  rangefinder::testing::write_file(path, R"({"schemaVersion": 1, "traceEvents": [
 {"ph": "X", "cat": "user_annotation", "name": "step", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
 {"ph": "X", "cat": "user_annotation", "name": "größe", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20, "dur": 5,
  "args": {"correlation": 1}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 40,
  "args": {"device": 0, "stream": 7, "correlation": 1}}
]})");
  return path;
}

struct OpenQuery {
  explicit OpenQuery(const std::string& path) {
    const char* const inputs[] = {path.c_str()};
    REQUIRE(rf_query_open(inputs, 1, nullptr, &query) == RF_STATUS_OK);
  }
  ~OpenQuery() { rf_query_free(query); }
  OpenQuery(const OpenQuery&) = delete;
  OpenQuery& operator=(const OpenQuery&) = delete;
  rf_query* query = nullptr;
};

}  // namespace

TEST_CASE("C asks in SQL and reads values", "[capi]") {
  const ScratchFolder folder;
  const OpenQuery open(write_queried_trace(folder));
  rf_rows* rows = nullptr;
  REQUIRE(rf_query_run(open.query, "SELECT name, gpu_sum_ns, gpu_sum_ns / 2.0, NULL FROM ranges ORDER BY begin_ns",
                       nullptr, &rows) == RF_STATUS_OK);
  CHECK(rf_rows_count(rows) == 2);
  REQUIRE(rf_rows_column_count(rows) == 4);
  CHECK(std::string(rf_rows_column_name(rows, 1)) == "gpu_sum_ns");
  CHECK(rf_rows_column_name(rows, 4) == nullptr);
  CHECK_FALSE(rf_rows_truncated(rows));
  rf_value value{};
  REQUIRE(rf_rows_value(rows, 1, 0, &value) == RF_STATUS_OK);
  REQUIRE(value.kind == RF_VALUE_TEXT);
  CHECK(std::string(value.of.as_text) == "größe");
  REQUIRE(rf_rows_value(rows, 1, 1, &value) == RF_STATUS_OK);
  REQUIRE(value.kind == RF_VALUE_SIGNED);
  CHECK(value.of.as_signed == 40'000);
  REQUIRE(rf_rows_value(rows, 1, 2, &value) == RF_STATUS_OK);
  REQUIRE(value.kind == RF_VALUE_DOUBLE);
  CHECK(value.of.as_double == 20'000.0);
  REQUIRE(rf_rows_value(rows, 1, 3, &value) == RF_STATUS_OK);
  CHECK(value.kind == RF_VALUE_NONE);
  CHECK(rf_rows_value(rows, 2, 0, &value) == RF_STATUS_NOT_FOUND);
  CHECK(rf_rows_value(rows, 0, 4, &value) == RF_STATUS_NOT_FOUND);
  rf_rows_free(rows);
}

TEST_CASE("C gets a result as a text, and the schema", "[capi]") {
  const ScratchFolder folder;
  const OpenQuery open(write_queried_trace(folder));
  rf_text* text = nullptr;
  REQUIRE(rf_query_text(open.query, "SELECT count(*) AS n FROM ranges", nullptr, RF_REPORT_CSV, &text) == RF_STATUS_OK);
  CHECK(std::string(rf_text_data(text)) == "n\n2\n");
  rf_text_free(text);
  REQUIRE(rf_query_schema(&text) == RF_STATUS_OK);
  CHECK(std::strstr(rf_text_data(text), "activities: ") != nullptr);
  rf_text_free(text);
}

TEST_CASE("limits and refusals reach C as statuses", "[capi]") {
  const ScratchFolder folder;
  const OpenQuery open(write_queried_trace(folder));
  rf_query_options options;
  REQUIRE(rf_query_options_init(&options, sizeof options) == RF_STATUS_OK);
  CHECK(options.timeout_ms == 30'000);
  options.timeout_ms = 50;
  options.max_rows = 1;
  rf_rows* rows = nullptr;
  CHECK(rf_query_run(open.query, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n",
                     &options, &rows) == RF_STATUS_TIMEOUT);
  CHECK(rows == nullptr);
  CHECK(std::strstr(rf_last_error(), "rf_query_run: query: not done after 50 ms") != nullptr);
  CHECK(rf_query_run(open.query, "DROP TABLE ranges", &options, &rows) == RF_STATUS_INVALID_ARGUMENT);
  REQUIRE(rf_query_run(open.query, "SELECT id FROM ranges", &options, &rows) == RF_STATUS_OK);
  CHECK(rf_rows_count(rows) == 1);
  CHECK(rf_rows_truncated(rows));
  rf_rows_free(rows);
  options.attribution = 9;
  const std::string path = folder.file("trace.json");
  const char* const inputs[] = {path.c_str()};
  rf_query* query = nullptr;
  CHECK(rf_query_open(inputs, 1, &options, &query) == RF_STATUS_INVALID_ARGUMENT);
  const std::string nothing = folder.file("nothing");
  const char* const missing[] = {nothing.c_str()};
  CHECK(rf_query_open(missing, 1, nullptr, &query) == RF_STATUS_NOT_FOUND);
}

TEST_CASE("nulls are answered", "[capi]") {
  rf_rows* rows = nullptr;
  rf_text* text = nullptr;
  rf_query* query = nullptr;
  rf_value value{};
  CHECK(rf_query_open(nullptr, 1, nullptr, &query) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_query_open(nullptr, 0, nullptr, nullptr) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_query_run(nullptr, "SELECT 1", nullptr, &rows) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_query_text(nullptr, "SELECT 1", nullptr, RF_REPORT_TEXT, &text) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_query_schema(nullptr) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_query_options_init(nullptr, 1) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(rf_rows_count(nullptr) == 0);
  CHECK(rf_rows_column_count(nullptr) == 0);
  CHECK(rf_rows_column_name(nullptr, 0) == nullptr);
  CHECK_FALSE(rf_rows_truncated(nullptr));
  CHECK(rf_rows_value(nullptr, 0, 0, &value) == RF_STATUS_INVALID_ARGUMENT);
  rf_rows_free(nullptr);
  rf_query_free(nullptr);
}
