// SPDX-License-Identifier: MIT
#include "importer/nsight/nsight_importer.hpp"

#include "importer/nsight/nsight_file.hpp"
#include "importer/nsight/sqlite_database.hpp"
#include "support/catch.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/report.hpp>

#include <bit>

using namespace rangefinder;
using rangefinder::testing::has_note;
using rangefinder::testing::NsightFile;

namespace {
std::string text_of(const Timeline& timeline, StringId id) { return std::string(timeline.text(id)); }
std::string at(std::int64_t value) { return std::to_string(value); }
}  // namespace

TEST_CASE("an export's ranges come with times, thread, style and rowid", "[importer_nsight]") {
  NsightFile file;
  file.range("step", 100, 900).range("request", 150, 400, 1001, 60);
  const auto timeline = file.import();
  REQUIRE(timeline);
  const RangeTable& ranges = timeline->ranges;
  REQUIRE(ranges.size() == 2);
  CHECK(text_of(*timeline, ranges.name[0]) == "step");
  CHECK(ranges.begin_ns[0] == 100);
  CHECK(ranges.end_ns[0] == 900);
  CHECK(ranges.style[0] == RangeStyle::kScoped);
  CHECK(ranges.style[1] == RangeStyle::kStartEnd);
  CHECK(ranges.kind[1] == RangeKind::kAnnotation);
  CHECK(ranges.source_row == std::vector<std::int64_t>{1, 2});
  CHECK(timeline->threads[ranges.thread[1]].tid == 1001);
  CHECK(timeline->processes[timeline->threads[ranges.thread[1]].process].pid == 1000);
  CHECK(timeline->format == InputFormat::kNsight);
  CHECK(timeline->begin_ns == 100);
  CHECK(timeline->end_ns == 900);
  CHECK(timeline->notes.empty());
}

TEST_CASE("imported nvtxt ranges have the styles of their kinds", "[importer_nsight]") {
  NsightFile file;
  file.range("a", 1, 2, 1000, 70).range("b", 1, 2, 1000, 71);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->ranges.style == std::vector<RangeStyle>{RangeStyle::kScoped, RangeStyle::kStartEnd});
}

TEST_CASE("registered names, domains and categories are resolved wherever they stand in the table",
          "[importer_nsight]") {
  NsightFile file;
  const std::string thread = at(NsightFile::kGlobalPid | 1000);
  file.run(
      "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, domainId, textId, category) VALUES (10, 20, 59, " +
      thread + ", 3, " + at(file.string("optimizer")) + ", 5)");
  file.run("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, domainId, text, category) VALUES (10, 20, 59, " +
           thread + ", 3, 'other', 6)");
  file.run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text) VALUES (1, 75, " + thread +
           ", 3, 'mine')");
  file.run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text, category) VALUES (1, 33, " + thread +
           ", 3, 'io', 5)");
  // The same number in another process is another domain.
  file.run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text) VALUES (1, 75, " +
           at(NsightFile::kGlobalPid + (1 << 24)) + ", 3, 'theirs')");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(text_of(*timeline, timeline->ranges.name[0]) == "optimizer");
  CHECK(text_of(*timeline, timeline->ranges.domain[0]) == "mine");
  CHECK(text_of(*timeline, timeline->ranges.category[0]) == "io");
  CHECK(text_of(*timeline, timeline->ranges.category[1]) == "6");
}

TEST_CASE("a range never closed runs to the last NVTX time", "[importer_nsight]") {
  NsightFile file;
  file.run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, text) VALUES (10, 59, " +
           at(NsightFile::kGlobalPid | 1000) + ", 'open')");
  file.range("closed", 20, 70).launch("late", 500, 510, 520, 530, 1);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->ranges.end_ns[0] == 70);
  CHECK(timeline->ranges.flags[0] == kUnfinished);
  CHECK(timeline->ranges.flags[1] == 0);
  CHECK(timeline->health.unfinished_ranges == 1);
}

