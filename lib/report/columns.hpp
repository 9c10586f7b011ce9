// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <rangefinder/timeline.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rangefinder::report {

/// A text in a cell: a name of the timeline, which is not copied, or words.
struct CellText {
  CellText(StringId id) : name(id) {}                               // NOLINT(google-explicit-constructor)
  CellText(std::string_view text) : words(text) {}                  // NOLINT(google-explicit-constructor)
  CellText(const char* text) : CellText(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)

  StringId name = StringId::kEmpty;
  std::string_view words;  ///< where there is no name
};

/// `value` where that holds.
template <typename Value>
std::optional<Value> if_that(bool holds, Value value) {
  return holds ? std::optional<Value>(std::move(value)) : std::nullopt;
}

template <typename Value>
struct OptionalOf {
  using Type = std::optional<Value>;
};
template <typename Value>
struct OptionalOf<std::optional<Value>> {
  using Type = std::optional<Value>;
};
/// `get(*object)` where there is an object: of rows that are without what others have.
template <typename Object, typename Get>
auto figure_of(const Object* object, const Get& get) {
  using Optional = typename OptionalOf<std::decay_t<std::invoke_result_t<const Get&, const Object&>>>::Type;
  return object != nullptr ? Optional(std::invoke(get, *object)) : Optional();
}

/// The columns of a view: each with its title, its kind, and the function that gets its cell from a row. A table has
/// these columns and no others, so that no cell can stand under the title of another.
///
///   ColumnsOf<CallGroup> columns(timeline);
///   columns.text("Call", &CallGroup::name);
///   columns.count("Count", &CallGroup::count);
///   columns.time("Avg", [](const CallGroup& row) { return common::mean(row.total_ns, row.count); }).if_room(1);
///   Table table = columns.table_of(groups);
///
/// A function takes the row, and where it asks for it the paths of the table: (const Row&, const Paths&). It returns a
/// number (of time: nanoseconds; of columns with decimals: the value times 10^places), a text (std::string, a literal,
/// StringId, CellText), a node of the table's paths, or std::optional of a number or text: nothing is null in JSON, an
/// empty field in CSV and "-" in text. Numbers that no cell holds become the largest that one does.
///
/// Columns are modified where they are added: the reference that adding one returns is valid until the next.
///
/// Cost: an indirect call a cell.
template <typename Row>
class ColumnsOf {
 public:
  /// Without any cells that are names of a timeline.
  ColumnsOf() = default;
  /// Cells may be names of this timeline, which has to outlive the tables.
  explicit ColumnsOf(const Timeline& names) : names_(&names) {}

