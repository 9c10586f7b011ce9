// SPDX-License-Identifier: MIT
#include "query/tables.hpp"
#include "timeline/words.hpp"

#include <string>

// What host threads did beside ranges: CUDA calls, waiting, overhead, operators, nodes of autograd.
namespace rangefinder::query {
namespace {

const CallTable& calls(const Model& model) noexcept { return model.timeline().calls; }

constexpr Column kCallColumns[] = {
    {"name", Type::kText, "", "function that was called",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().text(calls(model).name[row])); }},
    {"domain", Type::kText, "", "runtime, driver or internal",
     [](const Model& model, std::uint32_t row) { return text(word_of(calls(model).domain[row])); }},
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(model.process_of(calls(model).thread[row])); }},
    {"thread_id", Type::kInteger, "", "row of threads",
     [](const Model& model, std::uint32_t row) { return id_of(calls(model).thread[row]); }},
    {"begin_ns", Type::kInteger, "ns", "begin",
     [](const Model& model, std::uint32_t row) { return number(calls(model).begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end",
     [](const Model& model, std::uint32_t row) { return number(calls(model).end_ns[row]); }},
    {"duration_ns", Type::kInteger, "ns", "end less begin",
     [](const Model& model, std::uint32_t row) {
       return number(calls(model).end_ns[row] - calls(model).begin_ns[row]);
     }},
    {"correlation", Type::kInteger, "", "CUPTI's correlation id; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_not_zero(calls(model).correlation[row]); }},
    {"result", Type::kInteger, "", "cudaError_t or CUresult; 0 where it is not known",
     [](const Model& model, std::uint32_t row) { return number(calls(model).result[row]); }},
};
constexpr Lookup kCallLookups[] = {
    {"thread_id", "begin_ns"}, {"process_id", "begin_ns"}, {"correlation", "begin_ns"}, {"", "begin_ns"}};

std::string_view sync_word(std::uint32_t type) noexcept {
  switch (type) {
    case 1:
      return "event";
    case 2:
      return "stream_wait_event";
    case 3:
      return "stream";
    case 4:
      return "context";
    default:
      return "other";
  }
}

const SyncTable& syncs(const Model& model) noexcept { return model.timeline().syncs; }

constexpr Column kSyncColumns[] = {
    {"kind", Type::kText, "", "event, stream_wait_event, stream, context or other",
     [](const Model& model, std::uint32_t row) { return text(sync_word(syncs(model).type[row])); }},
    {"stream_id", Type::kInteger, "", "row of streams; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(syncs(model).stream[row]); }},
    {"device_id", Type::kInteger, "", "row of devices; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(syncs(model).device[row]); }},
    {"event_stream_id", Type::kInteger, "", "row of streams that the event was recorded on; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(syncs(model).event_stream[row]); }},
    {"begin_ns", Type::kInteger, "ns", "begin",
     [](const Model& model, std::uint32_t row) { return number(syncs(model).begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end",
     [](const Model& model, std::uint32_t row) { return number(syncs(model).end_ns[row]); }},
    {"duration_ns", Type::kInteger, "ns", "end less begin",
     [](const Model& model, std::uint32_t row) {
       return number(syncs(model).end_ns[row] - syncs(model).begin_ns[row]);
     }},
    {"correlation", Type::kInteger, "", "CUPTI's correlation id; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_not_zero(syncs(model).correlation[row]); }},
};
constexpr Lookup kSyncLookups[] = {
    {"stream_id", "begin_ns"}, {"device_id", "begin_ns"}, {"correlation", "begin_ns"}, {"", "begin_ns"}};

const OverheadTable& overheads(const Model& model) noexcept { return model.timeline().overheads; }

constexpr Column kOverheadColumns[] = {
    {"name", Type::kText, "", "what took the time: buffer flush, module loading, compilation, ...",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().text(overheads(model).name[row])); }},
    {"thread_id", Type::kInteger, "", "row of threads; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(overheads(model).thread[row]); }},
    {"begin_ns", Type::kInteger, "ns", "begin",
     [](const Model& model, std::uint32_t row) { return number(overheads(model).begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end",
     [](const Model& model, std::uint32_t row) { return number(overheads(model).end_ns[row]); }},
    {"duration_ns", Type::kInteger, "ns", "end less begin",
     [](const Model& model, std::uint32_t row) {
       return number(overheads(model).end_ns[row] - overheads(model).begin_ns[row]);
     }},
};
constexpr Lookup kOverheadLookups[] = {{"thread_id", "begin_ns"}, {"", "begin_ns"}};

const OperatorTable& operators(const Model& model) noexcept { return model.timeline().operators; }

constexpr Column kOperatorColumns[] = {
    {"range_id", Type::kInteger, "", "row of ranges that is the operator",
     [](const Model& model, std::uint32_t row) { return id_of(operators(model).range[row]); }},
    {"sequence", Type::kInteger, "", "number of the autograd node that it made; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_known(operators(model).sequence[row]); }},
    {"shapes", Type::kText, "", "shapes of its inputs as JSON; NULL: not recorded",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(operators(model).shapes[row]));
     }},
    {"types", Type::kText, "", "types of its inputs as JSON; NULL: not recorded",
     [](const Model& model, std::uint32_t row) { return if_text(model.timeline().text(operators(model).types[row])); }},
    {"input_values", Type::kText, "", "values of inputs that are no tensors, as JSON; NULL: not recorded",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(operators(model).values[row]));
     }},
};
constexpr Lookup kOperatorLookups[] = {{"range_id", ""}, {"sequence", ""}};

const AutogradNodeTable& nodes(const Model& model) noexcept { return model.timeline().autograd_nodes; }

constexpr Column kNodeColumns[] = {
    {"name", Type::kText, "", "name of the node; NULL: not recorded",
     [](const Model& model, std::uint32_t row) { return if_text(model.timeline().text(nodes(model).name[row])); }},
    {"thread_id", Type::kInteger, "", "row of threads, where it ran",
     [](const Model& model, std::uint32_t row) { return id_of(nodes(model).thread[row]); }},
    {"begin_ns", Type::kInteger, "ns", "begin",
     [](const Model& model, std::uint32_t row) { return number(nodes(model).begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end",
     [](const Model& model, std::uint32_t row) { return number(nodes(model).end_ns[row]); }},
    {"sequence", Type::kInteger, "", "number of the node; NULL: gradient accumulation",
     [](const Model& model, std::uint32_t row) { return if_known(nodes(model).sequence[row]); }},
    {"forward_thread_id", Type::kInteger, "", "row of threads of the operator that made it; NULL: not in the data",
     [](const Model& model, std::uint32_t row) { return id_of(nodes(model).forward_thread[row]); }},
    {"forward_ns", Type::kInteger, "ns", "a time at which that operator ran; NULL: not in the data",
     [](const Model& model, std::uint32_t row) { return if_time(nodes(model).forward_ns[row]); }},
    {"range_id", Type::kInteger, "", "row of ranges: the operator that is the node; NULL: not in the data",
     [](const Model& model, std::uint32_t row) { return id_of(nodes(model).range[row]); }},
};
constexpr Lookup kNodeLookups[] = {{"thread_id", "begin_ns"}, {"sequence", ""}, {"range_id", ""}};

constexpr Table kHostTables[] = {
    {"calls", "CUDA API calls on host threads", kCallColumns,
     [](const Model& model) { return model.timeline().calls.size(); }, kCallLookups},
    {"syncs", "Waiting for devices, as CUPTI recorded it", kSyncColumns,
     [](const Model& model) { return model.timeline().syncs.size(); }, kSyncLookups},
    {"overheads", "Time of CUPTI itself, and of what CUDA does once", kOverheadColumns,
     [](const Model& model) { return model.timeline().overheads.size(); }, kOverheadLookups},
    {"operators", "Inputs and sequence numbers of a framework's operators", kOperatorColumns,
     [](const Model& model) { return model.timeline().operators.size(); }, kOperatorLookups},
    {"autograd_nodes", "Executions of autograd nodes", kNodeColumns,
     [](const Model& model) { return model.timeline().autograd_nodes.size(); }, kNodeLookups},
};

}  // namespace

std::span<const Table> host_tables() { return kHostTables; }

}  // namespace rangefinder::query
