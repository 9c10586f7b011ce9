// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"

#include "base/intervals.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace rangefinder::testing {
namespace {

using Ids = std::pair<std::string, std::string>;

Ids ids_of(const JsonValue& event) { return {event["pid"].text(), event["tid"].text()}; }

/// What viewers call the rows.
std::map<Ids, std::string> row_names(const JsonValue& document) {
  std::map<std::string, std::string> processes;
  std::map<Ids, std::string> rows;
  for (const JsonValue& event : document["traceEvents"].items()) {
    if (event["ph"].text() != "M") continue;
    const std::string& name = event["name"].text();
    if (name == "process_labels") processes[event["pid"].text()] = event["args"]["labels"].text();
    if (name == "thread_sort_index") rows.try_emplace(ids_of(event), event["tid"].text());
    if (name == "thread_name") rows[ids_of(event)] = event["args"]["name"].text();
  }
  for (auto& [ids, name] : rows) name = processes[ids.first] + " / " + name;
  return rows;
}

void require_strict_text(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    char32_t code = 0;
    const std::size_t length = base::decode_utf8(std::string_view(text).substr(at), code);
    if (length == 0) FAIL("byte " << at << " is not UTF-8");
    if (code < 0x20 && code != '\n') FAIL("byte " << at << " is a control character");
    at += length;
  }
  REQUIRE(text.find("</") == std::string::npos);
}

bool is_number(const std::string& text) {
  std::size_t at = text[0] == '-' ? 1 : 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - from;
  };
  const bool zero = at < text.size() && text[at] == '0';
  if (const std::size_t whole = digits(); whole == 0 || (zero && whole != 1)) return false;
  if (at < text.size() && text[at] == '.' && (++at, digits() == 0)) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

void require_numbers(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::kNumber:
      if (!is_number(value.text())) FAIL("not a JSON number: " << value.text());
      break;
    case JsonValue::Kind::kArray:
      for (const JsonValue& item : value.items()) require_numbers(item);
      break;
    case JsonValue::Kind::kObject:
      for (const auto& [key, member] : value.members()) require_numbers(member);
      break;
    default:
      break;
  }
}

struct Slice {
  std::int64_t begin, end;
  std::size_t order;
};

void require_nesting(const std::string& row, std::vector<Slice>& slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.begin, b.end, a.order) < std::tie(b.begin, a.end, b.order);
  });
  std::vector<std::int64_t> open;
  for (const Slice& slice : slices) {
    while (!open.empty() && open.back() <= slice.begin) open.pop_back();
    if (!open.empty() && slice.end > open.back())
      FAIL("row " << row << ": the slice [" << slice.begin << ", " << slice.end << ") cuts one that ends at "
                  << open.back());
    open.push_back(slice.end);
  }
}

/// When any slice of a row is open; of slices in order of their begin.
std::vector<base::Interval> covered(const std::vector<Slice>& slices) {
  std::vector<base::Interval> out;
  for (const Slice& slice : slices) {
    if (!out.empty() && slice.begin <= out.back().end)
      out.back().end = std::max(out.back().end, slice.end);
    else
      out.push_back({slice.begin, slice.end});
  }
  return out;
}

bool holds(const std::vector<base::Interval>& intervals, std::int64_t time) {
  const auto after = std::upper_bound(intervals.begin(), intervals.end(), time,
                                      [](std::int64_t t, const base::Interval& i) { return t < i.begin; });
  return after != intervals.begin() && time < (after - 1)->end;
}

}  // namespace

std::int64_t nanoseconds(const JsonValue& number) {
  std::string digits = number.text();
  const std::size_t point = digits.find('.');
  if (point == std::string::npos || digits.size() - point != 4)
    throw std::runtime_error(digits + ": not three decimals");
  digits.erase(point, 1);
  return std::stoll(digits);
}

Exported Exported::parse(std::string text) {
  Exported out;
  out.text = std::move(text);
  out.document = JsonValue::parse(out.text);
  const std::map<Ids, std::string> rows = row_names(out.document);
  for (const JsonValue& event : out.document["traceEvents"].items()) {
    const std::string& phase = event["ph"].text();
    if (phase == "M" || phase == "s" || phase == "f") continue;
    TraceEvent& taken = out.events.emplace_back();
    taken.json = &event;
    taken.phase = phase;
    taken.name = event["name"].text();
    if (event.has("cat")) taken.category = event["cat"].text();
    const auto row = rows.find(ids_of(event));
    taken.row = row == rows.end() ? event["tid"].text() : row->second;
    taken.time_ns = nanoseconds(event["ts"]);
    if (phase == "X") taken.duration_ns = nanoseconds(event["dur"]);
  }
  return out;
}

namespace {

template <typename Input>
Exported export_of(const Input& input, const ChromeExportOptions& options) {
  const ScratchFolder folder;
  ChromeExportReport report;
  const Status status = export_chrome_trace(input, folder.file("x.json"), options, &report);
  if (!status.ok()) FAIL(status.error().message());
  Exported out = Exported::parse(read_file(folder.file("x.json")));
  out.report = report;
  return out;
}

}  // namespace

Exported Exported::of(const Timeline& timeline, const ChromeExportOptions& options) {
  return export_of(timeline, options);
}
Exported Exported::of_file(const std::string& input, const ChromeExportOptions& options) {
  return export_of(input, options);
}
Exported Exported::of(const CaptureBuilder& capture, const ChromeExportOptions& options) {
  const ScratchFolder folder;
  capture.write(folder.file("x.rfcap"));
  return export_of(folder.file("x.rfcap"), options);
}

