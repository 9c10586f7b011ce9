// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>
#include <rangefinder/c/ranges.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// SQL over an input.

#if defined(__cplusplus)
extern "C" {
#endif

/// SQL over an input: docs/reference/query-schema.md lists tables and columns. A query only reads; statements that
/// write, attach a file, load an extension or set something are refused.
///
///   rf_query* query;
///   rf_rows* rows;
///   if (rf_query_open(&path, 1, NULL, &query) != RF_STATUS_OK) return fail();
///   if (rf_query_run(query, "SELECT name, duration_ns FROM activities", NULL, &rows) != RF_STATUS_OK) return fail();
typedef struct rf_query rf_query;
/// The result of one query.
typedef struct rf_rows rf_rows;

/// rf_query_options_init sets the defaults, which stand behind each member.
typedef struct rf_query_options {
  size_t struct_size;
  uint64_t timeout_ms;        ///< a query that takes longer is ended; 0: never; 30,000
  uint64_t max_rows;          ///< of a result; 0: all; 100,000
  uint64_t max_query_bytes;   ///< memory of a query for sorting, grouping and its result; 0: no limit; 1 GiB
  uint64_t max_memory_bytes;  ///< of reading the input, as in rf_report_options
  uint32_t attribution;       ///< an rf_attribution; auto; of rf_query_open
  bool annotations;           ///< ranges of the program take part; true; of rf_query_open
  bool operators;             ///< operators of a framework take part; false; of rf_query_open
  bool reserved[2];           ///< false
} rf_query_options;

RF_API rf_status rf_query_options_init(rf_query_options* options, size_t struct_size) RF_NOEXCEPT;
/// Reads captures, traces or folders of them as one job, or an export. `options` may be null.
///
/// Errors: as of rf_report_job.
RF_API rf_status rf_query_open(const char* const* inputs, size_t count, const rf_query_options* options,
                               rf_query** query) RF_NOEXCEPT;
/// Runs one SELECT. `options` may be null. The rows are freed by rf_rows_free, before or after the query.
///
/// Errors: RF_STATUS_INVALID_ARGUMENT for SQL that is wrong or refused; RF_STATUS_TIMEOUT, RF_STATUS_TOO_LARGE for what
///         passes a limit.
RF_API rf_status rf_query_run(rf_query* query, const char* sql, const rf_query_options* options,
                              rf_rows** rows) RF_NOEXCEPT;
/// The same as a text, to be freed. `format`: an rf_report_format.
RF_API rf_status rf_query_text(rf_query* query, const char* sql, const rf_query_options* options, uint32_t format,
                               rf_text** text) RF_NOEXCEPT;
RF_API void rf_query_free(rf_query* query) RF_NOEXCEPT;
/// Tables and columns as a text, to be freed.
RF_API rf_status rf_query_schema(rf_text** text) RF_NOEXCEPT;

/// 0 for null.
RF_API size_t rf_rows_count(const rf_rows* rows) RF_NOEXCEPT;
RF_API size_t rf_rows_column_count(const rf_rows* rows) RF_NOEXCEPT;
/// Null past the last one. Holds until the rows are freed.
RF_API const char* rf_rows_column_name(const rf_rows* rows, size_t column) RF_NOEXCEPT;
/// There were more rows than max_rows; false for null.
RF_API bool rf_rows_truncated(const rf_rows* rows) RF_NOEXCEPT;
/// RF_VALUE_NONE for NULL, RF_VALUE_SIGNED, RF_VALUE_DOUBLE or RF_VALUE_TEXT. A text holds until the rows are freed.
/// RF_STATUS_NOT_FOUND past the last row or column.
RF_API rf_status rf_rows_value(const rf_rows* rows, size_t row, size_t column, rf_value* value) RF_NOEXCEPT;
RF_API void rf_rows_free(rf_rows* rows) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
