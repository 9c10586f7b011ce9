// SPDX-License-Identifier: MIT
#include "query/guard.hpp"

#include "base/sqlite_safety.hpp"
#include "query/trim.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::query {
namespace {

using Clock = std::chrono::steady_clock;

// A function is one step, however long it takes: instr() and replace() of two texts of 1 MiB take 10 s, of 64 KiB 25
// ms. Names are cut at 16 KiB when they are recorded.
constexpr int kLongestText = 64 << 10;
// LIKE and GLOB take as many comparisons as text and pattern have bytes, multiplied: 25 ms at these lengths.
constexpr int kLongestPattern = 250;
// SQLite calls back where it jumps back, so that all functions of one row may run between two checks.
constexpr int kMostCalls = 200;
// 100 steps take some microseconds, and a check 50 ns.
constexpr int kStepsPerCheck = 100;

constexpr std::string_view kReadingPragmas[] = {"table_info", "table_xinfo"};
constexpr std::string_view kSchemaTables[] = {"sqlite_master", "sqlite_schema"};
// They reach files, other code, or the tokenizers' pointers. Most builds of SQLite have none of them.
constexpr std::string_view kRefusedFunctions[] = {"load_extension", "readfile",        "writefile", "edit",
                                                  "fts3_tokenizer", "sqlite_offset",   "lsmode",    "fsdir",
                                                  "zipfile",        "sqlar_uncompress"};

bool is_one_of(std::span<const std::string_view> list, const char* word) noexcept {
  if (word == nullptr) return false;
  const std::string_view wanted(word);
  return std::any_of(list.begin(), list.end(), [&](std::string_view each) {
    return each.size() == wanted.size() &&
           sqlite3_strnicmp(each.data(), wanted.data(), static_cast<int>(each.size())) == 0;
  });
}

/// What a statement may do: read, and call functions. Everything else is refused when it is compiled.
int authorize(void* guard, int action, const char* first, const char* second, const char*, const char*) noexcept {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      if (is_one_of(kRefusedFunctions, second)) return SQLITE_DENY;
      return guard == nullptr || static_cast<Guard*>(guard)->allows_one_more_call() ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      return is_one_of(kReadingPragmas, first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE:
      // SQLite asks this while it takes in the columns of a virtual table, and then runs nothing. Of a statement it
      // refuses the table itself, and such a statement is not read-only (Database::prepare).
      return is_one_of(kSchemaTables, first) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

Status harden(sqlite3* connection) {
  sqlite3_extended_result_codes(connection, 1);
  if (const int option = base::refused_safety_option(connection); option != 0)
    return Error(ErrorCode::kInternal, "query: SQLite does not take its safety option " + std::to_string(option));
  for (const auto& [limit, value] : {std::pair{SQLITE_LIMIT_LENGTH, kLongestText},
                                     {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                                     {SQLITE_LIMIT_COLUMN, 1000},
                                     {SQLITE_LIMIT_EXPR_DEPTH, 200},
                                     {SQLITE_LIMIT_COMPOUND_SELECT, 100},
                                     {SQLITE_LIMIT_VDBE_OP, 1'000'000},
                                     {SQLITE_LIMIT_ATTACHED, 0},
                                     {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kLongestPattern},
                                     {SQLITE_LIMIT_WORKER_THREADS, 0}})
    sqlite3_limit(connection, limit, value);
  // Sorting keeps in memory, where it is counted, what would else go to a file.
  if (sqlite3_exec(connection, "PRAGMA temp_store=MEMORY", nullptr, nullptr, nullptr) != SQLITE_OK)
    return Error(ErrorCode::kInternal, "query: SQLite does not keep temporary tables in memory");
  if (replace_trim_functions(connection) != SQLITE_OK)
    return Error(ErrorCode::kInternal, "query: SQLite does not take a function");
  sqlite3_set_authorizer(connection, authorize, nullptr);
  return {};
}

Guard::Guard(sqlite3* connection, const QueryLimits& limits)
    : connection_(connection), limits_(limits), end_(Clock::time_point::max()), bytes_before_(sqlite3_memory_used()) {
  constexpr std::int64_t kLongestMs = 1'000'000'000;  // eleven days, far from what overflows
  if (limits_.timeout_ms > 0) end_ = Clock::now() + std::chrono::milliseconds(std::min(limits_.timeout_ms, kLongestMs));
  sqlite3_set_authorizer(connection_, authorize, this);
  sqlite3_progress_handler(connection_, kStepsPerCheck, on_progress, this);
}

Guard::~Guard() {
  sqlite3_progress_handler(connection_, 0, nullptr, nullptr);
  sqlite3_set_authorizer(connection_, authorize, nullptr);
}

bool Guard::allows_one_more_call() noexcept {
  if (++calls_ > kMostCalls) verdict_ = Verdict::kTooManyCalls;
  return calls_ <= kMostCalls;
}

Guard::Verdict Guard::check(std::uint64_t result_bytes) noexcept {
  if (verdict_ != Verdict::kGoOn) return verdict_;
  result_bytes_ = result_bytes;
  const std::int64_t taken = std::max<std::int64_t>(0, sqlite3_memory_used() - bytes_before_);
  if (limits_.max_memory_bytes != 0 && static_cast<std::uint64_t>(taken) + result_bytes_ > limits_.max_memory_bytes)
    verdict_ = Verdict::kOutOfMemory;
  else if (end_ != Clock::time_point::max() && Clock::now() >= end_)
    verdict_ = Verdict::kOutOfTime;
  return verdict_;
}

int Guard::on_progress(void* self) noexcept {
  auto& guard = *static_cast<Guard*>(self);
  return guard.check(guard.result_bytes_) == Verdict::kGoOn ? 0 : 1;
}

Error Guard::error() const {
  if (verdict_ == Verdict::kOutOfTime)
    return Error(ErrorCode::kTimeout, "query: not done after " + std::to_string(limits_.timeout_ms) +
                                          " ms and ended; allow more time, or join on ids and times, which "
                                          "are looked up");
  if (verdict_ == Verdict::kTooManyCalls)
    return Error(ErrorCode::kInvalidArgument,
                 "query: more than " + std::to_string(kMostCalls) + " calls of functions in one query");
  return Error(ErrorCode::kTooLarge, "query: needs more memory than the limit of " +
                                         std::to_string(limits_.max_memory_bytes >> 20) +
                                         " MiB for sorting, grouping and its result; filter or group more");
}

}  // namespace rangefinder::query
