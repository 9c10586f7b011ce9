// SPDX-License-Identifier: MIT
#include "query/table_module.hpp"

#include "query/read_only_module.hpp"
#include "query/row_order.hpp"
#include "query/sqlite_value.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>

namespace rangefinder::query {
namespace {

// How rows are found; TableRows::plan tells TableRows::find by a number. -1 and below: all, in the order -1 - number.
constexpr int kScan = 0;
constexpr int kById = 1;
constexpr int kFirstLookup = 2;  // + 4 * lookup + kWithLower + kWithUpper
constexpr int kWithLower = 1;
constexpr int kWithUpper = 2;

/// Constraints of a query by what they compare; -1: none.
struct Constraints {
  int equal = -1;
  int lower = -1;
  int upper = -1;
};

/// `column` as SQLite numbers it: 0 is the id, and so is -1, the rowid.
Constraints constraints_on(const sqlite3_index_info& info, int column) noexcept {
  Constraints found;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& each = info.aConstraint[i];
    if (each.usable == 0 || std::max(each.iColumn, 0) != column) continue;
    switch (each.op) {
      case SQLITE_INDEX_CONSTRAINT_EQ:
        found.equal = i;
        break;
      case SQLITE_INDEX_CONSTRAINT_GT:
      case SQLITE_INDEX_CONSTRAINT_GE:
        found.lower = i;
        break;
      case SQLITE_INDEX_CONSTRAINT_LT:
      case SQLITE_INDEX_CONSTRAINT_LE:
        found.upper = i;
        break;
      default:
        break;
    }
  }
  return found;
}

struct Plan {
  int number = kScan;
  double rows = 0;
  int arguments[3] = {-1, -1, -1};  // constraints, in the order in which xFilter gets their values
  int ordered_by = 0;               // column in whose ascending order rows come; 0: id; -1: none
  std::string words = {};           // for EXPLAIN QUERY PLAN
};

/// Few places have many rows each; what else there is to look up has few rows each.
bool is_place(std::string_view key) noexcept {
  return key == "process_id" || key == "thread_id" || key == "device_id" || key == "stream_id";
}

double rows_of_key(const TableSource& source, std::size_t lookup, double rows) {
  if (const KeyIndex* index = source.built(lookup); index != nullptr)
    return static_cast<double>(index->size()) / static_cast<double>(std::max<std::size_t>(index->keys(), 1));
  return is_place(source.table.lookups[lookup].key) ? rows / 8 : std::min(rows, 4.0);
}

int number_of(const Table& table, std::string_view column) noexcept {
  return static_cast<int>(table.column(column)) + 1;
}

/// The plan by that lookup; `rows` infinite where no constraint fits.
Plan plan_by(const TableSource& source, const sqlite3_index_info& info, std::size_t lookup, double all_rows) {
  const Lookup& by = source.table.lookups[lookup];
  Plan plan;
  plan.rows = std::numeric_limits<double>::infinity();
  const Constraints key = by.key.empty() ? Constraints{} : constraints_on(info, number_of(source.table, by.key));
  if (!by.key.empty() && key.equal < 0) return plan;
  const Constraints time = by.time.empty() ? Constraints{} : constraints_on(info, number_of(source.table, by.time));
  const int flags = (time.lower >= 0 ? kWithLower : 0) | (time.upper >= 0 ? kWithUpper : 0);
  if (by.key.empty() && flags == 0) return plan;
  plan.rows = by.key.empty() ? all_rows : rows_of_key(source, lookup, all_rows);
  plan.rows /= flags == (kWithLower | kWithUpper) ? 16 : flags != 0 ? 3 : 1;
  plan.number = kFirstLookup + 4 * static_cast<int>(lookup) + flags;
  int next = 0;
  for (const int constraint : {key.equal, time.lower, time.upper})
    if (constraint >= 0) plan.arguments[next++] = constraint;
  plan.ordered_by = by.time.empty() ? -1 : number_of(source.table, by.time);
  plan.words.append(by.key).append(by.key.empty() || flags == 0 ? "" : ", ").append(flags == 0 ? "" : by.time);
  return plan;
}

/// The columns by which a query wants all rows, as rows_by_values has them; empty where that has no such order.
std::vector<int> wanted_order(const TableSource& source, const sqlite3_index_info& info) {
  constexpr int kMostColumns = 4;
  std::vector<int> columns;
  for (int i = 0; i < info.nOrderBy; ++i) {
    const auto& [number, descending] = info.aOrderBy[i];
    if (i == kMostColumns || number <= 0) return {};
    if (source.table.columns[static_cast<std::size_t>(number) - 1].type == Type::kReal) return {};
    columns.push_back(descending != 0 ? -number : number);
  }
  return columns;
}

std::string words_of(const Table& table, const std::vector<int>& order) {
  std::string words;
  for (const int column : order)
    words.append(words.empty() ? "by " : ", ")
        .append(table.columns[static_cast<std::size_t>(std::abs(column)) - 1].name)
        .append(column < 0 ? " descending" : "");
  return words;
}

Plan best_plan(TableSource& source, const sqlite3_index_info& info) {
  const auto all_rows = static_cast<double>(source.rows());
  Plan best;
  best.rows = all_rows;
  if (const Constraints id = constraints_on(info, 0); id.equal >= 0) {
    best.number = kById;
    best.rows = 1;
    best.arguments[0] = id.equal;
    best.words = "id";
    return best;
  }
  for (std::size_t lookup = 0; lookup < source.table.lookups.size(); ++lookup)
    if (const Plan plan = plan_by(source, info, lookup, all_rows); plan.rows < best.rows) best = plan;
  if (best.number != kScan) return best;
  if (const std::vector<int> order = wanted_order(source, info); !order.empty()) {
    best.number = -1 - source.number_of_order(order);
    best.words = words_of(source.table, order);
  }
  return best;
}

/// What a query walks through of a table.
class TableRows {
 public:
  using Source = TableSource;
  explicit TableRows(TableSource& source) noexcept : source_(source) {}

