// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <limits>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

struct HostileName {
  const char* what;
  std::string name;
  std::string read_back;  ///< what a JSON reader gets
};

std::vector<HostileName> hostile_names() {
  std::string control;
  for (char c = 1; c < 0x20; ++c) control += c;
  return {{"every control byte", control + "\x7F", control + "\x7F"},
          {"NUL", std::string("a\0b", 3), std::string("a\0b", 3)},
          {"script", "</script><script>alert(1)</script>", "</script><script>alert(1)</script>"},
          {"comment", "<!--", "<!--"},
          {"quotes", "\"},{\"ph\":\"X\"", "\"},{\"ph\":\"X\""},
          {"backslash at the end", "name\\", "name\\"},
          {"invalid UTF-8", "\xFF\xC3(\x80", kReplacement + kReplacement + "(" + kReplacement},
          {"half a surrogate", "\xED\xA0\x80", kReplacement + kReplacement + kReplacement},
          {"cut in the middle of a character", "x\xE2\x82", "x" + kReplacement + kReplacement},
          {"other scripts", "vorwärts 前進 🚀", "vorwärts 前進 🚀"},
          {"right to left",
           "\xE2\x80\xAE"
           "evil",
           "\xE2\x80\xAE"
           "evil"},
          {"line separators",
           "a\xE2\x80\xA8"
           "b",
           "a\xE2\x80\xA8"
           "b"},
          {"empty", "", ""},
          {"a megabyte", std::string(1 << 20, 'm'), std::string(1 << 20, 'm')}};
}

}  // namespace

TEST_CASE("any bytes of a name come back from the JSON, or a replacement for each that is no text", "[exporter]") {
  for (const HostileName& hostile : hostile_names()) {
    INFO(hostile.what);
    TimelineBuilder builder;
    builder.range(hostile.name, 0, 1000).in_domain(hostile.name).in_category(hostile.name);
    builder.launch_call(hostile.name, 10, 20).kernel(100, 200, hostile.name);
    builder.mark(hostile.name, 50);
    Timeline timeline = builder.build();
    timeline.threads[0].name = timeline.processes[0].name = timeline.devices[0].name = timeline.processes[0].host =
        hostile.name;
    timeline.notes.push_back(hostile.name);
    timeline.sources.push_back("/somewhere/" + hostile.name);
    const Exported trace = Exported::of(timeline);
    require_sound(trace);
    CHECK(trace.all("kernel").at(0).name == hostile.read_back);
    CHECK(trace.all("cuda_runtime").at(0).name == hostile.read_back);
    CHECK(trace.all("user_annotation").at(0).name == hostile.read_back);
    CHECK(trace.all("gpu_user_annotation").at(0).name == hostile.read_back);
    CHECK(trace.document["rangefinder"]["notes"][0].text() == hostile.read_back);
    CHECK(trace.document["deviceProperties"][0]["name"].text() == hostile.read_back);
  }
}

TEST_CASE("a streamed capture is as safe from its names", "[exporter]") {
  for (const HostileName& hostile : hostile_names()) {
    if (hostile.name.empty()) continue;  // id 0 in a capture
    INFO(hostile.what);
    const Exported trace = Exported::of(CaptureBuilder()
                                            .on_thread(2, hostile.name)
                                            .range(hostile.name, 0, 1000, hostile.name)
                                            .payload(std::string_view(hostile.name))
                                            .mark(hostile.name, 50, hostile.name)
                                            .counter(hostile.name, 60, 1.0)
                                            .launch(10)
                                            .call(hostile.name, 10, 20)
                                            .kernel(hostile.name, 100, 200)
                                            .meta("program", hostile.name)
                                            .meta("host", hostile.name));
    require_sound(trace);
    CHECK(trace.all("kernel").at(0).name == hostile.read_back);
    CHECK(trace.all("user_annotation").at(0).name == hostile.read_back);
    CHECK(trace.all("user_annotation").at(0)["payload"].text() == hostile.read_back);
    CHECK(trace.document["rangefinder"]["facts"]["program"].text() == hostile.read_back);
  }
}

