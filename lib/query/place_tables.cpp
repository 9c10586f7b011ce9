// SPDX-License-Identifier: MIT
#include "query/tables.hpp"

// Where things happened: processes, threads, devices, streams.
namespace rangefinder::query {
namespace {

const ProcessInfo& process(const Model& model, std::uint32_t row) noexcept { return model.timeline().processes[row]; }
const ThreadInfo& thread(const Model& model, std::uint32_t row) noexcept { return model.timeline().threads[row]; }
const DeviceInfo& device(const Model& model, std::uint32_t row) noexcept { return model.timeline().devices[row]; }
const StreamInfo& stream(const Model& model, std::uint32_t row) noexcept { return model.timeline().streams[row]; }

constexpr Column kProcessColumns[] = {
    {"pid", Type::kInteger, "", "process id",
     [](const Model& model, std::uint32_t row) { return number(process(model, row).pid); }},
    {"name", Type::kText, "", "name of the program; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_text(process(model, row).name); }},
    {"host", Type::kText, "", "machine; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_text(process(model, row).host); }},
    {"rank", Type::kInteger, "", "rank in the job; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_known(process(model, row).rank); }},
    {"world_size", Type::kInteger, "", "ranks of the job; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_known(process(model, row).world_size); }},
    {"recording_begin_ns", Type::kInteger, "ns", "when its recording began; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_time(process(model, row).start_ns); }},
    {"seen_ns", Type::kInteger, "ns", "when it was last seen to run; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_time(process(model, row).seen_ns); }},
    {"flight_recorder", Type::kInteger, "", "1: a dump of a flight recorder, whose beginning is missing on purpose",
     [](const Model& model, std::uint32_t row) { return number(process(model, row).flight_recorder ? 1 : 0); }},
};
constexpr Lookup kProcessLookups[] = {{"pid", ""}, {"rank", ""}};

constexpr Column kThreadColumns[] = {
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(thread(model, row).process); }},
    {"tid", Type::kInteger, "", "thread id",
     [](const Model& model, std::uint32_t row) { return number(thread(model, row).tid); }},
    {"name", Type::kText, "", "name of the thread; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_text(thread(model, row).name); }},
    {"is_autograd", Type::kInteger, "", "1: LibTorch's autograd engine runs its nodes here",
     [](const Model& model, std::uint32_t row) { return number(thread(model, row).is_engine ? 1 : 0); }},
};
constexpr Lookup kThreadLookups[] = {{"process_id", ""}};

constexpr Column kDeviceColumns[] = {
    {"process_id", Type::kInteger, "", "row of processes that used it",
     [](const Model& model, std::uint32_t row) { return id_of(device(model, row).process); }},
    {"device", Type::kInteger, "", "CUDA's index",
     [](const Model& model, std::uint32_t row) { return number(device(model, row).id); }},
    {"name", Type::kText, "", "model; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_text(device(model, row).name); }},
    {"compute_major", Type::kInteger, "", "compute capability; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_not_zero(device(model, row).compute_major); }},
    {"compute_minor", Type::kInteger, "", "compute capability, minor",
     [](const Model& model, std::uint32_t row) { return number(device(model, row).compute_minor); }},
    {"multiprocessors", Type::kInteger, "", "multiprocessors; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_not_zero(device(model, row).multiprocessors); }},
    {"memory_bytes", Type::kInteger, "bytes", "memory; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_not_zero(device(model, row).memory_bytes); }},
    {"mig", Type::kInteger, "", "1: an instance (MIG) of a board",
     [](const Model& model, std::uint32_t row) { return number(device(model, row).mig ? 1 : 0); }},
};
constexpr Lookup kDeviceLookups[] = {{"process_id", ""}};

constexpr Column kStreamColumns[] = {
    {"device_id", Type::kInteger, "", "row of devices",
     [](const Model& model, std::uint32_t row) { return id_of(stream(model, row).device); }},
    {"context", Type::kInteger, "", "CUDA context",
     [](const Model& model, std::uint32_t row) { return number(stream(model, row).context); }},
    {"stream", Type::kInteger, "", "stream id, unique within its context",
     [](const Model& model, std::uint32_t row) { return number(stream(model, row).id); }},
    {"green_context", Type::kInteger, "", "share of a device that the stream is confined to; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_not_zero(stream(model, row).green_context); }},
};
constexpr Lookup kStreamLookups[] = {{"device_id", ""}};

constexpr Table kPlaceTables[] = {
    {"processes", "Processes of the recording or job", kProcessColumns,
     [](const Model& model) { return model.timeline().processes.size(); }, kProcessLookups},
    {"threads", "Host threads", kThreadColumns, [](const Model& model) { return model.timeline().threads.size(); },
     kThreadLookups},
    {"devices", "Devices, a row for each process that used one", kDeviceColumns,
     [](const Model& model) { return model.timeline().devices.size(); }, kDeviceLookups},
    {"streams", "Streams of devices", kStreamColumns,
     [](const Model& model) { return model.timeline().streams.size(); }, kStreamLookups},
};

}  // namespace

std::span<const Table> place_tables() { return kPlaceTables; }

}  // namespace rangefinder::query