TEST_CASE("a range that ends on another thread keeps both", "[importer_nsight]") {
  NsightFile file;
  file.range("request", 10, 20, 1000, 60);
  file.run("UPDATE NVTX_EVENTS SET endGlobalTid = " + at(NsightFile::kGlobalPid | 1001));
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->threads[timeline->ranges.thread[0]].tid == 1000);
  CHECK(timeline->threads[timeline->ranges.end_thread[0]].tid == 1001);
  CHECK(timeline->ranges.flags[0] == kEndedElsewhere);
  CHECK(timeline->health.foreign_ends == 1);
}

TEST_CASE("payloads become attachments, ranges before marks", "[importer_nsight]") {
  NsightFile file;
  const auto event = [&](int type, const std::string& column, const std::string& value) {
    file.run("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, " + column + ") VALUES (5, " +
             (type == 34 ? "NULL" : "6") + ", " + at(type) + ", " + at(NsightFile::kGlobalPid | 1000) + ", 'x', " +
             value + ")");
  };
  event(34, "int32Value", "-7");
  event(59, "uint64Value", "-1");  // 2^64 - 1 in SQLite's signed column
  event(59, "floatValue", "0.5");
  event(59, "jsonText", "'{}'");
  const auto timeline = file.import();
  REQUIRE(timeline);
  const std::vector<Attachment>& values = timeline->attachments;
  REQUIRE(values.size() == 3);
  CHECK(values[0].target == Attachment::Target::kRange);
  CHECK(values[0].type == Attachment::Type::kUnsigned);
  CHECK(values[0].bits == 0xFFFFFFFFFFFFFFFFu);
  CHECK(values[1].row == 1);
  CHECK(std::bit_cast<double>(values[1].bits) == 0.5);
  CHECK(values[2].target == Attachment::Target::kMark);
  CHECK(static_cast<std::int64_t>(values[2].bits) == -7);
  CHECK(has_note(*timeline, "1 payloads of JSON or binary form, not read"));
}

TEST_CASE("marks keep their domain in their name", "[importer_nsight]") {
  NsightFile file;
  const std::string thread = at(NsightFile::kGlobalPid | 1000);
  file.run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text) VALUES (7, 34, " + thread +
           ", 2, 'epoch')");
  file.run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text) VALUES (1, 75, " + thread +
           ", 2, 'lib')");
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->marks.size() == 1);
  CHECK(text_of(*timeline, timeline->marks.name[0]) == "lib:epoch");
  CHECK(timeline->marks.time_ns[0] == 7);
}

TEST_CASE("a kernel keeps how it was launched, in CUPTI's numbers", "[importer_nsight]") {
  NsightFile file;
  file.launch("gemm", 10, 20, 30, 50, 77);
  for (const char* column : {"launchType", "sharedMemoryExecuted", "maxActiveClusters"})
    file.run(std::string("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN ") + column + " INTEGER");
  file.run(
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET launchType = 2, sharedMemoryExecuted = 102400, maxActiveClusters = 66");
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->kernel_details.size() == 1);
  CHECK(timeline->kernel_details[0].launch_type == 1);  // cooperative; Nsight's 1 is a regular launch
  CHECK(timeline->kernel_details[0].shared_executed_bytes == 102400);
  CHECK(timeline->kernel_details[0].max_active_clusters == 66);
}

TEST_CASE("a kernel is joined to the call with its correlation id in its process", "[importer_nsight]") {
  NsightFile file;
  file.launch("gemm", 10, 20, 30, 50, 77);
  // The same id in another process launches nothing here.
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " + at(NsightFile::kGlobalPid + (1 << 24) + 1) +
           ", 77, " + at(file.string("cudaFree_v3020")) + ", 0)");
  const auto timeline = file.import();
  REQUIRE(timeline);
  const ActivityTable& activities = timeline->activities;
  REQUIRE(activities.size() == 1);
  REQUIRE(timeline->launches.size() == 1);
  CHECK(activities.launch[0] == 0);
  CHECK(timeline->launches.time_ns[0] == 10);
  CHECK(timeline->launches.source[0] == LaunchSource::kCall);
  CHECK(timeline->calls.end_ns[timeline->launches.call[0]] == 20);
  CHECK(text_of(*timeline, activities.name[0]) == "void gemm<float>(float *)");
  const KernelDetail& detail = timeline->kernel_details[activities.detail[0]];
  CHECK(text_of(*timeline, detail.base) == "gemm");
  CHECK(text_of(*timeline, detail.mangled) == "_Zgemm");
  CHECK(detail.grid[1] == 2);
  CHECK(detail.block[0] == 128);
  CHECK(detail.dynamic_shared_bytes == 1024);
  const StreamInfo& stream = timeline->streams[activities.stream[0]];
  CHECK(stream.id == 7);
  CHECK(timeline->devices[stream.device].id == 0);
}

