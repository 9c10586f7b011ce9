// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/projection.hpp>

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// An export in a folder of its own.
class NsightFile {
 public:
  explicit NsightFile(const Timeline& timeline) {
    const Status status = export_nsight_sqlite(timeline, path());
    INFO((status.ok() ? std::string() : status.error().message()));
    REQUIRE(status.ok());
  }
  std::string path() const { return folder_.file("out.sqlite"); }

  /// Rows as texts: "1|step|NULL".
  std::vector<std::string> query(const std::string& sql) const {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path().c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
    sqlite3_stmt* prepared = nullptr;
    if (code != SQLITE_OK || sqlite3_prepare_v2(opened, sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(opened));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, sqlite3_finalize);
    std::vector<std::string> rows;
    while (sqlite3_step(prepared) == SQLITE_ROW) {
      std::string row;
      for (int column = 0; column < sqlite3_column_count(prepared); ++column) {
        const unsigned char* const text = sqlite3_column_text(prepared, column);
        row += (column == 0 ? "" : "|") + (text == nullptr ? "NULL" : std::string(reinterpret_cast<const char*>(text)));
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }
  Timeline load() const {
    Result<Timeline> timeline = load_timeline(path());
    INFO((timeline.ok() ? std::string() : timeline.error().message()));
    REQUIRE(timeline.ok());
    return std::move(*timeline);
  }

 private:
  ScratchFolder folder_;
};

using Rows = std::vector<std::string>;

TimelineBuilder nsight_program() {
  return TimelineBuilder()
      .range("step", 1000, 9000)
      .range("layer", 1100, 2000)
      .launch_call("cudaLaunchKernel", 1200, 1250)
      .kernel(1300, 1900, "void gemm<float>(float const*)")
      .on_stream(8)
      .launch_call("cudaMemcpyAsync", 2100, 2150)
      .memcpy(2200, 2300, 4096)
      .launch(3000)
      .memset(3100, 3200, 64)
      .on_thread(2)
      .range("backward", 4000, 5000)
      .launch_call("cudaLaunchKernel", 4100, 4150)
      .kernel(4200, 4700, "relu");
}

}  // namespace

TEST_CASE("an Nsight export is read back with the same ranges, work and owners", "[exporter]") {
  const Timeline timeline = nsight_program().build();
  const Timeline again = NsightFile(timeline).load();
  CHECK(again.format == InputFormat::kNsight);
  REQUIRE(again.ranges.size() == timeline.ranges.size());
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    CHECK(again.text(again.ranges.name[range]) == timeline.text(timeline.ranges.name[range]));
    CHECK(again.ranges.begin_ns[range] == timeline.ranges.begin_ns[range] - timeline.begin_ns);
    CHECK(again.ranges.end_ns[range] == timeline.ranges.end_ns[range] - timeline.begin_ns);
  }
  const Projection before = project(timeline, {}), after = project(again, {});
  CHECK(after.account.total.gpu_sum_ns == before.account.total.gpu_sum_ns);
  CHECK(after.account.owned.gpu_sum_ns == before.account.owned.gpu_sum_ns);
  CHECK(after.account.owned.gpu_ops == 4);
  for (const char* name : {"step", "layer", "backward"}) {
    const RangeIndex range = TimelineBuilder::range_named(timeline, name);
    const RangeIndex same = TimelineBuilder::range_named(again, name);
    CHECK(after.inclusive[same].gpu_busy_ns == before.inclusive[range].gpu_busy_ns);
    CHECK(after.inclusive[same].bytes == before.inclusive[range].bytes);
  }
}

