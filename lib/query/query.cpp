// SPDX-License-Identifier: MIT
#include "query/database.hpp"
#include "query/tables.hpp"
#include "query/view_module.hpp"
#include "query/write_result.hpp"

#include <rangefinder/query.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rangefinder {

struct QueryDatabase::Impl {
  std::unique_ptr<query::Database> database;
};

QueryDatabase::QueryDatabase(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
QueryDatabase::QueryDatabase(QueryDatabase&&) noexcept = default;
QueryDatabase& QueryDatabase::operator=(QueryDatabase&&) noexcept = default;
QueryDatabase::~QueryDatabase() = default;

Result<QueryDatabase> QueryDatabase::open(const std::vector<std::string>& paths, const LoadOptions& load,
                                          const ProjectionOptions& projection) {
  LoadOptions wanted = load;
  wanted.operator_inputs = true;  // the table operators has them
  Result<Timeline> timeline = load_job(paths, wanted);
  if (!timeline) return timeline.error();
  return of(std::move(*timeline), projection);
}

Result<QueryDatabase> QueryDatabase::of(Timeline timeline, const ProjectionOptions& projection) {
  Result<std::unique_ptr<query::Database>> database = query::Database::open(std::move(timeline), projection);
  if (!database) return database.error();
  return QueryDatabase(std::make_unique<Impl>(Impl{std::move(*database)}));
}

Result<QueryResult> QueryDatabase::run(std::string_view sql, const QueryLimits& limits) {
  return impl_->database->run(sql, limits);
}

Status QueryDatabase::write(std::string_view sql, const QueryLimits& limits, const QueryOutput& output,
                            const std::function<bool(std::string_view)>& sink, bool* truncated) {
  const Result<QueryResult> result = run(sql, limits);
  if (!result) return result.error();
  if (truncated != nullptr) *truncated = result->truncated;
  return query::write_result(*result, output, [&sink](std::string_view text) -> Status {
    if (sink(text)) return {};
    return Error(ErrorCode::kIo, "query: cannot write the output");
  });
}

const Timeline& QueryDatabase::timeline() const noexcept { return impl_->database->model().timeline(); }

std::vector<QueryTableInfo> query_schema() {
  std::vector<QueryTableInfo> schema;
  for (const query::Table* table : query::tables()) {
    QueryTableInfo& info = schema.emplace_back(QueryTableInfo{table->name, table->description, {}});
    info.columns.push_back({"id", "INTEGER", "", "position of the row, counted from 1", true});
    for (const query::Column& column : table->columns)
      info.columns.push_back({column.name, query::sql_name(column.type), column.unit, column.description,
                              table->is_looked_up(column.name)});
  }
  for (const query::ViewName& view : query::view_names()) schema.push_back({view.table, view.description, {}});
  return schema;
}

std::string query_schema_text() {
  std::string out;
  for (const QueryTableInfo& table : query_schema()) {
    if (!table.columns.empty()) {
      out.append(out.empty() ? "" : "\n").append(table.name).append(": ").append(table.description).append("\n");
      for (const QueryColumnInfo& column : table.columns) {
        std::string name = "  " + std::string(column.name) + (column.indexed ? "*" : "");
        name.resize(std::max<std::size_t>(name.size() + 1, 30), ' ');
        out.append(name).append(column.type).append(column.type.size() < 7 ? 9 - column.type.size() : 2, ' ');
        out.append(column.description).append(column.unit.empty() ? "" : " (").append(column.unit);
        out.append(column.unit.empty() ? "" : ")").append("\n");
      }
    }
  }
  out += "\nviews (columns: PRAGMA table_info(NAME))\n";
  for (const QueryTableInfo& table : query_schema()) {
    if (!table.columns.empty()) continue;
    std::string name = "  " + std::string(table.name);
    name.resize(std::max<std::size_t>(name.size() + 1, 40), ' ');
    out.append(name).append(table.description).append("\n");
  }
  return out + "\n*: equality is looked up in an index; begin_ns and time_ns also by < and >\n";
}

}  // namespace rangefinder
