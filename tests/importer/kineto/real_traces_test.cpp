// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/text.hpp"
#include "importer/kineto/gzip_source.hpp"
#include "slow_json.hpp"
#include "support/shared_data.hpp"
#include "trace_text.hpp"

#include <cstdint>
#include <filesystem>
#include <limits>

using namespace rangefinder;
using rangefinder::testing::shared_file;
using rangefinder::testing::SlowJson;
using rangefinder::testing::SlowJsonReader;

namespace {

std::string unpack_file(const std::string& path) {
  Result<base::Fd> fd = base::open_for_reading(path);
  REQUIRE(fd);
  importer::kineto::FileSource file(std::move(*fd), path, 0);
  importer::kineto::GzipSource source(file);
  std::string out;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (const std::size_t count = source.read(buffer)) out.append(buffer.data(), count);
  REQUIRE(source.end().kind == importer::kineto::SourceEnd::Kind::kEnd);
  return out;
}

/// Microseconds in text to nanoseconds, digit by digit.
std::int64_t slow_ns(const std::string& text) {
  const std::size_t point = text.find('.');
  std::string digits = text.substr(0, point);
  std::string fraction = point == std::string::npos ? "" : text.substr(point + 1);
  REQUIRE(fraction.size() <= 3);
  fraction.resize(3, '0');
  return std::stoll(digits + fraction);
}

/// What a trace holds, told without the importer. Sums are modulo 2^64.
struct Census {
  std::map<std::string, std::uint64_t> slices;  // by today's category
  std::map<std::string, std::uint64_t> begins;
  std::map<std::string, std::uint64_t> durations;
  std::uint64_t events = 0;
  std::uint64_t flows = 0;
  std::uint64_t memory_instants = 0;
  std::uint64_t external_ids = 0;  // of ranges, summed
  std::uint64_t bytes = 0;
  std::uint64_t correlations = 0;  // of activities, summed

  void add(const SlowJson& event) {
    ++events;
    const std::string phase = event.text_of("ph");
    if (phase == "s" || phase == "f") flows += event.text_of("cat") != "fwdbwd" ? 1 : 0;
    if (phase == "i" && event.text_of("name") == "[memory]") ++memory_instants;
    if (phase == "X") add_slice(event);
  }

  static std::string today(const std::string& category) {
    static const std::map<std::string, std::string> kOld{{"Kernel", "kernel"},
                                                         {"Memcpy", "gpu_memcpy"},
                                                         {"Memset", "gpu_memset"},
                                                         {"Runtime", "cuda_runtime"},
                                                         {"Operator", "cpu_op"}};
    const auto at = kOld.find(category);
    return at == kOld.end() ? category : at->second;
  }

  void add_slice(const SlowJson& event) {
    const std::string category = today(event.text_of("cat"));
    ++slices[category];
    begins[category] += static_cast<std::uint64_t>(slow_ns(event.text_of("ts")));
    durations[category] += static_cast<std::uint64_t>(slow_ns(event.text_of("dur")));
    const SlowJson* args = event.find("args");
    if (args == nullptr) return;
    const auto number = [&](const std::string& key) {
      const std::string text = args->text_of(key);
      return text.empty() ? 0 : static_cast<std::uint64_t>(std::stoll(text));
    };
    const bool device = category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
    if (device) {
      correlations += number("correlation");
      bytes += category == "kernel" ? 0 : number("bytes");
    } else if (category == "cpu_op" || category == "user_annotation") {
      external_ids += number("External id");
    }
  }
};

Census take_census(std::string_view text) {
  Census census;
  SlowJsonReader reader(text);
  reader.expect('{');
  while (!reader.take('}')) {
    const std::string key = reader.string();
    reader.expect(':');
    if (key == "traceEvents") {
      reader.expect('[');
      while (!reader.take(']')) {
        census.add(reader.value());
        if (reader.peek() != ']') reader.expect(',');
      }
    } else {
      reader.value();
    }
    if (reader.peek() != '}') reader.expect(',');
  }
  return census;
}

struct Sums {
  std::uint64_t count = 0;
  std::uint64_t begins = 0;
  std::uint64_t durations = 0;

