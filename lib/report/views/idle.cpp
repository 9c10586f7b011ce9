// SPDX-License-Identifier: MIT
#include "analysis/idle_times.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"
#include "report/views/wait_words.hpp"

#include <cstdint>
#include <string>
#include <vector>

// `idle`: why devices did nothing, and where the host was meanwhile; `idle_streams`: the same of each stream.
namespace rangefinder::report {
namespace {

using analysis::IdleCause;
using analysis::IdleOf;
using analysis::IdleTime;

std::string_view cause_text(IdleCause cause) {
  switch (cause) {
    case IdleCause::kHostLate:
      return "host too late";
    case IdleCause::kInput:
      return "input";
    case IdleCause::kSynchronisation:
      return "synchronisation";
    case IdleCause::kCommunication:
      return "communication";
    case IdleCause::kEngine:
      return "autograd engine";
    case IdleCause::kLaunchLatency:
      return "launch latency";
    case IdleCause::kEvent:
      return "event";
    case IdleCause::kOther:
      return "other";
  }
  return "";
}

std::string reason_of(const IdleTime& row) {
  std::string text(cause_text(row.cause));
  if (row.wait) text.append(": ").append(wait_word(*row.wait));
  return text;
}

Result<Table> make_table_of(const ProjectedTimeline& projected, const ViewOptions& options, IdleOf of) {
  using Row = IdleTime;
  const Timeline& timeline = projected.timeline();
  analysis::StepRules rules;
  if (Status status = rules.apply(options.step_names); !status.ok()) return std::move(status).error();
  analysis::IdleTimesOptions wanted;
  wanted.of = of;
  wanted.projection = projected.projection_options();
  const std::vector<Row> rows = analysis::idle_times(timeline, projected.projection(), rules, wanted);
  std::int64_t all_ns = 0;
  for (const Row& row : rows) all_ns = detail::plus(all_ns, row.idle_ns);
  const auto range = [](const Row& row) {
    return row.range != StringId::kEmpty ? CellText(row.range) : CellText("(outside any range)");
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Range", range);
  columns.text("Reason", reason_of);
  add_device_keys(columns, timeline, &Row::device);
  columns.text("Stream", [&](const Row& row) { return stream_label(timeline, row.stream); });
  columns.count("Gaps", &Row::gaps).if_room(1);
  columns.time("Idle", &Row::idle_ns);
  columns.percent("Share", [all_ns](const Row& row) { return common::share(row.idle_ns, all_ns); });
  columns.time("Avg", [](const Row& row) { return common::mean(row.idle_ns, row.gaps); }).if_room(3);
  columns.time("Longest", &Row::longest_ns).if_room(2);
  Table table = columns.table_of(rows);
  if (of == IdleOf::kDevices)
    table.note("a device is idle while none of its streams is busy; Stream: whose next operation ended the gap");
  else
    table.note("a stream is idle between its operations, whatever other streams do; --view idle has idle devices");
  return table;
}

}  // namespace

Result<Table> make_idle(const ProjectedTimeline& projected, const ViewOptions& options) {
  return make_table_of(projected, options, IdleOf::kDevices);
}

Result<Table> make_idle_streams(const ProjectedTimeline& projected, const ViewOptions& options) {
  return make_table_of(projected, options, IdleOf::kStreams);
}

}  // namespace rangefinder::report
