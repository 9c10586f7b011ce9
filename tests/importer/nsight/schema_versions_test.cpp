// SPDX-License-Identifier: MIT
#include "importer/nsight/nsight_file.hpp"
#include "support/catch.hpp"
#include "support/timeline_columns.hpp"

#include <array>
#include <utility>

using namespace rangefinder;
using rangefinder::testing::has_note;
using rangefinder::testing::NsightFile;
using rangefinder::testing::numbers_of;

namespace {

void fill_with_one_launch(NsightFile& file) {
  file.range("step", 10, 90).launch("k", 20, 25, 30, 50, 1);
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (60, 70, 0, 1, 7, 1, " +
           std::to_string(NsightFile::kGlobalPid) + ", 64, 1, 0, 2, NULL, NULL, NULL)");
}

const std::pair<const char*, const char*> kRequiredColumns[] = {
    {"NVTX_EVENTS", "start"},
    {"NVTX_EVENTS", "end"},
    {"NVTX_EVENTS", "eventType"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "end"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "start"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "end"},
    {"StringIds", "value"},
};

}  // namespace

TEST_CASE("any optional column may be missing", "[importer_nsight]") {
  const auto [table, column] = GENERATE(Catch::Generators::from_range(
      std::vector<std::pair<std::string, std::string>>{{"NVTX_EVENTS", "textId"},
                                                       {"NVTX_EVENTS", "domainId"},
                                                       {"NVTX_EVENTS", "endGlobalTid"},
                                                       {"NVTX_EVENTS", "category"},
                                                       {"NVTX_EVENTS", "uint64Value"},
                                                       {"NVTX_EVENTS", "jsonText"},
                                                       {"CUPTI_ACTIVITY_KIND_KERNEL", "greenContextId"},
                                                       {"CUPTI_ACTIVITY_KIND_KERNEL", "graphNodeId"},
                                                       {"CUPTI_ACTIVITY_KIND_KERNEL", "graphId"},
                                                       {"CUPTI_ACTIVITY_KIND_KERNEL", "clusterX"},
                                                       {"CUPTI_ACTIVITY_KIND_KERNEL", "mangledName"},
                                                       {"CUPTI_ACTIVITY_KIND_KERNEL", "contextId"},
                                                       {"CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"},
                                                       {"CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue"},
                                                       {"CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass"},
                                                       {"CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind"},
                                                       {"CUPTI_ACTIVITY_KIND_MEMCPY", "bytes"}}));
  CAPTURE(table, column);
  NsightFile file;
  fill_with_one_launch(file);
  file.run("ALTER TABLE " + table + " DROP COLUMN " + column);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->ranges.size() == 1);
  REQUIRE(timeline->activities.size() == 2);
  CHECK(numbers_of(timeline->activities.launch) == std::vector<std::uint32_t>{0, 0});
  CHECK(timeline->text(timeline->activities.name[0]) == "void k<float>(float *)");
  CHECK(timeline->health.complete());
}

TEST_CASE("a kernel without one spelling of its name has another", "[importer_nsight]") {
  NsightFile file;
  fill_with_one_launch(file);
  file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName");
  SECTION("short") { CHECK(file.import()->text(file.import()->activities.name[0]) == "k"); }
  SECTION("mangled") {
    file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN shortName");
    CHECK(file.import()->text(file.import()->activities.name[0]) == "_Zk");
  }
}

TEST_CASE("a required column that is missing costs its table and is named", "[importer_nsight]") {
  for (const auto& [table, column] : kRequiredColumns) {
    CAPTURE(table, column);
    NsightFile file;
    fill_with_one_launch(file);
    file.run(std::string("ALTER TABLE ") + table + " RENAME COLUMN \"" + column + "\" TO somethingElse");
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(has_note(*timeline, std::string(table) + " has no column " + column + ": not read"));
  }
}

TEST_CASE("columns that link rows are missed with a note", "[importer_nsight]") {
  NsightFile file;
  fill_with_one_launch(file);
  SECTION("correlation id of kernels") {
    file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN correlationId");
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(timeline->activities.launch[0] == kNone);
    CHECK(has_note(*timeline, "CUPTI_ACTIVITY_KIND_KERNEL has no column correlationId"));
  }
  SECTION("thread of calls") {
    file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME DROP COLUMN globalTid");
    CHECK(has_note(*file.import(), "CUPTI_ACTIVITY_KIND_RUNTIME has no column globalTid"));
  }
  SECTION("thread of ranges") {
    file.run("ALTER TABLE NVTX_EVENTS DROP COLUMN globalTid");
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(timeline->ranges.flags[0] == kOwnerless);
    CHECK(has_note(*timeline, "NVTX_EVENTS has no column globalTid"));
  }
}

TEST_CASE("any table may be missing", "[importer_nsight]") {
  const std::string table = GENERATE(
      "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
      "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_OVERHEAD", "StringIds",
      "ThreadNames", "PROCESSES", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE", "META_DATA_EXPORT");
  CAPTURE(table);
  NsightFile file;
  fill_with_one_launch(file);
  file.run("DROP TABLE " + table);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->ranges.size() == (table == "NVTX_EVENTS" ? 0 : 1));
  CHECK(timeline->calls.size() == (table == "CUPTI_ACTIVITY_KIND_RUNTIME" ? 0 : 1));
  const bool no_kernels = table == "CUPTI_ACTIVITY_KIND_KERNEL", no_copies = table == "CUPTI_ACTIVITY_KIND_MEMCPY";
  CHECK(timeline->activities.size() == (no_kernels || no_copies ? 1 : 2));
  if (no_kernels || table == "NVTX_EVENTS" || table == "CUPTI_ACTIVITY_KIND_RUNTIME" || table == "StringIds")
    CHECK(has_note(*timeline, "no table " + table));
}

TEST_CASE("device rows without a process belong to the one that calls CUDA", "[importer_nsight]") {
  NsightFile file;
  fill_with_one_launch(file);
  file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid");
  SECTION("when there is one") { CHECK(file.import()->activities.launch[0] == 0); }
  SECTION("and to none when there are two") {
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " +
             std::to_string(NsightFile::kGlobalPid + (1 << 24)) + ", 8, " + std::to_string(file.string("x")) + ", 0)");
    CHECK(file.import()->activities.launch[0] == kNone);
  }
}

TEST_CASE("an export of a program without CUDA or NVTX is empty, not wrong", "[importer_nsight]") {
  NsightFile file(NsightFile::Tables::kNone);
  file.run("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->ranges.size() == 0);
  CHECK(has_note(*timeline, "no table NVTX_EVENTS"));
}

TEST_CASE("another program's database is refused by name", "[importer_nsight]") {
  NsightFile file(NsightFile::Tables::kNone);
  const auto timeline = file.import();
  REQUIRE_FALSE(timeline);
  CHECK(timeline.error().code() == ErrorCode::kUnreadable);
  CHECK(timeline.error().message().find("no export of Nsight Systems") != std::string::npos);
}

TEST_CASE("tables without rowids number their rows", "[importer_nsight]") {
  NsightFile file(NsightFile::Tables::kNone);
  file.run(
      "CREATE TABLE NVTX_EVENTS (start INTEGER PRIMARY KEY, end INTEGER, eventType INTEGER, globalTid INTEGER, "
      "text TEXT) WITHOUT ROWID");
  file.run("INSERT INTO NVTX_EVENTS VALUES (10, 20, 59, 1, 'a'), (30, 40, 59, 1, 'b')");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->ranges.source_row == std::vector<std::int64_t>{1, 2});
}
