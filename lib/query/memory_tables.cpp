// SPDX-License-Identifier: MIT
#include "query/tables.hpp"
#include "timeline/words.hpp"

// Allocations: of caching allocators, and of CUDA.
namespace rangefinder::query {
namespace {

const AllocatorEventTable& events(const Model& model) noexcept { return model.timeline().allocator_events; }

constexpr Column kEventColumns[] = {
    {"action", Type::kText, "",
     "allocate, free, segment_allocate, segment_free, segment_map, segment_unmap or out_of_memory",
     [](const Model& model, std::uint32_t row) { return text(word_of(events(model).action[row])); }},
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(model.process_of(events(model).thread[row])); }},
    {"thread_id", Type::kInteger, "", "row of threads",
     [](const Model& model, std::uint32_t row) { return id_of(events(model).thread[row]); }},
    {"time_ns", Type::kInteger, "ns", "when",
     [](const Model& model, std::uint32_t row) { return number(events(model).time_ns[row]); }},
    {"device", Type::kInteger, "", "CUDA's index of the device; NULL: memory of the host",
     [](const Model& model, std::uint32_t row) { return if_known(events(model).device[row]); }},
    {"address", Type::kInteger, "", "address; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_not_zero(events(model).address[row]); }},
    {"size_bytes", Type::kInteger, "bytes", "of the block, segment or request",
     [](const Model& model, std::uint32_t row) { return number(events(model).bytes[row]); }},
    {"allocated_bytes", Type::kInteger, "bytes", "by all blocks of the device afterwards; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_known(events(model).allocated[row]); }},
    {"reserved_bytes", Type::kInteger, "bytes", "by all segments of the device afterwards; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_known(events(model).reserved[row]); }},
    {"pool", Type::kInteger, "", "private pool; NULL: the default one",
     [](const Model& model, std::uint32_t row) { return if_not_zero(events(model).pool[row]); }},
};
constexpr Lookup kEventLookups[] = {
    {"thread_id", "time_ns"}, {"process_id", "time_ns"}, {"address", "time_ns"}, {"", "time_ns"}};

const CudaAllocationTable& allocations(const Model& model) noexcept { return model.timeline().cuda_allocations; }

std::string_view memory_word(std::uint32_t memory) noexcept {
  switch (memory) {
    case 1:
      return "pageable";
    case 2:
      return "pinned";
    case 3:
      return "device";
    case 4:
      return "array";
    case 5:
      return "managed";
    default:
      return "other";
  }
}

constexpr Column kAllocationColumns[] = {
    {"memory", Type::kText, "", "pageable, pinned, device, array, managed or other",
     [](const Model& model, std::uint32_t row) { return text(memory_word(allocations(model).memory[row])); }},
    {"freed", Type::kInteger, "", "1: the memory was given back",
     [](const Model& model, std::uint32_t row) { return number(allocations(model).freed[row] ? 1 : 0); }},
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(allocations(model).process[row]); }},
    {"device_id", Type::kInteger, "", "row of devices; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(allocations(model).device[row]); }},
    {"stream_id", Type::kInteger, "", "row of streams, of stream-ordered allocations; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(allocations(model).stream[row]); }},
    {"time_ns", Type::kInteger, "ns", "when",
     [](const Model& model, std::uint32_t row) { return number(allocations(model).time_ns[row]); }},
    {"address", Type::kInteger, "", "address; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_not_zero(allocations(model).address[row]); }},
    {"size_bytes", Type::kInteger, "bytes", "size",
     [](const Model& model, std::uint32_t row) { return number(allocations(model).bytes[row]); }},
    {"correlation", Type::kInteger, "", "correlation id of the call; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_not_zero(allocations(model).correlation[row]); }},
};
constexpr Lookup kAllocationLookups[] = {
    {"process_id", "time_ns"}, {"device_id", "time_ns"}, {"correlation", ""}, {"address", "time_ns"}, {"", "time_ns"}};

constexpr Table kMemoryTables[] = {
    {"allocator_events", "What caching allocators did", kEventColumns,
     [](const Model& model) { return model.timeline().allocator_events.size(); }, kEventLookups},
    {"cuda_allocations", "Calls of CUDA that allocated and freed memory", kAllocationColumns,
     [](const Model& model) { return model.timeline().cuda_allocations.size(); }, kAllocationLookups},
};

}  // namespace

std::span<const Table> memory_tables() { return kMemoryTables; }

}  // namespace rangefinder::query
