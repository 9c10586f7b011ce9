// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "mcp/tools.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/report.hpp>

#include <algorithm>
#include <vector>

namespace rangefinder::mcp {
namespace {

std::string text_of(const Json& arguments, const char* name, std::string_view otherwise = {}) {
  const Json& value = member(arguments, name);
  return value.is_string() ? value.get<std::string>() : std::string(otherwise);
}

bool flag_of(const Json& arguments, const char* name) {
  const Json& value = member(arguments, name);
  return value.is_boolean() && value.get<bool>();
}

/// What was asked for, within the limit.
std::size_t rows_of(const Tools& tools, const Json& arguments, const char* name) {
  const Json& value = member(arguments, name);
  if (!value.is_number_integer()) return tools.limits().max_rows;
  return static_cast<std::size_t>(std::min<std::uint64_t>(value.get<std::uint64_t>(), tools.limits().max_rows));
}

Result<std::string> path_of(const Tools& tools, const Json& arguments) {
  return tools.folder().resolve(text_of(arguments, "path"));
}

Json json_of(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

/// Each row as an object.
Result<Json> objects(QueryDatabase& database, std::string_view sql, const QueryLimits& limits) {
  const Result<QueryResult> result = database.run(sql, limits);
  if (!result) return result.error();
  Json rows = Json::array();
  for (const std::vector<QueryValue>& row : result->rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) object[result->columns[i]] = json_of(row[i]);
    rows.push_back(std::move(object));
  }
  return rows;
}

Json health_of(const CaptureHealth& health) {
  Json out = Json::object();
  for (const CaptureHealth::Entry& entry : health.entries())
    if (entry.count != 0) out[std::string(entry.name)] = {{"count", entry.count}, {"description", entry.text}};
  return out;
}

/// Cut at the end of a line where it is too long.
std::string bounded(std::string text, std::size_t max_bytes, std::string_view advice) {
  if (text.size() <= max_bytes) return text;
  const std::size_t line = text.rfind('\n', max_bytes);
  text.resize(line == std::string::npos ? max_bytes : line + 1);
  return text.append("(cut at ")
      .append(base::with_thousands(max_bytes))
      .append(" bytes; ")
      .append(advice)
      .append(")\n");
}

struct Section {
  const char* name;
  const char* sql;
};
constexpr Section kInfo[] = {
    {"recording",
     "SELECT format, begin_ns, end_ns, end_ns - begin_ns AS duration_ns, attribution, complete, simulated FROM "
     "recording"},
    {"processes", "SELECT pid, name, host, rank, world_size FROM processes"},
    {"devices", "SELECT device, name, memory_bytes, multiprocessors FROM devices"},
    {"rows",
     "SELECT (SELECT count(*) FROM ranges) AS ranges, (SELECT count(*) FROM activities) AS activities, "
     "(SELECT count(*) FROM launches) AS launches, (SELECT count(*) FROM calls) AS calls, "
     "(SELECT count(*) FROM steps) AS steps, (SELECT count(*) FROM collectives) AS collectives, "
     "(SELECT count(*) FROM allocator_events) AS allocator_events"},
    {"device_time", "SELECT part, gpu_ops, gpu_sum_ns FROM account"},
    {"lost", "SELECT name, count, severity, description FROM health WHERE count != 0"},
    {"notes", "SELECT note FROM notes"},
};

/// What only a look at the file of a capture tells.
Json file_facts(const CaptureInfo& info) {
  return {{"format_version", std::to_string(info.format_major) + "." + std::to_string(info.format_minor)},
          {"bytes", info.file_bytes},
          {"start_realtime_ns", info.start_realtime_ns},
          {"device_activity", info.device_state},
          {"clock", info.clock},
          {"clock_error_ns", info.clock_error_ns},
          {"ended_cleanly", info.ended_cleanly}};
}

ReportFormat format_of(std::string_view word) noexcept {
  return word == "csv" ? ReportFormat::kCsv : word == "json" ? ReportFormat::kJson : ReportFormat::kText;
}

Attribution attribution_of(std::string_view word) noexcept {
  if (word == "launch") return Attribution::kLaunch;
  if (word == "forward") return Attribution::kForward;
  return word == "capture" ? Attribution::kCapture : Attribution::kAuto;
}

ReportOptions report_options(const Tools& tools, const Json& arguments) {
  ReportOptions options;
  options.view = text_of(arguments, "view", "ranges");
  options.format = format_of(text_of(arguments, "format"));
  options.filter = text_of(arguments, "filter");
  options.sort = text_of(arguments, "sort");
  options.columns = text_of(arguments, "columns");
  options.by = text_of(arguments, "by");
  options.of = text_of(arguments, "of");
  options.instances = flag_of(arguments, "instances");
  options.top = rows_of(tools, arguments, "top");
  options.projection.attribution = attribution_of(text_of(arguments, "attribution"));
  return options;
}

/// Rows as arrays, until the answer is full.
Json rows_within(const QueryResult& result, std::size_t max_bytes, bool& cut) {
  Json rows = Json::array();
  std::size_t bytes = 0;
  for (const std::vector<QueryValue>& row : result.rows) {
    Json values = Json::array();
    for (const QueryValue& value : row) values.push_back(json_of(value));
    bytes += one_line(values).size() + 1;
    if (bytes > max_bytes) {
      cut = true;
      break;
    }
    rows.push_back(std::move(values));
  }
  return rows;
}

}  // namespace

Result<std::string> answer_list_files(Tools& tools, const Json&) {
  constexpr std::size_t kMostFiles = 1000;
  const FolderList list = tools.folder().list(kMostFiles);
  Json files = Json::array();
  for (const FolderEntry& entry : list.entries) {
    Json file{{"path", entry.path}, {"kind", entry.kind}};
    if (entry.kind != "job") file["bytes"] = entry.bytes;
    files.push_back(std::move(file));
  }
  const std::string text = one_line({{"files", std::move(files)}, {"truncated", list.truncated}});
  if (text.size() > tools.limits().max_bytes)
    return Error(ErrorCode::kTooLarge, "the list of files is longer than an answer may be; serve a smaller folder");
  return text;
}

Result<std::string> answer_info(Tools& tools, const Json& arguments) {
  const Result<std::string> path = path_of(tools, arguments);
  if (!path) return path.error();
  const Result<QueryDatabase*> database = tools.database(*path);
  if (!database) return database.error();
  QueryLimits limits;
  limits.max_rows = tools.limits().max_rows;
  limits.timeout_ms = tools.limits().timeout_ms;
  Json info = Json::object();
  if (const Result<CaptureInfo> file = inspect_capture(*path, false); file.ok()) info["file"] = file_facts(*file);
  for (const Section& section : kInfo) {
    Result<Json> rows = objects(**database, section.sql, limits);
    if (!rows) return rows.error();
    info[section.name] = std::move(*rows);
  }
  return bounded(info.dump(1, ' ', false, Json::error_handler_t::replace) + "\n", tools.limits().max_bytes,
                 "ask with query for the rest");
}

Result<std::string> answer_check(Tools& tools, const Json& arguments) {
  const Result<std::string> path = path_of(tools, arguments);
  if (!path) return path.error();
  Json findings = Json::array();
  CaptureHealth health;
  if (const Result<CaptureInfo> info = inspect_capture(*path, true); info.ok()) {
    for (const CaptureFinding& finding : info->findings)
      findings.push_back({{"text", finding.text}, {"offset", finding.offset}, {"bytes", finding.bytes}});
    if (!info->ended_cleanly)
      findings.push_back({{"text", "the file has no end: the program died, or still runs"},
                          {"offset", info->file_bytes},
                          {"bytes", 0}});
    health = info->health;
  } else {
    const Result<QueryDatabase*> database = tools.database(*path);
    if (!database) return database.error();
    health = (*database)->timeline().health;
  }
  const bool whole = findings.empty() && health.complete();
  return bounded(one_line({{"whole", whole}, {"findings", std::move(findings)}, {"health", health_of(health)}}) + "\n",
                 tools.limits().max_bytes, "rangefinder check shows all");
}

Result<std::string> answer_views(Tools&, const Json&) {
  std::string text;
  for (const ReportViewInfo& view : report_views())
    text.append(view.name).append(": ").append(view.description).append("\n");
  return text;
}

Result<std::string> answer_report(Tools& tools, const Json& arguments) {
  const Result<std::string> path = path_of(tools, arguments);
  if (!path) return path.error();
  const ReportOptions options = report_options(tools, arguments);
  LoadOptions load;
  load.max_memory_bytes = tools.limits().max_memory_bytes;
  const std::size_t max_bytes = tools.limits().max_bytes;
  std::string text;
  const Status status = report_files({*path}, load, options, [&](std::string_view piece) {
    text.append(piece);
    return text.size() <= max_bytes;
  });
  const bool is_long = text.size() > max_bytes;
  if (!status.ok() && !is_long) return status.error();
  if (is_long && options.format == ReportFormat::kJson)
    return Error(ErrorCode::kTooLarge, "the report is longer than " + base::with_thousands(max_bytes) +
                                           " bytes; use top, filter or columns, or format csv");
  // CSV has the table alone: it cannot say itself that rows are left out.
  if (!is_long && options.format == ReportFormat::kCsv &&
      static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) > options.top)
    text.append("(at most ").append(base::with_thousands(options.top)).append(" rows are shown)\n");
  return bounded(std::move(text), max_bytes, "use top, filter or columns");
}

Result<std::string> answer_schema(Tools& tools, const Json&) {
  return bounded(query_schema_text(), tools.limits().max_bytes, "query the table table_columns for the rest");
}

Result<std::string> answer_query(Tools& tools, const Json& arguments) {
  const std::string sql = text_of(arguments, "sql");
  if (sql.empty()) return Error(ErrorCode::kInvalidArgument, "argument \"sql\" is missing");
  const Result<std::string> path = path_of(tools, arguments);
  if (!path) return path.error();
  const Result<QueryDatabase*> database = tools.database(*path);
  if (!database) return database.error();
  QueryLimits limits;
  limits.max_rows = rows_of(tools, arguments, "max_rows");
  limits.timeout_ms = tools.limits().timeout_ms;
  limits.max_memory_bytes = std::uint64_t{256} << 20;
  const Result<QueryResult> result = (*database)->run(sql, limits);
  if (!result) return result.error();
  bool cut = result->truncated;
  Json rows = rows_within(*result, tools.limits().max_bytes, cut);
  return one_line({{"columns", result->columns}, {"rows", std::move(rows)}, {"truncated", cut}});
}

}  // namespace rangefinder::mcp
