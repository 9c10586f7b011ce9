// SPDX-License-Identifier: MIT
#include "importer/kineto/table_builder.hpp"

#include "support/timeline_columns.hpp"
#include "trace_text.hpp"

using namespace rangefinder;
using rangefinder::testing::keeping_arguments;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::numbers_of;
using rangefinder::testing::trace_of;

namespace {

// One of each, as torch 2.11 writes them.
constexpr std::string_view kTorch211 = R"json(
  {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 25286, "tid": 25286,
    "ts": 1428625731896.179, "dur": 47151.395,
    "args": {
      "External id": 18433,"Record function id": 0, "Ev Idx": 0
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::embedding", "pid": 25286, "tid": 25286,
    "ts": 1428625746277.044, "dur": 111.822,
    "args": {
      "External id": 18434,"Record function id": 0, "Concrete Inputs": ["", "-1"], "Input Dims": [[151936, 1024], [16, 559]], "Ev Idx": 1
    }
  },
  {
    "ph": "X", "cat": "python_function", "name": "threading.py(1032): _bootstrap", "pid": 25286, "tid": 25286,
    "ts": 1428625731516.983, "dur": 49779.532,
    "args": {
      "Python parent id": null, "Python id": 1, "Ev Idx": 6637
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 25286, "tid": 25286,
    "ts": 1428625746300.000, "dur": 6.980,
    "args": {
      "External id": 18434, "cbid": 211, "correlation": 682852
    }
  },
  {
    "ph": "s", "id": 682852, "pid": 25286, "tid": 25286, "ts": 1428625746300.000,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
    "ts": 1428625746382.663, "dur": 18.112,
    "args": {
      "External id": 18434, "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": 682852,
      "registers per thread": 16,
      "shared memory": 512,
      "blocks per SM": "inf",
      "warps per SM": 0.037,
      "grid": [8, 16, 5],
      "block": [128, 1, 1],
      "est. achieved occupancy %": 25
    }
  },
  {
    "ph": "f", "id": 682852, "pid": 0, "tid": 7, "ts": 1428625746382.663,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
  {
    "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 0, "tid": 7,
    "ts": 1428625746678.566, "dur": 2.368,
    "args": {
      "External id": 18452, "device": 0, "context": 1,
      "stream": 7, "correlation": 682810,
      "bytes": 4096, "memory bandwidth (GB/s)": 0.0004222972972972973
    }
  },
  {
    "ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7,
    "ts": 1428625731667.049, "dur": 0.769,
    "args": {
      "device": 0, "context": 1,
      "stream": 7, "correlation": 675807,
      "bytes": 4, "memory bandwidth (GB/s)": "N/A"
    }
  },
  {
    "ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 25286, "tid": 25286,
    "ts": 1428625746961.266, "dur": 6.980,
    "args": {
      "External id": 18483, "cbid": 307, "correlation": 682999
    }
  },
  {
    "ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#7", "pid": 0, "tid": 7,
    "ts": 1428625746382.662, "dur": 34892.421,
    "args": {
      "External id": 18433
    }
  },
  {
    "ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 1,
    "ts": 1428625746970.000, "dur": 0.010,
    "args": {
      "cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 1, "wait_on_cuda_event_record_corr_id": 100, "wait_on_cuda_event_id": 7777,
      "stream": 1, "correlation": 200,
      "device": 0, "context": 0
    }
  },
  {
    "ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1,
    "ts": 1428625746971.000, "dur": 4,
    "args": {
      "cuda_sync_kind": "Context Sync", "stream": -1, "correlation": 201, "device": 0, "context": 1
    }
  },
  {
    "ph": "X", "cat": "cuda_event", "name": "cudaEventRecord", "pid": 0, "tid": 7,
    "ts": 1428625746972.000, "dur": 1, "args": {"event_id": 5, "stream": 7, "correlation": 202, "device": 0, "context": 1}
  },
  {
    "ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0,
    "ts": 1428625746973.000, "dur": 12.5
  },
  {
    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
    "pid": 25286, "tid": 25286,
    "ts": 1428625746340.715,
    "args": {
      "Total Reserved": 2629828608, "Total Allocated": 1003059712, "Bytes": -18317312, "Addr": 137877174353920, "Device Id": 0, "Device Type": 1, "Ev Idx": 4187
    }
  },
  {
    "ph": "s", "id": 11, "pid": 25286, "tid": 25286, "ts": 1428625746277.044,
    "cat": "fwdbwd", "name": "fwdbwd"
  },
  {
    "name": "process_labels", "ph": "M", "ts": 1428625731608.106, "pid": 25286, "tid": 0,
    "args": {
      "labels": "CPU"
    }
  },
  {
    "ph": "X", "cat": "Trace", "ts": 1428625731456.483, "dur": 49840.032,
    "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)",
    "args": {
      "Op count": 0
    }
  },
  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": 1428625781296.515
  })json";

}  // namespace

TEST_CASE("torch 2.11's events land in their tables", "[importer]") {
  const Loaded loaded = load(trace_of(kTorch211));
  const Timeline& timeline = loaded.timeline;
  CHECK(timeline.format == InputFormat::kKineto);
  CHECK(timeline.range_end == RangeEnd::kClosed);

  const RangeTable& ranges = timeline.ranges;
  REQUIRE(ranges.size() == 3);
  CHECK(loaded.text(ranges.name[1]) == "aten::embedding");
  CHECK(ranges.kind == std::vector{RangeKind::kAnnotation, RangeKind::kOperator, RangeKind::kPythonFunction});
  CHECK(loaded.text(ranges.category[2]) == "python_function");
  CHECK(ranges.begin_ns[0] == 1428625731896179);
  CHECK(ranges.end_ns[0] == 1428625731896179 + 47151395);
  CHECK(ranges.external_id == std::vector<std::int64_t>{18433, 18434, -1});
  CHECK(ranges.source_row == std::vector<std::int64_t>{0, 1, 2});
  CHECK(ranges.style[0] == RangeStyle::kScoped);
  CHECK(ranges.flags[0] == 0);
  CHECK(ranges.end_thread == ranges.thread);

  const CallTable& calls = timeline.calls;
  REQUIRE(calls.size() == 2);
  CHECK(calls.domain == std::vector{CallDomain::kRuntime, CallDomain::kDriver});
  CHECK(loaded.text(calls.name[0]) == "cudaLaunchKernel");
  CHECK(calls.correlation == std::vector<std::uint64_t>{682852, 682999});
  CHECK(calls.external_id[1] == 18483);
  CHECK(calls.source_row == std::vector<std::int64_t>{3, 9});

  const ActivityTable& activities = timeline.activities;
  REQUIRE(activities.size() == 3);
  CHECK(activities.kind == std::vector{ActivityKind::kKernel, ActivityKind::kMemcpy, ActivityKind::kMemset});
  CHECK(activities.bytes == std::vector<std::uint64_t>{0, 4096, 4});
  CHECK(activities.external_id == std::vector<std::int64_t>{18434, 18452, -1});
  CHECK(activities.end_ns[2] - activities.begin_ns[2] == 769);
  CHECK(numbers_of(activities.launch) == std::vector<std::uint32_t>{0, kNone, kNone});
  CHECK(numbers_of(activities.stream) == std::vector<std::uint32_t>{0, 0, 0});
  CHECK(timeline.streams[0].context == 1);
  const KernelDetail& kernel = timeline.kernel_details[activities.detail[0]];
  CHECK(kernel.grid[2] == 5);
  CHECK(kernel.registers_per_thread == 16);
  CHECK(kernel.dynamic_shared_bytes == 512);
  CHECK(timeline.copy_details[activities.detail[1]].copy_kind == 2);

  REQUIRE(timeline.launches.size() == 1);
  CHECK(timeline.launches.time_ns[0] == 1428625746300000);
  CHECK(timeline.launches.call[0] == 0);

  const SyncTable& syncs = timeline.syncs;
  REQUIRE(syncs.size() == 2);
  CHECK(syncs.type == std::vector<std::uint32_t>{2, 4});
  CHECK(timeline.streams[syncs.stream[0]].id == 1);
  CHECK(syncs.stream[1] == kNone);
  CHECK(syncs.device[1] == 0);

  REQUIRE(timeline.overheads.size() == 1);
  CHECK(timeline.overheads.thread[0] == kNone);
  CHECK(loaded.text(timeline.overheads.name[0]) == "Buffer Flush");

  REQUIRE(timeline.steps.size() == 1);
  CHECK(timeline.steps.number[0] == 7);
  CHECK(timeline.steps.end_ns[0] == ranges.end_ns[0]);

  CHECK(timeline.begin_ns == 1428625731516983);
  CHECK(timeline.end_ns == 1428625731516983 + 49779532);
  CHECK(timeline.marks.size() == 0);
  CHECK(timeline.threads.size() == 1);
  CHECK(loaded.details.events == 20);
}

TEST_CASE("memory instants are rows of the memory table, and stay as they are for an export", "[importer]") {
  const std::string text = trace_of(R"json(
  {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 7, "ts": 10.5,
   "args": {"Total Reserved": 0, "Total Allocated": 3072, "Bytes": 3072, "Device Id": -1, "Device Type": 0, "Addr": 94628499287232}},
  {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 7, "ts": 11,
   "args": {"Total Reserved": 2097152, "Total Allocated": 512, "Bytes": -1024, "Device Id": 1, "Device Type": 1, "Addr": 4096}},
  {"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": 7, "ts": 12,
   "args": {"Total Reserved": 2097152, "Total Allocated": 512, "Bytes": 99, "Device Id": 0, "Device Type": 1}},
  {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 7, "ts": 13, "args": {"Addr": 4096}},
  {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 7, "args": {"Bytes": 1}},
  {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 7, "ts": 14, "args": {"Bytes": -9223372036854775807}},
  {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 7, "ts": 15, "args": {"Bytes": "many"}})json");
  const Loaded loaded = load(text);
  const AllocatorEventTable& memory = loaded.timeline.allocator_events;
  REQUIRE(memory.size() == 4);
  using Actions = std::vector<MemoryAction>;
  CHECK(memory.action ==
        Actions{MemoryAction::kAllocate, MemoryAction::kFree, MemoryAction::kOutOfMemory, MemoryAction::kFree});
  CHECK(memory.time_ns == std::vector<std::int64_t>{10'500, 11'000, 12'000, 14'000});
  CHECK(memory.device == std::vector<std::int32_t>{-1, 1, 0, -1});
  CHECK(memory.bytes == std::vector<std::uint64_t>{3072, 1024, 99, (std::uint64_t{1} << 63) - 1});
  CHECK(memory.allocated == std::vector<std::int64_t>{3072, 512, 512, -1});
  CHECK(memory.reserved == std::vector<std::int64_t>{-1, 2097152, 2097152, -1});
  CHECK(memory.address == std::vector<std::uint64_t>{94628499287232, 4096, 0, 0});
  CHECK(memory.source_row == std::vector<std::int64_t>{0, 1, 2, 5});
  CHECK(loaded.timeline.threads[memory.thread[0]].tid == 7);
  CHECK(loaded.has_note("not kept: 3 memory instants"));
  CHECK(load(text, keeping_arguments()).timeline.foreign.size() == 7);
}

TEST_CASE("what no table holds is counted, or kept on request", "[importer]") {
  const Loaded counted = load(trace_of(kTorch211));
  CHECK(counted.timeline.foreign.empty());
  CHECK(counted.timeline.arguments.empty());
  CHECK(
      counted.has_note("not kept: 2 launch flows, 1 GPU annotation rows, 1 track descriptions, "
                       "1 forward-backward links, 1 profiler spans, 1 recording markers, 1 CUDA event rows"));

  const Loaded kept = load(trace_of(kTorch211), keeping_arguments());
  CHECK(kept.has_note("not kept: 2 launch flows, 1 GPU annotation rows, 1 track descriptions"));
  CHECK_FALSE(kept.has_note("memory instants"));
  REQUIRE(kept.timeline.foreign.size() == 5);
  CHECK(kept.timeline.foreign[0].json.find("cudaEventRecord") != std::string::npos);
  CHECK(kept.timeline.foreign[1].json.starts_with("{\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\""));
  CHECK(kept.timeline.foreign[1].json.ends_with("}"));
  CHECK(
      kept.timeline.arguments.find(1) ==
      R"json("External id": 18434,"Record function id": 0, "Concrete Inputs": ["", "-1"], "Input Dims": [[151936, 1024], [16, 559]], "Ev Idx": 1)json");
  CHECK(kept.timeline.arguments.find(11).find("\"wait_on_cuda_event_id\": 7777") != std::string_view::npos);
  CHECK(kept.timeline.arguments.find(14).empty());
}

TEST_CASE("GPU annotation rows can be had for comparison", "[importer]") {
  const Loaded loaded = load(trace_of(kTorch211));
  REQUIRE(loaded.details.gpu_annotations.size() == 1);
  const importer::kineto::GpuAnnotation& row = loaded.details.gpu_annotations[0];
  CHECK(row.name == "ProfilerStep#7");
  CHECK(row.stream == 7);
  CHECK(row.begin_ns == 1428625746382662);
  CHECK(row.end_ns == 1428625746382662 + 34892421);
  CHECK(row.external_id == 18433);
}

TEST_CASE("torch 1.9's dialect: old categories, streams as words, ids as text", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {
    "ph": "X", "cat": "Operator",
    "name": "aten::empty", "pid": 25738, "tid": "25738",
    "ts": 1623142623460111, "dur": 25,
    "args": {
      "Device": 25738, "External id": 2,
      "Trace name": "PyTorch Profiler", "Trace iteration": 0 ,
      "Input Dims": [[], []], "Call stack": "a;b", "Input type": ["GenericList", "Int"]
    }
  },
  {
    "ph": "X", "cat": "Runtime",
    "name": "cudaMemcpyAsync", "pid": 25738, "tid": "25738",
    "ts": 1623142623529088, "dur": 2022,
    "args": {
      "cbid": 41, "correlation": 34417,
      "external id": 537, "external ts": 1623142623529071
    }
  },
  {
    "ph": "s", "id": 34417, "pid": 25738, "tid": 25738, "ts": 1623142623529088,
    "cat": "async", "name": "launch"
  },
  {
    "ph": "X", "cat": "Memcpy",
    "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7",
    "ts": 1623142623529248, "dur": 1940,
    "args": {
      "device": 0, "context": 1,
      "stream": 7, "correlation": 34417, "external id": 537,
      "bytes": 19267584, "memory bandwidth (GB/s)": 9.927016204653041
    }
  },
  {
    "ph": "X", "cat": "Kernel",
    "name": "k", "pid": 0, "tid": "stream 7",
    "ts": 1623142623531625, "dur": 2
  },
  {
    "ph": "X", "cat": "Memset",
    "name": "Memset (Device)", "pid": 0, "tid": "stream 7",
    "ts": 1623142623531630, "dur": 2
  },
  {
    "ph": "i", "s": "t", "name": "[memory]",
    "pid": 25738, "tid": 25738, "ts": 1623142623460121,
    "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}
  })json"));
  const Timeline& timeline = loaded.timeline;
  REQUIRE(timeline.ranges.size() == 1);
  CHECK(timeline.ranges.kind[0] == RangeKind::kOperator);
  CHECK(loaded.text(timeline.ranges.category[0]) == "Operator");
  CHECK(timeline.ranges.begin_ns[0] == 1623142623460111000);
  REQUIRE(timeline.calls.size() == 1);
  CHECK(timeline.calls.external_id[0] == 537);
  CHECK(timeline.calls.thread[0] == timeline.ranges.thread[0]);
  REQUIRE(timeline.activities.size() == 3);
  CHECK(timeline.activities.launch[0] == 0);
  CHECK(timeline.streams[timeline.activities.stream[0]].id == 7);
  CHECK(timeline.streams[timeline.activities.stream[1]].id == 7);
  CHECK(timeline.activities.correlation[1] == 0);
  CHECK(timeline.realtime_offset_ns == 0);
  CHECK(loaded.has_note("not kept: 1 launch flows"));
  REQUIRE(timeline.allocator_events.size() == 1);
  CHECK(timeline.allocator_events.device[0] == -1);
  CHECK(timeline.allocator_events.bytes[0] == 4);
  CHECK(timeline.allocator_events.allocated[0] == -1);
}