TEST_CASE("tables of an Nsight export have that tool's numbers", "[exporter]") {
  const NsightFile file(nsight_program().build());
  CHECK(
      file.query("SELECT k.start, k.end, d.value, s.value, k.streamId, k.launchType FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                 "JOIN StringIds d ON d.id = k.demangledName JOIN StringIds s ON s.id = k.shortName ORDER BY 1") ==
      Rows{"300|900|void gemm<float>(float const*)|gemm|7|1", "3200|3700|relu|relu|8|1"});
  CHECK(file.query("SELECT start, bytes, copyKind, srcKind FROM CUPTI_ACTIVITY_KIND_MEMCPY") == Rows{"1200|4096|1|7"});
  CHECK(file.query("SELECT start, bytes, memKind FROM CUPTI_ACTIVITY_KIND_MEMSET") == Rows{"2100|64|7"});
  SECTION("an activity is found by its launch on the thread that launched it") {
    CHECK(
        file.query("SELECT s.value, r.globalTid & 0xFFFFFF FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                   "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND "
                   "k.globalPid = (r.globalTid & ~16777215) JOIN StringIds s ON s.id = k.shortName ORDER BY k.start") ==
        Rows{"gemm|1", "relu|2"});
  }
  SECTION("a launch without a recorded call has a row of its own") {
    CHECK(file.query("SELECT r.start, r.end, s.value FROM CUPTI_ACTIVITY_KIND_MEMSET m JOIN "
                     "CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) JOIN StringIds s ON s.id = r.nameId") ==
          Rows{"2000|2000|launch (call not recorded)"});
  }
  CHECK(file.query("PRAGMA integrity_check") == Rows{"ok"});
}

TEST_CASE("ranges of an Nsight export keep domain, category, payload, handle and thread", "[exporter]") {
  TimelineBuilder builder;
  builder.range("plain", 0, 10).payload(std::uint64_t{7});
  builder.range("in domain", 1, 5).in_domain("mine").in_category("io").payload(-3.5);
  builder.range("handle", 2, 50).start_end().ended_on(9);
  builder.range("open", 20, 60).flagged(kUnfinished);
  builder.range("aten::mm", 21, 22).of_kind(RangeKind::kOperator);
  builder.range("text", 30, 31).payload("a \"b\"");
  builder.mark("here", 33);
  const NsightFile file(builder.build());
  CHECK(file.query("SELECT text, start, end, eventType, rangeId, endGlobalTid & 0xFFFFFF, domainId, uint64Value, "
                   "doubleValue, jsonText FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60) ORDER BY start") ==
        Rows{"plain|0|10|59|NULL|NULL|0|7|NULL|NULL", "in domain|1|5|59|NULL|NULL|1|NULL|-3.5|NULL",
             "handle|2|50|60|3|9|0|NULL|NULL|NULL", "open|20|NULL|59|NULL|NULL|0|NULL|NULL|NULL",
             "text|30|31|59|NULL|NULL|0|NULL|NULL|\"a \\\"b\\\"\"", "here|33|NULL|34|NULL|NULL|0|NULL|NULL|NULL"});
  CHECK(file.query("SELECT text, domainId FROM NVTX_EVENTS WHERE eventType = 75") == Rows{"mine|1"});
  CHECK(file.query("SELECT n.text, c.text FROM NVTX_EVENTS n JOIN NVTX_EVENTS c ON c.eventType = 33 AND "
                   "c.category = n.category AND c.domainId = n.domainId WHERE n.eventType = 59") ==
        Rows{"in domain|io"});
}

TEST_CASE("operators that an Nsight file has as ranges are ranges when it is exported again", "[exporter]") {
  const std::string operator_text = "aten::mm, seq = 4, op_id = 7, sizes = [[2, 3], [3, 4]]";
  const NsightFile first(TimelineBuilder().range("step", 0, 10).range(operator_text, 1, 5).build());
  const Timeline timeline = first.load();
  REQUIRE(timeline.ranges.kind[TimelineBuilder::range_named(timeline, "aten::mm")] == RangeKind::kOperator);
  CHECK(NsightFile(timeline).query("SELECT text, start, end, jsonText FROM NVTX_EVENTS ORDER BY start") ==
        Rows{"step|0|10|NULL", operator_text + "|1|5|NULL"});
}

TEST_CASE("thread ids that Nsight has no room for get numbers of their own", "[exporter]") {
  TimelineBuilder builder;
  builder.range("a", 0, 10).on_thread(0x1234567890).range("b", 1, 5).on_thread(-4).range("c", 2, 3);
  const NsightFile file(builder.build());
  CHECK(file.query("SELECT count(DISTINCT globalTid), min(globalTid >> 24 = (SELECT globalPid >> 24 FROM PROCESSES)) "
                   "FROM NVTX_EVENTS") == Rows{"3|1"});
  CHECK(file.query("SELECT count(*) FROM ThreadNames t JOIN StringIds s ON s.id = t.nameId WHERE s.value IN "
                   "('thread 78187493520', 'thread -4')") == Rows{"2"});
}

TEST_CASE("an Nsight export does not take the place of a file, nor leave half of one", "[exporter]") {
  const ScratchFolder folder;
  const Timeline timeline = nsight_program().build();
  write_file(folder.file("out"), "mine");
  CHECK(export_nsight_sqlite(timeline, folder.file("out")).error().code() == ErrorCode::kExists);
  CHECK(read_file(folder.file("out")) == "mine");
  CHECK(export_nsight_sqlite(timeline, "-").error().code() == ErrorCode::kInvalidArgument);
  CHECK_FALSE(export_nsight_sqlite(timeline, folder.file("no/such/folder")).ok());
  NsightExportOptions options;
  options.replace = true;
  CHECK(export_nsight_sqlite(timeline, folder.file("out"), options).ok());
  CHECK(folder.names() == std::vector<std::string>{"out"});
}

TEST_CASE("hostile names are texts in an Nsight export", "[exporter]") {
  const NsightFile file(TimelineBuilder()
                            .range("'); DROP TABLE NVTX_EVENTS; --", 0, 10)
                            .range(std::string_view("a\0b\xff", 4), 1, 2)
                            .build());
  CHECK(file.query("SELECT text FROM NVTX_EVENTS ORDER BY start") ==
        Rows{"'); DROP TABLE NVTX_EVENTS; --", "a\\x00b\\xff"});
}
