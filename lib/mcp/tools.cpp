// SPDX-License-Identifier: MIT
#include "mcp/tools.hpp"

#include "base/text.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <vector>

namespace rangefinder::mcp {
namespace {

Json text_argument(std::string_view description) { return {{"type", "string"}, {"description", description}}; }
Json flag_argument(std::string_view description) { return {{"type", "boolean"}, {"description", description}}; }
Json count_argument(std::string_view description) {
  return {{"type", "integer"}, {"minimum", 1}, {"description", description}};
}
Json word_argument(std::string_view description, const std::vector<std::string>& words) {
  return {{"type", "string"}, {"enum", words}, {"description", description}};
}

constexpr std::string_view kPath =
    "File or folder, relative to the folder that is served, as list_files names it. A folder of captures is one job";

Json no_arguments() { return Json::object(); }
Json path_argument() { return {{"path", text_argument(kPath)}}; }
Json report_arguments() {
  return {
      {"path", text_argument(kPath)},
      {"view", text_argument("One of list_views; default ranges")},
      {"format",
       word_argument("text has readable units, csv and json exact numbers; default text", {"text", "csv", "json"})},
      {"filter", text_argument("Only rows whose name contains this")},
      {"sort", text_argument("Column to sort by; +COLUMN ascending, -COLUMN descending")},
      {"columns", text_argument("Columns to show, separated by commas; help lists those of the view")},
      {"top", count_argument("At most this many rows")},
      {"instances", flag_argument("One row per instance instead of one per name")},
      {"by", word_argument("View breakdown: one row per device and step, or per device and range. Views families and "
                           "launch_queue: per range. View critical_path: per reason (default), range, operator or step",
                           {"step", "range", "reason", "operator"})},
      {"of", text_argument(
                 "View critical_path: of what: steps (default), all, step:NUMBER, range:NAME, or time:BEGIN..END in "
                 "nanoseconds since the begin of the recording")},
      {"attribution",
       word_argument("Which range owns device work; default auto", {"auto", "launch", "forward", "capture"})}};
}
Json query_arguments() {
  return {{"path", text_argument(kPath)},
          {"sql", text_argument("One SELECT in SQLite's dialect over the tables of `schema`")},
          {"max_rows", count_argument("At most this many rows")}};
}

constexpr Tool kTools[] = {
    {"list_files", "List files", "Captures, traces and exports that can be asked about, with their kind and size",
     no_arguments, "", answer_list_files},
    {"info", "Show what is in a file",
     "Facts of an input: processes, devices, number of rows, where all device time went, what the recording lost",
     path_argument, "path", answer_info},
    {"check", "Check a file", "Damage and lost records of an input", path_argument, "path", answer_check},
    {"list_views", "List views", "Views that report can show", no_arguments, "", answer_views},
    {"report", "Show a view",
     "A view of an input: which ranges use the GPU time, kernels, steps, idle time, stragglers, ...", report_arguments,
     "path", answer_report},
    {"schema", "Show the tables of queries", "Tables and columns that query can name, with units", no_arguments, "",
     answer_schema},
    {"query", "Ask in SQL",
     "Rows of one SELECT. Times are integer nanoseconds; ids count from 1; views are tables named view_NAME",
     query_arguments, "path", answer_query},
};

/// Wrong arguments, as a sentence; empty when they fit the schema.
std::string wrong_arguments(const Tool& tool, const Json& arguments) {
  const Json known = tool.arguments();
  for (const auto& [name, value] : arguments.items()) {
    const Json& schema = member(known, name.c_str());
    if (schema.is_null()) {
      std::string names;
      for (const auto& [each, unused] : known.items()) names += (names.empty() ? "" : ", ") + each;
      return "no argument \"" + base::printable(name) + "\"; " +
             (names.empty() ? "there are none" : "there are " + names);
    }
    const std::string type = member(schema, "type").get<std::string>();
    const bool fits = (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
                      (type == "integer" && value.is_number_integer() &&
                       (value.is_number_unsigned() ? value.get<std::uint64_t>() >= 1 : value.get<std::int64_t>() >= 1));
    if (!fits) return "argument \"" + name + "\": must be of type " + type + (type == "integer" ? ", at least 1" : "");
    const Json& words = member(schema, "enum");
    if (words.is_array() && std::find(words.begin(), words.end(), value) == words.end())
      return "argument \"" + name + "\": one of " + one_line(words);
  }
  if (!tool.required.empty() && !arguments.contains(std::string(tool.required)))
    return "argument \"" + std::string(tool.required) + "\" is missing";
  return {};
}

/// What changes when a file is written.
std::string version_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return std::to_string(found.st_dev) + "." + std::to_string(found.st_ino) + "." + std::to_string(found.st_size) + "." +
         std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec);
}

}  // namespace

std::span<const Tool> Tools::all() { return kTools; }

Json Tools::list() {
  Json list = Json::array();
  for (const Tool& tool : kTools) {
    Json schema{{"type", "object"}, {"properties", tool.arguments()}, {"additionalProperties", false}};
    if (tool.name == "query")
      schema["required"] = Json::array({"path", "sql"});
    else if (!tool.required.empty())
      schema["required"] = Json::array({std::string(tool.required)});
    list.push_back({{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", std::move(schema)},
                    {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
  }
  return list;
}

Result<std::string> Tools::call(std::string_view name, const Json& arguments, bool& failed) {
  const auto* const tool =
      std::find_if(std::begin(kTools), std::end(kTools), [&](const Tool& each) { return each.name == name; });
  if (tool == std::end(kTools)) {
    std::vector<std::string_view> names;
    for (const Tool& each : kTools) names.push_back(each.name);
    const std::string_view nearest = base::nearest(name, names);
    return Error(ErrorCode::kNotFound, "no tool \"" + base::printable(name) + "\"" +
                                           (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?"));
  }
  failed = true;
  if (std::string wrong = wrong_arguments(*tool, arguments); !wrong.empty()) return wrong;
  try {
    Result<std::string> answer = tool->answer(*this, arguments);
    if (!answer) return folder_.without_root(answer.error().message());
    failed = false;
    return answer;
  } catch (const std::bad_alloc&) {
    opened_.reset();
    return std::string("needs more memory than the server may use; start it with a larger --max-memory");
  }
}

Result<QueryDatabase*> Tools::database(const std::string& path) {
  struct stat found {};
  const bool is_file = ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
  const std::string version = is_file ? version_of(path) : std::string();  // of a folder any file may change
  if (opened_ && opened_->path == path && !version.empty() && opened_->version == version) return &opened_->database;
  opened_.reset();
  LoadOptions load;
  load.max_memory_bytes = limits_.max_memory_bytes;
  Result<QueryDatabase> database = QueryDatabase::open({path}, load);
  if (!database) return database.error();
  opened_.emplace(Opened{path, version, std::move(*database)});
  return &opened_->database;
}

}  // namespace rangefinder::mcp
