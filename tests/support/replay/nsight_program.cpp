// SPDX-License-Identifier: MIT
#include "support/replay/nsight_program.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

namespace rangefinder::testing {
namespace {

enum EventType : std::int64_t { kMark = 34, kPushPop = 59, kStartEnd = 60, kDomain = 75 };

struct Closer {
  void operator()(sqlite3* file) const noexcept { sqlite3_close(file); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using File = std::unique_ptr<sqlite3, Closer>;

/// The rows of a table. What an older schema lacks, columns and tables alike, is null.
class Rows {
 public:
  Rows(sqlite3* file, const std::string& table, const std::vector<std::string>& columns,
       const std::string& order = "rowid") {
    const std::set<std::string> present = columns_of(file, table);
    if (present.empty()) return;
    std::string list;
    for (const std::string& column : columns)
      list += (list.empty() ? "" : ", ") +
              (column == "rowid" || present.contains(column) ? "\"" + column + "\"" : std::string("NULL"));
    statement_.reset(prepare(file, "SELECT " + list + " FROM \"" + table + "\" ORDER BY " + order));
  }

  bool next() {
    if (statement_ == nullptr) return false;
    const int result = sqlite3_step(statement_.get());
    if (result != SQLITE_ROW && result != SQLITE_DONE) throw std::runtime_error("a table cannot be read");
    return result == SQLITE_ROW;
  }
  std::optional<std::int64_t> integer(int column) const {
    if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
    return sqlite3_column_int64(statement_.get(), column);
  }
  std::optional<double> real(int column) const {
    if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
    return sqlite3_column_double(statement_.get(), column);
  }
  std::int64_t value(int column) const { return integer(column).value_or(0); }
  template <typename Unsigned = std::uint32_t>
  Unsigned number(int column) const {
    return static_cast<Unsigned>(value(column));
  }
  std::optional<std::string> text(int column) const {
    const unsigned char* const found = sqlite3_column_text(statement_.get(), column);
    if (found == nullptr) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(found));
  }

 private:
  static sqlite3_stmt* prepare(sqlite3* file, const std::string& sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(file, sql.c_str(), -1, &made, nullptr) != SQLITE_OK)
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(file));
    return made;
  }
  static std::set<std::string> columns_of(sqlite3* file, const std::string& table) {
    std::set<std::string> names;
    const std::unique_ptr<sqlite3_stmt, Closer> statement(prepare(file, "PRAGMA table_info(\"" + table + "\")"));
    while (sqlite3_step(statement.get()) == SQLITE_ROW)
      names.emplace(reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 1)));
    return names;
  }

  std::unique_ptr<sqlite3_stmt, Closer> statement_;
};

// Nsight numbers memory kinds from 0, pageable, with 7 for unknown; CUPTI from 1, with 0 for unknown.
std::uint32_t memory_kind(std::optional<std::int64_t> kind) {
  return !kind || *kind >= 7 ? 0 : static_cast<std::uint32_t>(*kind) + 1;
}

// Nsight's 1 is unknown, 2 the driver's compiler; from 3 on CUPTI's kinds are multiples of 65536.
std::uint32_t overhead_kind(std::uint32_t type) { return type <= 2 ? std::max(type, 1u) - 1 : (type - 2) << 16; }

class Reader {
 public:
  explicit Reader(File file) : file_(std::move(file)) {
    for (Rows rows = table("StringIds", {"id", "value"}); rows.next();) strings_[rows.value(0)] = *rows.text(1);
  }

  NsightProgram read() {
    read_names();
    read_events();
    read_calls();
    read_kernels();
    read_copies();
    read_sets();
    read_syncs();
    read_overheads();
    for (auto& [process, recorded] : processes_) {
      add_devices(recorded);
      program_.processes.push_back(std::move(recorded));
    }
    return std::move(program_);
  }

 private:
  Rows table(const std::string& name, const std::vector<std::string>& columns) const {
    return Rows(file_.get(), name, columns);
  }

  // A thread's number holds that of its process: 8 bits of something, 24 of the process, 24 of the thread.
  static std::int64_t process_of(std::int64_t global) { return global >> 24; }
  RecordedProcess& process(std::int64_t global) {
    RecordedProcess& found = processes_[process_of(global)];
    found.pid = global >> 24 & 0xFFFFFF;
    return found;
  }
  std::size_t thread(std::int64_t global_tid) {
    std::vector<RecordedThread>& threads = process(global_tid).threads;
    const auto [found, added] = threads_.try_emplace(global_tid, threads.size());
    if (added) {
      const auto name = thread_names_.find(global_tid);
      threads.push_back(name != thread_names_.end() ? name->second : RecordedThread{});
      threads.back().tid = global_tid & 0xFFFFFF;
    }
    return found->second;
  }
  const std::string& string(std::int64_t id) const {
    static const std::string none;
    const auto found = strings_.find(id);
    return found != strings_.end() ? found->second : none;
  }