TEST_CASE("of a runtime call and the driver call inside it the outer one is the launch", "[importer_nsight]") {
  NsightFile file;
  file.launch("k", 12, 18, 30, 50, 5);
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, " + at(NsightFile::kGlobalPid | 1000) + ", 5, " +
           at(file.string("cudaGraphLaunch_v10000")) + ", 0)");
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->launches.size() == 1);
  CHECK(timeline->launches.time_ns[0] == 10);
}

TEST_CASE("kernels without a call have no launch", "[importer_nsight]") {
  NsightFile file;
  file.launch("k", 10, 20, 30, 50, 5).run("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->activities.launch[0] == kNone);
  CHECK(timeline->launches.size() == 0);
}

TEST_CASE("launches stand in order of time", "[importer_nsight]") {
  NsightFile file;
  file.launch("b", 30, 31, 50, 60, 3).launch("a", 10, 11, 70, 80, 4).launch("c", 20, 21, 90, 95, 5, 1001);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->launches.time_ns == std::vector<std::int64_t>{10, 20, 30});
}

TEST_CASE("kernels of one shape share their details", "[importer_nsight]") {
  NsightFile file;
  file.launch("k", 1, 2, 3, 4, 1).launch("k", 5, 6, 7, 8, 2).launch("other", 9, 10, 11, 12, 3);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->kernel_details.size() == 2);
  CHECK(timeline->activities.detail == std::vector<std::uint32_t>{0, 0, 1});
}

TEST_CASE("driver calls are told apart by class, or by name where no class is recorded", "[importer_nsight]") {
  NsightFile file;
  const auto call = [&](int event_class, const char* name) {
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, " + at(event_class) + ", " +
             at(NsightFile::kGlobalPid | 1000) + ", 0, " + at(file.string(name)) + ", 700)");
  };
  call(0, "cudaMalloc_v3020");
  call(1, "cuLaunchKernel");
  SECTION("with classes") {}
  SECTION("without") { file.run("ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME DROP COLUMN eventClass"); }
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->calls.domain == std::vector<CallDomain>{CallDomain::kRuntime, CallDomain::kDriver});
  CHECK(timeline->calls.result == std::vector<std::int32_t>{700, 700});
}

TEST_CASE("copies and memsets carry bytes, kinds and CUPTI's memory numbers", "[importer_nsight]") {
  NsightFile file;
  const std::string pid = at(NsightFile::kGlobalPid);
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " + at(NsightFile::kGlobalPid | 1000) + ", 9, " +
           at(file.string("cudaMemcpyAsync_v3020")) + ", 0)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (3, 4, 0, 1, 7, 9, " + pid + ", 4096, 1, 0, 2, NULL, 3, 12)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5, 6, 0, 1, 7, 10, " + pid + ", 255, 64, 4)");
  const auto timeline = file.import();
  REQUIRE(timeline);
  const ActivityTable& activities = timeline->activities;
  CHECK(activities.kind == std::vector<ActivityKind>{ActivityKind::kMemcpy, ActivityKind::kMemset});
  CHECK(activities.bytes == std::vector<std::uint64_t>{4096, 64});
  CHECK(text_of(*timeline, activities.name[0]) == "[CUDA memcpy Host-to-Device]");
  CHECK(text_of(*timeline, activities.name[1]) == "[CUDA memset]");
  CHECK(activities.graph_node[0] == 12);
  const CopyDetail& copy = timeline->copy_details[activities.detail[0]];
  CHECK(copy.source_memory == 1);  // pageable
  CHECK(copy.target_memory == 3);  // device
  CHECK(copy.source_device == kNone);
  CHECK(copy.target_device == 3);
  CHECK(copy.asynchronous);
  const CopyDetail& memset = timeline->copy_details[activities.detail[1]];
  CHECK(memset.value == 255);
  CHECK(memset.target_memory == 5);  // managed
  CHECK_FALSE(memset.asynchronous);
}

