// SPDX-License-Identifier: MIT
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"
#include "report/view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace rangefinder::html {
namespace {

constexpr std::size_t kMostDots = 2000;

/// The column of that key; the view has it.
std::optional<std::size_t> column_of(const report::Table& table, std::string_view key) {
  const std::vector<std::string> keys = report::unique_keys(table.columns());
  const auto found = std::find(keys.begin(), keys.end(), key);
  if (found == keys.end()) return std::nullopt;
  return static_cast<std::size_t>(found - keys.begin());
}

double number_or_nan(const report::Table& table, std::size_t row, std::size_t column) {
  return table.is_null(row, column) ? std::numeric_limits<double>::quiet_NaN()
                                    : static_cast<double>(table.number_at(row, column));
}

Result<report::Table> table_of_view(const PageInput& input, std::string_view name) {
  report::ViewOptions options;
  options.peaks = input.options.peaks;
  options.format = ReportFormat::kJson;
  options.projection = input.projected.projection_options();
  const Result<const report::View*> view = report::find_view(name, options);
  if (!view) return view.error();
  if (const std::string missing = report::missing_for(**view, input.timeline); !missing.empty())
    return Error(ErrorCode::kNotFound, missing);
  return report::make_table(**view, input.projected, options);
}

std::string first_note(const report::Table& table) {
  for (const std::string& note : table.notes())
    if (!note.starts_with("no shares of a peak")) return note;
  return "No range has operations that are counted: record the shapes of operators' inputs, or hardware counters.";
}

std::string peaks_json(const MachinePeaks* peaks, std::string_view device, std::string_view what, const char* member) {
  std::string json;
  if (peaks == nullptr) return "[]";
  for (const MachinePeak& peak : peaks->rows) {
    if (peak.device != device || peak.what != what || !std::isfinite(peak.value) || peak.value <= 0) continue;
    json += (json.empty() ? "{\"label\":" : ",{\"label\":") + json_of(peak.type) + ",\"" + member +
            "\":" + std::to_string(static_cast<std::uint64_t>(std::min(peak.value, 9e15))) + "}";
  }
  return "[" + json + "]";
}

}  // namespace

struct RooflineSection::Row {
  std::string name;
  std::int64_t time_ns = 0;
  double flop = 0;
  double byte = 0;
};

RooflineSection::~RooflineSection() = default;

RooflineSection::RooflineSection(const PageInput& input, PageOutput& output) : input_(input), output_(output) {
  const Timeline& timeline = input.timeline;
  device_ = timeline.activities.size() != 0
                ? timeline.devices[timeline.streams[timeline.activities.stream.front()].device].name
                : "host";
  std::string why;
  // Where no range has dots, operators may.
  for (const std::string_view view : {std::string_view("roofline"), std::string_view("roofline_operators")}) {
    const Result<report::Table> table = table_of_view(input, view);
    if (table) add_rows(*table);
    if (!rows_.empty()) break;
    if (why.empty()) why = table ? first_note(*table) : table.error().message();
  }
  if (rows_.empty()) {
    output.absent["roofline"] = why;
    return;
  }
  if (input.options.peaks == nullptr)
    output.absent["roofline_peaks"] =
        "No peaks were given: run `rangefinder measure-peaks -o peaks.json` on the machine that ran this, and add "
        "--peaks peaks.json.";
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.time_ns > b.time_ns; });
  if (rows_.size() > kMostDots) {
    output.left_out += rows_.size() - kMostDots;
    output.left_why.push_back("the roofline has the " + std::to_string(kMostDots) + " dots with the most time");
    rows_.resize(kMostDots);
  }
  for (const Row& row : rows_) output.names.count(row.name);
}

void RooflineSection::add_rows(const report::Table& table) {
  const auto time = column_of(table, "busy_ns"), flop = column_of(table, "flops"), byte = column_of(table, "bytes_b");
  if (!time || !flop || !byte) return;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    Row dot{table.text_at(row, table.name_column()), 0, number_or_nan(table, row, *flop),
            number_or_nan(table, row, *byte)};
    if (table.is_null(row, *time) || !(dot.flop > 0) || !(dot.byte > 0)) continue;
    dot.time_ns = table.number_at(row, *time);
    if (dot.time_ns > 0) rows_.push_back(std::move(dot));
  }
}

std::string RooflineSection::json() const {
  if (rows_.empty()) return {};
  TableData table;
  const std::size_t name = table.add("name", "varint"), time = table.add("time_ns", "varint");
  const std::size_t flop = table.add("flop", "f64"), byte = table.add("byte", "f64");
  for (const Row& row : rows_) {
    table.varint(name, output_.names.index(std::string_view(row.name)));
    table.varint(time, row.time_ns);
    table.f64(flop, row.flop);
    table.f64(byte, row.byte);
    table.next_row();
  }
  return "{\"device\":" + json_of(device_) +
         ",\"peaks\":" + peaks_json(input_.options.peaks, device_, "flops", "flop_per_s") +
         ",\"bandwidths\":" + peaks_json(input_.options.peaks, device_, "bandwidth", "byte_per_s") +
         ",\"table\":" + table.json(output_.blocks) + "}";
}

}  // namespace rangefinder::html
