// SPDX-License-Identifier: MIT
#include "base/colour.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "compare/compared_side.hpp"
#include "compare/difference.hpp"
#include "compare/difference_tables.hpp"
#include "compare/load_runs.hpp"
#include "report/csv.hpp"
#include "report/footer.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/text_table.hpp"
#include "report/wrapped.hpp"

#include <rangefinder/compare.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

constexpr std::array<DifferenceBy, 4> kTables{DifferenceBy::kPath, DifferenceBy::kOperator, DifferenceBy::kKernelFamily,
                                              DifferenceBy::kCollective};

/// The rows of one kind, which are one after the other.
template <typename Row>
std::span<const Row> rows_by(const std::vector<Row>& rows, DifferenceBy by) {
  const auto first = std::find_if(rows.begin(), rows.end(), [by](const Row& row) { return row.by == by; });
  return {first, std::find_if(first, rows.end(), [by](const Row& row) { return row.by != by; })};
}

/// The tables of text and Markdown that are not empty, each with its heading.
std::vector<std::pair<std::string, report::Table>> tables_of(const RunDifference& difference, std::size_t top) {
  std::vector<std::pair<std::string, report::Table>> tables;
  const auto add = [&](std::string heading, report::Table table) {
    if (table.row_count() != 0) tables.emplace_back(std::move(heading), std::move(table));
  };
  add("Steps", compare::figures_table(difference));
  for (const DifferenceBy by : kTables)
    add(std::string("By ") + to_string(by), compare::times_table(rows_by(difference.times, by), top));
  add("Memory at the peak, by range", compare::memory_table(rows_by(difference.memory, DifferenceBy::kPath), top));
  add("Memory at the peak, by operator",
      compare::memory_table(rows_by(difference.memory, DifferenceBy::kOperator), top));
  return tables;
}