TEST_CASE("a stream is known by device, context and green context", "[importer_nsight]") {
  NsightFile file;
  file.launch("a", 1, 2, 3, 4, 1).launch("b", 5, 6, 7, 8, 2).launch("c", 9, 10, 11, 12, 3);
  file.run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET contextId = 2 WHERE correlationId = 2");
  file.run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET greenContextId = 4 WHERE correlationId = 3");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->streams.size() == 3);
  CHECK(timeline->streams[timeline->activities.stream[2]].green_context == 4);
  CHECK(timeline->devices.size() == 1);
}

TEST_CASE("syncs and overheads are read", "[importer_nsight]") {
  NsightFile file;
  const std::string pid = at(NsightFile::kGlobalPid);
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 9, 0, 1, 4294967295, 3, " + pid + ", 4)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (2, 8, 0, 1, 7, 4, " + pid + ", 3)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (20, 30, " + at(NsightFile::kGlobalPid | 5) + ", 3)");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->syncs.type == std::vector<std::uint32_t>{4, 3});
  CHECK(timeline->syncs.stream[0] == kNone);
  CHECK(timeline->streams[timeline->syncs.stream[1]].id == 7);
  REQUIRE(timeline->overheads.size() == 1);
  CHECK(text_of(*timeline, timeline->overheads.name[0]) == "CUPTI buffer flush");
  CHECK(timeline->end_ns == 30);
}

TEST_CASE("allocation calls are read, with CUPTI's kinds of memory", "[importer_nsight]") {
  NsightFile file;
  const std::string pid = at(NsightFile::kGlobalPid);
  file.run(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER, "
      "contextId "
      "INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, correlationId INTEGER, "
      "streamId INTEGER, localMemoryPoolAddress INTEGER)");
  file.run("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (5, " + pid + ", 0, 1, 4096, 512, 2, 0, 3, NULL, NULL)");
  file.run("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (9, " + pid + ", 0, 1, 4096, 512, 1, 1, 4, 7, 99)");
  const auto timeline = file.import();
  REQUIRE(timeline);
  const CudaAllocationTable& allocations = timeline->cuda_allocations;
  REQUIRE(allocations.size() == 2);
  CHECK(allocations.time_ns == std::vector<std::int64_t>{5, 9});
  CHECK(allocations.memory == std::vector<std::uint32_t>{3, 2});
  CHECK(allocations.freed == std::vector<bool>{false, true});
  CHECK(allocations.bytes == std::vector<std::uint64_t>{512, 512});
  CHECK(allocations.correlation == std::vector<std::uint64_t>{3, 4});
  CHECK(allocations.stream[0] == kNone);
  CHECK(timeline->streams[allocations.stream[1]].id == 7);
  CHECK(allocations.pool == std::vector<std::uint64_t>{0, 99});
}

TEST_CASE("names of processes, threads, devices and the host are found", "[importer_nsight]") {
  NsightFile file;
  const std::string pid = at(NsightFile::kGlobalPid);
  file.range("r", 1, 9).launch("k", 2, 3, 4, 5, 1);
  file.run("INSERT INTO PROCESSES VALUES (" + pid + ", 1000, 'sh'), (" + pid + ", 1000, 'train'), (99, 0, 'unused')");
  file.run("INSERT INTO ThreadNames VALUES (" + at(file.string("main")) + ", 20, " + at(NsightFile::kGlobalPid | 1000) +
           ")");
  file.run("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, 'x', 'Hostname', 1, 'node7')");
  file.run("INSERT INTO TARGET_INFO_GPU VALUES (3, 'H100', 1000, 132, 1, 32, 64, 32, 1024, 9, 0)");
  file.run("INSERT INTO TARGET_INFO_GPU VALUES (4, 'A100', 2000, 108, 0, 32, 64, 32, 1024, 8, 0)");
  SECTION("by the process's own numbering") {
    file.run("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 1000)");
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(timeline->devices[0].name == "H100");
    CHECK(timeline->devices[0].id == 0);
    CHECK(timeline->devices[0].multiprocessors == 132);
    CHECK(timeline->devices[0].max_threads_per_multiprocessor == 2048);
    CHECK(timeline->devices[0].compute_major == 9);
  }
  SECTION("by the CUDA number where the process's is not recorded") {
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(timeline->devices[0].name == "A100");
    REQUIRE(timeline->processes.size() == 1);
    CHECK(timeline->processes[0].name == "train");
    CHECK(timeline->processes[0].host == "node7");
    REQUIRE(timeline->threads.size() == 1);
    CHECK(timeline->threads[0].name == "main");
    CHECK(timeline->threads[0].priority == 20);
  }
}

