// SPDX-License-Identifier: MIT
#pragma once

#include "query/model.hpp"
#include "report/view.hpp"

#include <rangefinder/result.hpp>

#include <sqlite3.h>

#include <optional>
#include <string>
#include <vector>

namespace rangefinder::query {

/// A view of report as a table: its name, and the options that a name stands for.
struct ViewName {
  std::string table;  ///< view_kernels_instances
  std::string view;   ///< kernels
  std::string description;
  bool instances = false;
  std::string by = {};  ///< ReportOptions::by
};

/// All of them: each view; view_NAME_summary of those with a summary; view_NAME_instances of those with a row per
/// instance; view_NAME_by_step and view_NAME_by_range of those with such rows.
const std::vector<ViewName>& view_names();

/// A view as SQLite sees it. The table is made when a query first names it, and then kept.
class ViewSource {
 public:
  ViewSource(const Model& model, const ViewName& name) : model_(model), name_(name) {}

  const ViewName& name() const noexcept { return name_; }
  /// Errors: of the view.
  Result<const report::Table*> table();
  /// Once the table is made.
  const report::Table& made() const noexcept { return *table_; }
  const std::vector<std::string>& keys() const noexcept { return keys_; }

 private:
  const Model& model_;
  const ViewName& name_;
  std::optional<report::Table> table_;
  std::vector<std::string> keys_;
};

/// Serves the view under its name. `source` outlives the connection.
int register_view(sqlite3* connection, ViewSource& source);

}  // namespace rangefinder::query