  void add(std::int64_t begin_ns, std::int64_t end_ns) {
    ++count;
    begins += static_cast<std::uint64_t>(begin_ns);
    durations += static_cast<std::uint64_t>(end_ns - begin_ns);
  }
};

/// The same out of the tables.
std::map<std::string, Sums> sums_of(const Timeline& timeline) {
  std::map<std::string, Sums> out;
  const RangeTable& ranges = timeline.ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    out[Census::today(std::string(timeline.text(ranges.category[i])))].add(ranges.begin_ns[i], ranges.end_ns[i]);
  const CallTable& calls = timeline.calls;
  for (std::size_t i = 0; i < calls.size(); ++i)
    out[calls.domain[i] == CallDomain::kRuntime ? "cuda_runtime" : "cuda_driver"].add(calls.begin_ns[i],
                                                                                      calls.end_ns[i]);
  static const char* const kActivities[] = {"kernel", "gpu_memcpy", "gpu_memset"};
  const ActivityTable& activities = timeline.activities;
  for (std::size_t i = 0; i < activities.size(); ++i)
    out[kActivities[static_cast<int>(activities.kind[i])]].add(activities.begin_ns[i], activities.end_ns[i]);
  for (std::size_t i = 0; i < timeline.syncs.size(); ++i)
    out["cuda_sync"].add(timeline.syncs.begin_ns[i], timeline.syncs.end_ns[i]);
  for (std::size_t i = 0; i < timeline.overheads.size(); ++i)
    out["overhead"].add(timeline.overheads.begin_ns[i], timeline.overheads.end_ns[i]);
  return out;
}

void compare_with_census(const testing::Loaded& loaded, Census census) {
  const Timeline& timeline = loaded.timeline;
  CHECK(loaded.details.events == census.events);
  CHECK(loaded.details.gpu_annotations.size() == census.slices["gpu_user_annotation"]);
  census.slices.erase("gpu_user_annotation");
  census.slices.erase("Trace");
  const std::map<std::string, Sums> sums = sums_of(timeline);
  for (const auto& [category, count] : census.slices) {
    INFO(category);
    REQUIRE(sums.contains(category));
    CHECK(sums.at(category).count == count);
    CHECK(sums.at(category).begins == census.begins[category]);
    CHECK(sums.at(category).durations == census.durations[category]);
  }
  CHECK(sums.size() == census.slices.size());

  std::uint64_t external_ids = 0;
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i)
    external_ids += static_cast<std::uint64_t>(std::max<std::int64_t>(timeline.ranges.external_id[i], 0));
  CHECK(external_ids == census.external_ids);
  std::uint64_t bytes = 0;
  std::uint64_t correlations = 0;
  for (std::size_t i = 0; i < timeline.activities.size(); ++i) {
    bytes += timeline.activities.bytes[i];
    correlations += timeline.activities.correlation[i];
  }
  CHECK(bytes == census.bytes);
  CHECK(correlations == census.correlations);
  if (census.flows != 0) CHECK(loaded.has_note(base::with_thousands(census.flows) + " launch flows"));
  CHECK(timeline.allocator_events.size() == census.memory_instants);
}

