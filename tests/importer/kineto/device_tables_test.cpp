// SPDX-License-Identifier: MIT
#include "importer/kineto/device_tables.hpp"

#include "trace_text.hpp"

using namespace rangefinder;
using namespace rangefinder::importer::kineto;

namespace {
EventArguments shape(std::uint32_t grid, std::int64_t registers, std::int64_t shared) {
  EventArguments out;
  out.present =
      EventArguments::kGrid | EventArguments::kBlock | EventArguments::kRegisters | EventArguments::kSharedMemory;
  out.grid[0] = grid, out.grid[1] = out.grid[2] = 1;
  out.block[0] = 128, out.block[1] = out.block[2] = 1;
  out.registers = registers;
  out.shared_memory = shared;
  return out;
}
}  // namespace

TEST_CASE("launch shapes are kept once each", "[importer]") {
  Timeline timeline;
  DeviceTables tables(timeline);
  const std::uint32_t first = tables.kernel_detail(shape(50, 32, 1024));
  CHECK(tables.kernel_detail(shape(50, 32, 1024)) == first);
  CHECK(tables.kernel_detail(shape(51, 32, 1024)) != first);
  CHECK(tables.kernel_detail(shape(50, 33, 1024)) != first);
  CHECK(tables.kernel_detail(shape(50, 32, 0)) != first);
  const KernelDetail& detail = timeline.kernel_details[first];
  CHECK(detail.grid[0] == 50);
  CHECK(detail.block[0] == 128);
  CHECK(detail.registers_per_thread == 32);
  CHECK(detail.dynamic_shared_bytes == 1024);
  CHECK(detail.static_shared_bytes == 0);
}

TEST_CASE("a kernel without a shape has no detail", "[importer]") {
  Timeline timeline;
  DeviceTables tables(timeline);
  CHECK(tables.kernel_detail({}) == kNone);
}

TEST_CASE("impossible shapes are clamped", "[importer]") {
  Timeline timeline;
  DeviceTables tables(timeline);
  const std::uint32_t row = tables.kernel_detail(shape(1, -5, std::int64_t{1} << 40));
  CHECK(timeline.kernel_details[row].registers_per_thread == 0);
  CHECK(timeline.kernel_details[row].dynamic_shared_bytes == 0xFFFFFFFFu);
}

TEST_CASE("a copy's name tells its direction and memories", "[importer]") {
  struct Case {
    std::string_view name;
    std::uint32_t kind, source, target;
  };
  for (const Case& c :
       {Case{"Memcpy HtoD (Pageable -> Device)", 1, 1, 3}, Case{"Memcpy DtoH (Device -> Pinned)", 2, 3, 2},
        Case{"Memcpy DtoD (Device -> Device)", 8, 3, 3}, Case{"Memcpy PtoP (Device -> Device)", 10, 3, 3},
        Case{"Memcpy HtoD (Host -> Device)", 1, 0, 3},  // ROCm
        Case{"Memcpy HtoA (Managed -> Array)", 3, 5, 4}, Case{"Memset (Device)", 0, 0, 3},
        Case{"Memset (Unknown)", 0, 0, 0}, Case{"Memcpy", 0, 0, 0}, Case{"Memcpy HtoD (", 0, 0, 0},
        Case{"(Device -> Device)", 0, 0, 0}, Case{"", 0, 0, 0}}) {
    INFO(c.name);
    const CopyDetail detail = copy_detail_of_name(c.name);
    CHECK(detail.copy_kind == c.kind);
    CHECK(detail.source_memory == c.source);
    CHECK(detail.target_memory == c.target);
  }
}

TEST_CASE("copies share a row by name, peer copies have their own", "[importer]") {
  Timeline timeline;
  DeviceTables tables(timeline);
  const StringId name = timeline.intern("Memcpy PtoP (Device -> Device)");
  const std::uint32_t plain = tables.copy_detail(name, {});
  CHECK(tables.copy_detail(name, {}) == plain);
  EventArguments peer;
  peer.present = EventArguments::kFromDevice | EventArguments::kToDevice;
  peer.from_device = 1;
  peer.to_device = 3;
  const std::uint32_t row = tables.copy_detail(name, peer);
  CHECK(row != plain);
  CHECK(timeline.copy_details[row].source_device == 1);
  CHECK(timeline.copy_details[row].target_device == 3);
  CHECK(timeline.copy_details[plain].source_device == kNone);
}

TEST_CASE("waits have CUPTI's numbers", "[importer]") {
  CHECK(sync_type_of_name("Event Sync") == 1);
  CHECK(sync_type_of_name("Stream Wait Event") == 2);
  CHECK(sync_type_of_name("Stream Sync") == 3);
  CHECK(sync_type_of_name("Context Sync") == 4);
  CHECK(sync_type_of_name("Something") == 0);
}
