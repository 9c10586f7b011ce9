// SPDX-License-Identifier: MIT
#include "exporter/html/page_reader.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
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
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min() + 1;
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
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

namespace {

/// Any time, many of them as far as times can be.
std::int64_t any_time(std::mt19937_64& random) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kTimes[] = {kLeast, kLeast + 1, kLeast / 2, -1, 0, 1, kGreatest / 2, kGreatest};
  return random() % 4 == 0 ? static_cast<std::int64_t>(random()) : kTimes[random() % std::size(kTimes)];
}

/// A process's part of a collective; the last activity may be its work.
void add_collective(TimelineBuilder& builder, std::mt19937_64& random, std::uint32_t process, int number) {
  const auto time = [&] { return any_time(random); };
  Timeline& timeline = builder.timeline();
  timeline.collectives.append({.kind = CollectiveKind::kAllReduce,
                               .name = timeline.intern("allreduce"),
                               .process = ProcessIndex(process),
                               .group = ProcessGroupIndex(0),
                               .number = number,
                               .thread = ThreadIndex(process),
                               .begin_ns = time(),
                               .end_ns = time(),
                               .started_ns = time(),
                               .completed_ns = time(),
                               .wait_begin_ns = time(),
                               .wait_end_ns = time()});
  if (random() % 2 == 0)
    change_last(timeline.activities,
                [&](ActivityRow& activity) { activity.collective = CollectiveIndex(timeline.collectives.size() - 1); });
}

/// Some of most that a recording can have, at any times. `i` counts up from 0.
void add_some(TimelineBuilder& builder, std::mt19937_64& random, int i, std::int64_t step_ns) {
  const auto time = [&] { return any_time(random); };
  const auto one_of = [&](unsigned many) { return random() % many == 0; };
  builder.step(i, i * step_ns, (i + 1) * step_ns, random());
  if (one_of(16)) builder.step(i, time(), time(), random());
  builder.range(std::string(1, static_cast<char>('a' + random() % 4)), time(), time());
  if (one_of(8)) builder.resumed(time());
  const std::int64_t begin_ns = time();
  builder.range("aten::mm", begin_ns, time()).given("[[64, 64], [64, 64]]", R"(["float", "float"])");
  builder.launch_call("cudaLaunchKernel", begin_ns, time());
  if (one_of(4)) builder.without_launch(random());
  builder.kernel(time(), time(), one_of(4) ? "ncclDevKernel_AllReduce" : "gemm");
  if (one_of(4)) builder.of_graph(builder.last_launch());
  builder.memcpy(time(), time(), random()).memset(time(), time(), random());
  builder.node(time(), time(), i, 1, time()).call("cudaStreamSynchronize", time(), time()).mark("m", time());
  builder.counter("c", time(), time()).power(time(), static_cast<std::uint32_t>(random()));
  builder.sensed(static_cast<std::uint32_t>(random()), random()).energy_counter(random());
  builder.memory(static_cast<MemoryAction>(random() % 7), time(), random() % 8, any_size(random),
                 static_cast<std::int32_t>(random() % 3) - 1);
  builder.in_memory(time(), time());
  if (one_of(8)) builder.window(time(), time()).clock_error(time());
}

Timeline timeline_at_any_times(std::mt19937_64& random) {
  TimelineBuilder builder;
  Timeline& timeline = builder.timeline();
  constexpr int kSteps = 12;
  const std::int64_t step_ns =
      random() % 2 == 0 ? 1000 : std::numeric_limits<std::int64_t>::max() / (random() % 2 == 0 ? kSteps : 8 * kSteps);
  timeline.process_groups.push_back({.name = "0", .ranks = {0, 1}, .size = 2});
  for (int i = 0; i < kSteps; ++i) {
    for (const std::uint32_t process : {0u, 1u}) {
      builder.on_process(1 + process).on_device(static_cast<std::uint32_t>(random() % 2));
      timeline.processes[process].rank = static_cast<std::int32_t>(process);
      add_some(builder, random, i, step_ns);
      add_collective(builder, random, process, i);
    }
  }
  timeline.realtime_offset_ns = any_time(random);
  return builder.build();
}

}  // namespace

TEST_CASE("whatever times a recording claims, it makes a page", "[exporter][property]") {
  for (const std::uint64_t seed : property_seeds("page at any times", repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    HtmlExportOptions options;
    options.attribution = static_cast<Attribution>(random() % 4);
    const PageReader page = PageReader::of(timeline_at_any_times(random), options);
    for (const PageSlice& slice : page.slices()) {
      CHECK(slice.begin_ns >= 0);
      CHECK(slice.end_ns >= slice.begin_ns);
    }
  }
}