/// The answers that an independent implementation of the projection gives for the file.
void compare_with_answers(const Timeline& timeline, const SlowJson& answers) {
  const ActivityTable& activities = timeline.activities;
  std::int64_t gpu_ns = 0;
  std::uint64_t unlinked = 0;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    gpu_ns += activities.end_ns[i] - activities.begin_ns[i];
    unlinked += activities.launch[i] == kNone ? 1 : 0;
  }
  CHECK(std::to_string(activities.size()) == answers.text_of("gpu_ops"));
  CHECK(std::to_string(gpu_ns) == answers.text_of("gpu_ns"));
  CHECK(std::to_string(unlinked) == answers.text_of("unlinked_ops"));

  std::map<std::string, std::size_t> by_row;
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i) {
    if (timeline.ranges.kind[i] == RangeKind::kAnnotation) by_row[std::to_string(timeline.ranges.source_row[i])] = i;
  }
  CHECK(std::to_string(by_row.size()) == answers.text_of("ranges"));
  for (const SlowJson& row : answers.find("rows")->elements) {
    REQUIRE(by_row.contains(row.text_of("event")));
    const std::size_t range = by_row.at(row.text_of("event"));
    const ThreadInfo& thread = timeline.threads[timeline.ranges.thread[range]];
    CHECK(std::to_string(timeline.ranges.begin_ns[range]) == row.text_of("start_ns"));
    CHECK(std::to_string(timeline.ranges.end_ns[range]) == row.text_of("end_ns"));
    CHECK(std::to_string(thread.tid) == row.text_of("tid"));
    CHECK(std::to_string(timeline.processes[thread.process].pid) == row.text_of("pid"));
  }
}

// A sanitizer is many times slower, and the slow reader with it.
#if defined(RANGEFINDER_ADDRESS_SANITIZER) || defined(RANGEFINDER_THREAD_SANITIZER)
constexpr std::uintmax_t kLargestTrace = 512 << 10;
#else
constexpr std::uintmax_t kLargestTrace = std::numeric_limits<std::uintmax_t>::max();
#endif

}  // namespace

TEST_CASE("real traces agree with a slow reader and with independent answers", "[importer][data]") {
  const std::string folder = shared_file("data/kineto");
  if (folder.empty()) RANGEFINDER_SKIP("no real traces: set RANGEFINDER_SHARED");
  std::size_t traces = 0;
  std::size_t answered = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json.gz") || path.find("/expected/") != std::string::npos) continue;
    if (entry.file_size() > kLargestTrace) continue;
    INFO(path);
    ++traces;
    testing::Loaded loaded;
    loaded.details.keep_gpu_annotations = true;
    Result<Timeline> timeline = importer::kineto::import_kineto(path, {}, loaded.details);
    if (!timeline) FAIL(timeline.error().message());
    loaded.timeline = std::move(*timeline);
    CHECK(loaded.timeline.health.complete());
    const std::string text = unpack_file(path);
    CHECK(loaded.details.text_bytes == text.size());
    compare_with_census(loaded, take_census(text));

    const std::string name = entry.path().filename().string();
    const std::string answers = shared_file("data/kineto/expected/projection/" + name);
    if (answers.empty()) continue;
    ++answered;
    const SlowJson file = SlowJsonReader(unpack_file(answers)).value();
    REQUIRE(file.members.size() == 1);
    compare_with_answers(loaded.timeline, file.members.begin()->second);
  }
  CHECK(traces > 0);
  CHECK(answered > 0);
}

TEST_CASE("real traces keep every argument on request", "[importer][data]") {
  const std::string path = shared_file("data/kineto/nccl_a100_rank0of2.json.gz");
  if (path.empty()) RANGEFINDER_SKIP("no real traces: set RANGEFINDER_SHARED");
  const auto timeline = importer::kineto::import_kineto(path, testing::keeping_arguments());
  REQUIRE(timeline);
  const RangeTable& ranges = timeline->ranges;
  std::size_t collectives = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::string members = "{" + std::string(timeline->arguments.find(ranges.source_row[i])) + "}";
    const SlowJson args = SlowJsonReader(members).value();
    REQUIRE(args.text_of("External id") == std::to_string(ranges.external_id[i]));
    collectives += args.find("Collective name") != nullptr ? 1 : 0;
  }
  CHECK(collectives > 0);
  // Links between forward and backward, 543 each way, the span and two markers.
  CHECK(timeline->foreign.size() == 2 * 543 + 3);
}