TEST_CASE("wall time is the session's start less its place on the host's clock", "[importer_nsight]") {
  NsightFile file;
  file.run("INSERT INTO ANALYSIS_DETAILS VALUES (1, 10, 300, 310)");
  SECTION("as the session says") {
    file.run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (5000, '', '', 200)");
    CHECK(file.import()->realtime_offset_ns == 4800);
  }
  SECTION("or the analysis, in older versions") {
    file.run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (5000, '', '', NULL)");
    CHECK(file.import()->realtime_offset_ns == 4700);
  }
  SECTION("or no clock") { CHECK(file.import()->realtime_offset_ns == kNoTime); }
}

TEST_CASE("what Nsight warned of while recording becomes notes", "[importer_nsight]") {
  NsightFile file;
  file.run(
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'started'), (2, 2, 'CUDA events were dropped'), (3, 3, 'no rights')");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(has_note(*timeline, "Nsight Systems warning: CUDA events were dropped"));
  CHECK(has_note(*timeline, "Nsight Systems error: no rights"));
  CHECK_FALSE(has_note(*timeline, "started"));
}

TEST_CASE("graph launches recorded as a whole are activities of the ranges that replay them", "[importer_nsight]") {
  NsightFile file;
  file.range("replay", 100, 400).launch("kernel", 110, 120, 130, 140, 1).launch("nothing", 200, 210, 5'000, 5'001, 2);
  file.run("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId = 2");
  const bool all_columns = GENERATE(true, false);
  if (all_columns) {
    file.run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId "
        "INTEGER, "
        "greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, "
        "graphExecId INTEGER)");
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (220, 300, 0, 1, NULL, 7, 2, " +
             at(NsightFile::kGlobalPid) + ", 3, 4), (500, 400, 0, 1, NULL, 7, 2, 0, 3, 4)");
  } else {
    file.run("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER)");
    file.run("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (220, 300)");
  }
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(has_note(*timeline, "1 graph launch was recorded as a whole"));
  REQUIRE(timeline->activities.size() == 2);
  CHECK(timeline->activities.kind[1] == ActivityKind::kGraph);
  CHECK(timeline->activities.graph[1] == (all_columns ? 3 : 0));
  CHECK(timeline->health.invalid_activities == (all_columns ? 1 : 0));
  const Projection projection = project(*timeline, {});
  CHECK(projection.inclusive[RangeIndex(0)].gpu_sum_ns == (all_columns ? 90 : 10));
  // Nsight's own reports leave them out.
  const auto report = [&](const char* view) {
    ReportOptions options;
    options.format = ReportFormat::kCsv;
    options.view = view;
    std::string csv;
    const auto append = [&](std::string_view text) { return csv += text, true; };
    REQUIRE(write_report(*timeline, options, append).ok());
    return csv;
  };
  for (const char* view : {"cuda_gpu_kern_sum", "cuda_gpu_trace", "cuda_gpu_sum", "nvtx_kern_sum"}) {
    const std::string csv = report(view);
    INFO(csv);
    CHECK(csv.find("CUDA graph") == std::string::npos);
    CHECK(csv.find("kernel") != std::string::npos);
  }
  CHECK(report("nvtx_gpu_proj_sum").find("replay,PushPop,10,300,1,") != std::string::npos);
}

