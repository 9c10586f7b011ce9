// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// SQL over a timeline: its tables, and every view of `rangefinder report` as a table of its own.
//
//   auto database = rangefinder::QueryDatabase::open({"train.rfcap"});
//   if (!database) return fail(database.error());
//   auto rows = database->run("SELECT name, sum(duration_ns) FROM activities GROUP BY name ORDER BY 2 DESC LIMIT 5");
//
// docs/reference/query-schema.md lists tables and columns; docs/how-to/ask-a-capture.md has questions to begin with.
namespace rangefinder {

/// What one query may take.
struct QueryLimits {
  std::int64_t timeout_ms = 30'000;                         ///< 0: no limit. Checked between rows
  std::size_t max_rows = 100'000;                           ///< rows of the result; 0: no limit
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;  ///< of sorting, grouping and the result; 0: no limit
};

/// Nothing, a whole number, a number, or a text. Blobs, which no column holds, come as the text X'...' of their bytes.
using QueryValue = std::variant<std::monostate, std::int64_t, double, std::string>;

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryValue>> rows;
  bool truncated = false;  ///< there were more rows than QueryLimits::max_rows
};

enum class QueryFormat : std::uint8_t {
  kText,  ///< aligned columns for people
  kCsv,   ///< RFC 4180 with a header
  kJson,  ///< one object with schema_version, columns, rows and truncated
};

struct QueryOutput {
  QueryFormat format = QueryFormat::kText;
  bool utf8 = true;
  bool terminal = false;  ///< CSV escapes control characters, as text and JSON always do
  std::size_t width = 0;  ///< text: columns of the terminal; 0: no limit
};

struct QueryColumnInfo {
  std::string_view name;
  std::string_view type;  ///< "INTEGER", "REAL", "TEXT"
  std::string_view unit;  ///< "ns", "bytes", ...; empty for texts, ids and counts
  std::string_view description;
  bool indexed = false;  ///< comparing it with a value, or joining on it, looks rows up instead of reading all of them
};

struct QueryTableInfo {
  std::string_view name;
  std::string_view description;
  std::vector<QueryColumnInfo> columns;  ///< empty for views, whose columns follow from the data
};

/// Every table that a query may name, in the order in which the reference lists them. Views are named view_ranges,
/// view_kernels, ...; `PRAGMA table_info(view_kernels)` tells the columns that one has for an input.
RANGEFINDER_EXPORT std::vector<QueryTableInfo> query_schema();

/// The schema as a text for people, a table after the other.
RANGEFINDER_EXPORT std::string query_schema_text();

/// A timeline that answers SQL: SQLite's dialect, one SELECT (or EXPLAIN) at a time. It only reads: statements that
/// write, attach a file, load an extension or set something are refused, and no function reaches a file. A text or a
/// row has at most 64 KiB, a pattern of LIKE and GLOB 250 bytes, a query 200 calls of functions: between two checks of
/// the limits SQLite calls all functions of a row.
///
/// Units:   nanoseconds and bytes; the name of a column ends in its unit. Ids count from 1; NULL: none.
/// Errors:  kInvalidArgument for SQL that is wrong or refused, kTimeout and kTooLarge for what passes a limit.
/// Threads: one at a time; distinct databases share nothing.
/// Cost:    the timeline. Equality on ids and times is looked up in an index, and GROUP BY and ORDER BY columns of one
///          table read its rows in their order; the first query that needs an index or an order builds it (4 bytes a
///          row). The projection and each view are made when a query first needs them and then kept; QueryLimits do not
///          count that.
class RANGEFINDER_EXPORT QueryDatabase {
 public:
  /// Reads files as load_job does. Errors: as of load_job.
  static Result<QueryDatabase> open(const std::vector<std::string>& paths, const LoadOptions& load = {},
                                    const ProjectionOptions& projection = {});
  /// Errors: kInternal where SQLite cannot be made safe.
  static Result<QueryDatabase> of(Timeline timeline, const ProjectionOptions& projection = {});

  QueryDatabase(QueryDatabase&&) noexcept;
  QueryDatabase& operator=(QueryDatabase&&) noexcept;
  ~QueryDatabase();

  Result<QueryResult> run(std::string_view sql, const QueryLimits& limits = {});
  /// Writes the result through `sink`, which returns false to stop (kIo then). `truncated`, unless null, is told
  /// whether there were more rows than the limit.
  Status write(std::string_view sql, const QueryLimits& limits, const QueryOutput& output,
               const std::function<bool(std::string_view)>& sink, bool* truncated = nullptr);

  const Timeline& timeline() const noexcept;

 private:
  struct Impl;
  explicit QueryDatabase(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rangefinder
