// SPDX-License-Identifier: MIT
#include "query/view_module.hpp"

#include "query/read_only_module.hpp"
#include "query/sqlite_value.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rangefinder::query {
namespace {

using report::ColumnType;

// Those whose help says --instances; tests/query compares.
constexpr std::string_view kWithInstances[] = {"ranges",   "kernels",  "memcpy",      "api",
                                               "sync",     "overhead", "allocations", "collectives",
                                               "pipeline", "counters", "streams",     "critical_path"};

std::string_view declared_type(const report::Column& column) noexcept {
  if (report::is_text(column.type)) return "TEXT";
  return column.type == ColumnType::kReal || column.places != 0 ? "REAL" : "INTEGER";
}

Cell cell_of(const report::Table& table, std::size_t row, std::size_t column) {
  const report::Column& kind = table.columns()[column];
  if (table.is_null(row, column)) return null_cell();
  if (kind.type == ColumnType::kPath && !table.paths().is_short(table.path_at(row, column))) return null_cell();
  if (report::is_text(kind.type)) return made_text(table.text_at(row, column));
  const std::int64_t cell = table.number_at(row, column);
  if (kind.type == ColumnType::kReal) return number(report::real_of_cell(cell));
  if (kind.places != 0) return number(static_cast<double>(cell) / std::pow(10.0, kind.places));
  return number(cell);
}

/// What a query walks through of a view.
class ViewRows {
 public:
  using Source = ViewSource;
  explicit ViewRows(const ViewSource& source) noexcept : table_(source.made()) {}

  static Result<std::string> columns(ViewSource& source) {
    const Result<const report::Table*> made = source.table();
    if (!made) return made.error();
    std::string columns;
    for (std::size_t i = 0; i < source.keys().size(); ++i)
      columns += (i == 0 ? "" : ", ") + quoted_name(source.keys()[i]) + " " +
                 std::string(declared_type((*made)->columns()[i]));
    return columns;
  }
  static void plan(ViewSource& source, sqlite3_index_info& info) noexcept {
    const std::size_t rows = source.made().row_count();
    info.estimatedCost = static_cast<double>(rows) + 1;
    info.estimatedRows = static_cast<sqlite3_int64>(rows) + 1;
  }

  void find(int, sqlite3_value**) noexcept { at_ = 0; }
  bool at_end() const noexcept { return at_ >= table_.row_count(); }
  void next() noexcept { ++at_; }
  std::int64_t id() const noexcept { return static_cast<std::int64_t>(at_) + 1; }
  Cell cell(int column) const { return cell_of(table_, at_, static_cast<std::size_t>(column)); }

 private:
  const report::Table& table_;
  std::size_t at_ = 0;
};

/// Without what the help says of options, "(--instances: each)": here they are tables.
std::string without_options(std::string_view description) {
  const std::size_t at = std::min(description.find(" (--"), description.find(" (:"));
  return std::string(description.substr(0, at));
}

std::vector<ViewName> all_view_names() {
  std::vector<ViewName> names;
  for (const report::View* view : report::views()) {
    const std::string name(view->name);
    const std::string description = without_options(view->description);
    names.push_back({"view_" + name, name, description});
    if ((view->variants & report::kSummary) != 0)
      names.push_back({"view_" + name + "_summary", name + ":summary", description + "; summary"});
    for (const std::string_view with : kWithInstances)
      if (view->name == with)
        names.push_back({"view_" + name + "_instances", name, description + "; one row per instance", true});
    for (const auto& [by, word] : report::kByWords) {
      const std::string text(word);
      if ((view->by & by) != 0)
        names.push_back({"view_" + name + "_by_" + text, name,
                         description + (name == "breakdown" ? "; one row per device and " : "; by ") + text, false,
                         text});
    }
  }
  return names;
}

/// SQLite compares names without regard to case, and takes no column without one.
std::vector<std::string> column_names(const std::vector<report::Column>& columns) {
  std::vector<std::string> keys = report::unique_keys(columns);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i].empty()) keys[i] = "column_" + std::to_string(i + 1);
  return keys;
}

}  // namespace

const std::vector<ViewName>& view_names() {
  static const std::vector<ViewName> names = all_view_names();
  return names;
}

Result<const report::Table*> ViewSource::table() {
  if (table_) return &*table_;
  report::ViewOptions options;
  options.view = name_.view;
  options.format = ReportFormat::kJson;  // as for programs: `ranks` draws a map for people
  options.instances = name_.instances;
  options.by = name_.by;
  options.projection = model_.projected().projection_options();
  const Result<const report::View*> view = report::find_view(name_.view, options);
  if (!view) return view.error();
  Result<report::Table> made =
      report::make_table(**view, (*view)->compatible ? model_.recorded_projected() : model_.projected(), options);
  if (!made) return std::move(made).error();
  keys_ = column_names(made->columns());
  table_.emplace(std::move(*made));
  return &*table_;
}

int register_view(sqlite3* connection, ViewSource& source) {
  return ReadOnlyModule<ViewRows>::add(connection, source.name().table, source);
}

}  // namespace rangefinder::query
