// SPDX-License-Identifier: MIT
#include "source/cupti/process.hpp"

#include "cupti_fixture.hpp"
#include "session/session_fixture.hpp"
#include "support/seed.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

// The life of CUPTI in a process: recordings one after the other, pauses, release, fork, exit.
namespace rangefinder::source::testing {
namespace {

void launch(int n, const char* name = "k") {
  const FakeKernel k = kernel(name);
  for (int i = 0; i < n; ++i) fakecupti_launch("cudaLaunchKernel_v7000", &k);
}

std::vector<std::string> names(const KeptRows& sink) {
  std::vector<std::string> all;
  for (const format::KernelRow& row : sink.kernels) all.push_back(sink.text(row.name));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("CUPTI is opened once for all recordings of a process, and each is told of the devices", "[source]") {
  CuptiProcess process;
  for (int round = 0; round < 3; ++round) {
    CuptiRecording recording(process);
    launch(3);
    recording.stop();
    CHECK(recording.kernels.size() == 3);
    CHECK(recording.devices.size() == 1);
    CHECK(recording.contexts.size() == 1);
    CHECK(recording.streams.size() == 1);
    CHECK(recording.text(recording.devices[0].name) == "Simulated GPU");
  }
  CHECK(fakecupti_calls("cuptiSubscribe_v2") == 1);
  CHECK(fakecupti_calls("cuptiActivityRegisterCallbacks") == 1);
  CHECK(fakecupti_calls("cuptiUnsubscribe") == 0);
  CHECK(fakecupti_calls("cuptiFinalize") == 0);
}

TEST_CASE("after a stop the program runs undisturbed, unless CUPTI is to be kept warm", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  using Idle = CuptiOptions::Idle;
  process.options.idle = GENERATE(Idle::kAuto, Idle::kDisable, Idle::kGate);
  const bool kept = process.options.idle == Idle::kGate;
  {
    CuptiSource source = process.source();
    REQUIRE(source.start(sink).working);
    source.set_active(true);
    launch(2, "first");
    source.stop(soon());
  }
  CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == kept);
  CHECK(fakecupti_callback_enabled("cudaLaunchKernel_v7000") == kept);
  launch(2, "between");
  CuptiRecording recording(process, false);
  launch(1, "before");
  recording.source.set_active(true);
  launch(2, "second");
  recording.stop();
  CHECK(names(sink) == std::vector<std::string>{"first", "first"});
  CHECK(names(recording) == std::vector<std::string>{"second", "second"});
}

TEST_CASE("a CUPTI that is kept warm is not switched off and on for the next recording", "[source]") {
  CuptiProcess process;
  process.options.idle = CuptiOptions::Idle::kGate;
  KeepingSink sink;
  CuptiSource first = process.source();
  REQUIRE(first.start(sink).working);
  first.stop(soon());
  const std::uint64_t enabled = fakecupti_calls("cuptiActivityEnable");
  CHECK(fakecupti_calls("cuptiActivityDisable") == 0);
  SECTION("when it asks for the same") {
    CuptiSource next = process.source();
    REQUIRE(next.start(sink).working);
    CHECK(fakecupti_calls("cuptiActivityEnable") == enabled);
    CHECK(fakecupti_calls("cuptiActivityDisable") == 0);
    CHECK_FALSE(fakecupti_api_enabled("cudaGetLastError_v3020"));
  }
  SECTION("until it is given up, with all its buffers back") {
    const FakeKernel between = kernel("between");
    fakecupti_launch("cudaLaunchKernel_v7000", &between);
    CHECK(fakecupti_buffers_out() != 0);
    REQUIRE(cupti_release(soon()).ok());
    CHECK(fakecupti_buffers_out() == 0);
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  }
  SECTION("but for what it asks less and more") {
    process.options.sync_records = false;
    process.options.noisy_api_filter = false;
    CuptiSource next = process.source();
    REQUIRE(next.start(sink).working);
    CHECK(fakecupti_calls("cuptiActivityDisable") == 2);
    CHECK(fakecupti_calls("cuptiActivityEnable") == enabled + 2);
    CHECK(fakecupti_api_enabled("cudaGetLastError_v3020"));
    CHECK(fakecupti_api_enabled("cuCtxGetCurrent"));
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
    CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CUDA_EVENT));
    CHECK(sink.fact("cupti_kinds") ==
          "CONCURRENT_KERNEL MEMCPY MEMCPY2 MEMSET RUNTIME DRIVER INTERNAL_LAUNCH_API OVERHEAD JIT MEMORY2");
  }
}