TEST_CASE("torch 1.12 to 2.0 names its flows otherwise", "[importer]") {
  const Loaded loaded = load(trace_of(
      R"json({"ph":"s","id":1,"pid":1,"tid":1,"ts":1,"cat":"async_cpu_to_gpu","name":"async_gpu"},
         {"ph":"f","id":1,"pid":0,"tid":7,"ts":2,"cat":"async_cpu_to_gpu","name":"async_gpu","bp":"e"})json"));
  CHECK(loaded.has_note("2 launch flows"));
}

TEST_CASE("ROCm's dialect: hip calls, streams as pointers, bare N/A", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph": "X", "cat": "cuda_runtime", "name": "hipMemcpyWithStream", "pid": 597913, "tid": 597913, "ts": 4203669603438.301, "dur": 60.204,
   "args": {"External id": 8, "stream": "0x0", "cid": 153, "correlation": 117, "src": "0x55674ecd4180", "dst": "0x7fda0e810200", "size": "2560", "kind": "1"}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Host -> Device)", "pid": 2, "tid": 0, "ts": 4203669603454.206, "dur": 22.441,
   "args": {"External id": 8, "device": 2, "stream": 0, "correlation": 117, "kind": "HtoD", "memory bandwidth (GB/s)": N/A}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 2, "tid": 0, "ts": 4203669603500.000, "dur": 5,
   "args": {"device": 2, "stream": 0, "correlation": 118, "kind": "Dispatch Kernel", "grid": [114944, 1, 1], "block": [256, 1, 1]}})json"));
  const Timeline& timeline = loaded.timeline;
  REQUIRE(timeline.activities.size() == 2);
  CHECK(timeline.activities.launch[0] == 0);
  CHECK(timeline.devices[0].id == 2);
  CHECK(timeline.streams[0].id == 0);
  CHECK(timeline.kernel_details[timeline.activities.detail[1]].grid[0] == 114944);
  CHECK(timeline.health.complete());
}

