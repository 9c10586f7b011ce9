// SPDX-License-Identifier: MIT
#include "source/cupti/activity_decoder.hpp"

#include "cupti_fixture.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <random>

// What CUPTI's records become. Every case runs with the double's parser and, where it is installed, with NVIDIA's.
namespace rangefinder::source::testing {
namespace {

/// Runs `program` inside a recording and hands the rows over.
template <typename Program>
void record(CuptiProcess& process, KeepingSink& sink, Program program) {
  CuptiSource source = process.source();
  const SourceState state = source.start(sink);
  INFO(state.reason);
  REQUIRE(state.working);
  source.set_active(true);
  program(source);
  source.flush(soon());
  source.stop(soon());
}

}  // namespace

TEST_CASE("a kernel becomes a row with all it was launched with", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  CAPTURE(process.parser);
  const std::uint64_t now = fakecupti_now();
  KeepingSink sink;
  std::uint32_t correlation = 0;
  record(process, sink, [&](CuptiSource&) {
    FakeKernel k = kernel("gemm<float, 128>");
    k.begin_ns = now + 100;
    k.end_ns = now + 350;
    k.device = 3, k.context = 5, k.stream = 11;
    k.grid[0] = 4, k.grid[1] = 5, k.grid[2] = 6;
    k.block[0] = 32, k.block[1] = 2, k.block[2] = 1;
    k.cluster[0] = 2, k.cluster[1] = 1, k.cluster[2] = 1;
    k.registers = 255;
    k.static_shared = 1024, k.dynamic_shared = 49152, k.local = 16;
    k.launch_type = 1;
    k.shared_executed = 102400;
    k.max_active_clusters = 66;
    k.queued_ns = now + 10;
    k.submitted_ns = now + 20;
    correlation = fakecupti_launch("cudaLaunchKernel_v7000", &k);
  });
  REQUIRE(sink.kernels.size() == 1);
  const format::KernelRow& row = sink.kernels[0];
  CHECK(row.begin_ns == static_cast<std::int64_t>(now + 100));
  CHECK(row.end_ns == static_cast<std::int64_t>(now + 350));
  CHECK(row.correlation == correlation);
  CHECK(row.device == 3);
  CHECK(row.context == 5);
  CHECK(row.stream == 11);
  CHECK(sink.text(row.name) == "gemm<float, 128>");
  CHECK((row.grid_x == 4 && row.grid_y == 5 && row.grid_z == 6));
  CHECK((row.block_x == 32 && row.block_y == 2 && row.block_z == 1));
  CHECK((row.cluster_x == 2 && row.cluster_y == 1 && row.cluster_z == 1));
  CHECK(row.registers_per_thread == 255);
  CHECK(row.static_shared_bytes == 1024);
  CHECK(row.dynamic_shared_bytes == 49152);
  CHECK(row.local_bytes_per_thread == 16);
  CHECK(row.launch_type == 1);
  CHECK(row.shared_executed_bytes == 102400);
  CHECK(row.max_active_clusters == 66);
  CHECK(row.graph_node == 0);
  CHECK(row.queued_ns == now + 10);
  CHECK(row.submitted_ns == now + 20);
  CHECK(sink.counts().empty());
}

TEST_CASE("an API call becomes a row with its name, thread and result", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  KeepingSink sink;
  std::uint32_t launch = 0, driver = 0, failing = 0, internal = 0, other_tid = 0, threaded = 0;
  record(process, sink, [&](CuptiSource&) {
    const FakeKernel k = kernel("k");
    launch = fakecupti_launch("cudaLaunchKernel_v7000", &k);
    driver = fakecupti_launch("cuLaunchKernelEx", &k);
    failing = fakecupti_call("cudaMalloc_v3020", 2);
    internal = fakecupti_launch_internal(&k);
    std::thread([&] {
      other_tid = NotedLaunches::tid_of_caller();
      threaded = fakecupti_launch("cudaLaunchKernel_v7000", &k);
    }).join();
  });
  REQUIRE(sink.apis.size() == 5);
  const auto row = [&](std::uint32_t correlation) { return *find_api(sink, correlation); };
  CHECK(sink.text(row(launch).name) == "cudaLaunchKernel_v7000");
  CHECK(row(launch).domain == static_cast<std::uint32_t>(format::ApiDomain::kRuntime));
  CHECK(row(launch).callback_id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  CHECK(row(launch).tid == NotedLaunches::tid_of_caller());
  CHECK(row(launch).result == 0);
  CHECK(row(launch).begin_ns <= row(launch).end_ns);
  CHECK(sink.text(row(driver).name) == "cuLaunchKernelEx");
  CHECK(row(driver).domain == static_cast<std::uint32_t>(format::ApiDomain::kDriver));
  CHECK(sink.text(row(failing).name) == "cudaMalloc_v3020");
  CHECK(row(failing).result == 2);
  CHECK(row(internal).domain == static_cast<std::uint32_t>(format::ApiDomain::kInternal));
  CHECK(sink.text(row(internal).name) == "internal launch");
  CHECK(row(threaded).tid == other_tid);
  CHECK(sink.kernels.size() == 4);
}

TEST_CASE("copies in every direction and between devices become rows", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  KeepingSink sink;
  record(process, sink, [&](CuptiSource&) {
    for (const std::uint32_t kind :
         {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD}) {
      FakeCopy copy;
      copy.kind = kind;
      copy.bytes = 1000 + kind;
      copy.async = kind != CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
      copy.source = kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE
                                                            : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
      fakecupti_copy("cudaMemcpyAsync_v3020", &copy);
    }
    FakeCopy peer;
    peer.kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    peer.peer = true;
    peer.bytes = 1ull << 33;
    peer.source_device = 1, peer.source_context = 11, peer.target_device = 2, peer.target_context = 22;
    fakecupti_copy("cudaMemcpyPeerAsync_v4000", &peer);
  });
  REQUIRE(sink.copies.size() == 4);
  CHECK(sink.copies[0].copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  CHECK(sink.copies[0].source_memory == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  CHECK(sink.copies[0].target_memory == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  CHECK(sink.copies[0].bytes == 1001);
  CHECK(sink.copies[0].flags == 1);
  CHECK(sink.copies[0].is_peer == 0);
  CHECK(sink.copies[1].copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  CHECK(sink.copies[1].flags == 0);
  CHECK(sink.copies[2].copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
  CHECK(sink.copies[3].is_peer == 1);
  CHECK(sink.copies[3].bytes == 1ull << 33);
  CHECK((sink.copies[3].source_device == 1 && sink.copies[3].target_device == 2));
  CHECK((sink.copies[3].source_context == 11 && sink.copies[3].target_context == 22));
  CHECK(sink.counts().empty());
}

TEST_CASE("memsets, waits and overhead become rows", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  fakecupti_set_manual_clock(kNoon);
  fakecupti_set_launch_latency(3'000);
  KeepingSink sink;
  std::uint32_t wait = 0, whole = 0;
  record(process, sink, [&](CuptiSource&) {
    FakeSet set;
    set.bytes = 4096;
    set.value = 0xAB;
    set.duration_ns = 500;
    fakecupti_set("cudaMemsetAsync_v3020", &set);
    const FakeKernel k = kernel("long", 10'000);
    fakecupti_launch("cudaLaunchKernel_v7000", &k);
    wait = fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
    whole = fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFFu);
    fakecupti_overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 77);
  });
  REQUIRE(sink.sets.size() == 1);
  CHECK(sink.sets[0].bytes == 4096);
  CHECK(sink.sets[0].value == 0xAB);
  CHECK(sink.sets[0].memory == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  CHECK(sink.sets[0].end_ns - sink.sets[0].begin_ns == 500);
  REQUIRE(sink.syncs.size() == 2);
  CHECK(sink.syncs[0].correlation == wait);
  CHECK(sink.syncs[0].type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  CHECK(sink.syncs[0].stream == 7);
  // The memset begins 3 us after its call and lasts 0.5; the kernel follows it.
  CHECK(sink.syncs[0].end_ns - sink.syncs[0].begin_ns == 3'000 + 500 + 10'000);
  CHECK(sink.syncs[1].correlation == whole);
  CHECK(sink.syncs[1].stream == 0xFFFFFFFFu);
  REQUIRE(sink.overheads.size() == 1);
  CHECK(sink.overheads[0].kind == CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
  CHECK(sink.overheads[0].tid == NotedLaunches::tid_of_caller());
  CHECK(sink.overheads[0].end_ns - sink.overheads[0].begin_ns == 77);
}

TEST_CASE("allocation calls and compiling become rows", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  fakecupti_set_manual_clock(kNoon);
  KeepingSink sink;
  std::uint32_t allocated = 0, freed = 0;
  record(process, sink, [&](CuptiSource&) {
    FakeMemory memory;
    memory.address = 0x7f0000000000;
    memory.bytes = 1ull << 33;
    allocated = fakecupti_memory("cudaMalloc_v3020", &memory);
    memory.freed = memory.async = true;
    memory.pool = 0xABC;
    memory.stream = 13;
    freed = fakecupti_memory("cudaFreeAsync_v11020", &memory);
    fakecupti_jit(CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN, CUPTI_ACTIVITY_JIT_OPERATION_COMPILE, 5'000, nullptr);
    fakecupti_jit(CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN, CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE, 70, "/cache");
  });
  REQUIRE(sink.allocations.size() == 2);
  CHECK(sink.allocations[0].correlation == allocated);
  CHECK(sink.allocations[0].operation == 1);
  CHECK(sink.allocations[0].memory == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  CHECK(sink.allocations[0].address == 0x7f0000000000);
  CHECK(sink.allocations[0].bytes == 1ull << 33);
  CHECK(sink.allocations[0].stream == 0xFFFFFFFFu);
  CHECK(sink.allocations[1].correlation == freed);
  CHECK(sink.allocations[1].operation == 2);
  CHECK(sink.allocations[1].flags == 1);
  CHECK(sink.allocations[1].stream == 13);
  CHECK(sink.allocations[1].pool == 0xABC);
  REQUIRE(sink.jits.size() == 2);
  CHECK(sink.jits[0].operation == CUPTI_ACTIVITY_JIT_OPERATION_COMPILE);
  CHECK(sink.jits[0].entry == CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN);
  CHECK(sink.jits[0].end_ns - sink.jits[0].begin_ns == 5'000);
  CHECK(sink.jits[0].tid == NotedLaunches::tid_of_caller());
  CHECK(sink.jits[0].cache_path == 0);
  CHECK(sink.text(sink.jits[1].cache_path) == "/cache");
  CHECK(sink.counts().empty());
}

TEST_CASE("a wait for an event knows the stream that the event was recorded on", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  fakecupti_set_manual_clock(kNoon);
  KeepingSink sink;
  std::uint32_t waits[4] = {};
  record(process, sink, [&](CuptiSource&) {
    const std::uint64_t first = fakecupti_record_event("cudaEventRecord_v3020", 1, 7);
    const std::uint64_t again = fakecupti_record_event("cudaEventRecord_v3020", 1, 0);
    waits[0] = fakecupti_wait_event("cudaEventSynchronize_v3020", 1, again);
    waits[1] = fakecupti_wait_event("cudaEventSynchronize_v3020", 1, first);
    waits[2] = fakecupti_wait_event("cudaEventSynchronize_v3020", 1, 4711);  // recorded before we listened
    // Threads have buffers of their own: the wait's may come before the event's.
    const std::uint64_t late = waits[2] + 2;
    waits[3] = fakecupti_wait_event("cudaEventSynchronize_v3020", 1, late);
    CHECK(fakecupti_record_event("cudaEventRecord_v3020", 1, 7) == late);
  });
  REQUIRE(sink.syncs.size() == 4);
  const auto row = [&](std::uint32_t correlation) {
    return *std::find_if(sink.syncs.begin(), sink.syncs.end(),
                         [&](const format::SyncRow& sync) { return sync.correlation == correlation; });
  };
  CHECK((row(waits[0]).event_context == 1 && row(waits[0]).event_stream == 0));
  CHECK((row(waits[1]).event_context == 1 && row(waits[1]).event_stream == 7));
  CHECK(row(waits[2]).event_context == 0);
  CHECK((row(waits[3]).event_context == 1 && row(waits[3]).event_stream == 7));
  CHECK(sink.counts().empty());
}

TEST_CASE("allocation calls and compiling are only asked for where the options say so", "[source]") {
  CuptiProcess process;
  process.options.memory_records = GENERATE(true, false);
  process.options.overhead_records = GENERATE(true, false);
  KeepingSink sink;
  record(process, sink, [&](CuptiSource&) {
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_MEMORY2) == process.options.memory_records);
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_JIT) == process.options.overhead_records);
  });
}

TEST_CASE("devices, contexts and streams that exist already are announced", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  fakecupti_add_device(1, "Second GPU");
  fakecupti_add_context(2, 1);
  fakecupti_add_stream(2, 13, static_cast<std::uint32_t>(-5));
  KeepingSink sink;
  record(process, sink, [](CuptiSource&) {});
  REQUIRE(sink.devices.size() == 2);
  CHECK(sink.text(sink.devices[0].name) == "Simulated GPU");
  CHECK(sink.devices[0].compute_major == 9);
  CHECK(sink.devices[0].multiprocessors == 132);
  CHECK(sink.devices[0].memory_bytes == 141ull << 30);
  CHECK(sink.devices[0].l2_bytes == 60u << 20);
  CHECK(sink.text(sink.devices[1].name) == "Second GPU");
  REQUIRE(sink.contexts.size() == 2);
  CHECK(sink.contexts[1].device == 1);
  CHECK(sink.contexts[1].null_stream == 7);
  REQUIRE(sink.streams.size() == 2);
  CHECK(sink.streams[1].context == 2);
  CHECK(sink.streams[1].id == 13);
  CHECK(sink.streams[1].priority == -5);
}

TEST_CASE("kernels of a graph carry node and graph, and the launch's correlation id", "[source]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  KeepingSink sink;
  std::uint32_t first = 0, second = 0;
  FakeGraph* graph = nullptr;
  FakeGraphExec* exec = nullptr;
  record(process, sink, [&](CuptiSource&) {
    const FakeKernel a = kernel("forward"), b = kernel("backward");
    graph = fakecupti_graph_create();
    fakecupti_graph_add(graph, &a);
    fakecupti_graph_add(graph, &b);
    exec = fakecupti_graph_instantiate(graph);
    first = fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    second = fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
  });
  fakecupti_graph_destroy(graph, exec);
  REQUIRE(sink.kernels.size() == 4);
  CHECK(sink.kernels[0].correlation == first);
  CHECK(sink.kernels[1].correlation == first);
  CHECK(sink.kernels[2].correlation == second);
  CHECK(sink.kernels[0].graph_node != 0);
  CHECK(sink.kernels[0].graph_node != sink.kernels[1].graph_node);
  CHECK(sink.kernels[0].graph_node == sink.kernels[2].graph_node);
  CHECK(sink.kernels[0].graph_id == sink.kernels[3].graph_id);
  CHECK(sink.text(sink.kernels[3].name) == "backward");
  CHECK(NotedLaunches::take().size() == 2);
}

TEST_CASE("activities without times are counted and stay out of the timeline", "[source][fault]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  KeepingSink sink;
  record(process, sink, [](CuptiSource&) {
    FakeKernel k = kernel("k");
    k.untimed = true;
    for (int i = 0; i < 3; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
    FakeCopy copy;
    copy.untimed = true;
    fakecupti_copy("cudaMemcpyAsync_v3020", &copy);
    FakeSet set;
    set.untimed = true;
    fakecupti_set("cudaMemsetAsync_v3020", &set);
    k.untimed = false;
    fakecupti_launch("cudaLaunchKernel_v7000", &k);
  });
  CHECK(sink.counted(health::untimed_activities) == 5);
  CHECK(sink.kernels.size() == 1);
  CHECK(sink.copies.empty());
  CHECK(sink.sets.empty());
  CHECK(sink.apis.size() == 6);  // the calls are all there
}

TEST_CASE("an activity that ends before it begins, or is out of range, is discarded and counted", "[source][fault]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  const std::uint64_t now = fakecupti_now();
  KeepingSink sink;
  record(process, sink, [&](CuptiSource&) {
    const std::pair<std::uint64_t, std::uint64_t> times[] = {
        {now + 200, now + 100},                                              // backwards
        {12'345, 12'400},                                                    // since boot, say
        {now + 100, ~std::uint64_t{0}},                                      // past what a signed number holds
        {now - 3 * 86'400'000'000'000u, now - 3 * 86'400'000'000'000u + 5},  // days ago
        {now + 100, now + 100},                                              // no length: valid
        {now + 100, now + 300},
    };
    for (const auto& [begin, end] : times) {
      FakeKernel k = kernel("k");
      k.begin_ns = begin;
      k.end_ns = end;
      fakecupti_launch("cudaLaunchKernel_v7000", &k);
    }
  });
  CHECK(sink.counted(health::invalid_activities) == 4);
  CHECK(sink.kernels.size() == 2);
  CHECK(sink.counted(health::untimed_activities) == 0);
}

TEST_CASE("a record of an unknown kind is skipped and counted", "[source][fault]") {
  CuptiProcess process;
  struct alignas(8) Future {
    std::uint32_t kind = 77;
    std::uint32_t something = 0x5555;
    std::uint64_t more[4] = {1, 2, 3, 4};
  } future;
  KeepingSink sink;
  SECTION("that the parser knows: what follows is read") {
    fakecupti_set_record_bytes(77, sizeof future);
    record(process, sink, [&](CuptiSource&) {
      const FakeKernel k = kernel("k");
      fakecupti_launch("cudaLaunchKernel_v7000", &k);
      fakecupti_append(&future, sizeof future);
      fakecupti_append(&future, sizeof future);
      fakecupti_launch("cudaLaunchKernel_v7000", &k);
    });
    CHECK(sink.counted(health::cupti_unknown_kinds) == 2);
    CHECK(sink.counted(health::cupti_truncated) == 0);
    CHECK(sink.kernels.size() == 2);
  }
  SECTION("that the parser refuses: the rest of the buffer is lost, and counted") {
    process.parser = GENERATE(from_range(parsers()));
    record(process, sink, [&](CuptiSource& source) {
      const FakeKernel k = kernel("k");
      fakecupti_launch("cudaLaunchKernel_v7000", &k);
      fakecupti_append(&future, sizeof future);
      fakecupti_launch("cudaLaunchKernel_v7000", &k);
      source.flush(soon());
      fakecupti_launch("cudaLaunchKernel_v7000", &k);  // in the next buffer
    });
    CHECK(sink.counted(health::cupti_truncated) == 1);
    CHECK(sink.kernels.size() == 2);
  }
  SECTION("that somebody else asked for") {
    process.parser = GENERATE(from_range(parsers()));
    record(process, sink, [&](CuptiSource&) {
      CUpti_ActivityExternalCorrelation other{};
      other.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
      fakecupti_append(&other, sizeof other);
    });
    CHECK(sink.counted(health::cupti_unknown_kinds) == 1);
  }
}

TEST_CASE("records of a newer CUPTI are read as far as we know them, and of an older one as far as they go",
          "[source]") {
  CuptiProcess process;
  // CUDA 13.1's kernel record is longer; 12.8's lacks the last eight bytes.
  const std::size_t bytes =
      GENERATE(sizeof(CUpti_ActivityKernel10) + 40, sizeof(CUpti_ActivityKernel9), sizeof(CUpti_ActivityKernel8));
  CAPTURE(bytes);
  fakecupti_set_record_bytes(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, bytes);
  fakecupti_set_record_bytes(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization));
  fakecupti_set_record_bytes(CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(CUpti_ActivityContext));
  KeepingSink sink;
  record(process, sink, [](CuptiSource&) {
    for (int i = 0; i < 20; ++i) {
      FakeKernel k = kernel("k");
      k.cluster[0] = 2;
      k.grid[0] = static_cast<std::uint32_t>(i + 1);
      fakecupti_launch("cudaLaunchKernel_v7000", &k);
      fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
    }
  });
  REQUIRE(sink.kernels.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(sink.kernels[i].grid_x == i + 1);
    CHECK(sink.kernels[i].cluster_x == 2);
  }
  CHECK(sink.syncs.size() == 20);
  CHECK(sink.syncs[0].result == 0);  // 12.8's record has none; the next record's bytes are not taken for it
  CHECK(sink.contexts.size() == 1);
  CHECK(sink.counts().empty());
}

TEST_CASE("a buffer that ends in the middle of a record is read up to there and counted", "[source][fault]") {
  CuptiProcess process;
  process.parser = GENERATE(from_range(parsers()));
  const std::uint32_t cut = GENERATE(1u, 8u, 39u);
  CAPTURE(cut);
  KeepingSink sink;
  record(process, sink, [&](CuptiSource& source) {
    source.flush(soon());  // what the start left behind is out of the way
    const FakeKernel k = kernel("k");
    for (int i = 0; i < 3; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
    fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
    fakecupti_cut_next_buffer(cut);  // its last record is the API record of the wait, of 40 bytes
  });
  CHECK(sink.counted(health::cupti_truncated) == 1);
  CHECK(sink.kernels.size() == 3);
  CHECK(sink.apis.size() == 3);
}

TEST_CASE("a kernel's name is taken at delivery, also when its place in memory is used again", "[source]") {
  KeepingSink sink;
  cupti::KernelNames names;
  char memory[32] = "first";
  const format::NameId first = names.id(memory, sink);
  CHECK(names.id(memory, sink) == first);
  std::strcpy(memory, "second");           // the module was unloaded and another loaded
  CHECK(names.id(memory, sink) == first);  // its text is looked at once a buffer
  names.begin_buffer();
  const format::NameId second = names.id(memory, sink);
  CHECK(second != first);
  CHECK(sink.text(first) == "first");
  CHECK(sink.text(second) == "second");
  CHECK(names.id(nullptr, sink) == 0);
  // More names than it keeps.
  std::vector<std::string> many;
  for (int i = 0; i < 70'000; ++i) many.push_back("kernel " + std::to_string(i));
  for (const std::string& name : many) REQUIRE(names.id(name.c_str(), sink) != 0);
  CHECK(sink.text(names.id(many[5].c_str(), sink)) == many[5]);
}

TEST_CASE("a kernel's name is demangled", "[source]") {
  KeepingSink sink;
  cupti::KernelNames names;
  const auto name = [&](const char* of_cupti) { return sink.text(names.id(of_cupti, sink)); };
  CHECK(name("_Z5scalePfi") == "scale(float*, int)");
  CHECK(name("_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb") ==
        "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)");
  CHECK(name("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n") == "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n");  // extern "C"
  CHECK(name("i") == "i");                            // not the type of that code
  CHECK(name("_Z5scalePf_end") == "_Z5scalePf_end");  // no mangled name
  // CUPTI gives a kernel's name at each launch.
  const char* const again = "_Z5scalePfi";
  CHECK(names.id(again, sink) == names.id(again, sink));
}

TEST_CASE("random programs come back whole", "[source][property]") {
  const std::uint64_t seed = GENERATE(from_range(property_seeds("random programs", 20)));
  INFO("RANGEFINDER_SEED=" << seed);
  CuptiProcess process;
  process.parser = seed % 2 == 0 && real_cupti() != nullptr ? "real" : "double";
  std::mt19937_64 random(seed);
  process.options.buffer_bytes = 4096u << random() % 3;
  process.options.memory_bytes = 64 << 20;
  fakecupti_set_manual_clock(kNoon);
  fakecupti_set_delivery(random() % 2 == 0 ? kFakeInOrder : kFakeReversed);
  fakecupti_set_next_correlation(static_cast<std::uint32_t>(random()));
  std::map<std::uint32_t, char> expected;  // correlation -> what
  KeepingSink sink;
  record(process, sink, [&](CuptiSource& source) {
    const unsigned calls = 200 + random() % 800;
    for (unsigned i = 0; i < calls; ++i) {
      FakeKernel k = kernel("k", random() % 5000);
      k.stream = 7 + random() % 3;
      FakeCopy copy;
      copy.duration_ns = random() % 5000;
      copy.peer = random() % 3 == 0;
      FakeSet set;
      switch (random() % 6) {
        case 0:
          expected[fakecupti_launch("cudaLaunchKernel_v7000", &k)] = 'k';
          break;
        case 1:
          expected[fakecupti_launch("cuLaunchKernel", &k)] = 'k';
          break;
        case 2:
          expected[fakecupti_copy("cudaMemcpyAsync_v3020", &copy)] = 'c';
          break;
        case 3:
          expected[fakecupti_set("cuMemsetD32Async", &set)] = 's';
          break;
        case 4:
          fakecupti_call("cudaMalloc_v3020", 0);
          break;
        case 5:
          if (random() % 10 == 0) source.flush(soon());
          break;
      }
      fakecupti_advance(random() % 1000);
    }
    fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFFu);
  });
  std::map<std::uint32_t, char> found;
  for (const auto& row : sink.kernels) found[row.correlation] = 'k';
  for (const auto& row : sink.copies) found[row.correlation] = 'c';
  for (const auto& row : sink.sets) found[row.correlation] = 's';
  CHECK(found == expected);
  CHECK(sink.kernels.size() + sink.copies.size() + sink.sets.size() == expected.size());
  std::map<std::uint32_t, unsigned> noted;
  for (const NotedLaunch& launch : NotedLaunches::take()) ++noted[launch.correlation];
  CHECK(noted.size() == expected.size());
  for (const auto& [correlation, kind] : expected) REQUIRE(noted[correlation] == 1);
  for (const auto& row : sink.kernels) REQUIRE(find_api(sink, row.correlation) != nullptr);
  CHECK(sink.counts().empty());
}

}  // namespace rangefinder::source::testing
