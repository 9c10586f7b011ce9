// SPDX-License-Identifier: MIT
#include "query/table_module.hpp"

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

struct VirtualTable : sqlite3_vtab {
  explicit VirtualTable(TableSource& of) : sqlite3_vtab{}, source(of) {}
  TableSource& source;
};

struct Cursor : sqlite3_vtab_cursor {
  Cursor() : sqlite3_vtab_cursor{} {}
  const std::uint32_t* order = nullptr;  // null: positions are rows
  TableSource::Order kept;               // where `order` is one that the table may forget
  std::size_t at = 0;
  std::size_t end = 0;

  std::uint32_t row() const noexcept { return order == nullptr ? static_cast<std::uint32_t>(at) : order[at]; }
  void walk(const std::vector<std::uint32_t>& rows, std::size_t from, std::size_t to) noexcept {
    order = rows.empty() ? nullptr : rows.data();
    at = from;
    end = to;
  }
};

TableSource& source_of(sqlite3_vtab* table) noexcept { return static_cast<VirtualTable*>(table)->source; }

// ---- how rows are found; xBestIndex tells xFilter by a number. -1 and below: all, in the order -1 - number
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

int choose_plan(sqlite3_vtab* table, sqlite3_index_info* info) {
  return without_exceptions([&] {
    TableSource& source = source_of(table);
    const Plan plan = best_plan(source, *info);
    info->idxNum = plan.number;
    info->idxStr = freed_by_sqlite(plan.words);
    info->needToFreeIdxStr = 1;
    for (int i = 0; i < 3; ++i)
      if (plan.arguments[i] >= 0) info->aConstraintUsage[plan.arguments[i]].argvIndex = i + 1;
    if (plan.number == kById) info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    info->estimatedRows = static_cast<sqlite3_int64>(std::max(plan.rows, 1.0));
    // A search costs about as much as a few rows.
    info->estimatedCost =
        plan.rows + (plan.number >= kFirstLookup ? std::log2(static_cast<double>(source.rows()) + 2) : 1);
    info->orderByConsumed = plan.number < kScan || (info->nOrderBy == 1 && info->aOrderBy[0].desc == 0 &&
                                                    std::max(info->aOrderBy[0].iColumn, 0) == plan.ordered_by);
    return SQLITE_OK;
  });
}

// ---- the life of a table
int connect(sqlite3* connection, void* source, int, const char* const*, sqlite3_vtab** table, char**) {
  return without_exceptions([&] {
    auto& of = *static_cast<TableSource*>(source);
    std::string declaration = "CREATE TABLE x(\"id\" INTEGER";
    for (const Column& column : of.table.columns)
      declaration += ", " + quoted_name(column.name) + " " + std::string(sql_name(column.type));
    const int code = sqlite3_declare_vtab(connection, (declaration + ")").c_str());
    if (code == SQLITE_OK) *table = new VirtualTable(of);
    return code;
  });
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  return without_exceptions([&] {
    *cursor = new Cursor();
    return SQLITE_OK;
  });
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

// ---- rows
void find_by_id(Cursor& cursor, std::size_t rows, sqlite3_value* value) {
  const Bound id = bound_of(value, Side::kEqual);
  if (id.kind != Bound::Kind::kAt || id.at < 1 || static_cast<std::uint64_t>(id.at) > rows) return;
  cursor.at = static_cast<std::size_t>(id.at) - 1;
  cursor.end = cursor.at + 1;
}

void find_by_lookup(Cursor& cursor, TableSource& source, int plan, sqlite3_value** values) {
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
  if (!source.table.lookups[lookup].key.empty() && !take(Side::kEqual, key)) return;
  if ((flags & kWithLower) != 0 && !take(Side::kLower, lower)) return;
  if ((flags & kWithUpper) != 0 && !take(Side::kUpper, upper)) return;
  const KeyIndex& index = source.index(lookup);
  const KeyIndex::Span found = index.find(key, lower, upper);
  cursor.walk(index.order(), found.begin, found.end);
}

void walk_in_order(Cursor& cursor, TableSource& source, int number) {
  cursor.kept = source.order(number);
  cursor.walk(*cursor.kept, 0, source.rows());
}

int filter(sqlite3_vtab_cursor* raw, int plan, const char*, int, sqlite3_value** values) {
  return without_exceptions([&] {
    auto& cursor = *static_cast<Cursor*>(raw);
    TableSource& source = source_of(raw->pVtab);
    cursor.walk({}, 0, 0);
    if (plan == kScan)
      cursor.end = source.rows();
    else if (plan < kScan)
      walk_in_order(cursor, source, -1 - plan);
    else if (plan == kById)
      find_by_id(cursor, source.rows(), values[0]);
    else
      find_by_lookup(cursor, source, plan, values);
    return SQLITE_OK;
  });
}

int next_row(sqlite3_vtab_cursor* cursor) {
  ++static_cast<Cursor*>(cursor)->at;
  return SQLITE_OK;
}

int is_at_end(sqlite3_vtab_cursor* raw) {
  const auto& cursor = *static_cast<Cursor*>(raw);
  return cursor.at >= cursor.end ? 1 : 0;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row()) + 1;
  return SQLITE_OK;
}

int column(sqlite3_vtab_cursor* raw, sqlite3_context* context, int number) {
  return without_exceptions([&] {
    const std::uint32_t row = static_cast<Cursor*>(raw)->row();
    const TableSource& source = source_of(raw->pVtab);
    if (number == 0)
      sqlite3_result_int64(context, static_cast<sqlite3_int64>(row) + 1);
    else
      set_result(context, source.table.columns[static_cast<std::size_t>(number) - 1].get(source.model, row));
    return SQLITE_OK;
  });
}

/// Without xCreate a table is eponymous: it is there under the name of its module, and no statement makes another.
/// Without xUpdate it cannot be written.
constexpr sqlite3_module kModule = [] {
  sqlite3_module module{};
  module.xConnect = connect;
  module.xBestIndex = choose_plan;
  module.xDisconnect = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next_row;
  module.xEof = is_at_end;
  module.xColumn = column;
  module.xRowid = row_id;
  return module;
}();

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
  return sqlite3_create_module_v2(connection, std::string(source.table.name).c_str(), &kModule, &source, nullptr);
}

}  // namespace rangefinder::query
