// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/line_editor.hpp"
#include "cli/values.hpp"

#include <rangefinder/query.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::cli {
namespace {

struct QueryArguments {
  std::string input;
  std::string sql;
  bool csv = false;
  bool schema = false;
  bool ascii = false;
  double timeout_s = 30;
  std::size_t max_rows = 100'000;
  ProjectionOptions projection;
};

QueryLimits limits_of(const Common& common, const QueryArguments& arguments) {
  QueryLimits limits;
  limits.timeout_ms = static_cast<std::int64_t>(std::ceil(std::min(arguments.timeout_s, 1e6) * 1e3));
  limits.max_rows = arguments.max_rows;
  const std::uint64_t bound = common.max_memory != 0 ? common.max_memory : default_max_memory();
  limits.max_memory_bytes = std::max<std::uint64_t>(bound / 4, 1 << 20);
  return limits;
}

QueryOutput output_of(const Common& common, const QueryArguments& arguments) {
  QueryOutput output;
  output.format = common.json ? QueryFormat::kJson : arguments.csv ? QueryFormat::kCsv : QueryFormat::kText;
  output.utf8 = common.terminal.utf8 && !arguments.ascii;
  output.terminal = common.terminal.stdout_is_tty;
  output.width = common.terminal.width;
  return output;
}

Status answer(QueryDatabase& database, std::string_view sql, const Common& common, const QueryArguments& arguments) {
  bool truncated = false;
  Status status =
      database.write(sql, limits_of(common, arguments), output_of(common, arguments), write_stdout, &truncated);
  if (status.ok() && truncated)
    complain(fmt::format("query: only the first {} rows are shown; allow more with --max-rows, 0 for all",
                         base::with_thousands(arguments.max_rows)));
  return status;
}

/// Words of SQL that questions are made of.
constexpr std::string_view kSqlWords[] = {
    "SELECT", "FROM",     "WHERE",   "GROUP", "ORDER", "HAVING",     "LIMIT",    "JOIN",  "LEFT", "USING",
    "WITH",   "DISTINCT", "BETWEEN", "LIKE",  "GLOB",  "CASE",       "WHEN",     "THEN",  "ELSE", "UNION",
    "EXISTS", "NOT",      "NULL",    "DESC",  "OVER",  "PARTITION",  "EXPLAIN",  "QUERY", "PLAN", "count",
    "sum",    "avg",      "min",     "max",   "total", "row_number", "coalesce", "round"};

/// Tables, columns and words of SQL that begin like the word before the cursor, whatever its case.
std::vector<std::string> completions(std::string_view before) {
  std::size_t begin = before.size();
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(before[begin - 1])) != 0 || before[begin - 1] == '_'))
    --begin;
  const std::string_view word = before.substr(begin);
  const auto begins = [&](std::string_view name) {
    return !word.empty() && name.size() >= word.size() &&
           std::equal(word.begin(), word.end(), name.begin(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  std::vector<std::string> found;
  const auto offer = [&](std::string_view name) {
    if (begins(name)) found.emplace_back(name);
  };
  for (const QueryTableInfo& table : query_schema()) {
    offer(table.name);
    for (const QueryColumnInfo& column : table.columns) offer(column.name);
  }
  for (const std::string_view each : kSqlWords) offer(each);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

constexpr std::string_view kHelp =
    "SELECT ...;   a question; it may take several lines and ends with a semicolon\n"
    ".schema       tables and columns\n"
    ".tables       names of tables\n"
    ".quit         ends; so does Ctrl-D\n";

/// A line that begins with a dot. False: the end.
bool run_dot_command(std::string_view line) {
  if (line == ".quit" || line == ".exit") return false;
  if (line == ".schema") {
    write_stdout(query_schema_text());
  } else if (line == ".tables") {
    for (const QueryTableInfo& table : query_schema()) write_stdout(std::string(table.name) + "\n");
  } else if (line == ".help") {
    write_stdout(kHelp);
  } else {
    complain("query: no command " + base::printable(line) + "; there are .schema, .tables, .help and .quit");
  }
  return true;
}

std::string_view without_spaces_around(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

/// Questions from standard input, one after the other. On a terminal a wrong one is not the end.
int answer_input(QueryDatabase& database, const Common& common, const QueryArguments& arguments) {
  const bool from_terminal = ::isatty(STDIN_FILENO) != 0 && common.terminal.stderr_is_tty;
  LineReader reader(completions, from_terminal);
  if (from_terminal && !common.quiet) complain("query: end a question with a semicolon; .help tells more");
  std::string sql;
  for (;;) {
    const std::optional<std::string> line = reader.read(sql.empty() ? "rangefinder> " : "        ...> ");
    const std::string_view words = line ? without_spaces_around(*line) : std::string_view();
    if (line && sql.empty() && words.starts_with('.')) {
      if (!run_dot_command(words)) return kSuccess;
      continue;
    }
    if (reader.was_cancelled()) sql.clear();
    if (!words.empty()) sql.append(*line).append("\n");
    if (line && !words.ends_with(';')) continue;
    if (!without_spaces_around(sql).empty()) {
      const Status status = answer(database, sql, common, arguments);
      std::fflush(stdout);
      if (!status.ok() && !from_terminal) return fail(status.error());
      if (!status.ok()) complain(status.error().message());
    }
    sql.clear();
    if (!line) return kSuccess;
  }
}

int run_query(const Common& common, const QueryArguments& arguments) {
  if (arguments.schema) {
    write_stdout(query_schema_text());
    return kSuccess;
  }
  if (arguments.input.empty()) {
    complain("query: which file? A capture, a folder of captures, a torch.profiler trace or an Nsight SQLite export");
    return kUsage;
  }
  bound_memory(common);
  std::optional<QueryDatabase> database;
  {
    Progress progress(common.terminal, common.shows_progress(), "reading " + arguments.input);
    Result<QueryDatabase> opened =
        QueryDatabase::open({arguments.input}, load_options(common, progress), arguments.projection);
    if (!opened) return fail(opened.error());
    database.emplace(std::move(*opened));
  }
  if (arguments.sql.empty()) return answer_input(*database, common, arguments);
  const Status status = answer(*database, arguments.sql, common, arguments);
  return status.ok() ? static_cast<int>(kSuccess) : fail(status.error());
}

}  // namespace

void add_query(CLI::App& app, Common& common, int& result) {
  auto arguments = std::make_shared<QueryArguments>();
  CLI::App* verb = app.add_subcommand("query", "Answer a question in SQL");
  verb->add_option("FILE", arguments->input, "A capture, a folder of captures (one job), a trace or an export")
      ->type_name("");
  verb->add_option("SQL", arguments->sql,
                   "One SELECT, such as \"SELECT name, gpu_busy_ns FROM ranges\"; without it, questions are read from "
                   "standard input")
      ->type_name("");
  verb->add_flag("--schema", arguments->schema, "Show the tables and their columns");
  verb->add_flag("--csv", arguments->csv, "Print CSV with exact numbers")->group("Output");
  verb->add_flag("--ascii", arguments->ascii, "Draw with ASCII characters only")->group("Output");
  takes_number_of_at_least_0(verb->add_option("--timeout", arguments->timeout_s,
                                              "End a question that takes longer than SECONDS (default 30; 0: never)"))
      ->type_name("SECONDS");
  takes_whole_number<std::size_t>(
      verb->add_option("--max-rows", arguments->max_rows, "At most N rows (default 100000; 0: all)"), 0)
      ->type_name("N");
  add_attribution(*verb, arguments->projection.attribution,
                  "Attribution of device work: launch, forward, capture or auto (default auto)");
  add_common(*verb, common);
  verb->callback([&common, &result, arguments] {
    if (common.json && arguments->csv) throw CLI::ValidationError("--json and --csv: choose one");
    result = run_query(common, *arguments);
  });
}

}  // namespace rangefinder::cli