TEST_CASE("a pause delivers nothing of what is launched in it", "[source]") {
  CuptiProcess process;
  using Idle = CuptiOptions::Idle;
  process.options.idle = GENERATE(Idle::kAuto, Idle::kDisable, Idle::kGate);
  const bool new_cupti = GENERATE(false, true);
  if (new_cupti) fakecupti_set_version(130101);
  const bool disables = process.options.idle == Idle::kDisable || (process.options.idle == Idle::kAuto && new_cupti);
  CuptiRecording recording(process, false);
  launch(5, "before");
  for (int step = 0; step < 3; ++step) {
    recording.source.set_active(true);
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    launch(4, "active");
    recording.source.set_active(false);
    recording.flush();  // a flush is made after what the pause asked for
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == !disables);
    launch(3, "pause");
    fakecupti_call("cudaMalloc_v3020", 0);
    recording.flush();
  }
  recording.stop();
  CHECK(names(recording) == std::vector<std::string>(12, "active"));
  CHECK(NotedLaunches::take().size() == 12);
  CHECK(recording.counts().empty());
}

TEST_CASE("work launched before a pause and done in it is kept", "[source]") {
  CuptiProcess process;
  CuptiRecording recording(process);
  FakeKernel k = kernel("late");
  k.open = true;
  const std::uint32_t correlation = fakecupti_launch("cudaLaunchKernel_v7000", &k);
  recording.source.set_active(false);
  launch(3, "pause");
  const std::uint64_t now = fakecupti_now();
  fakecupti_complete(correlation, now + 1000, now + 2000);
  recording.stop();
  CHECK(names(recording) == std::vector<std::string>{"late"});
}

TEST_CASE("graphs recorded after CUPTI was switched off and on are doubtful where CUPTI is, and it is said",
          "[source]") {
  CuptiProcess process;
  process.options.idle = CuptiOptions::Idle::kDisable;
  const bool fixed = GENERATE(false, true);
  fakecupti_set_version(fixed ? 130101 : 130001);
  const FakeKernel k = kernel("k");
  FakeGraph* graph = fakecupti_graph_create();
  fakecupti_graph_add(graph, &k);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  std::vector<std::string> notes;
  for (int round = 0; round < 2; ++round) {
    CuptiRecording recording(process);
    fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    recording.flush();
    recording.stop();
    notes.push_back(recording.fact("cupti_notes"));
  }
  fakecupti_graph_destroy(graph, exec);
  CHECK(notes[0].empty());
  CHECK((notes[1].find("CUPTI 13.0.1 gives graph launches wrong correlation ids") == 0) == !fixed);
}