TEST_CASE("a runtime call and the driver call inside it are one launch", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":1,"tid":1,"ts":11,"dur":2,"args":{"correlation":9}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":5,"args":{"correlation":9}},
  {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":5,"args":{"correlation":9}})json"));
  REQUIRE(loaded.timeline.launches.size() == 1);
  CHECK(loaded.timeline.launches.time_ns[0] == 10'000);
}

TEST_CASE("a graph's activities share their launch and keep their nodes", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":1,"tid":1,"ts":10,"dur":5,"args":{"correlation":9}},
  {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":20,"dur":5,"args":{"correlation":9,"graph id":2,"graph node id":17}},
  {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":25,"dur":5,"args":{"correlation":9,"graph id":2,"graph node id":18}})json"));
  const ActivityTable& activities = loaded.timeline.activities;
  CHECK(numbers_of(activities.launch) == std::vector<std::uint32_t>{0, 0});
  CHECK(activities.graph == std::vector<std::uint32_t>{2, 2});
  CHECK(activities.graph_node == std::vector<std::uint64_t>{17, 18});
}

TEST_CASE("an operator that carries a stream is still an operator", "[importer]") {
  // torch.compile's Triton launches do; HolisticTraceAnalysis counts them as kernels.
  const Loaded loaded = load(trace_of(
      R"json({"ph":"X","cat":"cpu_op","name":"triton_poi","pid":1,"tid":1,"ts":1,"dur":94,"args":{"stream":7,"grid":"grid(1,)"}})json"));
  CHECK(loaded.timeline.activities.size() == 0);
  CHECK(loaded.timeline.ranges.size() == 1);
}

