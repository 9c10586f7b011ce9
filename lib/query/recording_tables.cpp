// SPDX-License-Identifier: MIT
#include "projection/words.hpp"
#include "query/tables.hpp"

#include <rangefinder/report.hpp>

#include <array>
#include <string>
#include <vector>

// About the recording: where it came from, what it lost, where all device time went. And the lists of views and tables.
namespace rangefinder::query {
namespace {

constexpr Column kRecordingColumns[] = {
    {"format", Type::kText, "", "capture, kineto or nsight",
     [](const Model& model, std::uint32_t) { return text(word_of(model.timeline().format)); }},
    {"begin_ns", Type::kInteger, "ns", "first time of anything",
     [](const Model& model, std::uint32_t) { return number(model.timeline().begin_ns); }},
    {"end_ns", Type::kInteger, "ns", "last time of anything",
     [](const Model& model, std::uint32_t) { return number(model.timeline().end_ns); }},
    {"realtime_offset_ns", Type::kInteger, "ns", "wall time (CLOCK_REALTIME) of time 0; NULL: not known",
     [](const Model& model, std::uint32_t) { return if_time(model.timeline().realtime_offset_ns); }},
    {"clock_error_ns", Type::kInteger, "ns", "most that a device time can be off; NULL: the input does not say",
     [](const Model& model, std::uint32_t) {
       return model.timeline().clock_error_ns == 0 ? null_cell() : number(model.timeline().clock_error_ns);
     }},
    {"attribution", Type::kText, "", "what the attribution of this query came to: launch, forward or capture",
     [](const Model& model, std::uint32_t) { return text(word_of(model.projection().attribution)); }},
    {"simulated", Type::kInteger, "", "1: device records come from a script, not from a device",
     [](const Model& model, std::uint32_t) { return number(model.timeline().simulated ? 1 : 0); }},
    {"complete", Type::kInteger, "", "1: nothing is missing; else see health",
     [](const Model& model, std::uint32_t) { return number(model.timeline().health.complete() ? 1 : 0); }},
};

struct Part {
  std::string_view name;
  Account::Part Account::*part;
};
constexpr std::array kParts{Part{"owned", &Account::owned}, Part{"outside", &Account::outside},
                            Part{"before", &Account::before}, Part{"unknown", &Account::unknown},
                            Part{"total", &Account::total}};
constexpr Column kAccountColumns[] = {
    {"part", Type::kText, "", "owned, outside, before, unknown; total is their sum",
     [](const Model&, std::uint32_t row) { return text(kParts[row].name); }},
    {"gpu_ops", Type::kInteger, "", "activities",
     [](const Model& model, std::uint32_t row) {
       return number((model.projection().account.*kParts[row].part).gpu_ops);
     }},
    {"gpu_sum_ns", Type::kInteger, "ns", "their durations, added up",
     [](const Model& model, std::uint32_t row) {
       return number((model.projection().account.*kParts[row].part).gpu_sum_ns);
     }},
};

/// Names and texts are literals; counts are asked for anew.
CaptureHealth::Entry health_of(const Model& model, std::uint32_t row) { return model.timeline().health.entries()[row]; }

constexpr Column kHealthColumns[] = {
    {"name", Type::kText, "", "counter, as in CaptureHealth",
     [](const Model& model, std::uint32_t row) { return text(health_of(model, row).name); }},
    {"count", Type::kInteger, "", "how often",
     [](const Model& model, std::uint32_t row) { return number(health_of(model, row).count); }},
    {"severity", Type::kText, "", "loss: data are missing; note: worth knowing",
     [](const Model& model, std::uint32_t row) {
       return text(health_of(model, row).severity == CaptureHealth::Severity::kLoss ? "loss" : "note");
     }},
    {"description", Type::kText, "", "what it counts",
     [](const Model& model, std::uint32_t row) { return text(health_of(model, row).text); }},
};

constexpr Column kMetadataColumns[] = {
    {"key", Type::kText, "", "key",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().metadata[row].first); }},
    {"value", Type::kText, "", "value as JSON",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().metadata[row].second); }},
};
constexpr Column kNoteColumns[] = {
    {"note", Type::kText, "", "finding about the input",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().notes[row]); }},
};
constexpr Column kWindowColumns[] = {
    {"begin_ns", Type::kInteger, "ns", "begin",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().windows[row].begin_ns); }},
    {"end_ns", Type::kInteger, "ns", "end",
     [](const Model& model, std::uint32_t row) { return number(model.timeline().windows[row].end_ns); }},
};

const std::vector<ReportViewInfo>& all_views() {
  static const std::vector<ReportViewInfo> views = report_views();
  return views;
}
constexpr Column kViewColumns[] = {
    {"name", Type::kText, "", "view of `rangefinder report`; its table is view_NAME",
     [](const Model&, std::uint32_t row) { return text(all_views()[row].name); }},
    {"description", Type::kText, "", "what it shows",
     [](const Model&, std::uint32_t row) { return text(all_views()[row].description); }},
};

/// A column of a documented table.
struct Documented {
  const Table* table;
  const Column* column;
};
const std::vector<Documented>& all_columns() {
  static const std::vector<Documented> columns = [] {
    std::vector<Documented> list;
    for (const Table* table : tables())
      for (const Column& column : table->columns) list.push_back({table, &column});
    return list;
  }();
  return columns;
}
constexpr Column kColumnColumns[] = {
    {"table_name", Type::kText, "", "table",
     [](const Model&, std::uint32_t row) { return text(all_columns()[row].table->name); }},
    {"name", Type::kText, "", "column",
     [](const Model&, std::uint32_t row) { return text(all_columns()[row].column->name); }},
    {"type", Type::kText, "", "INTEGER, REAL or TEXT",
     [](const Model&, std::uint32_t row) { return text(sql_name(all_columns()[row].column->type)); }},
    {"unit", Type::kText, "", "ns, bytes, ...; NULL: none",
     [](const Model&, std::uint32_t row) { return if_text(all_columns()[row].column->unit); }},
    {"indexed", Type::kInteger, "", "1: values of it are looked up in an index",
     [](const Model&, std::uint32_t row) {
       const Documented& each = all_columns()[row];
       return number(each.table->is_looked_up(each.column->name) ? 1 : 0);
     }},
    {"description", Type::kText, "", "what it holds",
     [](const Model&, std::uint32_t row) { return text(all_columns()[row].column->description); }},
};

constexpr Table kRecordingTables[] = {
    {"recording", "One row: what was read", kRecordingColumns, [](const Model&) { return std::size_t{1}; }},
    {"account", "All device time in four parts, and their sum", kAccountColumns,
     [](const Model&) { return kParts.size(); }},
    {"health", "What the recording lost, by cause", kHealthColumns,
     [](const Model& model) { return model.timeline().health.entries().size(); }},
    {"metadata", "Facts that the recording wrote down", kMetadataColumns,
     [](const Model& model) { return model.timeline().metadata.size(); }},
    {"notes", "Findings about the input", kNoteColumns,
     [](const Model& model) { return model.timeline().notes.size(); }},
    {"windows", "Times in which the recording was on; no rows: all the time", kWindowColumns,
     [](const Model& model) { return model.timeline().windows.size(); }},
    {"views", "Views that can be queried", kViewColumns, [](const Model&) { return all_views().size(); }},
    {"table_columns", "Columns of all tables but those of views, and but `id`", kColumnColumns,
     [](const Model&) { return all_columns().size(); }},
};

}  // namespace

std::span<const Table> recording_tables() { return kRecordingTables; }

}  // namespace rangefinder::query
