// SPDX-License-Identifier: MIT
#include "report/table_order.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "report/find_column.hpp"

#include <regex.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace rangefinder::report {
namespace {

// std::regex recurses for each character of a text: a long name would overflow the stack.
class Expression {
 public:
  static Result<Expression> compile(const std::string& pattern) {
    Expression expression;
    expression.compiled_.reset(new regex_t{});
    const int code = ::regcomp(expression.compiled_.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
    if (code == 0) return expression;
    char message[128];
    ::regerror(code, expression.compiled_.get(), message, sizeof message);
    delete expression.compiled_.release();
    return Error(ErrorCode::kInvalidArgument, "filter \"" + base::printable(pattern) + "\": " + message);
  }
  bool matches(std::string_view text) const {
    const std::string whole(text);  // regexec may look for the zero at the end, whatever the bounds say
    regmatch_t bounds{0, static_cast<regoff_t>(whole.size())};
    return ::regexec(compiled_.get(), whole.c_str(), 1, &bounds, REG_STARTEND) == 0;
  }

 private:
  struct Free {
    void operator()(regex_t* expression) const noexcept {
      ::regfree(expression);
      delete expression;
    }
  };
  std::unique_ptr<regex_t, Free> compiled_;
};

std::vector<std::uint32_t> all_rows(const Table& table) {
  std::vector<std::uint32_t> rows(table.row_count());
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

void note_empty(Table& table, const ViewOptions& options) {
  const std::string& column = table.columns()[table.name_column()].title;
  const std::size_t rows = table.row_count() + table.hidden_rows();
  table.note("no row " + std::string(options.filter_is_regex ? "matches" : "has") + " \"" +
             base::printable(options.filter) + "\" in " + column + " (" + base::with_thousands(rows) +
             (rows == 1 ? " row" : " rows") + " without the filter)");
}

Status filter(Table& table, const ViewOptions& options) {
  std::vector<std::uint32_t> rows = all_rows(table);
  const std::size_t column = table.name_column();
  std::string buffer;
  const auto keep = [&](auto matches) {
    const auto is_out = [&](std::uint32_t row) { return !matches(table.readable_text_at(row, column, buffer)); };
    rows.erase(std::remove_if(rows.begin(), rows.end(), is_out), rows.end());
  };
  if (options.filter_is_regex) {
    Result<Expression> expression = Expression::compile(options.filter);
    if (!expression) return std::move(expression).error();
    keep([&](std::string_view name) { return expression->matches(name); });
  } else {
    keep([&](std::string_view name) { return name.find(options.filter) != std::string_view::npos; });
  }
  table.set_filtered_rows(table.filtered_rows() + table.row_count() - rows.size());
  if (rows.empty() && table.row_count() + table.hidden_rows() != 0) note_empty(table, options);
  table.select(rows);
  return {};
}

/// Numbers by size before all other texts: payloads 8, 16, 128, json.
bool text_before(std::string_view a, std::string_view b) {
  const auto left = base::number_in<double>(a), right = base::number_in<double>(b);
  if (left && right && *left != *right) return *left < *right;
  if (left.has_value() != right.has_value()) return left.has_value();
  return a < b;
}

Status sort(Table& table, std::string_view by) {
  Result<SortBy> found = sort_by(table.columns(), by);
  if (!found) return std::move(found).error();
  const auto [column, down] = *found;
  const ColumnType type = table.columns()[column].type;
  const bool paths = type == ColumnType::kPath || type == ColumnType::kIdStack;
  std::vector<std::uint32_t> ranks;
  if (paths) ranks = table.paths().ranks();
  std::string buffer_a, buffer_b;
  std::vector<std::uint32_t> rows = all_rows(table);
  const auto before = [&, column = column, down = down](std::uint32_t a, std::uint32_t b) {
    const std::int64_t left = table.number_at(a, column), right = table.number_at(b, column);
    if (!is_text(type) || left == kNull || right == kNull)
      return goes_before(table.columns()[column], down, left, right);
    if (down) std::swap(a, b);
    if (paths) return ranks[table.path_at(a, column)] < ranks[table.path_at(b, column)];
    return text_before(table.text_at(a, column, buffer_a), table.text_at(b, column, buffer_b));
  };
  std::stable_sort(rows.begin(), rows.end(), before);
  table.select(rows);
  return {};
}

}  // namespace

Result<SortBy> sort_by(const std::vector<Column>& columns, std::string_view by) {
  const char sign = by[0];
  if (sign == '+' || sign == '-') by.remove_prefix(1);
  Result<std::size_t> column = find_column(columns, by);
  if (!column) return std::move(column).error().with_context("sort");
  return SortBy{*column, sign == '-' || (sign != '+' && !is_text(columns[*column].type))};
}

bool goes_before(const Column& column, bool down, std::int64_t a, std::int64_t b) noexcept {
  if (a == kNull || b == kNull) return a != kNull && b == kNull;
  if (down) std::swap(a, b);
  return column.type == ColumnType::kReal ? real_of_cell(a) < real_of_cell(b) : a < b;
}

Status arrange(Table& table, const ViewOptions& options) {
  if (!options.filter.empty())
    if (Status status = filter(table, options); !status.ok()) return status;
  if (!options.sort.empty())
    if (Status status = sort(table, options.sort); !status.ok()) return status;
  if (options.top != 0 && options.top < table.row_count()) {
    std::vector<std::uint32_t> rows = all_rows(table);
    rows.resize(options.top);
    table.select(rows);
  }
  if (!options.columns.empty() && options.columns != kColumnsHelp) return choose_columns(table, options.columns);
  return {};
}

}  // namespace rangefinder::report
