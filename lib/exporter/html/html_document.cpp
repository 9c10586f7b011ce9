// SPDX-License-Identifier: MIT
#include "exporter/html/html_document.hpp"

#include "exporter/html/collect_tracks.hpp"
#include "exporter/html/counters.hpp"
#include "exporter/html/device_time.hpp"
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"
#include "exporter/html/slices.hpp"
#include "report/units.hpp"

#include <rangefinder/detail/wrapping.hpp>
#include <rangefinder/version.hpp>

#include <page_parts.hpp>  // made of page/ by the build

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace rangefinder::html {
namespace {

constexpr int kSchemaVersion = 1;

template <std::size_t Size>
std::string_view text_of(const unsigned char (&bytes)[Size]) noexcept {
  return {reinterpret_cast<const char*>(bytes), Size};
}

class Index {
 public:
  /// Nothing for a section that is not there.
  void add(std::string_view member, const std::string& json) {
    if (json.empty()) return;
    json_ += json_.empty() ? "{" : ",\n";
    append_json(json_, member);
    json_ += ":";
    json_ += json;
  }
  std::string json() const { return json_ + "}"; }

 private:
  std::string json_;
};

std::vector<Track> tracks_of(const PageInput& input, PageOutput& output) {
  std::vector<Track> tracks = collect_tracks(input, output);
  const Merged merged = merge_short(tracks, input.options.most_slices);
  if (merged.shorter_than_ns != 0) {
    output.left_out += merged.slices - merged.into;
    output.left_why.push_back(std::to_string(merged.slices) + " slices that are shorter than " +
                              report::readable_time(merged.shorter_than_ns) +
                              " and begin close to each other were merged into " + std::to_string(merged.into) +
                              ", which are called \"(short slices, merged)\"; all analyses saw them one by one");
  }
  return tracks;
}

void add_head(const PageInput& input, std::string_view title, Index& index) {
  const Timeline& timeline = input.timeline;
  index.add("schema_version", std::to_string(kSchemaVersion));
  index.add("generator", json_of(std::string("rangefinder ") + version()));
  index.add("title", json_of(title));
  index.add("begin_ns", json_of(std::to_string(timeline.begin_ns)));
  index.add("end_ns", json_of(std::to_string(std::max(timeline.begin_ns, timeline.end_ns))));
  if (timeline.realtime_offset_ns != kNoTime) {
    const std::int64_t wall_ns = detail::plus(timeline.realtime_offset_ns, timeline.begin_ns);
    index.add("wall_begin_ms", std::to_string(wall_ns / 1'000'000));
  }
  index.add("simulated", timeline.simulated ? "true" : "false");
}

std::string absent_json(const PageOutput& output) {
  std::string json;
  for (const auto& [section, why] : output.absent)
    json += (json.empty() ? "{" : ",") + json_of(section) + ":" + json_of(why);
  return json.empty() ? "{}" : json + "}";
}

std::string make_index(const PageInput& input, std::string_view title, PageOutput& output) {
  std::vector<Track> tracks = tracks_of(input, output);
  const std::vector<CounterTrack> counters = collect_counters(input, output);
  count_names(input, tracks, output.names);
  const RangesSection ranges(input, output);
  const RooflineSection roofline(input, output);
  output.names.put_in_order();
  const DeviceTime time = device_time(input);
  const std::optional<Result<Stragglers>> compared = compare_ranks(input);

  Index index;
  add_head(input, title, index);
  index.add("facts", facts_section(input));
  index.add("verdict", verdict_section(input, time, ranges.host_time()));
  index.add("names", output.names.json(output.blocks));
  index.add("steps", steps_section(input, output));
  index.add("ranges", ranges.json());
  index.add("timeline", timeline_section(input, tracks, counters, output));
  index.add("roofline", roofline.json());
  index.add("memory", memory_section(input, output));
  index.add("ranks", ranks_section(input, compared, output));
  index.add("advice", advice_section(input, time, compared));
  index.add("lost", lost_section(input, output));
  index.add("absent", absent_json(output));
  index.add("blocks", output.blocks.json());
  return index.json();
}

}  // namespace

Status write_page(const PageInput& input, std::string_view title, const PageSink& sink, HtmlExportReport& report) {
  PageOutput output(input.timeline);
  const std::string index = make_index(input, title, output);
  const auto write = [&](std::string_view text) {
    report.output_bytes += text.size();
    return sink(text);
  };
  Status status = write(text_of(kPageHead));
  if (status.ok()) status = write("<script type=\"application/json\" id=\"index\">" + index + "</script>\n");
  for (std::size_t block = 0; block < output.blocks.size() && status.ok(); ++block)
    status = write("<script type=\"application/octet-stream\" id=\"block-" + std::to_string(block) + "\">" +
                   output.blocks.text(block) + "</script>\n");
  if (status.ok()) status = write(text_of(kPageTail));
  report.page_bytes = text_of(kPageHead).size() + text_of(kPageTail).size();
  report.slices = output.slices;
  report.left_out = output.left_out;
  report.notes = std::move(output.left_why);
  return status;
}

std::string page_policy() {
  // The page's own, which the build writes into its head.
  constexpr std::string_view kBefore = "http-equiv=\"Content-Security-Policy\" content=\"";
  const std::string_view head = text_of(kPageHead);
  const std::size_t at = head.find(kBefore);
  if (at == std::string_view::npos) return "default-src 'none'";
  const std::string_view rest = head.substr(at + kBefore.size());
  return std::string(rest.substr(0, rest.find('"')));
}

}  // namespace rangefinder::html
