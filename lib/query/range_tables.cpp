// SPDX-License-Identifier: MIT
#include "analysis/payloads.hpp"
#include "query/tables.hpp"
#include "timeline/words.hpp"

#include <bit>
#include <optional>
#include <string>

// Ranges with their device time, their values, marks and steps.
namespace rangefinder::query {
namespace {

const DeviceFigures& all_of(const Model& model, std::uint32_t row) {
  return model.projection().inclusive[RangeIndex(row)];
}
const DeviceFigures& self_of(const Model& model, std::uint32_t row) {
  return model.projection().exclusive[RangeIndex(row)];
}

/// "step/forward/layer.0"; nothing past 4096 bytes, as in reports.
Cell path_of(const Model& model, std::uint32_t row) {
  constexpr std::size_t kLongest = 4096;
  const Projection& projection = model.projection();
  std::string path(model.timeline().text(model.timeline().ranges.name[row]));
  for (RangeIndex around = projection.parent[row]; around != RangeIndex(kNone); around = projection.parent[around]) {
    if (path.size() > kLongest) return null_cell();
    path.insert(0, std::string(model.timeline().text(model.timeline().ranges.name[around])) + "/");
  }
  return path.size() > kLongest ? null_cell() : made_text(std::move(path));
}

Cell payload_cell(const Model& model, std::uint32_t row) {
  std::string payload = analysis::payload_text(model.timeline(), RangeIndex(row));
  return payload.empty() ? null_cell() : made_text(std::move(payload));
}

constexpr Column kRangeColumns[] = {
    {"name", Type::kText, "", "name that the program gave the range",
     [](const Model& model, std::uint32_t row) {
       return text(model.timeline().text(model.timeline().ranges.name[row]));
     }},
    {"kind", Type::kText, "", "annotation, operator, python_function or other",
     [](const Model& model, std::uint32_t row) { return text(word_of(model.timeline().ranges.kind[row])); }},
    {"category", Type::kText, "", "category of the range; NULL: none",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(model.timeline().ranges.category[row]));
     }},
    {"domain", Type::kText, "", "NVTX domain; NULL: the default one",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(model.timeline().ranges.domain[row]));
     }},
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) {
       return id_of(model.process_of(model.timeline().ranges.thread[row]));
     }},
    {"thread_id", Type::kInteger, "", "row of threads, where it began",
     [](const Model& model, std::uint32_t row) { return id_of(model.timeline().ranges.thread[row]); }},
    {"parent_id", Type::kInteger, "", "row of ranges: the innermost one around it; NULL: none",
     [](const Model& model, std::uint32_t row) { return id_of(model.projection().parent[row]); }},
    {"depth", Type::kInteger, "", "ranges around it",
     [](const Model& model, std::uint32_t row) { return number(model.projection().depth[row]); }},
    {"recursive", Type::kInteger, "",
     "1: inside of a range of its name, whose figures have its own; leave it out of sums by name",
     [](const Model& model, std::uint32_t row) { return number(model.is_recursive(RangeIndex(row)) ? 1 : 0); }},
    {"path", Type::kText, "", "names from the outermost range inwards, separated by /; NULL past 4096 bytes", path_of},
    {"payload", Type::kText, "", "values of the range as text; NULL: none", payload_cell},
    {"begin_ns", Type::kInteger, "ns", "begin, on the clock of the timeline",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().ranges.begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().ranges.end_ns[row]); }},
    {"host_ns", Type::kInteger, "ns",
     "host time of a run; NULL for a part of one, and for ranges from before the recording",
     [](const Model& model, std::uint32_t row) {
       const RangeTable& ranges = model.timeline().ranges;
       return ranges.is_run(RangeIndex(row)) ? number(ranges.run_ns(RangeIndex(row))) : null_cell();
     }},
    {"unfinished", Type::kInteger, "", "1: still open when the recording stopped",
     [](const Model& model, std::uint32_t row) {
       return number((model.timeline().ranges.flags[row] & kUnfinished) != 0 ? 1 : 0);
     }},
    {"gpu_ops", Type::kInteger, "", "activities of the range and of those inside it",
     [](const Model& model, std::uint32_t row) { return number(all_of(model, row).gpu_ops); }},
    {"gpu_sum_ns", Type::kInteger, "ns", "their durations, added up",
     [](const Model& model, std::uint32_t row) { return number(all_of(model, row).gpu_sum_ns); }},
    {"gpu_busy_ns", Type::kInteger, "ns", "time in which at least one of them ran, per device",
     [](const Model& model, std::uint32_t row) { return number(all_of(model, row).gpu_busy_ns); }},
    {"gpu_begin_ns", Type::kInteger, "ns", "begin of the first of them; NULL: none",
     [](const Model& model, std::uint32_t row) {
       const DeviceFigures& all = all_of(model, row);
       return all.gpu_ops == 0 ? null_cell() : number(all.first_ns);
     }},
    {"gpu_end_ns", Type::kInteger, "ns", "end of the last of them; NULL: none",
     [](const Model& model, std::uint32_t row) {
       const DeviceFigures& all = all_of(model, row);
       return all.gpu_ops == 0 ? null_cell() : number(all.last_ns);
     }},
    {"gpu_self_ops", Type::kInteger, "", "activities whose owner is this range",
     [](const Model& model, std::uint32_t row) { return number(self_of(model, row).gpu_ops); }},
    {"gpu_self_sum_ns", Type::kInteger, "ns", "their durations, added up",
     [](const Model& model, std::uint32_t row) { return number(self_of(model, row).gpu_sum_ns); }},
    {"gpu_self_busy_ns", Type::kInteger, "ns", "time in which at least one of them ran, per device",
     [](const Model& model, std::uint32_t row) { return number(self_of(model, row).gpu_busy_ns); }},
    {"launch_delay_ns", Type::kInteger, "ns", "begin less launch, added up over gpu_ops",
     [](const Model& model, std::uint32_t row) { return number(all_of(model, row).launch_delay_ns); }},
    {"moved_bytes", Type::kInteger, "bytes", "bytes that copies and memsets moved",
     [](const Model& model, std::uint32_t row) { return number(all_of(model, row).bytes); }},
};
constexpr Lookup kRangeLookups[] = {
    {"thread_id", "begin_ns"}, {"process_id", "begin_ns"}, {"parent_id", "begin_ns"}, {"", "begin_ns"}};

