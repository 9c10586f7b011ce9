// SPDX-License-Identifier: MIT
#include "capture/capture_reader.hpp"
#include "exporter/chrome/byte_sink.hpp"
#include "exporter/chrome/capture_feed.hpp"
#include "exporter/chrome/exported.hpp"
#include "exporter/chrome/text_output.hpp"
#include "support/catch.hpp"
#include "support/child_memory.hpp"
#include "support/differing_lines.hpp"
#include "support/long_capture.hpp"
#include "support/resident_memory.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/key_averages.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

// A capture is exported in windows of time. What comes out must be what loading it first would have given.
using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// A program's run: nested ranges on threads, launches inside and outside of them, activities in the order of their
/// streams. Every time is another one, so that nothing depends on ties.
class RandomProgram {
 public:
  explicit RandomProgram(std::mt19937_64& random) : random_(random) {}

  CaptureBuilder run() {
    capture_.h100().meta("program", "random");
    const std::int64_t threads = pick(1, 3);
    for (std::int64_t thread = 1; thread <= threads; ++thread) {
      capture_.on_thread(static_cast<std::uint32_t>(thread), "worker " + std::to_string(thread));
      now_ = pick(0, 50) * 10 + thread;
      thread_ = static_cast<std::uint32_t>(thread);
      capture_.numbers(now_, numbers_[thread_], thread_, true);
      const std::int64_t ranges = pick(1, 6);
      for (std::int64_t i = 0; i < ranges; ++i) {
        if (thread == 1) step();
        range(0);
      }
      if (pick(0, 2) == 0) launch();
      if (pick(0, 3) == 0) capture_.start_end("request", 3 * thread, now_ + 7);
    }
    if (pick(0, 1) == 0) capture_.chunk_rows(static_cast<std::size_t>(pick(1, 9)));
    if (pick(0, 1) == 0) capture_.shuffle(random_());
    if (pick(0, 4) == 0) capture_.unfinished();
    return std::move(capture_);
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::int64_t tick() { return now_ += 10 * pick(1, 40); }

  void range(int depth) {
    const std::int64_t begin = tick();
    for (std::int64_t count = pick(0, 3); count > 0; --count) {
      switch (pick(0, 7)) {
        case 5:
          capture_.numbers(tick(), numbers_[thread_] += static_cast<std::uint64_t>(pick(1, 3)), thread_);
          break;
        case 6: {
          const std::int64_t node = tick();
          launch();
          capture_.node("node " + std::to_string(pick(0, 3)), node, tick(), pick(-1, 12),
                        static_cast<std::uint32_t>(pick(1, 3)));
          break;
        }
        case 7:
          memory();
          break;
        case 0:
          if (depth < 5) range(depth + 1);
          break;
        case 1:
          capture_.mark("mark", tick());
          break;
        case 2:
          capture_.counter("counter", tick(), pick(-5, 5));
          break;
        default:
          launch();
      }
    }
    const std::int64_t end = tick();
    const bool is_operator = pick(0, 5) == 0;
    capture_.range("range " + std::to_string(pick(0, 9)), begin, end, is_operator ? "operator" : "");
    if (is_operator && pick(0, 1) == 0)
      capture_.facts(pick(-1, 9), static_cast<std::uint32_t>(pick(0, 2)),
                     pick(0, 1) == 0 ? "[[2]]\n[\"float\"]\n[]" : "");
    if (pick(0, 3) == 0) capture_.payload(static_cast<std::uint64_t>(pick(0, 1000)));
  }

  void step() {
    capture_.step(step_++, tick(), pick(0, 4) != 0);
    if (pick(0, 2) != 0) capture_.payload(static_cast<std::uint64_t>(pick(0, 5000)));
  }

  void memory() {
    const auto number = [&](std::int64_t most) { return static_cast<std::uint64_t>(pick(0, most)); };
    const auto action = static_cast<MemoryAction>(pick(0, 6));
    if (pick(0, 1) == 0)
      capture_.memory(action, tick(), -1, {1 + number(9), number(999)});
    else
      capture_.memory(action, tick(), static_cast<std::int32_t>(pick(0, 1)),
                      {1 + number(9), number(999), number(9999), number(99999), 7, number(1)});
  }

  void launch() {
    const std::int64_t begin = tick();
    const std::int64_t end = begin + 5;
    capture_.on_device(static_cast<std::uint32_t>(pick(0, 1)))
        .on_context(1)
        .on_stream(static_cast<std::uint32_t>(pick(7, 9)));
    capture_.launch(begin + 1);
    if (pick(0, 3) != 0) capture_.call("cudaLaunchKernel", begin, end);
    for (std::int64_t count = pick(0, 5) == 0 ? 2 : 1; count > 0; --count) {
      std::int64_t& free_at = free_at_[0];
      free_at = std::max(free_at, end) + 10 * pick(1, 20);
      const std::int64_t from = free_at;
      free_at += 10 * pick(1, 30);
      if (pick(0, 3) == 0)
        capture_.memcpy(from, free_at, static_cast<std::uint64_t>(pick(0, 9999)));
      else
        capture_.kernel("kernel " + std::to_string(pick(0, 4)), from, free_at);
    }
  }

  std::mt19937_64& random_;
  CaptureBuilder capture_;
  std::int64_t now_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t step_ = 0;
  std::map<std::uint32_t, std::uint64_t> numbers_;  // of nodes, by thread
  std::map<int, std::int64_t> free_at_;
};

/// One line an event, without the numbers that each way of exporting gives out by itself: External ids, made-up tids.
/// Of a host range it is not always known in time whether anything on a device leads to it: see require_links.
std::vector<std::string> lines(const Exported& trace) {
  std::vector<std::string> out;
  for (const TraceEvent& event : trace.events) {
    std::string line = event.phase + " " + event.category + " " + event.name + " on " + event.row + " at " +
                       std::to_string(event.time_ns) + " for " + std::to_string(event.duration_ns);
    if (event.json->has("args")) {
      for (const auto& [key, value] : (*event.json)["args"].members()) {
        if (key == "External id")
          line += event.category == "user_annotation" || event.category == "cpu_op" ? "" : " linked";
        else if (key != "cbid" && value.kind() != JsonValue::Kind::kArray)
          line += " " + key + "=" + value.text();
      }
    }
    out.push_back(std::move(line));
  }
  for (const Exported::Arrow& arrow : trace.arrows())
    out.push_back("arrow " + arrow.from_row + " " + std::to_string(arrow.from_ns) + " to " + arrow.to_row + " " +
                  std::to_string(arrow.to_ns));
  std::sort(out.begin(), out.end());
  return out;
}

/// Each device row of a range leads to a host range of the same name.
void require_links(const Exported& trace) {
  std::map<std::string, std::string> names;
  for (const char* category : {"user_annotation", "cpu_op"})
    for (const TraceEvent& event : trace.all(category))
      if (event.has("External id")) REQUIRE(names.emplace(event["External id"].text(), event.name).second);
  for (const TraceEvent& event : trace.all("gpu_user_annotation"))
    REQUIRE(names.at(event["External id"].text()) == event.name);
  for (const char* category : {"kernel", "gpu_memcpy", "cuda_runtime"})
    for (const TraceEvent& event : trace.all(category))
      if (event.has("External id")) REQUIRE(names.count(event["External id"].text()) == 1);
}

/// Keeps the text.
class Kept final : public chrome::ByteSink {
 public:
  Status write(std::string_view bytes) override {
    text += bytes;
    return {};
  }
  Status finish() override { return {}; }