TEST_CASE("nodes of graphs are known by the ranges that captured them", "[importer_nsight]") {
  NsightFile file;
  file.range("layer.0", 10, 40).range("layer.1", 50, 90).range("instantiate", 100, 200).range("replay", 300, 400);
  file.launch("none", 12, 30, 9'000, 9'001, 1).launch("none", 52, 70, 9'000, 9'001, 2);
  file.launch("first", 310, 320, 330, 340, 3);
  file.run("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId < 3");
  const std::string pid = at(NsightFile::kGlobalPid), tid = at(NsightFile::kGlobalPid | 1000);
  // Name, node, and what it was captured as.
  const auto kernel = [&](std::int64_t start, std::int64_t end, int node) {
    file.run(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
        "demangledName, shortName, graphNodeId) SELECT " +
        at(start) + ", " + at(end) + ", deviceId, contextId, streamId, 3, " + pid + ", demangledName, shortName, " +
        at(node) + " FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1");
  };
  for (const int node : {11, 12, 1, 77, 21}) kernel(400 + node, 402 + node, node);
  const char* const table = GENERATE("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS");
  file.run(std::string("CREATE TABLE ") + table +
           " (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, graphNodeId INTEGER, "
           "originalGraphNodeId INTEGER)");
  const auto event = [&](std::int64_t start, int node, const char* original) {
    file.run(std::string("INSERT INTO ") + table + " VALUES (" + at(start) + ", " + at(start) + ", 0, " + tid +
             ", 0, " + at(node) + ", " + original + ")");
  };
  event(15, 1, "NULL");
  event(55, 2, "NULL");
  event(110, 11, "NULL");  // a copy is announced as new before it is said to be one
  event(111, 11, "1");
  event(120, 12, "2");
  event(250, 1, "NULL");  // and a node once more when it goes
  event(130, 21, "22");   // a circle
  event(131, 22, "21");
  const auto timeline = file.import();
  REQUIRE(timeline);
  const auto owner = [&](const Projection& projection, std::uint64_t node) {
    for (ActivityIndex row{0}; row < timeline->activities.size(); ++row)
      if (timeline->activities.graph_node[row] == node)
        return std::string(timeline->text(timeline->ranges.name[projection.owner[row]]));
    return std::string();
  };
  const Projection by_capture = project(*timeline, {});
  CHECK(by_capture.attribution == Attribution::kCapture);
  CHECK(owner(by_capture, 11) == "layer.0");
  CHECK(owner(by_capture, 12) == "layer.1");
  CHECK(owner(by_capture, 1) == "layer.0");
  CHECK(owner(by_capture, 77) == "replay");
  CHECK(owner(by_capture, 21) == "replay");
  CHECK(owner(project(*timeline, {Attribution::kLaunch, true, false}), 11) == "replay");
}

TEST_CASE("an announced default domain is remembered for the compatible views", "[importer_nsight]") {
  NsightFile file;
  file.range("forward", 1, 2);
  CHECK(file.import()->metadata.empty());
  file.run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text) VALUES (0, 75, " +
           at(NsightFile::kGlobalPid | 1000) + ", 0, '')");
  const auto timeline = file.import();
  REQUIRE(timeline->metadata.size() == 1);
  CHECK(timeline->metadata[0].first == "nsight_default_domain_announced");
}

TEST_CASE("progress reaches the whole file", "[importer_nsight]") {
  struct Seen {
    std::uint64_t done = 0, total = 0;
  } seen;
  LoadOptions options;
  options.progress_user = &seen;
  options.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
    auto* out = static_cast<Seen*>(user);
    CHECK(done >= out->done);
    CHECK(done <= total);
    *out = {done, total};
  };
  NsightFile file;
  file.range("r", 1, 9).launch("k", 2, 3, 4, 5, 1);
  REQUIRE(file.import(options));
  CHECK(seen.total == file.image().size());
  CHECK(seen.done == seen.total);
}

TEST_CASE("only SQLite's first bytes look like SQLite", "[importer_nsight]") {
  const base::Bytes image = NsightFile().image();
  CHECK(importer::nsight::looks_like_sqlite(image));
  CHECK(importer::nsight::looks_like_sqlite(base::ByteView(image).first(16)));
  CHECK_FALSE(importer::nsight::looks_like_sqlite(base::ByteView(image).first(15)));
  CHECK_FALSE(importer::nsight::looks_like_sqlite(base::as_bytes("SQLite format 2 ")));
  CHECK_FALSE(importer::nsight::looks_like_sqlite({}));
}
