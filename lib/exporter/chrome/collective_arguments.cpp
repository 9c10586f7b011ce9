// SPDX-License-Identifier: MIT
#include "exporter/chrome/collective_arguments.hpp"

#include "exporter/chrome/clean_json.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::chrome {
namespace {

void add_number(std::string& out, std::string_view key, std::int64_t value) {
  out.append(",\"").append(key).append("\":").append(std::to_string(value));
}

void add_text(std::string& out, std::string_view key, std::string_view text) {
  out.append(",\"").append(key).append("\":");
  append_quoted(out, text);
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string out = "[";
  for (const std::int64_t number : numbers) out.append(out.size() == 1 ? "" : ", ").append(std::to_string(number));
  return out + "]";
}

/// As for c10d's process groups; NCCL's communicators have no ranks of the job.
void add_group(std::string& out, const ProcessGroupInfo& group) {
  if (group.size > 0) add_number(out, "Group size", group.size);
  add_text(out, "Process Group Name", group.name);
  add_text(out, "Process Group Description", group.description);
  if (!group.ranks.empty()) add_text(out, "Process Group Ranks", list_of(group.ranks));
}

}  // namespace

std::string collective_arguments(const Timeline& timeline, CollectiveIndex collective) {
  const CollectiveTable& table = timeline.collectives;
  std::string out;
  if (collective == kNone || collective >= table.size()) return out;
  const bool kernel_alone = table.thread[collective] == kNone && table.elements_in[collective] < 0;
  if (kernel_alone) return out;
  add_text(out, "Collective name", timeline.text(table.name[collective]));
  if (table.elements_in[collective] >= 0) add_number(out, "In msg nelems", table.elements_in[collective]);
  if (table.elements_out[collective] >= 0) add_number(out, "Out msg nelems", table.elements_out[collective]);
  if (table.dtype[collective] != StringId::kEmpty) add_text(out, "dtype", timeline.text(table.dtype[collective]));
  const auto splits = [&](StringId text) {
    return text == StringId::kEmpty ? std::string_view("[]") : timeline.text(text);
  };
  add_text(out, "In split size", splits(table.in_splits[collective]));
  add_text(out, "Out split size", splits(table.out_splits[collective]));
  if (table.number[collective] >= 0) add_number(out, "Seq", table.number[collective]);
  if (table.peer[collective] >= 0)
    add_number(out, table.kind[collective] == CollectiveKind::kReceive ? "Src Rank" : "Dst Rank",
               table.peer[collective]);
  if (table.group[collective] != kNone) add_group(out, timeline.process_groups[table.group[collective]]);
  if (table.algorithm[collective] != StringId::kEmpty)
    add_text(out, "Algorithm", timeline.text(table.algorithm[collective]));
  if (table.protocol[collective] != StringId::kEmpty)
    add_text(out, "Protocol", timeline.text(table.protocol[collective]));
  if (table.channels[collective] > 0) add_number(out, "Channels", table.channels[collective]);
  return out;
}

}  // namespace rangefinder::chrome