std::string counted(std::uint64_t count, std::string_view what) {
  return base::with_thousands(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

/// "before.rfcap: 40 steps (3 of warm-up left out), NVIDIA H100"
std::string text_of(const ComparedSide& side) {
  std::string text = side.runs.empty() ? std::string("nothing") : base::printable(side.runs.front());
  if (side.runs.size() > 1) text += " and " + counted(side.runs.size() - 1, "more run");
  text += ": " + counted(side.steps, "step");
  if (side.warm_up != 0) text += " (" + base::with_thousands(side.warm_up) + " of warm-up left out)";
  std::string devices;
  for (const std::string& device : side.devices)
    if (!device.empty()) devices += ", " + base::printable(device);
  text += side.devices.empty() ? ", no device" : devices;
  if (!side.cpu.empty()) text += ", " + base::printable(side.cpu);
  return text;
}

// ---- text

std::string text_of(const RunDifference& difference, const DiffTextOptions& options) {
  const report::TextOptions text{options.utf8, options.colour, options.width};
  const auto line = [&](const std::string& words, std::size_t indent) {
    return report::wrapped(words, options.width, indent) + "\n";
  };
  const auto heading = [&](const std::string& words) {
    return options.colour ? "\n" + std::string(base::colour::kBold) + words + std::string(base::colour::kPlain) + "\n"
                          : "\n" + words + "\n";
  };
  std::string out = line("baseline   " + text_of(difference.baseline), 11) +
                    line("candidate  " + text_of(difference.candidate), 11) + "\n" +
                    line(compare::step_sentence(difference), 2);
  if (difference.nothing_found()) {
    out += "nothing is different\n";
  } else {
    for (const auto& [title, table] : tables_of(difference, options.top))
      out += heading(title) + report::to_text(table, text);
  }
  report::Footer footer;
  footer.notes = difference.notes;
  const std::string notes = report::to_text(footer, text);
  return notes.empty() ? out : out + "\n" + notes;
}

// ---- Markdown

std::string markdown_of(const RunDifference& difference, const DiffTextOptions& options) {
  std::string out = "**" + report::markdown_text(compare::step_sentence(difference)) +
                    "**\n\n- baseline: " + report::markdown_text(text_of(difference.baseline)) +
                    "\n- candidate: " + report::markdown_text(text_of(difference.candidate)) + "\n";
  if (difference.nothing_found()) {
    out += "\nNothing is different.\n";
  } else {
    for (const auto& [title, table] : tables_of(difference, options.top)) {
      out += "\n### " + title + "\n\n" + report::markdown_of(table);
      if (table.hidden_rows() != 0) out += "\n" + counted(table.hidden_rows(), "more row") + "\n";
    }
  }
  for (std::size_t i = 0; i < difference.notes.size(); ++i)
    out += (i == 0 ? "\n- " : "- ") + report::markdown_text(base::printable(difference.notes[i])) + "\n";
  return out;
}

// ---- JSON

std::string_view unit_text(FigureUnit unit) noexcept {
  switch (unit) {
    case FigureUnit::kNanoseconds:
      return "ns";
    case FigureUnit::kBytes:
      return "B";
    case FigureUnit::kCount:
      return "";
    case FigureUnit::kPerSecond:
      return "1/s";
  }
  return "";
}

void append_json(std::string& out, const FigureDifference& figure) {
  out += '{';
  base::JsonWriter(out, base::kSpacedJson)
      .text("name", figure.name)
      .text("unit", unit_text(figure.unit))
      .number("baseline", figure.baseline)
      .number("candidate", figure.candidate);
  out += '}';
}

void append_json(std::string& out, const MemoryDifference& memory) {
  out += '{';
  base::JsonWriter(out, base::kSpacedJson)
      .text("by", memory.by == DifferenceBy::kOperator ? "operator" : "range")
      .text("name", memory.name)
      .number("baseline_bytes", memory.baseline_bytes)
      .number("candidate_bytes", memory.candidate_bytes);
  out += '}';
}

/// A line each.
template <typename Row>
void append_rows(std::string& out, const std::vector<Row>& rows) {
  out += '[';
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    append_json(out, rows[i]);
  }
  out += ']';
}

std::string json_members(const RunDifference& difference) {
  std::string out;
  base::JsonWriter members(out, {",\n  ", ": "});
  compare::append_json(members.key("baseline"), difference.baseline, base::kSpacedJson);
  compare::append_json(members.key("candidate"), difference.candidate, base::kSpacedJson);
  append_rows(members.key("figures"), difference.figures);
  append_rows(members.key("memory"), difference.memory);
  return out;
}

}  // namespace

Result<RunDifference> compare_runs(const std::string& baseline, const std::string& candidate, const LoadOptions& load,
                                   const CompareOptions& options) {
  const compare::RunOptions run_options{options.projection};
  const Result<std::vector<compare::Run>> before = compare::load_runs(baseline, load, run_options);
  if (!before) return Error(before.error()).with_context("baseline");
  const Result<std::vector<compare::Run>> after = compare::load_runs(candidate, load, run_options);
  if (!after) return Error(after.error()).with_context("candidate");
  return compare::difference_of(*before, *after);
}

Status write_difference(const RunDifference& difference, const DiffTextOptions& options,
                        const std::function<bool(std::string_view)>& sink) {
  const report::Sink checked = [&sink](std::string_view text) -> Status {
    if (sink(text)) return {};
    return Error(ErrorCode::kIo, "diff: cannot write the output");
  };
  switch (options.format) {
    case DiffFormat::kText:
      return checked(text_of(difference, options));
    case DiffFormat::kMarkdown:
      return checked(markdown_of(difference, options));
    case DiffFormat::kCsv: {
      report::CsvOptions csv;
      csv.terminal = options.terminal;
      return report::write_csv(compare::all_times_table(difference), csv, checked);
    }
    case DiffFormat::kJson:
      break;
  }
  report::Footer footer;
  footer.notes = difference.notes;
  return report::write_json(compare::all_times_table(difference), "diff", footer, checked, json_members(difference));
}

}  // namespace rangefinder