  void read_names() {
    for (Rows rows = table("ThreadNames", {"globalTid", "nameId", "priority"}); rows.next();) {
      RecordedThread& named = thread_names_[rows.value(0)];
      named.name = string(rows.value(1));
      if (const auto priority = rows.integer(2)) named.priority = static_cast<std::int32_t>(*priority);
    }
    for (Rows rows = table("TARGET_INFO_GPU", {"id", "name"}); rows.next();)
      devices_.push_back({rows.number(0), rows.text(1).value_or("")});
    // A domain may be announced behind what is in it.
    for (Rows rows = table("NVTX_EVENTS", {"eventType", "globalTid", "domainId", "text", "textId"}); rows.next();)
      if (rows.value(0) == kDomain)
        domains_[{process_of(rows.value(1)), rows.value(2)}] = rows.text(3).value_or(string(rows.value(4)));
  }

  void read_events() {
    for (Rows rows =
             table("NVTX_EVENTS", {"eventType", "start", "end", "globalTid", "endGlobalTid", "text", "textId",
                                   "domainId", "category", "uint64Value", "int64Value", "doubleValue", "rowid"});
         rows.next();) {
      const std::int64_t type = rows.value(0), global_tid = rows.value(3);
      if (type == kDomain) continue;
      if (type == kMark) {
        const std::size_t at = thread(global_tid);
        process(global_tid).marks.push_back({text_of(rows), at, rows.value(1)});
        continue;
      }
      if (type != kPushPop && type != kStartEnd)
        throw std::runtime_error("NVTX event of type " + std::to_string(type) + " cannot be played");
      RecordedRange range;
      range.text = text_of(rows);
      range.start_end = type == kStartEnd;
      range.thread = thread(global_tid);
      range.end_thread = rows.integer(4) ? thread(*rows.integer(4)) : range.thread;
      range.begin_ns = rows.value(1);
      range.end_ns = rows.integer(2);
      range.row = rows.value(12);
      process(global_tid).ranges.push_back(std::move(range));
    }
  }
  RecordedText text_of(const Rows& rows) const {
    RecordedText made;
    const std::optional<std::string> text = rows.text(5);
    made.registered = !text && rows.integer(6).has_value();
    made.text = text ? *text : string(rows.value(6));
    if (const auto domain = domains_.find({process_of(rows.value(3)), rows.value(7)}); domain != domains_.end())
      made.domain = domain->second;
    made.category = rows.number(8);
    if (const auto natural = rows.integer(9)) made.payload = static_cast<std::uint64_t>(*natural);
    if (const auto integer = rows.integer(10)) made.payload = *integer;
    if (const auto real = rows.real(11)) made.payload = *real;
    return made;
  }

