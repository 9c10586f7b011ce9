// SPDX-License-Identifier: MIT
#include "query/tables.hpp"
#include "timeline/words.hpp"

#include <rangefinder/analysis/collectives.hpp>

#include <string>

// What ranks do together.
namespace rangefinder::query {
namespace {

const CollectiveTable& collectives(const Model& model) noexcept { return model.timeline().collectives; }

constexpr Column kCollectiveColumns[] = {
    {"kind", Type::kText, "", "all-reduce, broadcast, ...",
     [](const Model& model, std::uint32_t row) { return text(to_string(collectives(model).kind[row])); }},
    {"name", Type::kText, "", "as its library calls it",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().text(collectives(model).name[row])); }},
    {"source", Type::kText, "", "c10d or nccl: who told of it",
     [](const Model& model, std::uint32_t row) { return text(word_of(collectives(model).source[row])); }},
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(collectives(model).process[row]); }},
    {"group_id", Type::kInteger, "", "row of process_groups; NULL: not known",
     [](const Model& model, std::uint32_t row) { return id_of(collectives(model).group[row]); }},
    {"number", Type::kInteger, "", "number among the collectives of its group; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_known(collectives(model).number[row]); }},
    {"elements_in", Type::kInteger, "", "elements of this rank; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_known(collectives(model).elements_in[row]); }},
    {"elements_out", Type::kInteger, "", "elements that this rank gets; NULL: not known",
     [](const Model& model, std::uint32_t row) { return if_known(collectives(model).elements_out[row]); }},
    {"dtype", Type::kText, "", "datatype as its library calls it; NULL: not known",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(collectives(model).dtype[row]));
     }},
    {"peer", Type::kInteger, "", "rank within the group: the root, or the other end; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_known(collectives(model).peer[row]); }},
    {"thread_id", Type::kInteger, "", "row of threads that called it; NULL: not in the data",
     [](const Model& model, std::uint32_t row) { return id_of(collectives(model).thread[row]); }},
    {"begin_ns", Type::kInteger, "ns", "begin of the call; NULL: not in the data",
     [](const Model& model, std::uint32_t row) { return if_time(collectives(model).begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end of the call; NULL: it did not return",
     [](const Model& model, std::uint32_t row) { return if_time(collectives(model).end_ns[row]); }},
    {"started_ns", Type::kInteger, "ns", "begin of its work; NULL: not told",
     [](const Model& model, std::uint32_t row) { return if_time(collectives(model).started_ns[row]); }},
    {"completed_ns", Type::kInteger, "ns", "end of its work; NULL: not told",
     [](const Model& model, std::uint32_t row) { return if_time(collectives(model).completed_ns[row]); }},
    {"wait_begin_ns", Type::kInteger, "ns", "when a thread began to wait for it; NULL: none did",
     [](const Model& model, std::uint32_t row) { return if_time(collectives(model).wait_begin_ns[row]); }},
    {"wait_end_ns", Type::kInteger, "ns", "when that thread had waited for it; NULL: none did",
     [](const Model& model, std::uint32_t row) { return if_time(collectives(model).wait_end_ns[row]); }},
    {"algorithm", Type::kText, "", "NCCL's algorithm; NULL: not told",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(collectives(model).algorithm[row]));
     }},
    {"protocol", Type::kText, "", "NCCL's protocol; NULL: not told",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(collectives(model).protocol[row]));
     }},
};
constexpr Lookup kCollectiveLookups[] = {
    {"process_id", "begin_ns"}, {"group_id", "number"}, {"thread_id", "begin_ns"}, {"", "begin_ns"}};

const ProcessGroupInfo& group(const Model& model, std::uint32_t row) noexcept {
  return model.timeline().process_groups[row];
}

/// "0,1,2".
Cell ranks_of(const Model& model, std::uint32_t row) {
  std::string ranks;
  for (const std::int64_t rank : group(model, row).ranks) ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
  return ranks.empty() ? null_cell() : made_text(std::move(ranks));
}

constexpr Column kGroupColumns[] = {
    {"name", Type::kText, "", "c10d's name, or NCCL's hash of the communicator",
     [](const Model& model, std::uint32_t row) { return text(group(model, row).name); }},
    {"description", Type::kText, "", "c10d's description; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_text(group(model, row).description); }},
    {"source", Type::kText, "", "c10d or nccl",
     [](const Model& model, std::uint32_t row) { return text(word_of(group(model, row).source)); }},
    {"size", Type::kInteger, "", "ranks in it; NULL: not known",
     [](const Model& model, std::uint32_t row) {
       const std::int32_t size = group(model, row).size;
       return size <= 0 ? null_cell() : number(size);
     }},
    {"ranks", Type::kText, "", "ranks of the job, separated by commas; NULL: not known", ranks_of},
};

constexpr Table kCollectiveTables[] = {
    {"collectives", "Each process' part of each collective, send and receive", kCollectiveColumns,
     [](const Model& model) { return model.timeline().collectives.size(); }, kCollectiveLookups},
    {"process_groups", "Process groups of c10d and communicators of NCCL", kGroupColumns,
     [](const Model& model) { return model.timeline().process_groups.size(); }},
};

}  // namespace

std::span<const Table> collective_tables() { return kCollectiveTables; }

}  // namespace rangefinder::query