TEST_CASE("launches of graphs have their ids in every recording", "[source]") {
  CuptiProcess process;
  const bool before = GENERATE(true, false);  // made when CUPTI was not open: known by its launches alone
  const FakeKernel k = kernel("k");
  FakeGraph* graph = fakecupti_graph_create();
  fakecupti_graph_add(graph, &k);
  FakeGraphExec* exec = before ? fakecupti_graph_instantiate(graph) : nullptr;
  for (int round = 0; round < 3; ++round) {
    CuptiRecording recording(process, false);
    if (exec == nullptr) exec = fakecupti_graph_instantiate(graph);
    recording.source.set_active(true);
    const std::uint32_t launched = fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    recording.flush();
    recording.stop();
    REQUIRE(recording.kernels.size() == 1);
    CHECK(recording.kernels[0].correlation == launched);
    CHECK(recording.fact("cupti_notes").empty());
    CHECK(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  }
  fakecupti_graph_destroy(graph, exec);
}

TEST_CASE("two sources do not record at once", "[source][fault]") {
  CuptiProcess process;
  KeepingSink sink, other;
  CuptiSource first = process.source();
  CuptiSource second = process.source();
  REQUIRE(first.start(sink).working);
  const SourceState refused = second.start(other);
  CHECK_FALSE(refused.working);
  CHECK(refused.reason == "another recording of this process uses CUPTI");
  second.set_active(true);
  second.flush(soon());
  second.stop(soon());
  CHECK(cupti_release(soon()).error().code() == ErrorCode::kBusy);
  first.set_active(true);
  launch(1);
  first.stop(soon());
  CHECK(sink.kernels.size() == 1);
  CHECK(second.start(other).working);
}

TEST_CASE("release gives CUPTI to another profiler, and the next start takes it again", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  CuptiSource source = process.source();
  REQUIRE(source.start(sink).working);
  source.stop(soon());
  CHECK(fakecupti_subscribed());
  CHECK(cupti_release(soon()).ok());
  CHECK_FALSE(fakecupti_subscribed());
  CHECK(cupti_release(soon()).ok());
  REQUIRE(source.start(sink).working);
  CHECK(fakecupti_calls("cuptiSubscribe_v2") == 2);
  source.set_active(true);
  launch(1);
  source.stop(soon());
  CHECK(sink.kernels.size() == 1);
}

TEST_CASE("a start that waited in vain leaves nothing enabled when CUPTI answers after all", "[source][fault]") {
  CuptiProcess process;
  process.options.start_patience = 1ms;
  KeepingSink sink;
  CuptiSource source = process.source();
  fakecupti_hang("cuptiActivityEnableAndDump");
  const SourceState late = source.start(sink);
  CHECK_FALSE(late.working);
  CHECK(late.reason == "CUPTI did not answer within 1 ms; the subscription is released when it does");
  fakecupti_release_hangs();
  CHECK(session::testing::eventually([] { return !fakecupti_subscribed(); }));
  CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  CHECK_FALSE(fakecupti_callback_enabled("cudaLaunchKernel_v7000"));
  process.options.start_patience = 60s;
  CuptiSource next = process.source();
  CHECK(session::testing::eventually([&] { return next.start(sink).working; }));
}

TEST_CASE("a release that does not get its turn says so", "[source][fault]") {
  CuptiProcess process;
  CuptiRecording recording(process, false);
  fakecupti_hang("cuptiActivityFlushAll");
  std::thread stopping([&] { recording.stop(); });
  fakecupti_wait_hanging();
  const Status refused = cupti_release(already());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kBusy);
  CHECK(refused.error().message() == "a recording of this process is starting or ending and still uses CUPTI");
  fakecupti_release_hangs();
  stopping.join();
}

