// SPDX-License-Identifier: MIT
#include "importer/kineto/metadata.hpp"

#include "trace_text.hpp"

using namespace rangefinder;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::trace_of;

namespace {

constexpr std::string_view kOneEvent = R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":5,"dur":1})";

std::string value_of(const Timeline& timeline, std::string_view key) {
  for (const auto& [name, value] : timeline.metadata) {
    if (name == key) return value;
  }
  return "absent";
}

}  // namespace

TEST_CASE("device properties fill the device table", "[importer]") {
  const Loaded loaded = load(trace_of(kOneEvent, R"("deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 \"x\"", "totalGlobalMem": 102085492736,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65537, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    },
    {"id": 1, "name": "", "warpSize": 64, "numSms": 304, "maxSharedMemoryPerMultiProcessor": 65536}
  ],)"));
  REQUIRE(loaded.timeline.devices.size() == 2);
  const DeviceInfo& h100 = loaded.timeline.devices[0];
  CHECK(h100.id == 0);
  CHECK(h100.name == "NVIDIA H100 \"x\"");
  CHECK(h100.memory_bytes == 102085492736);
  CHECK(h100.compute_major == 9);
  CHECK(h100.max_threads_per_block == 1024);
  CHECK(h100.max_threads_per_multiprocessor == 2048);
  CHECK(h100.registers_per_block == 65536);
  CHECK(h100.registers_per_multiprocessor == 65537);
  CHECK(h100.warp_size == 32);
  CHECK(h100.shared_bytes_per_block == 49152);
  CHECK(h100.shared_bytes_per_block_optin == 232448);
  CHECK(h100.shared_bytes_per_multiprocessor == 233472);
  CHECK(h100.multiprocessors == 132);
  const DeviceInfo& rocm = loaded.timeline.devices[1];
  CHECK(rocm.id == 1);
  CHECK(rocm.warp_size == 64);
  CHECK(rocm.shared_bytes_per_multiprocessor == 65536);
}

TEST_CASE("properties that come after the events meet the devices that these named", "[importer]") {
  const Loaded loaded = load(
      trace_of(R"({"ph":"X","cat":"kernel","name":"k","pid":3,"tid":7,"ts":2,"dur":1,"args":{"device":3,"stream":7}})",
               "", R"(, "deviceProperties": [{"id": 3, "name": "late"}])"));
  REQUIRE(loaded.timeline.devices.size() == 1);
  CHECK(loaded.timeline.devices[0].name == "late");
  CHECK(loaded.timeline.devices[0].id == 3);
}

TEST_CASE("impossible device numbers are clamped", "[importer][fault]") {
  const Loaded loaded = load(trace_of(
      kOneEvent, R"("deviceProperties": [{"id": 0, "numSms": -5, "warpSize": 99999999999, "totalGlobalMem": "12"}],)"));
  CHECK(loaded.timeline.devices[0].multiprocessors == 0);
  CHECK(loaded.timeline.devices[0].warp_size == 0xFFFFFFFFu);
  CHECK(loaded.timeline.devices[0].memory_bytes == 12);
}

TEST_CASE("device properties of another shape are pointed out", "[importer][fault]") {
  for (const std::string_view value : {"3", "{}", "[1, 2]", "[{\"id\": 0}, null]", "[{\"id\" 0}]"}) {
    INFO(value);
    const Loaded loaded = load(trace_of(kOneEvent, "\"deviceProperties\": " + std::string(value) + ","));
    CHECK(loaded.has_note("deviceProperties"));
  }
  CHECK_FALSE(load(trace_of(kOneEvent, "\"deviceProperties\": [\n  ],")).has_note("deviceProperties"));
}

TEST_CASE("the rank is found before or behind the events", "[importer]") {
  const std::string info =
      R"("distributedInfo": {"backend": "nccl", "rank": 34, "world_size": 300, "pg_config": [{"rank": 9}]})";
  for (const bool behind : {false, true}) {
    const Loaded loaded = behind ? load(trace_of(kOneEvent, "", ", " + info)) : load(trace_of(kOneEvent, info + ","));
    CHECK(loaded.timeline.processes[0].rank == 34);
    CHECK(loaded.timeline.processes[0].world_size == 300);
    CHECK(value_of(loaded.timeline, "distributedInfo").find("\"pg_config\"") != std::string::npos);
  }
}

TEST_CASE("ranks that are none stay unknown", "[importer]") {
  for (const std::string_view info : {"{\"rank\": -1}", "{\"rank\": 99999999999}", "{\"rank\": \"x\"}", "[]", "7"}) {
    const Loaded loaded = load(trace_of(kOneEvent, "\"distributedInfo\": " + std::string(info) + ","));
    CHECK(loaded.timeline.processes[0].rank == -1);
  }
}

TEST_CASE("the base time leads to wall time and changes no time", "[importer]") {
  const std::string base = R"("baseTimeNanoseconds": 1775078550000000000)";
  for (const bool behind : {false, true}) {
    const Loaded loaded = behind ? load(trace_of(kOneEvent, "", ", " + base)) : load(trace_of(kOneEvent, base + ","));
    CHECK(loaded.timeline.realtime_offset_ns == 1775078550000000000);
    CHECK(loaded.timeline.ranges.begin_ns[0] == 5000);
  }
}

TEST_CASE("old traces count from 1970, others from nowhere known", "[importer]") {
  CHECK(load(trace_of(R"({"ph":"X","cat":"Operator","name":"a","pid":1,"tid":1,"ts":1623142623460111,"dur":25})"))
            .timeline.realtime_offset_ns == 0);
  CHECK(load(trace_of(kOneEvent)).timeline.realtime_offset_ns == kNoTime);
}

TEST_CASE("other members are kept as JSON, those with a column are not", "[importer]") {
  const Loaded loaded = load(trace_of(
      kOneEvent,
      R"("displayTimeUnit": "ms", "cupti_version": 28, "with_flops": NaN, "k\u0065y": {"a": [1, "}"]}, "host_name": "node\t7",)",
      R"(, "WARNING": ["a", "b"], "traceName": "/tmp/x.json")"));
  const Timeline& timeline = loaded.timeline;
  CHECK(value_of(timeline, "cupti_version") == "28");
  CHECK(value_of(timeline, "with_flops") == "\"NaN\"");
  CHECK(value_of(timeline, "key") == R"({"a": [1, "}"]})");
  CHECK(value_of(timeline, "WARNING") == R"(["a", "b"])");
  CHECK(value_of(timeline, "traceName") == "\"/tmp/x.json\"");
  CHECK(value_of(timeline, "schemaVersion") == "absent");
  CHECK(value_of(timeline, "displayTimeUnit") == "absent");
  CHECK(timeline.processes[0].host == "node\t7");
}

TEST_CASE("what was simulated stays so when rangefinder's export is read", "[importer]") {
  CHECK(load(trace_of(kOneEvent, R"("rangefinder": {"version": 1, "simulated": true},)")).timeline.simulated);
  CHECK(load(trace_of(kOneEvent, R"("rangefinder_input": {"simulated": true},)")).timeline.simulated);
  CHECK_FALSE(load(trace_of(kOneEvent, R"("rangefinder": {"simulated": false, "x": {"simulated": true}},)"))
                  .timeline.simulated);
  CHECK_FALSE(load(trace_of(kOneEvent, R"("other": {"simulated": true},)")).timeline.simulated);
}