TEST_CASE("ranges that were open at the end are flagged", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph":"X","cat":"user_annotation","name":"a","pid":1,"tid":1,"ts":1,"dur":94,"args":{"finished":"false"}},
  {"ph":"X","cat":"user_annotation","name":"b","pid":1,"tid":1,"ts":1,"dur":0})json"));
  CHECK(loaded.timeline.ranges.flags == std::vector<std::uint8_t>{kUnfinished, 0});
  CHECK(loaded.timeline.health.unfinished_ranges == 1);
  CHECK(loaded.timeline.health.complete());
}

TEST_CASE("other slices are kept as ranges of another kind", "[importer]") {
  const Loaded loaded = load(trace_of(
      R"json({"ph":"X","cat":"my\tcat","name":"slice","pid":1,"tid":1,"ts":1,"dur":2},{"ph":"X","name":"bare","pid":1,"tid":1,"ts":1,"dur":2})json"));
  CHECK(loaded.timeline.ranges.kind == std::vector{RangeKind::kOther, RangeKind::kOther});
  CHECK(loaded.text(loaded.timeline.ranges.category[0]) == "my\tcat");
  CHECK(loaded.text(loaded.timeline.ranges.category[1]).empty());
}

TEST_CASE("steps are numbered by name, whatever the category", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph":"X","cat":"Operator","name":"ProfilerStep#3","pid":1,"tid":1,"ts":1,"dur":2},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#","pid":1,"tid":1,"ts":1,"dur":2},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4x","pid":1,"tid":1,"ts":1,"dur":2},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#99999999999999999999","pid":1,"tid":1,"ts":1,"dur":2})json"));
  CHECK(loaded.timeline.steps.number == std::vector<std::int64_t>{3});
}