TEST_CASE("a source that goes out of scope stops", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  {
    CuptiSource source = process.source();
    REQUIRE(source.start(sink).working);
    source.set_active(true);
    launch(2);
  }
  CHECK(sink.kernels.size() == 2);
  CHECK_FALSE(fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

TEST_CASE("the state says what is the matter at every time", "[source]") {
  CuptiProcess process;
  KeepingSink sink;
  CuptiSource source = process.source();
  CHECK(source.name() == "cupti");
  CHECK(source.state().reason == "not started");
  REQUIRE(source.start(sink).working);
  CHECK(source.state().working);
  source.stop(soon());
  CHECK_FALSE(source.state().working);
  CHECK(source.state().reason == "stopped");
}

TEST_CASE("a CUPTI that cannot be loaded leaves host only", "[source][fault]") {
  CuptiProcess process;
  CuptiSeams seams = process.seams();
  SECTION("absent") {
    seams.load = [] { return Result<CuptiApi>(Error(ErrorCode::kNotFound, "no NVIDIA driver")); };
    CuptiSource source(process.options, seams);
    KeepingSink sink;
    CHECK(source.start(sink).reason == "no NVIDIA driver");
  }
  SECTION("throwing") {
    seams.load = []() -> Result<CuptiApi> { throw std::runtime_error("broken"); };
    CuptiSource source(process.options, seams);
    KeepingSink sink;
    CHECK(source.start(sink).reason == "opening CUPTI: broken");
  }
  SECTION("without a driver behind it") {
    fakecupti_set_driver(false);
    CuptiSource source(process.options, seams);
    KeepingSink sink;
    CHECK(source.start(sink).reason ==
          "cuptiSubscribe: unknown reason; please report this with the driver and CUPTI versions "
          "(CUPTI_ERROR_UNKNOWN, 999)");
  }
}

TEST_CASE("recordings may ask for different buffers", "[source]") {
  CuptiProcess process;
  for (const std::size_t memory : {std::size_t{64} << 10, std::size_t{8} << 20, std::size_t{1} << 20}) {
    process.options.memory_bytes = memory;
    process.options.buffer_bytes = 4 << 20;
    CuptiRecording recording(process, false);
    // No buffer takes more than an eighth of the memory, down to a size that is still worth handing out.
    CHECK(callback_state().pool.load()->buffer_bytes() == std::max<std::size_t>(memory / 8, 64 << 10));
    recording.source.set_active(true);
    launch(10);
    recording.stop();
    CHECK(recording.kernels.size() == 10);
  }
}

TEST_CASE("a thousand recordings leave no memory behind", "[source]") {
  constexpr int kRecordings = rangefinder::testing::sanitized() ? 100 : 1000;  // sanitizers keep freed memory
  CuptiProcess process;
  const auto resident_pages = [] {
    long total = 0, resident = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    REQUIRE(std::fscanf(file, "%ld %ld", &total, &resident) == 2);
    std::fclose(file);
    return resident;
  };
  const auto record_once = [&] {
    CuptiRecording recording(process);
    launch(1);
    recording.stop();
    REQUIRE(recording.kernels.size() == 1);
  };
  for (int i = 0; i < 100; ++i) record_once();
  const long before = resident_pages();
  for (int i = 0; i < kRecordings; ++i) record_once();
  const long more = resident_pages() - before;
  if (!rangefinder::testing::sanitized()) CHECK(more < (4 << 20) / 4096);
}

TEST_CASE("in a child of fork everything does nothing", "[source][fault]") {
  CuptiProcess process;
  CuptiRecording recording(process);
  launch(5);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Neither the threads nor, perhaps, the locks of the parent work here. An exit status says which step did not hold.
    if (recording.source.state().working) ::_exit(2);
    if (recording.source.state().reason.find("CUPTI cannot be used in a child of fork") != 0) ::_exit(3);
    NotedLaunches::take();
    enter_launch(99);
    if (!NotedLaunches::take().empty()) ::_exit(4);
    std::uint8_t* buffer = nullptr;
    std::size_t size = 1, records = 1;
    cupti::on_buffer_requested(&buffer, &size, &records);
    if (buffer != nullptr || size != 0) ::_exit(5);
    cupti::on_buffer_completed(nullptr, 0, buffer, 0, 0);
    recording.source.set_active(false);
    recording.flush();
    recording.stop();
    if (!cupti_release(soon()).ok()) ::_exit(6);  // nothing is held
    KeepingSink own;
    CuptiSource again = process.source();
    if (again.start(own).working) ::_exit(7);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  launch(5);  // and the parent goes on
  recording.stop();
  CHECK(recording.kernels.size() == 10);
  CHECK(recording.counts().empty());
}

TEST_CASE("a program that ends in the middle ends well", "[source][fault]") {
  const std::string how = GENERATE(as<std::string>{}, "running", "buffers_out", "hanging", "static", "thread",
                                   "quick_exit", "fork", "stalled", "stalled_stop", "late_driver");
  CAPTURE(how);
  const std::string command = std::string("'") + EXIT_PROGRAM + "' " + how + " 2>&1";
  std::FILE* program = ::popen(command.c_str(), "r");
  REQUIRE(program != nullptr);
  std::string output;
  std::array<char, 4096> chunk;
  for (std::size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), program)) > 0;) output.append(chunk.data(), n);
  const int status = ::pclose(program);
  INFO(output);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);  // as the program says, not as we or CUPTI would have it
  const bool delivers = how != "quick_exit";
  const bool stalled = how.starts_with("stalled");  // on the disk
  CHECK(output == (delivers ? (how == "hanging"       ? "0 kernels, 1 timeouts\n"
                               : stalled              ? "0 kernels\n"
                               : how == "buffers_out" ? "4 kernels, 1 untimed\n"
                                                      : "5 kernels\n")
                            : ""));
}

}  // namespace rangefinder::source::testing
