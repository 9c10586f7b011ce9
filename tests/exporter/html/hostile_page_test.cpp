// SPDX-License-Identifier: MIT
#include "exporter/html/page_reader.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// Each has a word in it that stands in no page: "hostile".
std::vector<std::string> hostile_texts() {
  return {"hostile</script><script>alert(1)</script>",
          "hostile<!--<script>",
          "-->hostile",
          "hostile]]>",
          "hostile\"};alert(1);//",
          "hostile' onload='alert(1)",
          "<img src=x onerror=alert('hostile')>",
          "hostile&lt;script&gt;",
          "hostile\\u003cscript\\u003e",
          "javascript:hostile()",
          "hostile\xE2\x80\xA8\xE2\x80\xA9",
          "hostile\xE2\x80\xAE",
          std::string("hostile\0x", 9),
          "hostile\xFF\xFE\xED\xA0\x80",
          "hostile{{constructor.constructor('alert(1)')()}}",
          "\xEF\xBB\xBF+ADw-script+AD4-hostile",
          std::string(1 << 16, '<') + "hostile"};
}

/// The name wherever a recording can have one.
Timeline timeline_with(const std::string& name) {
  TimelineBuilder builder;
  builder.range(name, 0, 1000).in_domain(name).in_category(name).step(1, 0, 500).step(2, 500, 1000);
  builder.launch_call(name, 10, 20).kernel(100, 200, name).memcpy(300, 400, 4096);
  builder.mark(name, 50).power(60, 300'000);
  builder.memory(MemoryAction::kAllocate, 70, 16, 4096, 0).in_memory(4096, 8192);
  Timeline& timeline = builder.timeline();
  timeline.counters.append({.name = timeline.intern(name), .time_ns = 40, .number = 1});
  timeline.processes.front().name = name;
  timeline.processes.front().host = name;
  timeline.threads.front().name = name;
  timeline.devices.front().name = name;
  timeline.notes.push_back(name);
  timeline.metadata.emplace_back("fact", "\"x\"");
  timeline.sources = {"/tmp/" + name};
  return builder.build();
}

}  // namespace

TEST_CASE("no name of a recording stands in the HTML of its page", "[exporter]") {
  const PageReader plain = PageReader::of(timeline_with("plain"));
  // What the page's own script has of these words; each block and the index are an element more.
  const auto own = [&](std::string_view word) { return count_of(plain.html(), word); };
  for (const std::string& name : hostile_texts()) {
    INFO(name.substr(0, 80));
    MachinePeaks peaks;
    peaks.rows.push_back({name, "flops", name, 1e12});
    HtmlExportOptions options;
    options.title = name;
    options.peaks = &peaks;
    const PageReader page = PageReader::of(timeline_with(name), options);
    const std::string& html = page.html();
    const std::size_t blocks = page.index()["blocks"].size(), plain_blocks = plain.index()["blocks"].size();
    CHECK(count_of(html, "<script") + plain_blocks == own("<script") + blocks);
    CHECK(count_of(html, "</script") + plain_blocks == own("</script") + blocks);
    CHECK(count_of(html, "hostile") == own("hostile") + count_of(page.element("index"), "hostile"));
    for (const char c : {'<', '>', '&'}) CHECK(page.element("index").find(c) == std::string_view::npos);
    // What stands outside of the data is the same for every recording.
    CHECK(html.substr(0, html.find(" id=\"index\"")) == plain.html().substr(0, plain.html().find(" id=\"index\"")));
    CHECK(html.substr(html.rfind("<script>")) == plain.html().substr(plain.html().rfind("<script>")));
  }
}

TEST_CASE("a page has its names as they were recorded", "[exporter]") {
  for (const std::string& name : hostile_texts()) {
    if (name.size() > 4096 || name.find('\xFF') != std::string::npos) continue;
    INFO(name);
    const std::vector<std::string> names = PageReader::of(timeline_with(name)).names();
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

TEST_CASE("times that no recording has make a page all the same", "[exporter]") {
  // Importers let no time through that is so far that a distance is no number; a few distances still add up here.
  constexpr std::int64_t kGreatest = std::int64_t{1} << 59;
  constexpr std::int64_t kLeast = -kGreatest;
  const std::vector<std::pair<std::int64_t, std::int64_t>> times{
      {kLeast, kGreatest}, {0, kGreatest}, {kLeast, kLeast}, {kGreatest, kGreatest}, {0, 0}};
  for (const auto& [begin_ns, end_ns] : times) {
    INFO(begin_ns << " to " << end_ns);
    TimelineBuilder builder;
    builder.range("r", begin_ns, end_ns).step(1, begin_ns, end_ns);
    builder.launch(begin_ns).kernel(begin_ns, end_ns);
    const std::vector<PageSlice> slices = PageReader::of(builder.build()).slices();
    CHECK(slices.size() >= 3);
    for (const PageSlice& slice : slices) {
      CHECK(slice.begin_ns >= 0);
      CHECK(slice.end_ns >= slice.begin_ns);
    }
  }
}
