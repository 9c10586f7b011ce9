// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

// A capture is exported without being loaded. What comes out must be what loading it first would have given.
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
      for (std::int64_t i = 0; i < ranges; ++i) range(0);
      if (pick(0, 2) == 0) launch();
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
      switch (pick(0, 6)) {
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
    capture_.range("range " + std::to_string(pick(0, 9)), begin, end, pick(0, 5) == 0 ? "operator" : "");
    if (pick(0, 3) == 0) capture_.payload(static_cast<std::uint64_t>(pick(0, 1000)));
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
  std::map<std::uint32_t, std::uint64_t> numbers_;  // of nodes, by thread
  std::map<int, std::int64_t> free_at_;
};

/// One line an event, without the numbers that each way of exporting gives out by itself: External ids, made-up tids.
std::vector<std::string> lines(const Exported& trace) {
  std::vector<std::string> out;
  for (const TraceEvent& event : trace.events) {
    std::string line = event.phase + " " + event.category + " " + event.name + " on " + event.row + " at " +
                       std::to_string(event.time_ns) + " for " + std::to_string(event.duration_ns);
    if (event.json->has("args")) {
      for (const auto& [key, value] : (*event.json)["args"].members()) {
        if (key == "External id")
          line += " linked";
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

/// What is in one of two sorted lists only.
std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  std::string out;
  std::vector<std::string> only;
  std::set_difference(expected.begin(), expected.end(), got.begin(), got.end(), std::back_inserter(only));
  for (const std::string& line : only) out += "- " + line + "\n";
  only.clear();
  std::set_difference(got.begin(), got.end(), expected.begin(), expected.end(), std::back_inserter(only));
  for (const std::string& line : only) out += "+ " + line + "\n";
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

}  // namespace

TEST_CASE("a streamed capture gives the export of the loaded one", "[exporter][property]") {
  const char* given = std::getenv("RANGEFINDER_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::size_t kernels = 0;
  for (int round = 0; round < (given != nullptr ? 1 : 300); ++round) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(round);
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const TemporaryFolder folder;
    RandomProgram(random).run().write(folder.file("x.rfcap"));
    const Exported streamed = Exported::of_file(folder.file("x.rfcap"));
    const Result<Timeline> timeline = load_timeline(folder.file("x.rfcap"));
    REQUIRE(timeline);
    const Exported loaded = Exported::of(*timeline);
    require_sound(streamed);
    require_sound(loaded);
    require_links(streamed);
    require_links(loaded);
    REQUIRE(difference(lines(loaded), lines(streamed)) == "");
    for (const char* member : {"health", "clock_error_ns"})
      REQUIRE((streamed.document["rangefinder"][member].kind() == JsonValue::Kind::kNumber
                   ? streamed.document["rangefinder"][member].text() == loaded.document["rangefinder"][member].text()
                   : streamed.document["rangefinder"][member].size() == loaded.document["rangefinder"][member].size()));
    REQUIRE(streamed.document["baseTimeNanoseconds"].text() == loaded.document["baseTimeNanoseconds"].text());
    kernels += streamed.all("kernel").size();
  }
  CHECK((kernels > 0 || given != nullptr));
}

TEST_CASE("a capture gives the same bytes each time, whatever the order of its chunks says", "[exporter]") {
  std::mt19937_64 random(7);
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
  const TemporaryFolder folder;
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
  CHECK(trace.text.find("train (rank 0, pid 4242)") != std::string::npos);
  CHECK(trace.text.find("train (rank 1, pid 4242)") != std::string::npos);
}

TEST_CASE("progress is told up to the end", "[exporter]") {
  const TemporaryFolder folder;
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
  };
  REQUIRE(export_chrome_trace(folder.file("x.rfcap"), folder.file("x.json"), options).ok());
  CHECK(seen.calls > 0);
}
