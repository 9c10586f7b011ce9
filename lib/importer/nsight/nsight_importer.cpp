// SPDX-License-Identifier: MIT
#include "importer/nsight/nsight_importer.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "importer/nsight/collectives.hpp"
#include "importer/nsight/cuda_tables.hpp"
#include "importer/nsight/graph_nodes.hpp"
#include "importer/nsight/name_tables.hpp"
#include "importer/nsight/nvtx_tables.hpp"
#include "timeline/call_launches.hpp"
#include "timeline/finish.hpp"

namespace rangefinder::importer::nsight {
namespace {

constexpr const char* kEventTables[] = {"NVTX_EVENTS",
                                        "CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "CUPTI_ACTIVITY_KIND_KERNEL",
                                        "CUPTI_ACTIVITY_KIND_MEMCPY",
                                        "CUPTI_ACTIVITY_KIND_MEMSET",
                                        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                        "CUDA_GRAPH_NODE_EVENTS",
                                        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                        "CUDA_GPU_MEMORY_USAGE_EVENTS"};

// A row in memory with what belongs to it.
constexpr std::uint64_t kBytesPerRow = 110;

Error not_nsight() {
  return Error(
      ErrorCode::kUnreadable,
      "an SQLite database, but no export of Nsight Systems: it has neither StringIds nor META_DATA_EXPORT nor an "
      "event table (expected NVTX_EVENTS, CUPTI_ACTIVITY_KIND_*)");
}

Status check_identity(const Database& database) {
  for (const char* table : {"StringIds", "META_DATA_EXPORT"})
    if (database.table(table) != nullptr) return {};
  for (const char* table : kEventTables)
    if (database.table(table) != nullptr || !database.not_a_table(table).empty()) return {};
  return not_nsight();
}

Status expect_rows(ImportContext& context) {
  std::uint64_t rows = 0;
  for (const char* table : kEventTables)
    if (const TableSchema* schema = context.database.table(table)) rows += context.database.estimated_rows(*schema);
  if (rows >= kNone) return Error(ErrorCode::kUnsupported, "more than 4,294,967,294 rows");
  const std::uint64_t limit = context.options.max_unpacked_bytes;
  if (limit != 0 && rows > limit / kBytesPerRow)
    return Error(ErrorCode::kUnreadable, "its " + base::with_thousands(rows) +
                                             " rows take more memory than the limit of " + base::with_thousands(limit) +
                                             " bytes");
  context.expect_rows(rows);
  return {};
}

// Nsight keeps no flag for it; the call's name says it.
void mark_asynchronous_copies(Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex i{0}; i < activities.size(); ++i) {
    if (!is_copy(activities.kind[i]) || activities.launch[i] == kNone) continue;
    const CallIndex call = timeline.launches.call[activities.launch[i]];
    timeline.copy_details[activities.detail[i]].asynchronous =
        timeline.text(timeline.calls.name[call]).find("Async") != std::string_view::npos;
  }
}

Result<Timeline> read(const Database& database, const LoadOptions& options) {
  Status identity = check_identity(database);
  if (!identity.ok()) return std::move(identity).error();
  Timeline timeline;
  timeline.format = InputFormat::kNsight;
  ImportContext context(database, options, timeline);
  Status size = expect_rows(context);
  if (!size.ok()) return std::move(size).error();

  StringTable strings;
  Entities entities(timeline);
  strings.read(context);
  NcclCalls nccl(context);
  read_nvtx(context, strings, entities, nccl);
  read_calls(context, strings, entities);
  read_activities(context, strings, entities);
  GraphNodes graph_nodes(timeline);
  graph_nodes.read(context, entities);
  read_syncs(context, entities);
  read_overheads(context, entities);
  read_allocations(context, entities);
  read_names(context, strings, entities);
  if (!context.memory_status().ok()) return context.memory_status().error();
  timeline::make_launches_of_calls(timeline, timeline::CorrelationScope::kProcess);
  graph_nodes.finish();
  nccl.finish();
  mark_asynchronous_copies(timeline);
  timeline::measure_extent(timeline);
  if (!context.within_bound()) return context.memory_status().error();
  if (context.unspoken_notes() != 0)
    timeline.notes.push_back(base::with_thousands(context.unspoken_notes()) + " more findings about the file");
  if (options.strict && !context.first_damage().empty()) return Error(ErrorCode::kIncomplete, context.first_damage());
  return timeline;
}

Result<std::uint64_t> bytes_of(const std::string& path) {
  Result<base::Fd> fd = base::open_for_reading(path);
  return fd ? base::file_size(*fd, path) : Result<std::uint64_t>(std::move(fd).error());
}

// Reading the file alone would miss what a writer has not folded in yet.
void note_side_files(const std::string& path, Timeline& timeline) {
  for (const char* ending : {"-wal", "-journal"}) {
    const std::string side = path + ending;
    if (!base::exists(side)) continue;
    const Result<std::uint64_t> size = bytes_of(side);
    if (size && *size != 0)
      timeline.notes.push_back(side +
                               " holds changes that are not in the file and were not read; open it once with "
                               "sqlite3 to fold them in");
  }
}

}  // namespace

Result<Timeline> import_nsight(const std::string& path, const LoadOptions& options) {
  Result<Database> database = Database::open(path);
  if (!database) return std::move(database).error();
  Result<Timeline> timeline = read(*database, options);
  // SQLite takes what is gone for damage.
  if (const Result<std::uint64_t> now = bytes_of(path); now && *now < database->file_bytes())
    return base::became_shorter(path, database->file_bytes(), *now);
  if (!timeline) return std::move(timeline).error().with_context(path);
  timeline->sources.push_back(path);
  note_side_files(path, *timeline);
  return timeline;
}

Result<Timeline> import_nsight_image(base::ByteView image, const LoadOptions& options) {
  Result<Database> database = Database::open_image(image);
  if (!database) return std::move(database).error();
  return read(*database, options);
}

}  // namespace rangefinder::importer::nsight