TEST_CASE("steps of our own exports tell their items", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id": 1}},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":1,"ts":3,"dur":2,"args":{"items": 4096}},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":1,"tid":1,"ts":5,"dur":2,"args":{"items": -1}},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#6","pid":1,"tid":1,"ts":7,"dur":2,"args":{"items": "many"}},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":1,"tid":1,"ts":9,"dur":2,"args":{"items": 9223372036854775808}})json"));
  CHECK(loaded.timeline.steps.items == std::vector<std::uint64_t>{0, 4096, 0, 0, 0});
}

TEST_CASE("instants with a thread are marks", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph":"i","cat":"c","name":"hello","pid":1,"tid":2,"ts":4.5,"s":"t","args":{"k":1}},
  {"ph":"I","name":"old","pid":1,"tid":2,"ts":5},
  {"ph":"i","name":"no time","pid":1,"tid":2})json",
                                      "", ""),
                             keeping_arguments());
  const MarkTable& marks = loaded.timeline.marks;
  REQUIRE(marks.size() == 2);
  CHECK(loaded.text(marks.name[0]) == "hello");
  CHECK(marks.time_ns == std::vector<std::int64_t>{4500, 5000});
  CHECK(marks.source_row == std::vector<std::int64_t>{0, 1});
  CHECK(loaded.timeline.arguments.find(0) == "\"k\":1");
  CHECK(loaded.has_note("1 events have no time"));
}