  template <typename Get>
  Column& text(const std::string& title, Get get) {
    return add({.title = title}, std::move(get),
               [names = names_](Table& table, const auto& value) { return text_cell(table, names, value); });
  }
  /// Names of kernels, or of device operations in general.
  template <typename Get>
  Column& kernel(const std::string& title, Get get) {
    Column& column = text(title, std::move(get));
    column.names = Names::kKernels;
    return column;
  }
  template <typename Get>
  Column& number(Column column, Get get) {
    return add(std::move(column), std::move(get), [](Table&, const auto& value) { return number_cell(value); });
  }
  template <typename Get>
  Column& count(const std::string& title, Get get) {
    return number({.title = title, .type = ColumnType::kInteger}, std::move(get));
  }
  template <typename Get>
  Column& time(const std::string& title, Get get) {
    return number({.title = title, .unit = "ns", .type = ColumnType::kNanoseconds}, std::move(get));
  }
  template <typename Get>
  Column& timestamp(const std::string& title, Get get) {
    return number({.title = title, .unit = "ns", .type = ColumnType::kTimestamp}, std::move(get));
  }
  template <typename Get>
  Column& bytes(const std::string& title, Get get) {
    return number({.title = title, .unit = "B", .type = ColumnType::kBytes}, std::move(get));
  }
  template <typename Get>
  Column& flops(const std::string& title, Get get) {
    return number({.title = title, .type = ColumnType::kFlops}, std::move(get));
  }
  template <typename Get>
  Column& decimal(const std::string& title, const std::string& unit, int places, Get get) {
    return number({.title = title, .unit = unit, .type = ColumnType::kDecimal, .places = places}, std::move(get));
  }
  /// Tenths of a percent.
  template <typename Get>
  Column& percent(const std::string& title, Get get) {
    return decimal(title, "%", 1, std::move(get));
  }
  /// A double; nothing where it is not finite.
  template <typename Get>
  Column& real(const std::string& title, Get get) {
    return add({.title = title, .type = ColumnType::kReal}, std::move(get),
               [](Table&, const auto& value) { return real_cell(value); });
  }
  /// A node of the table's paths; Paths::kNothing: none.
  template <typename Get>
  Column& path(const std::string& title, Get get, ColumnType type = ColumnType::kPath) {
    return add({.title = title, .type = type}, std::move(get),
               [](Table&, Paths::Node node) { return node == Paths::kNothing ? kNull : std::int64_t{node}; });
  }
  template <typename Get>
  Column& path_name(const std::string& title, Get get) {
    return path(title, std::move(get), ColumnType::kPathName);
  }

  /// A table without rows.
  Table table() const { return Table(columns_); }
  void add_row(Table& table, const Row& row) const {
    table.add_row();
    for (std::size_t column = 0; column < cells_.size(); ++column) table.set(column, cells_[column](table, row));
  }
  const std::vector<Column>& columns() const noexcept { return columns_; }
  /// One cell of what add_row would add. Of columns that are numbers.
  std::int64_t cell(std::size_t column, Table& table, const Row& row) const { return cells_[column](table, row); }
  template <typename Rows>
  Table table_of(const Rows& rows) const {
    Table out = table();
    for (const Row& row : rows) add_row(out, row);
    return out;
  }

 private:
  template <typename Get, typename ToCell>
  Column& add(Column column, Get get, ToCell to_cell) {
    cells_.push_back([get = std::move(get), to_cell](Table& table, const Row& row) -> std::int64_t {
      if constexpr (std::is_invocable_v<const Get&, const Row&, const Paths&>)
        return to_cell(table, std::invoke(get, row, std::as_const(table).paths()));
      else
        return to_cell(table, std::invoke(get, row));
    });
    return columns_.emplace_back(std::move(column));
  }

  template <std::integral Number>
  static std::int64_t number_cell(Number value) noexcept {
    static_assert(!std::is_same_v<Number, bool>);
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    return std::cmp_greater(value, kMax) ? kMax : static_cast<std::int64_t>(value);
  }
  template <typename Number>
  static std::int64_t number_cell(const std::optional<Number>& value) noexcept {
    return value ? number_cell(*value) : kNull;
  }

  static std::int64_t real_cell(double value) noexcept { return cell_of_real(value); }
  static std::int64_t real_cell(const std::optional<double>& value) noexcept {
    return value ? cell_of_real(*value) : kNull;
  }

  static std::int64_t text_cell(Table& table, const Timeline* names, const CellText& text) {
    return text.name != StringId::kEmpty ? table.cell_of(*names, text.name) : table.cell_of(text.words);
  }
  template <typename Text>
  static std::int64_t text_cell(Table& table, const Timeline* names, const std::optional<Text>& text) {
    return text ? text_cell(table, names, *text) : kNull;
  }
  template <std::same_as<std::string> Text>
  static std::int64_t text_cell(Table& table, const Timeline*, const Text& text) {
    return table.cell_of(text);
  }

  const Timeline* names_ = nullptr;
  std::vector<Column> columns_;
  std::vector<std::function<std::int64_t(Table&, const Row&)>> cells_;
};

}  // namespace rangefinder::report
