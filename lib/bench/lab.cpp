// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/markup.hpp"
#include "base/text.hpp"
#include "bench/html_page.hpp"
#include "bench/lab_tables.hpp"
#include "bench/results.hpp"
#include "bench/results_tables.hpp"
#include "bench/row_text.hpp"
#include "report/text_table.hpp"

#include <rangefinder/bench/lab.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::bench {
namespace {

using report::Table;

constexpr const char* kTitle = "Changes and causes";

/// What a page says under a heading. Text, Markdown and HTML are made of the same ones.
struct Section {
  std::string heading;
  std::vector<std::string> sentences;
  Table table;
  std::vector<std::string> items;
};

Table machine_table(JsonView results) {
  const JsonView where = results["provenance"];
  Table table({{"What"}, {"Value"}});
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) table.text(what).text(value);
  };
  line("Machine", where["hardware_key"].text());
  line("Device", where["device"].text());
  line("Size", where["size"].text());
  line("Seed", std::to_string(results["seed"].integer()));
  line("Profile", where["profile"].text());
  line("rangefinder", results["rangefinder"].text());
  line("LibTorch", where["torch"].text());
  line("CUDA", where["cuda"].text());
  line("Driver", where["driver"].text());
  line("Worker", results["worker"].text());
  line("Commit", where["commit"].text());
  line("Measured", where["time"].text());
  return table;
}

Table no_table() { return Table(std::vector<report::Column>{}); }

Section changes(JsonView results) {
  Section out{"Changes", {}, changes_table(results), {}};
  if (out.table.row_count() == 0) {
    out.sentences = {"Nothing was measured."};
    return out;
  }
  out.sentences = {
      "Speed-ups are by wall time. Each row was timed in turns with its baseline; the speed-up over the row that it "
      "changes is the quotient of the two. The bytes ratio is baseline / row."};
  for (const Series& series : measured_series(results)) {
    for (const JsonView row : series.rows)
      out.items.push_back("`" + row["name"].text() + "`: " + row["purpose"].text("-"));
  }
  return out;
}

Section causes(JsonView results) {
  Section out{"Where the time of the baseline goes", {}, causes_table(results), {}};
  if (out.table.row_count() == 0) {
    out.sentences = {"No steps were profiled."};
    return out;
  }
  out.sentences = {
      "The five largest causes, of profiled steps. Operators and ranges count by their own time. What runs in a range "
      "that waits is in both lines; operators of several threads can take more than a step."};
  return out;
}

Section bottlenecks(JsonView results) {
  Section out{"Bottlenecks", {}, no_table(), {}};
  for (const Series& series : measured_series(results)) {
    out.items.push_back("Baseline of `" + series.name + "`: " + bottleneck_text(series.baseline["bottleneck"]));
    for (const JsonView row : series.rows)
      out.items.push_back("`" + row["name"].text() + "`: " + bottleneck_text(row["optimized"]["bottleneck"]));
  }
  return out;
}

Section shortfalls(JsonView results) {
  Section out{"Skipped, failed, worse than expected", {}, shortfalls_table(results), {}};
  if (out.table.row_count() == 0) out.sentences = {"No row."};
  for (const JsonView note : results["notes"].items()) out.items.push_back(note.text());
  return out;
}

std::vector<Section> findings(JsonView results) {
  std::vector<Section> out;
  out.push_back(changes(results));
  out.push_back(causes(results));
  out.push_back(bottlenecks(results));
  out.push_back(shortfalls(results));
  return out;
}

/// Outside of code a name such as vector<float> is no HTML. A backtick without a second one begins no code.
std::string markdown_sentence(std::string_view text) {
  const bool paired = std::count(text.begin(), text.end(), '`') % 2 == 0;
  bool code = false;
  std::string out;
  for (const char c : base::printable(text)) {
    if (c == '`') code = paired && !code;
    if ((c == '<' && !code) || (c == '`' && !paired)) out += '\\';
    out += c;
  }
  return out;
}