std::vector<TraceEvent> Exported::all(std::string_view category, std::string_view name) const {
  std::vector<TraceEvent> out;
  for (const TraceEvent& event : events)
    if (event.category == category && (name.empty() || event.name == name)) out.push_back(event);
  return out;
}

TraceEvent Exported::one(std::string_view category, std::string_view name) const {
  const std::vector<TraceEvent> found = all(category, name);
  INFO(category << " " << name);
  REQUIRE(found.size() == 1);
  return found.front();
}

std::vector<std::string> Exported::headings() const {
  std::vector<std::string> out;
  for (const JsonValue& event : document["traceEvents"].items())
    if (event["ph"].text() == "M" && event["name"].text() == "process_name")
      out.push_back(event["args"]["name"].text());
  return out;
}

std::vector<std::string> Exported::rows_of(std::string_view heading) const {
  std::string pid;
  for (const JsonValue& event : document["traceEvents"].items())
    if (event["ph"].text() == "M" && event["name"].text() == "process_name" && event["args"]["name"].text() == heading)
      pid = event["pid"].text();
  std::set<std::int64_t> tids;
  for (const JsonValue& event : document["traceEvents"].items())
    if (event["ph"].text() == "X" && event["pid"].text() == pid) tids.insert(event["tid"].integer());
  const std::map<Ids, std::string> names = row_names(document);
  std::vector<std::string> out;
  for (const std::int64_t tid : tids) {
    const std::string& name = names.at({pid, std::to_string(tid)});
    out.push_back(name.substr(name.find(" / ") + 3));
  }
  return out;
}

std::vector<Exported::Arrow> Exported::arrows() const {
  const std::map<Ids, std::string> rows = row_names(document);
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<const JsonValue*>> halves;
  for (const JsonValue& event : document["traceEvents"].items()) {
    const std::string& phase = event["ph"].text();
    if (phase == "s" || phase == "f")
      halves[{event["cat"].text(), event["name"].text(), event["id"].text()}].push_back(&event);
  }
  std::vector<Arrow> out;
  for (const auto& [key, ends] : halves) {
    INFO("flow " << std::get<2>(key));
    REQUIRE(ends.size() == 2);
    const bool in_order = (*ends[0])["ph"].text() == "s";
    const JsonValue& from = *ends[in_order ? 0 : 1];
    const JsonValue& to = *ends[in_order ? 1 : 0];
    REQUIRE(from["ph"].text() == "s");
    REQUIRE(to["ph"].text() == "f");
    const auto name = [&](const JsonValue& end) {
      const auto row = rows.find(ids_of(end));
      return row == rows.end() ? end["tid"].text() : row->second;
    };
    out.push_back(
        {name(from), name(to), nanoseconds(from["ts"]), nanoseconds(to["ts"]), from["id"].integer(), std::get<0>(key)});
  }
  return out;
}

void require_sound(const Exported& trace) {
  require_strict_text(trace.text);
  require_numbers(trace.document);
  std::map<Ids, std::vector<Slice>> rows;
  std::set<std::string> processes;
  std::set<Ids> described;
  std::size_t order = 0;
  for (const JsonValue& event : trace.document["traceEvents"].items()) {
    const std::string& phase = event["ph"].text();
    INFO("event " << order << ": ph " << phase);
    REQUIRE(std::string("XiCMsf").find(phase) != std::string::npos);
    REQUIRE(event["name"].kind() == JsonValue::Kind::kString);
    REQUIRE(nanoseconds(event["ts"]) >= 0);
    // Perfetto calls a row that is a word by a number of its own, and one of instants of a process or of all "Unnamed".
    REQUIRE(event["pid"].kind() == JsonValue::Kind::kNumber);
    REQUIRE(event["tid"].kind() == JsonValue::Kind::kNumber);
    if (phase == "i" && event.has("s")) REQUIRE(event["s"].text() == "t");
    if (phase == "X") {
      REQUIRE_FALSE(event["cat"].text().empty());
      const std::int64_t begin = nanoseconds(event["ts"]);
      const std::int64_t duration = nanoseconds(event["dur"]);
      REQUIRE(duration >= 0);
      rows[ids_of(event)].push_back({begin, begin + duration, order});
    }
    if (phase == "M" && event["name"].text() == "process_sort_index")
      REQUIRE(processes.insert(event["pid"].text()).second);
    if (phase == "M" && event["name"].text() == "thread_sort_index") REQUIRE(described.insert(ids_of(event)).second);
    ++order;
  }
  std::map<Ids, std::vector<base::Interval>> busy;
  for (auto& [ids, slices] : rows) {
    require_nesting(ids.first + "/" + ids.second, slices);
    busy[ids] = covered(slices);
    INFO("row " << ids.first << "/" << ids.second);
    REQUIRE(processes.count(ids.first) == 1);
    REQUIRE(described.count(ids) == 1);
  }
  for (const JsonValue& event : trace.document["traceEvents"].items()) {
    const std::string& phase = event["ph"].text();
    if (phase != "s" && phase != "f") continue;
    INFO("flow " << event["id"].text() << " " << phase);
    REQUIRE(holds(busy[ids_of(event)], nanoseconds(event["ts"])));
    if (phase == "f") REQUIRE(event["bp"].text() == "e");
  }
  for (const Exported::Arrow& arrow : trace.arrows()) {
    INFO("flow " << arrow.id);
    REQUIRE(arrow.from_ns <= arrow.to_ns);
  }
}

}  // namespace rangefinder::testing