TEST_CASE("an imported trace with hostile arguments goes out strict", "[exporter]") {
  const ScratchFolder folder;
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  write_file(
      folder.file("in.json"),
      "{\"traceEvents\":[\n"
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\x01</"
      "script>\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5,\"args\":{\"bad\":NaN,\"raw\":\"\x02\xFF\",\"inf\":-Infinity}},"
      "\n"
      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":7,\"dur\":5,\"args\":{\"deep\":" +
          deep +
          "}},\n"
          "{\"ph\":\"i\",\"s\":\"z\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":3,\"args\":{\"Bytes\":-Infinity}}"
          ",\n"
          "{\"ph\":\"s\",\"id\":1,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"pid\":1,\"tid\":1,\"ts\":2},\n"
          "{\"ph\":\"Q\",\"name\":\"what\",\"pid\":1,\"tid\":1,\"ts\":2}\n"
          "]}");
  const Exported trace = Exported::of_file(folder.file("in.json"));
  require_sound(trace);
  const TraceEvent a = trace.all("cpu_op").at(0);
  CHECK(a.name == "a\x01</script>");
  CHECK(a["bad"].kind() == JsonValue::Kind::kNull);
  CHECK(a["inf"].kind() == JsonValue::Kind::kNull);
  CHECK(a["raw"].text() == "\x02" + kReplacement);
  CHECK_FALSE(trace.one("cpu_op", "b").has("deep"));
  CHECK(trace.report.left_out == 3);  // the deep arguments, half a flow, a phase that is none
}

TEST_CASE("extreme numbers go out as the integers they are", "[exporter]") {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  TimelineBuilder builder;
  builder.range("r", 0, 10).correlation(most - 1).launch_call("cudaMemcpyAsync", 1, 2).memcpy(5, 6, most);
  builder.timeline().streams[0].id = std::numeric_limits<std::int64_t>::min();
  change_row(builder.timeline().activities, 0, [&](auto& changed) { changed.graph_node = most; });
  change_row(builder.timeline().calls, 0,
             [&](auto& changed) { changed.result = std::numeric_limits<std::int32_t>::min(); });
  const Exported trace = Exported::of(builder.build());
  require_sound(trace);
  const TraceEvent copy = trace.all("gpu_memcpy").at(0);
  CHECK(copy["bytes"].text() == "18446744073709551615");
  CHECK(copy["stream"].text() == "-9223372036854775808");
  CHECK(copy["graph node id"].text() == "18446744073709551615");
  CHECK(copy["memory bandwidth (GB/s)"].text() == "18446744073709551615");
  CHECK(trace.all("cuda_runtime").at(0)["correlation"].text() == "18446744073709551614");
  CHECK(trace.all("cuda_runtime").at(0)["result"].text() == "-2147483648");
}

TEST_CASE("a capture cut anywhere gives a sound export or an error, and never half a file", "[exporter]") {
  const base::Bytes whole = CaptureBuilder()
                                .h100()
                                .chunk_rows(3)
                                .range("step", 0, 1000)
                                .range("a", 100, 500)
                                .range("b", 600, 900)
                                .launch(110)
                                .call("cudaLaunchKernel", 110, 120)
                                .kernel("k", 2000, 2100)
                                .launch(610)
                                .call("cudaMemcpyAsync", 610, 620)
                                .memcpy(2200, 2300, 4096)
                                .mark("m", 700)
                                .counter("c", 800, 2.0)
                                .step(0, 10)
                                .step(1, 990)
                                .build();
  std::size_t exported = 0;
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const ScratchFolder folder;
    write_file(folder.file("x.rfcap"), {reinterpret_cast<const char*>(whole.data()), size});
    const Status status = export_chrome_trace(folder.file("x.rfcap"), folder.file("x.json"));
    INFO("cut at byte " << size);
    if (!status.ok()) {
      CHECK(status.error().message().find("x.rfcap") != std::string::npos);
      CHECK(folder.entries() == 1);
      continue;
    }
    ++exported;
    require_sound(Exported::of_file(folder.file("x.rfcap")));
  }
  CHECK(exported > 20);
}