std::string page_in_markdown(const std::vector<Section>& sections, const std::string& command) {
  std::string out = fmt::format("# {}\n", kTitle);
  // Indented: no text ends the block. printable() leaves no line end.
  if (!command.empty()) out += "\n    " + base::printable(command) + "\n";
  for (const Section& section : sections) {
    out += fmt::format("\n## {}\n", section.heading);
    for (const std::string& sentence : section.sentences) out += "\n" + markdown_sentence(sentence) + "\n";
    if (section.table.row_count() != 0) out += "\n" + markdown_of(section.table);
    if (!section.items.empty()) out += '\n';
    for (const std::string& item : section.items) out += "- " + markdown_sentence(item) + "\n";
  }
  return out;
}

std::string page_in_html(const std::vector<Section>& sections, const std::string& command) {
  std::string out;
  if (!command.empty()) out += "<pre>" + base::markup_escaped(command) + "</pre>\n";
  for (const Section& section : sections) {
    out += "<h2>" + base::markup_escaped(section.heading) + "</h2>\n";
    for (const std::string& sentence : section.sentences) out += "<p>" + html_sentence(sentence) + "</p>\n";
    if (section.table.row_count() != 0) out += html_of(section.table);
    if (section.items.empty()) continue;
    out += "<ul>\n";
    for (const std::string& item : section.items) out += "<li>" + html_sentence(item) + "</li>\n";
    out += "</ul>\n";
  }
  return html_page(kTitle, out);
}

/// For a shell: in quotes where it must be.
std::string word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

RunOptions lab_options() {
  RunOptions options;
  options.targets = {"optimization_summary*"};
  options.profile = ProfileLevel::kMinimal;
  return options;
}

std::string lab_command(const RunOptions& options) {
  const RunOptions defaults = lab_options();
  std::string out = "rangefinder bench lab";
  const auto add = [&](const char* option, const std::string& value, bool differs) {
    if (differs) out += std::string(" ") + option + " " + word(value);
  };
  std::string targets;
  for (const std::string& target : options.targets) targets += (targets.empty() ? "" : ",") + target;
  add("--targets", targets, options.targets != defaults.targets);
  add("--worker", options.worker, !options.worker.empty());
  add("--device", options.device, options.device != defaults.device);
  add("--size", options.size, options.size != defaults.size);
  add("--iterations", std::to_string(options.iterations), options.iterations != defaults.iterations);
  add("--warmup", std::to_string(options.warmup), options.warmup != defaults.warmup);
  add("--profile", std::string(to_string(options.profile)), options.profile != defaults.profile);
  add("--peaks", options.peaks, !options.peaks.empty());
  add("--seed", std::to_string(options.seed), options.seed != defaults.seed);
  add("--timeout-s", fmt::format("{}", options.timeout_s), options.timeout_s != defaults.timeout_s);
  add("--time-limit", fmt::format("{}", options.time_limit_s), options.time_limit_s != defaults.time_limit_s);
  add("--out", options.out, options.out != defaults.out);
  return out;
}

Result<LabPage> lab_page(const std::string& json, const std::string& command) {
  const Result<Json> results = results_from(json);
  if (!results) return results.error();
  std::vector<Section> sections;
  sections.push_back({"Machine and software", {}, machine_table(*results), {}});
  for (Section& section : findings(*results)) sections.push_back(std::move(section));
  return LabPage{page_in_markdown(sections, command), page_in_html(sections, command)};
}

Result<std::string> lab_text(const std::string& json, const TextStyle& style) {
  const Result<Json> results = results_from(json);
  if (!results) return results.error();
  std::string out;
  for (const Section& section : findings(*results)) {
    if (section.table.row_count() == 0) continue;
    out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", section.heading);
    out += report::to_text(section.table, {style.utf8, style.colour, style.width});
  }
  return out;
}

Result<RunOutcome> lab(const RunOptions& options) {
  Result<RunOutcome> outcome = run(options);
  if (!outcome) return outcome;
  const Result<LabPage> page = lab_page(outcome->json, lab_command(options));
  if (!page) return page.error();
  for (const auto& [name, text] : {std::pair("/lab.md", &page->markdown), std::pair("/lab.html", &page->html)}) {
    if (Status status = base::write_whole_file(options.out + name, *text); !status.ok()) return status.error();
  }
  return outcome;
}

}  // namespace rangefinder::bench