TEST_CASE("counters become samples of named series", "[importer]") {
  const Loaded loaded = load(trace_of(R"json(
  {"ph":"C","name":"memory","pid":1,"tid":0,"ts":1,"args":{"used": 5, "free": 2.5, "odd": "x", "text": "7", "nan": NaN}},
  {"ph":"C","name":"power","pid":1,"tid":0,"ts":2,"args":{"value": 300}},
  {"ph":"C","name":"Queue Length","pid":1,"tid":0,"ts":2,"args":{"Queue Length": 4}})json"));
  const CounterTable& counters = loaded.timeline.counters;
  REQUIRE(counters.size() == 5);
  CHECK(loaded.text(counters.name[0]) == "memory: used");
  CHECK(counters.integer[0] == 5);
  CHECK(counters.is_integer[0]);
  CHECK(loaded.text(counters.name[1]) == "memory: free");
  CHECK_FALSE(counters.is_integer[1]);
  CHECK(counters.number[1] == 2.5);
  CHECK(counters.integer[2] == 7);
  CHECK(loaded.text(counters.name[3]) == "power");
  CHECK(loaded.text(counters.name[4]) == "Queue Length");
  CHECK(counters.time_ns[4] == 2000);
  CHECK(loaded.has_note("2 counter values are no numbers"));
}

TEST_CASE("times keep what is exact and say what is not", "[importer]") {
  SECTION("negative durations become 0") {
    const Loaded loaded =
        load(trace_of(R"json({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":-3})json"));
    CHECK(loaded.timeline.activities.begin_ns[0] == 5000);
    CHECK(loaded.timeline.activities.end_ns[0] == 5000);
    CHECK(loaded.has_note("1 durations are negative; taken as 0"));
  }
  SECTION("digits below a nanosecond are rounded") {
    const Loaded loaded = load(trace_of(
        R"json({"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"ts":5.0005,"dur":1.0015},{"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"ts":"5.0000","dur":1e-3})json"));
    CHECK(loaded.timeline.ranges.begin_ns == std::vector<std::int64_t>{5000, 5000});
    CHECK(loaded.timeline.ranges.end_ns == std::vector<std::int64_t>{6002, 5001});
    CHECK(loaded.has_note("2 times have digits below a nanosecond"));
  }
  SECTION("events without a time are skipped and counted") {
    const Loaded loaded = load(trace_of(R"json(
      {"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"dur":1},
      {"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"ts":1},
      {"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"ts":NaN,"dur":1},
      {"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"ts":1e30,"dur":1},
      {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9223372036854775,"dur":1000})json"));
    CHECK(loaded.timeline.ranges.size() == 0);
    CHECK(loaded.timeline.activities.size() == 0);
    CHECK(loaded.has_note("5 events have no time that can be used"));
    CHECK(loaded.timeline.health.invalid_activities == 1);
  }
  SECTION("times before the base stay negative") {
    const Loaded loaded =
        load(trace_of(R"json({"ph":"X","cat":"cpu_op","name":"k","pid":0,"tid":7,"ts":-5.5,"dur":1})json"));
    CHECK(loaded.timeline.begin_ns == -5500);
    CHECK(loaded.timeline.end_ns == -4500);
  }
}

TEST_CASE("hostile names are kept as they are and pointed out", "[importer][fault]") {
  const std::string raw_control = std::string("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\nb\x1b[2J") + '\0' +
                                  "\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}";
  const Loaded loaded = load(trace_of(
      raw_control +
      R"json(,{"ph":"X","cat":"cpu_op","name":"</script>\u0000<img src=x>","pid":1,"tid":1,"ts":1,"dur":1},)json" +
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"\xFF\xFE\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}"));
  const RangeTable& ranges = loaded.timeline.ranges;
  REQUIRE(ranges.size() == 3);
  CHECK(loaded.text(ranges.name[0]) == std::string("a\nb\x1b[2J\0", 8));
  CHECK(loaded.text(ranges.name[1]) == std::string("</script>\0<img src=x>", 21));
  CHECK(loaded.text(ranges.name[2]) == "\xFF\xFE");
  CHECK(loaded.has_note("3 names hold control bytes or are not UTF-8"));
}

TEST_CASE("what operators were given is kept where that is asked for", "[importer]") {
  const std::string event =
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {)";
  const std::string text = trace_of(
      event +
      R"("External id": 1, "Concrete Inputs": ["", "[1, 1]"], "Input type": ["float", "float"], "Input Dims": [[2, 3], [3, 4]]}},)" +
      event + R"("External id": 2}},)" + event + R"("Input Dims": [[8], "]"] , "External id": 3}},)" + event +
      R"("Input dims": [[2, 3], [3, 4]], "Input type": "x"}})");
  CHECK(load(text).timeline.operators.size() == 0);
  LoadOptions options;
  options.operator_inputs = true;
  const Timeline timeline = load(text, options).timeline;
  const OperatorTable& operators = timeline.operators;
  CHECK(timeline.ranges.size() == 4);
  CHECK(numbers_of(operators.range) == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(timeline.text(operators.shapes[0]) == "[[2,3],[3,4]]");
  CHECK(timeline.text(operators.types[0]) == R"(["float","float"])");
  CHECK(timeline.text(operators.values[0]) == R"(["","[1, 1]"])");
  CHECK(timeline.text(operators.shapes[1]) == R"([[8],"]"])");
  CHECK(timeline.text(operators.types[1]).empty());
  CHECK(operators.shapes[2] == operators.shapes[0]);
  CHECK(timeline.text(operators.types[2]) == R"("x")");
}

TEST_CASE("what operators were given is the same however the file is indented", "[importer]") {
  const std::string event =
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {)";
  const std::string text =
      trace_of(event + R"("Input Dims": [[2,3],[]], "Input type": ["a\" b","c"], "Concrete Inputs": ["","[1, 1]"]}},)" +
               event + "\"Input Dims\": [\r\n  [\n\t2,\n\t3\n  ],\n  [ ]\n]," +
               R"("Input type": [ "a\" b" , "c" ],"Concrete Inputs": [ "", "[1, 1]" ]}})");
  LoadOptions options;
  options.operator_inputs = true;
  const Timeline timeline = load(text, options).timeline;
  const OperatorTable& operators = timeline.operators;
  REQUIRE(operators.size() == 2);
  CHECK(timeline.text(operators.shapes[0]) == "[[2,3],[]]");
  CHECK(timeline.text(operators.types[0]) == R"(["a\" b","c"])");
  CHECK(timeline.text(operators.values[0]) == R"(["","[1, 1]"])");
  CHECK(operators.shapes[1] == operators.shapes[0]);
  CHECK(operators.types[1] == operators.types[0]);
  CHECK(operators.values[1] == operators.values[0]);
}

TEST_CASE("numbers of autograd are there without being asked for", "[importer]") {
  const std::string event =
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {)";
  const Timeline timeline =
      load(trace_of(event + R"("Sequence number": 7, "Fwd thread id": 0, "Input Dims": [[2, 3]]}},)" + event +
                    R"("Sequence number": 7, "Fwd thread id": 3}},)" + event + R"("Sequence number": -5}},)" + event +
                    R"("Input Dims": [[2, 3]]}})"))
          .timeline;
  const OperatorTable& operators = timeline.operators;
  CHECK(numbers_of(operators.range) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(operators.sequence == std::vector<std::int64_t>{7, 7, -1});
  CHECK(operators.forward_thread_id == std::vector<std::uint64_t>{0, 3, 0});
  CHECK(operators.shapes == std::vector<StringId>(3, StringId::kEmpty));
}