  std::string text;
};

std::string written(const std::string& path, const chrome::CaptureWork& work) {
  Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
  REQUIRE(reader);
  Kept sink;
  chrome::TextOutput out(sink);
  chrome::ExportNotes notes;
  (void)chrome::write_capture(
      *reader, {}, out, notes, [](std::uint64_t, std::uint64_t) {}, work);
  out.flush();
  return sink.text;
}

}  // namespace

TEST_CASE("windows of a capture give the export of the loaded one", "[exporter][property]") {
  std::size_t kernels = 0;
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("export of windows", rangefinder::testing::repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const ScratchFolder folder;
    RandomProgram(random).run().write(folder.file("x.rfcap"));
    const Result<Timeline> timeline = load_timeline(folder.file("x.rfcap"));
    REQUIRE(timeline);
    for (const Attribution attribution : {Attribution::kAuto, Attribution::kLaunch}) {
      INFO("attribution " << static_cast<int>(attribution));
      ChromeExportOptions options;
      options.attribution = attribution;
      const Exported windowed = Exported::of_file(folder.file("x.rfcap"), options);
      const Exported loaded = Exported::of(*timeline, options);
      require_sound(windowed);
      require_sound(loaded);
      require_links(windowed);
      require_links(loaded);
      REQUIRE(differing_lines(lines(loaded), lines(windowed)) == "");
      for (const char* member : {"health", "clock_error_ns"}) {
        const JsonValue& mine = windowed.document["rangefinder"][member];
        const JsonValue& theirs = loaded.document["rangefinder"][member];
        REQUIRE(
            (mine.kind() == JsonValue::Kind::kNumber ? mine.text() == theirs.text() : mine.size() == theirs.size()));
      }
      REQUIRE(windowed.document["baseTimeNanoseconds"].text() == loaded.document["baseTimeNanoseconds"].text());
      kernels += windowed.all("kernel").size();
    }
  }
  CHECK((kernels > 0 || rangefinder::testing::given_seed() != nullptr));
}