  static Result<std::string> columns(TableSource& source) {
    std::string columns = "\"id\" INTEGER";
    for (const Column& column : source.table.columns)
      columns += ", " + quoted_name(column.name) + " " + std::string(sql_name(column.type));
    return columns;
  }
  static void plan(TableSource& source, sqlite3_index_info& info);

  void find(int plan, sqlite3_value** values);
  bool at_end() const noexcept { return at_ >= end_; }
  void next() noexcept { ++at_; }
  std::int64_t id() const noexcept { return std::int64_t{row()} + 1; }
  Cell cell(int column) const {
    if (column == 0) return number(id());
    return source_.table.columns[static_cast<std::size_t>(column) - 1].get(source_.model, row());
  }

 private:
  std::uint32_t row() const noexcept { return order_ == nullptr ? static_cast<std::uint32_t>(at_) : order_[at_]; }
  void walk(const std::vector<std::uint32_t>& rows, std::size_t from, std::size_t to) noexcept {
    order_ = rows.empty() ? nullptr : rows.data();
    at_ = from;
    end_ = to;
  }
  void find_by_id(sqlite3_value* value);
  void find_by_lookup(int plan, sqlite3_value** values);
  void find_in_order(int number);

  TableSource& source_;
  const std::uint32_t* order_ = nullptr;  // null: positions are rows
  TableSource::Order kept_;               // where `order_` is one that the table may forget
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

void TableRows::plan(TableSource& source, sqlite3_index_info& info) {
  const Plan plan = best_plan(source, info);
  info.idxNum = plan.number;
  info.idxStr = freed_by_sqlite(plan.words);
  info.needToFreeIdxStr = 1;
  for (int i = 0; i < 3; ++i)
    if (plan.arguments[i] >= 0) info.aConstraintUsage[plan.arguments[i]].argvIndex = i + 1;
  if (plan.number == kById) info.idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  info.estimatedRows = static_cast<sqlite3_int64>(std::max(plan.rows, 1.0));
  // A search costs about as much as a few rows.
  info.estimatedCost =
      plan.rows + (plan.number >= kFirstLookup ? std::log2(static_cast<double>(source.rows()) + 2) : 1);
  info.orderByConsumed = plan.number < kScan || (info.nOrderBy == 1 && info.aOrderBy[0].desc == 0 &&
                                                 std::max(info.aOrderBy[0].iColumn, 0) == plan.ordered_by);
}

void TableRows::find(int plan, sqlite3_value** values) {
  walk({}, 0, 0);
  if (plan == kScan)
    end_ = source_.rows();
  else if (plan < kScan)
    find_in_order(-1 - plan);
  else if (plan == kById)
    find_by_id(values[0]);
  else
    find_by_lookup(plan, values);
}

void TableRows::find_by_id(sqlite3_value* value) {
  const Bound id = bound_of(value, Side::kEqual);
  if (id.kind != Bound::Kind::kAt || id.at < 1 || static_cast<std::uint64_t>(id.at) > source_.rows()) return;
  at_ = static_cast<std::size_t>(id.at) - 1;
  end_ = at_ + 1;
}

void TableRows::find_by_lookup(int plan, sqlite3_value** values) {
  const auto lookup = static_cast<std::size_t>((plan - kFirstLookup) / 4);
  const int flags = (plan - kFirstLookup) % 4;
  std::int64_t key = 0;
  std::int64_t lower = std::numeric_limits<std::int64_t>::min();
  std::int64_t upper = std::numeric_limits<std::int64_t>::max();
  int next = 0;
  const auto take = [&](Side side, std::int64_t& to) {
    const Bound bound = bound_of(values[next++], side);
    if (bound.kind == Bound::Kind::kAt) to = bound.at;
    return bound.kind != Bound::Kind::kNoRow;
  };
  if (!source_.table.lookups[lookup].key.empty() && !take(Side::kEqual, key)) return;
  if ((flags & kWithLower) != 0 && !take(Side::kLower, lower)) return;
  if ((flags & kWithUpper) != 0 && !take(Side::kUpper, upper)) return;
  const KeyIndex& index = source_.index(lookup);
  const KeyIndex::Span found = index.find(key, lower, upper);
  walk(index.order(), found.begin, found.end);
}

void TableRows::find_in_order(int number) {
  kept_ = source_.order(number);
  walk(*kept_, 0, source_.rows());
}

}  // namespace

const KeyIndex& TableSource::index(std::size_t lookup) {
  std::unique_ptr<KeyIndex>& index = indexes_[lookup];
  if (!index) index = std::make_unique<KeyIndex>(model, table, table.lookups[lookup]);
  return *index;
}

int TableSource::number_of_order(const std::vector<int>& columns) {
  const auto known =
      std::find_if(orders_.begin(), orders_.end(), [&](const auto& each) { return each.columns == columns; });
  const auto number = known - orders_.begin();
  if (known == orders_.end()) orders_.push_back({columns, nullptr});
  return static_cast<int>(number);
}

TableSource::Order TableSource::order(int number) {
  constexpr std::ptrdiff_t kMostKept = 8;
  Order& order = orders_[static_cast<std::size_t>(number)].order;
  if (order) return order;
  if (std::count_if(orders_.begin(), orders_.end(), [](const auto& each) { return each.order != nullptr; }) >=
      kMostKept)
    for (WantedOrder& each : orders_) each.order = nullptr;
  order = std::make_shared<const std::vector<std::uint32_t>>(
      rows_by_values(model, table, orders_[static_cast<std::size_t>(number)].columns));
  return order;
}

int register_table(sqlite3* connection, TableSource& source) {
  return ReadOnlyModule<TableRows>::add(connection, std::string(source.table.name), source);
}

}  // namespace rangefinder::query
