// SPDX-License-Identifier: MIT
#include "bench/html_page.hpp"

#include "base/markup.hpp"
#include "report/text_table.hpp"

#include <algorithm>

namespace rangefinder::bench {
namespace {

/// Without a script and with a policy that allows none: a name that got through would still do nothing.
constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.45 system-ui, sans-serif; max-width: 80em; margin: 0 auto; padding: 1em; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6em; } h2 { font-size: 1.2em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3em .6em; border-bottom: 1px solid #ccc; overflow-wrap: break-word; }
.n { text-align: right; white-space: nowrap; }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .6em; background: #f2f2f2; }
@media (max-width: 50em) {
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: .6em 0; border-bottom: 1px solid #ccc; }
  td, td.n { text-align: left; border: 0; padding: .1em 0; white-space: normal; overflow-wrap: anywhere; }
  td::before { content: attr(data-label) ": "; font-weight: 600; }
}
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } pre { background: #262626; } th, td, tr { border-color: #444; }
}
</style>
)";

}  // namespace

std::string html_sentence(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t begin = text.find('`'), end = begin == text.npos ? begin : text.find('`', begin + 1);
    if (end == text.npos) return out + base::markup_escaped(text);
    out += base::markup_escaped(text.substr(0, begin)) + "<code>";
    out += base::markup_escaped(text.substr(begin + 1, end - begin - 1)) + "</code>";
    text.remove_prefix(end + 1);
  }
}

std::string html_of(const report::Table& table) {
  const auto is_number = [&](std::size_t column) { return !report::is_text(table.columns()[column].type); };
  std::string out = "<table>\n<thead><tr>";
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    out += is_number(column) ? "<th class=\"n\">" : "<th>";
    out += base::markup_escaped(report::heading(table.columns()[column])) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    out += "<tr>";
    for (std::size_t column = 0; column < table.columns().size(); ++column) {
      out += is_number(column) ? "<td class=\"n\" data-label=\"" : "<td data-label=\"";
      out += base::markup_escaped(report::heading(table.columns()[column])) + "\">";
      out += html_sentence(report::readable_cell(table, row, column)) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

std::string html_page(std::string_view title, std::string_view body) {
  std::string out(kHead);
  out += "<title>" + base::markup_escaped(title) + "</title>\n</head>\n<body>\n<h1>" + base::markup_escaped(title) +
         "</h1>\n";
  out += body;
  return out + "</body>\n</html>\n";
}

}  // namespace rangefinder::bench
