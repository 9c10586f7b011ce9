// SPDX-License-Identifier: MIT
#include "importer/kineto/tracks.hpp"

#include "trace_text.hpp"

using namespace rangefinder;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::trace_of;

TEST_CASE("threads are told apart by process and thread id", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"X","cat":"cpu_op","name":"a","pid":10,"tid":1,"ts":1,"dur":1},
    {"ph":"X","cat":"cpu_op","name":"b","pid":11,"tid":1,"ts":1,"dur":1},
    {"ph":"X","cat":"cpu_op","name":"c","pid":"10","tid":"1","ts":2,"dur":1})"));
  const RangeTable& ranges = loaded.timeline.ranges;
  REQUIRE(loaded.timeline.threads.size() == 2);
  CHECK(ranges.thread[0] != ranges.thread[1]);
  CHECK(ranges.thread[0] == ranges.thread[2]);
  CHECK(loaded.timeline.threads[ranges.thread[0]].tid == 1);
  CHECK(loaded.timeline.processes[loaded.timeline.threads[ranges.thread[1]].process].pid == 11);
}

TEST_CASE("tracks get the names that the trace gives, wherever it does", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"M","name":"thread_name","pid":10,"tid":1,"ts":0,"args":{"name":"thread 1 (python) "}},
    {"ph":"X","cat":"cpu_op","name":"a","pid":10,"tid":1,"ts":1,"dur":1},
    {"ph":"M","name":"process_name","pid":10,"tid":0,"args":{"name":"train.py \u00e9"}},
    {"ph":"M","name":"thread_name","pid":10,"tid":99,"args":{"name":"nothing runs here"}})"));
  REQUIRE(loaded.timeline.threads.size() == 1);
  CHECK(loaded.timeline.threads[0].name == "thread 1 (python)");
  CHECK(loaded.timeline.processes[0].name == "train.py \xC3\xA9");
}

TEST_CASE("ids that are words get numbers of their own and keep the words as names", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"X","cat":"other","name":"a","pid":"Data","tid":"Loader","ts":1,"dur":1},
    {"ph":"X","cat":"other","name":"b","pid":"Data","tid":"Writer","ts":1,"dur":1})"));
  REQUIRE(loaded.timeline.threads.size() == 2);
  REQUIRE(loaded.timeline.processes.size() == 1);
  CHECK(loaded.timeline.processes[0].name == "Data");
  CHECK(loaded.timeline.threads[0].name == "Loader");
  CHECK(loaded.timeline.threads[1].name == "Writer");
  CHECK(loaded.timeline.processes[0].pid < -1);
}

TEST_CASE("a device and a stream come from the arguments, else from the track", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"X","cat":"kernel","name":"a","pid":9,"tid":9,"ts":1,"dur":1,"args":{"device":2,"context":1,"stream":7}},
    {"ph":"X","cat":"kernel","name":"b","pid":2,"tid":7,"ts":1,"dur":1},
    {"ph":"X","cat":"Kernel","name":"c","pid":2,"tid":"stream 7","ts":1,"dur":1},
    {"ph":"X","cat":"kernel","name":"d","pid":"GPU 2","tid":"7","ts":1,"dur":1},
    {"ph":"X","cat":"kernel","name":"e","pid":2,"tid":7,"ts":1,"dur":1,"args":{"context":5}})"));
  const Timeline& timeline = loaded.timeline;
  const auto stream = [&](std::size_t row) { return timeline.streams[timeline.activities.stream[row]]; };
  for (std::size_t row = 0; row < 5; ++row) {
    INFO(row);
    CHECK(timeline.devices[stream(row).device].id == 2);
    CHECK(stream(row).id == 7);
  }
  CHECK(timeline.devices.size() == 1);
  CHECK(stream(0).context == 1);
  CHECK(timeline.activities.stream[1] == timeline.activities.stream[2]);
  CHECK(timeline.activities.stream[1] == timeline.activities.stream[3]);
  CHECK(timeline.activities.stream[1] != timeline.activities.stream[4]);
}

TEST_CASE("the file is of the process that calls the device most", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"X","cat":"python_function","name":"p","pid":0,"tid":0,"ts":1,"dur":1},
    {"ph":"X","cat":"python_function","name":"q","pid":0,"tid":0,"ts":1,"dur":1},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":77,"tid":77,"ts":1,"dur":1,"args":{"correlation":1}},
    {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":1,"args":{"device":0,"stream":7,"correlation":1}})",
                                      R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},)"));
  const Timeline& timeline = loaded.timeline;
  REQUIRE(timeline.processes.size() == 2);
  CHECK(timeline.processes[1].pid == 77);
  CHECK(timeline.processes[1].rank == 3);
  CHECK(timeline.processes[1].world_size == 8);
  CHECK(timeline.processes[0].rank == -1);
  CHECK(timeline.devices[0].process == 1);
}

TEST_CASE("a file that only knows devices has a process for them", "[importer]") {
  const Loaded loaded = load(trace_of(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":1})"));
  CHECK(loaded.timeline.processes.size() == 1);
  CHECK(loaded.timeline.devices[0].process == 0);
}

TEST_CASE("several calling processes in one file are pointed out", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"X","cat":"cuda_runtime","name":"a","pid":1,"tid":1,"ts":1,"dur":1},
    {"ph":"X","cat":"cuda_runtime","name":"b","pid":2,"tid":1,"ts":1,"dur":1})"));
  CHECK(loaded.has_note("2 processes call the device"));
}
