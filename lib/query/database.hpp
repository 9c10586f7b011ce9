// SPDX-License-Identifier: MIT
#pragma once

#include "query/guard.hpp"
#include "query/model.hpp"
#include "query/table_module.hpp"
#include "query/view_module.hpp"

#include <rangefinder/query.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>

namespace rangefinder::query {

/// A connection of SQLite that serves the tables of a model, and no other.
class Database {
 public:
  static Result<std::unique_ptr<Database>> open(Timeline timeline, const ProjectionOptions& projection);

  const Model& model() const noexcept { return model_; }
  Result<QueryResult> run(std::string_view sql, const QueryLimits& limits);

 private:
  struct Closer {
    void operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }
  };
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

  Database(Timeline timeline, const ProjectionOptions& projection) : model_(std::move(timeline), projection) {}
  Status connect();
  Result<Statement> prepare(std::string_view sql, const Guard& guard) const;
  Status read_rows(sqlite3_stmt* statement, const QueryLimits& limits, Guard& guard, QueryResult& result) const;
  Error failure(int code, const Guard& guard) const;

  Model model_;
  std::deque<TableSource> tables_;
  std::deque<ViewSource> views_;
  std::unique_ptr<sqlite3, Closer> connection_;  // goes first
};

}  // namespace rangefinder::query