TEST_CASE("one thread or two write the same, and short windows the same events", "[exporter][property]") {
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("export by two threads", rangefinder::testing::repeats(50))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const ScratchFolder folder;
    RandomProgram(random).run().write(folder.file("x.rfcap"));
    const Exported whole = Exported::of_file(folder.file("x.rfcap"));
    for (const std::size_t rows : {std::size_t{8}, std::size_t{50}}) {
      INFO("windows of " << rows << " rows");
      const std::string by_two = written(folder.file("x.rfcap"), {rows, true});
      REQUIRE(by_two == written(folder.file("x.rfcap"), {rows, false}));
      const Exported windowed = Exported::parse(by_two);
      require_sound(windowed);
      require_links(windowed);
      for (const char* category : {"user_annotation", "kernel", "gpu_memcpy", "gpu_user_annotation", "cuda_runtime"})
        REQUIRE(windowed.all(category).size() == whole.all(category).size());
    }
  }
}

TEST_CASE("an export that its program ends leaves no thread and no file behind", "[exporter]") {
  const ScratchFolder folder;
  write_long_capture(folder.file("x.rfcap"), 20'000);
  ChromeExportOptions options;
  options.progress = [](void*, std::uint64_t done, std::uint64_t total) { return done < total / 2; };
  const Status status = export_chrome_trace(folder.file("x.rfcap"), folder.file("x.json"), options);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kIncomplete);
  CHECK_FALSE(std::filesystem::exists(folder.file("x.json")));
}

TEST_CASE("a full disk ends an export of a capture with an error", "[exporter]") {
  if (::access("/dev/full", W_OK) != 0) RANGEFINDER_SKIP("no /dev/full");
  const ScratchFolder folder;
  write_long_capture(folder.file("x.rfcap"), 20'000);
  const Status status = export_chrome_trace(folder.file("x.rfcap"), "/dev/full");
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kIo);
}