constexpr Column kPayloadColumns[] = {
    {"range_id", Type::kInteger, "", "row of ranges; NULL: of a mark",
     [](const Model& model, std::uint32_t row) {
       const Attachment& each = model.timeline().attachments[row];
       return each.target == Attachment::Target::kRange ? number(std::int64_t{each.row} + 1) : null_cell();
     }},
    {"mark_id", Type::kInteger, "", "row of marks; NULL: of a range",
     [](const Model& model, std::uint32_t row) {
       const Attachment& each = model.timeline().attachments[row];
       return each.target == Attachment::Target::kMark ? number(std::int64_t{each.row} + 1) : null_cell();
     }},
    {"number", Type::kReal, "", "the value; NULL: a text",
     [](const Model& model, std::uint32_t row) {
       const std::optional<double> value = analysis::payload_number(model.timeline().attachments[row]);
       return value ? number(*value) : null_cell();
     }},
    {"text", Type::kText, "", "the value as text",
     [](const Model& model, std::uint32_t row) {
       return made_text(analysis::payload_text(model.timeline(), model.timeline().attachments[row]));
     }},
};
constexpr Lookup kPayloadLookups[] = {{"range_id", ""}, {"mark_id", ""}};

constexpr Column kMarkColumns[] = {
    {"name", Type::kText, "", "name of the mark",
     [](const Model& model, std::uint32_t row) {
       return text(model.timeline().text(model.timeline().marks.name[row]));
     }},
    {"category", Type::kText, "", "category of the mark; NULL: none",
     [](const Model& model, std::uint32_t row) {
       return if_text(model.timeline().text(model.timeline().marks.category[row]));
     }},
    {"thread_id", Type::kInteger, "", "row of threads",
     [](const Model& model, std::uint32_t row) { return id_of(model.timeline().marks.thread[row]); }},
    {"time_ns", Type::kInteger, "ns", "when it was set",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().marks.time_ns[row]); }},
};
constexpr Lookup kMarkLookups[] = {{"thread_id", "time_ns"}, {"", "time_ns"}};

constexpr Column kStepColumns[] = {
    {"number", Type::kInteger, "", "number of the step",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().steps.number[row]); }},
    {"process_id", Type::kInteger, "", "row of processes",
     [](const Model& model, std::uint32_t row) { return id_of(model.process_of(model.timeline().steps.thread[row])); }},
    {"thread_id", Type::kInteger, "", "row of threads",
     [](const Model& model, std::uint32_t row) { return id_of(model.timeline().steps.thread[row]); }},
    {"begin_ns", Type::kInteger, "ns", "begin",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().steps.begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().steps.end_ns[row]); }},
    {"duration_ns", Type::kInteger, "ns", "end less begin",
     [](const Model& model, std::uint32_t row) {
       return number(model.timeline().steps.end_ns[row] - model.timeline().steps.begin_ns[row]);
     }},
    {"items", Type::kInteger, "", "tokens or samples that the program counted in it; NULL: none",
     [](const Model& model, std::uint32_t row) { return if_not_zero(model.timeline().steps.items[row]); }},
};
constexpr Lookup kStepLookups[] = {
    {"number", ""}, {"thread_id", "begin_ns"}, {"process_id", "begin_ns"}, {"", "begin_ns"}};

constexpr Table kRangeTables[] = {
    {"ranges", "Range instances with their host and device time, by the attribution that was chosen", kRangeColumns,
     [](const Model& model) { return model.timeline().ranges.size(); }, kRangeLookups},
    {"payloads", "Values that the program attached to ranges and marks", kPayloadColumns,
     [](const Model& model) { return model.timeline().attachments.size(); }, kPayloadLookups},
    {"marks", "Instants that the program marked", kMarkColumns,
     [](const Model& model) { return model.timeline().marks.size(); }, kMarkLookups},
    {"steps", "Iterations of training or serving loops", kStepColumns,
     [](const Model& model) { return model.timeline().steps.size(); }, kStepLookups},
};

}  // namespace

std::span<const Table> range_tables() { return kRangeTables; }

}  // namespace rangefinder::query