  void read_calls() {
    for (Rows rows = table("CUPTI_ACTIVITY_KIND_RUNTIME",
                           {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"});
         rows.next();) {
      const std::int64_t global_tid = rows.value(2);
      const std::size_t at = thread(global_tid);
      process(global_tid)
          .calls.push_back({string(rows.value(4)), at, rows.value(0), rows.value(1), rows.number(3), rows.number(5)});
    }
  }

  static constexpr const char* kShared[] = {"start",         "end",       "deviceId",    "contextId", "streamId",
                                            "correlationId", "globalPid", "graphNodeId", "graphId"};
  static constexpr int kOwn = std::size(kShared);  // the first column of a kind's own
  Rows works(const std::string& name, std::initializer_list<const char*> columns) const {
    std::vector<std::string> all(std::begin(kShared), std::end(kShared));
    all.insert(all.end(), columns.begin(), columns.end());
    return table(name, all);
  }
  void add(const Rows& rows, decltype(RecordedWork::what) what) {
    process(rows.value(6))
        .works.push_back({std::move(what), rows.value(0), rows.value(1), rows.number(2), rows.number(3), rows.number(4),
                          rows.number(5), rows.number<std::uint64_t>(7), rows.number(8)});
  }

  void read_kernels() {
    for (Rows rows = works("CUPTI_ACTIVITY_KIND_KERNEL",
                           {"mangledName", "demangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
                            "clusterX", "clusterY", "clusterZ", "registersPerThread", "staticSharedMemory",
                            "dynamicSharedMemory", "localMemoryPerThread", "launchType", "sharedMemoryExecuted"});
         rows.next();) {
      RecordedKernel kernel;
      const std::string& spelling = string(rows.value(kOwn + 1));
      kernel.name = rows.integer(kOwn) ? string(rows.value(kOwn)) : spelling;
      program_.spellings[kernel.name] = spelling;
      for (int axis = 0; axis < 3; ++axis) {
        kernel.grid[axis] = rows.number(kOwn + 2 + axis);
        kernel.block[axis] = rows.number(kOwn + 5 + axis);
        kernel.cluster[axis] = rows.number(kOwn + 8 + axis);
      }
      kernel.registers = rows.number(kOwn + 11);
      kernel.static_shared = rows.number(kOwn + 12);
      kernel.dynamic_shared = rows.number(kOwn + 13);
      kernel.local = rows.number(kOwn + 14);
      // Nsight's begin with 0 for unknown, CUPTI's with 0 for a regular launch.
      kernel.launch_type = std::max(rows.number(kOwn + 15), 1u) - 1;
      kernel.shared_executed = rows.number(kOwn + 16);
      add(rows, std::move(kernel));
    }
  }
  void read_copies() {
    for (Rows rows = works("CUPTI_ACTIVITY_KIND_MEMCPY", {"bytes", "copyKind", "srcKind", "dstKind"}); rows.next();)
      add(rows, RecordedCopy{rows.number<std::uint64_t>(kOwn), rows.number(kOwn + 1),
                             memory_kind(rows.integer(kOwn + 2)), memory_kind(rows.integer(kOwn + 3))});
  }
  void read_sets() {
    for (Rows rows = works("CUPTI_ACTIVITY_KIND_MEMSET", {"bytes", "value", "memKind"}); rows.next();)
      add(rows,
          RecordedSet{rows.number<std::uint64_t>(kOwn), rows.number(kOwn + 1), memory_kind(rows.integer(kOwn + 2))});
  }

  void read_syncs() {
    for (Rows rows = table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                           {"syncType", "start", "end", "contextId", "streamId", "correlationId", "globalPid"});
         rows.next();)
      process(rows.value(6))
          .syncs.push_back(
              {rows.number(0), rows.value(1), rows.value(2), rows.number(3), rows.number(4), rows.number(5)});
  }
  void read_overheads() {
    for (Rows rows =
             table("CUPTI_ACTIVITY_KIND_OVERHEAD", {"overheadType", "globalTid", "start", "end", "correlationId"});
         rows.next();) {
      const std::int64_t global_tid = rows.value(1);
      const std::size_t at = thread(global_tid);
      process(global_tid)
          .overheads.push_back({overhead_kind(rows.number(0)), at, rows.value(2), rows.value(3), rows.number(4)});
    }
  }

  /// Those that the process worked on.
  void add_devices(RecordedProcess& recorded) const {
    std::set<std::uint32_t> devices;
    std::set<std::pair<std::uint32_t, std::uint32_t>> streams;
    for (const RecordedWork& work : recorded.works) {
      devices.insert(work.device);
      if (streams.emplace(work.context, work.stream).second)
        recorded.streams.push_back({work.device, work.context, work.stream});
    }
    for (const std::uint32_t id : devices) {
      const auto named = std::find_if(devices_.begin(), devices_.end(),
                                      [id](const RecordedDevice& device) { return device.id == id; });
      recorded.devices.push_back(named != devices_.end() ? *named : RecordedDevice{id, ""});
    }
  }

  File file_;
  NsightProgram program_;
  std::map<std::int64_t, std::string> strings_;
  std::map<std::int64_t, RecordedThread> thread_names_;
  std::vector<RecordedDevice> devices_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> domains_;  // process, domain
  std::map<std::int64_t, RecordedProcess> processes_;
  std::map<std::int64_t, std::size_t> threads_;  // by global number
};

}  // namespace

NsightProgram read_nsight_program(const std::string& path) {
  sqlite3* file = nullptr;
  const std::string uri = "file:" + path + "?mode=ro&immutable=1";
  const int result = sqlite3_open_v2(uri.c_str(), &file, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  File owner(file);
  if (result != SQLITE_OK) throw std::runtime_error(path + ": cannot be opened");
  return Reader(std::move(owner)).read();
}

NsightProgram read_nsight_program(base::ByteView image) {
  sqlite3* file = nullptr;
  if (sqlite3_open(":memory:", &file) != SQLITE_OK) throw std::runtime_error("no SQLite");
  File owner(file);
  auto* const bytes = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(image.data()));
  const auto size = static_cast<sqlite3_int64>(image.size());
  if (sqlite3_deserialize(file, "main", bytes, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    throw std::runtime_error("the image cannot be opened");
  return Reader(std::move(owner)).read();
}

}  // namespace rangefinder::testing