TEST_CASE("the export of a long capture takes little memory", "[exporter]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  const ScratchFolder folder;
  const auto grown = [&](int ranges) {
    write_long_capture(folder.file("x.rfcap"), ranges);
    const ChildRun run = run_in_child([&] {
      ChromeExportOptions options;
      options.replace = true;
      return export_chrome_trace(folder.file("x.rfcap"), folder.file("x.json"), options).ok() ? 0 : 1;
    });
    REQUIRE(run.code == 0);
    return run.growth_bytes;
  };
  constexpr std::int64_t kMiB = 1 << 20;
  CHECK(grown(300'000) < 64 * kMiB);
}

TEST_CASE("operators of a capture are those of its export", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.h100().on_thread(1, "main").range("step", 0, 1'000);
  const std::string inputs = "[[2, 3], [3, 4], []]\n[\"float\", \"float\", \"Scalar\"]\n[\"\", \"\", \"1.5\"]";
  capture.range("aten::linear", 10, 200, "operator").facts(7, 0, inputs);
  capture.range("aten::addmm", 20, 190, "operator").facts(-1, 0, inputs).launch(30).call("cudaLaunchKernel", 29, 35);
  capture.kernel("gemm", 210, 260);
  capture.range("aten::relu", 300, 400, "operator").facts(8);
  capture.range("aten::cat", 410, 420, "operator")
      .facts(-1, 0, "[[[1], [2]], []]\n[\"TensorList\", \"Scalar\"]\n[\"\", \"0\"]");
  capture.range("aten::broken", 430, 440, "operator").facts(9, 0, "[1]\n[\"float\"\n[NaN]");
  capture.range("autograd::engine::evaluate_function: AddmmBackward0", 500, 700, "operator");
  capture.range("AddmmBackward0", 510, 690, "operator").facts(7, 1).range("aten::mm", 520, 600, "operator");
  capture.launch(530).call("cudaLaunchKernel", 529, 535).kernel("gemm", 610, 690);
  capture.write(folder.file("x.rfcap"));
  LoadOptions options;
  options.operator_inputs = true;
  const Result<Timeline> recorded = load_timeline(folder.file("x.rfcap"), options);
  REQUIRE(recorded);
  const auto operators_of = [](const Timeline& timeline) {
    std::vector<std::string> rows;
    const OperatorTable& operators = timeline.operators;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      std::string row(timeline.text(timeline.ranges.name[operators.range[i]]));
      row += " #" + std::to_string(operators.sequence[i]) + " of " + std::to_string(operators.forward_thread_id[i]);
      for (const StringId list : {operators.shapes[i], operators.types[i], operators.values[i]})
        row += " " + std::string(timeline.text(list));
      rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  std::vector<std::string> expected = operators_of(*recorded);
  REQUIRE(expected.size() == 7);
  // A list that cannot be read is left out, what is no JSON in one made so.
  for (std::string& row : expected)
    if (row.starts_with("aten::broken")) row = "aten::broken #9 of 0 [1]  [null]";
  for (const Exported& trace : {Exported::of_file(folder.file("x.rfcap")), Exported::of(*recorded)}) {
    require_sound(trace);
    require_links(trace);
    const TraceEvent node = trace.one("cpu_op", "AddmmBackward0");
    CHECK(node["Sequence number"].text() == "7");
    CHECK(node["Fwd thread id"].text() == "1");
    CHECK(node["External id"].text() != trace.one("cpu_op", "aten::mm")["External id"].text());
    const std::string path = folder.file("again.json");
    std::ofstream(path) << trace.text;
    const Result<Timeline> again = load_timeline(path, options);
    REQUIRE(again);
    CHECK(operators_of(*again) == expected);
    // The same nodes, made by the same operators; the engine's part of a node is one of its own there.
    REQUIRE(again->autograd_nodes.size() == 2);
    RangeIndex linear{0};
    while (again->text(again->ranges.name[linear]) != "aten::linear") ++linear;
    for (std::size_t node_row = 0; node_row < 2; ++node_row) {
      CHECK(again->autograd_nodes.sequence[node_row] == 7);
      CHECK(again->autograd_nodes.forward_ns[node_row] == again->ranges.begin_ns[linear]);
    }
    const KeyAverages ours = key_averages(*recorded, true), theirs = key_averages(*again, true);
    REQUIRE(ours.groups.size() > 6);
    CHECK(key_averages_table(*recorded, ours, KeyAveragesOrder::kCpuTotal) ==
          key_averages_table(*again, theirs, KeyAveragesOrder::kCpuTotal));
  }
}

TEST_CASE("a capture gives the same bytes each time, whatever the order of its chunks says", "[exporter]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("the same bytes"));
  CaptureBuilder capture = RandomProgram(random).run();
  CHECK(Exported::of(capture).text == Exported::of(capture).text);
}

TEST_CASE("ranges that begin together are written outer first, though they end inner first", "[exporter]") {
  const Exported trace =
      Exported::of(CaptureBuilder().range("outer", 0, 100).range("middle", 0, 50).range("inner", 0, 20));
  require_sound(trace);
  std::vector<std::string> order;
  for (const TraceEvent& event : trace.all("user_annotation")) order.push_back(event.name);
  CHECK(order == std::vector<std::string>{"outer", "middle", "inner"});
}

TEST_CASE("a folder of captures is one trace with a heading for each process", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder()
      .meta("rank", "0")
      .meta("program", "train")
      .range("r", 0, 100)
      .launch(10)
      .kernel("k", 200, 300)
      .write(folder.file("a.rfcap"));
  CaptureBuilder()
      .meta("rank", "1")
      .meta("program", "train")
      .range("r", 0, 100)
      .launch(10)
      .kernel("k", 200, 300)
      .write(folder.file("b.rfcap"));
  const Exported trace = Exported::of_file(folder.path());
  require_sound(trace);
  CHECK(trace.all("user_annotation", "r").size() == 2);
  CHECK(trace.all("kernel", "k").size() == 2);
  CHECK(trace.headings() ==
        std::vector<std::string>{"rank 0: train", "rank 1: train", "rank 0: GPU 0", "rank 1: GPU 0"});
}

TEST_CASE("progress is told up to the end", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder().chunk_rows(2).range("r", 0, 100).launch(10).kernel("k", 200, 300).write(folder.file("x.rfcap"));
  struct Seen {
    std::uint64_t done = 0, total = 0;
    int calls = 0;
  } seen;
  ChromeExportOptions options;
  options.progress_user = &seen;
  options.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
    auto& mine = *static_cast<Seen*>(user);
    CHECK(done >= mine.done);
    CHECK(done <= total);
    mine = {done, total, mine.calls + 1};
    return true;
  };
  REQUIRE(export_chrome_trace(folder.file("x.rfcap"), folder.file("x.json"), options).ok());
  CHECK(seen.calls > 0);
}

TEST_CASE("an export that its progress function ends leaves no file", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder().chunk_rows(2).range("r", 0, 100).launch(10).kernel("k", 200, 300).write(folder.file("x.rfcap"));
  ChromeExportOptions options;
  options.progress = [](void*, std::uint64_t, std::uint64_t) { return false; };
  for (const Attribution attribution : {Attribution::kLaunch, Attribution::kAuto}) {
    options.attribution = attribution;
    const Status status = export_chrome_trace(folder.file("x.rfcap"), folder.file("x.json"), options);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code() == ErrorCode::kIncomplete);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  }
}
