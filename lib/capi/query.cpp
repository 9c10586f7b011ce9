// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/query.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct rf_query {
  rangefinder::QueryDatabase database;
};

struct rf_rows {
  rangefinder::QueryResult result;
};

namespace capi = rangefinder::capi;

namespace {

constexpr std::size_t kLeastQueryOptions = sizeof(rf_query_options);

rf_query_options default_query_options() noexcept {
  const rangefinder::QueryLimits limits;
  const rangefinder::ProjectionOptions projection;
  rf_query_options options{};
  options.timeout_ms = static_cast<std::uint64_t>(limits.timeout_ms);
  options.max_rows = limits.max_rows;
  options.max_query_bytes = limits.max_memory_bytes;
  options.attribution = static_cast<std::uint32_t>(projection.attribution);
  options.annotations = projection.annotations;
  options.operators = projection.operators;
  return options;
}

rf_status read_query_options(std::string_view function, const rf_query_options* given, rf_query_options& known) {
  known = default_query_options();
  const rf_status status = capi::read_struct(function, given, kLeastQueryOptions, known);
  if (status != RF_STATUS_OK) return status;
  if (known.attribution > RF_ATTRIBUTION_CAPTURE)
    return capi::no_such_value(function, "attribution", known.attribution);
  return capi::check_reserved(function, known.reserved);
}

rangefinder::QueryLimits limits_of(const rf_query_options& options) noexcept {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  rangefinder::QueryLimits limits;
  limits.timeout_ms = static_cast<std::int64_t>(options.timeout_ms < kMost ? options.timeout_ms : kMost);
  limits.max_rows = options.max_rows;
  limits.max_memory_bytes = options.max_query_bytes;
  return limits;
}

rf_status open_query(std::string_view function, const std::vector<std::string>& inputs, const rf_query_options* options,
                     rf_query** query) {
  rf_query_options known;
  if (const rf_status status = read_query_options(function, options, known); status != RF_STATUS_OK) return status;
  rangefinder::LoadOptions load;
  load.max_memory_bytes = known.max_memory_bytes;
  rangefinder::ProjectionOptions projection;
  projection.attribution = static_cast<rangefinder::Attribution>(known.attribution);
  projection.annotations = known.annotations;
  projection.operators = known.operators;
  rangefinder::Result<rangefinder::QueryDatabase> database = rangefinder::QueryDatabase::open(inputs, load, projection);
  if (!database) return capi::fail(function, database.error());
  *query = new rf_query{std::move(*database)};
  return RF_STATUS_OK;
}

rf_value value_of(const rangefinder::QueryValue& value) noexcept {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return rf_signed(*integer);
  if (const auto* real = std::get_if<double>(&value)) return rf_double(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return rf_string(text->c_str());
  return rf_none();
}

}  // namespace

rf_status rf_query_options_init(rf_query_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastQueryOptions, default_query_options());
  });
}

rf_status rf_query_open(const char* const* inputs, size_t count, const rf_query_options* options,
                        rf_query** query) noexcept {
  if (query == nullptr) return capi::null_argument(__func__, "query");
  *query = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    std::vector<std::string> paths;
    const rf_status status = capi::read_texts(function, "inputs", inputs, count, paths);
    return status == RF_STATUS_OK ? open_query(function, paths, options, query) : status;
  });
}

rf_status rf_query_run(rf_query* query, const char* sql, const rf_query_options* options, rf_rows** rows) noexcept {
  if (rows == nullptr) return capi::null_argument(__func__, "rows");
  *rows = nullptr;
  if (query == nullptr) return capi::null_argument(__func__, "query");
  if (sql == nullptr) return capi::null_argument(__func__, "sql");
  return capi::guarded(__func__, [&, function = __func__] {
    rf_query_options known;
    if (const rf_status status = read_query_options(function, options, known); status != RF_STATUS_OK) return status;
    rangefinder::Result<rangefinder::QueryResult> result = query->database.run(sql, limits_of(known));
    if (!result) return capi::fail(function, result.error());
    *rows = new rf_rows{std::move(*result)};
    return RF_STATUS_OK;
  });
}

rf_status rf_query_text(rf_query* query, const char* sql, const rf_query_options* options, uint32_t format,
                        rf_text** text) noexcept {
  if (text == nullptr) return capi::null_argument(__func__, "text");
  *text = nullptr;
  if (query == nullptr) return capi::null_argument(__func__, "query");
  if (sql == nullptr) return capi::null_argument(__func__, "sql");
  if (format > RF_REPORT_JSON) return capi::no_such_value(__func__, "format", format);
  return capi::guarded(__func__, [&, function = __func__] {
    rf_query_options known;
    if (const rf_status status = read_query_options(function, options, known); status != RF_STATUS_OK) return status;
    rangefinder::QueryOutput output;
    output.format = static_cast<rangefinder::QueryFormat>(format);
    std::string written;
    const auto sink = [&](std::string_view part) { return written.append(part), true; };
    const rf_status status = capi::finish(function, query->database.write(sql, limits_of(known), output, sink));
    if (status == RF_STATUS_OK) *text = capi::make_text(std::move(written));
    return status;
  });
}

void rf_query_free(rf_query* query) noexcept { delete query; }

rf_status rf_query_schema(rf_text** text) noexcept {
  if (text == nullptr) return capi::null_argument(__func__, "text");
  *text = nullptr;
  return capi::guarded(__func__, [&] {
    *text = capi::make_text(rangefinder::query_schema_text());
    return RF_STATUS_OK;
  });
}

size_t rf_rows_count(const rf_rows* rows) noexcept { return rows != nullptr ? rows->result.rows.size() : 0; }

size_t rf_rows_column_count(const rf_rows* rows) noexcept { return rows != nullptr ? rows->result.columns.size() : 0; }

const char* rf_rows_column_name(const rf_rows* rows, size_t column) noexcept {
  return column < rf_rows_column_count(rows) ? rows->result.columns[column].c_str() : nullptr;
}

bool rf_rows_truncated(const rf_rows* rows) noexcept { return rows != nullptr && rows->result.truncated; }

rf_status rf_rows_value(const rf_rows* rows, size_t row, size_t column, rf_value* value) noexcept {
  if (rows == nullptr) return capi::null_argument(__func__, "rows");
  if (value == nullptr) return capi::null_argument(__func__, "value");
  return capi::guarded(__func__, [&, function = __func__] {
    if (row >= rows->result.rows.size()) return capi::no_entry(function, row, rows->result.rows.size());
    if (column >= rows->result.columns.size()) return capi::no_entry(function, column, rows->result.columns.size());
    *value = value_of(rows->result.rows[row][column]);
    return RF_STATUS_OK;
  });
}

void rf_rows_free(rf_rows* rows) noexcept { delete rows; }
