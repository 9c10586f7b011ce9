// SPDX-License-Identifier: MIT
// Real traces against the figures of an independent program, to the nanosecond: for each range instance, operations,
// sum, union over all devices, first and last, and the same per stream.
#include "importer/kineto/kineto_importer.hpp"
#include "projection/slow_projection.hpp"
#include "support/catch.hpp"
#include "support/json_value.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/projection.hpp>

#include <dirent.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const directory = ::opendir(folder.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

std::string trace_of(const std::string& name) {
  for (const char* folder : {"", "param_dlrm_8rank/"})
    if (std::string path = shared_file(std::string("data/kineto/") + folder + name); !path.empty()) return path;
  return {};
}

template <typename... Value>
std::string row(std::uint64_t ops, Value... values) {
  if (ops == 0) return "ops 0";
  return "ops " + std::to_string(ops) + ((" " + std::to_string(values)) + ...);
}

std::string expected_row(const JsonValue& figures) {
  if (figures["ops"].integer() == 0) return "ops 0";
  return row(static_cast<std::uint64_t>(figures["ops"].integer()), figures["sum_ns"].integer(),
             figures["busy_ns"].integer(), figures["first_ns"].integer(), figures["last_ns"].integer());
}

/// "device/stream" as the answers name them.
std::string stream_name(const Timeline& timeline, StreamIndex index) {
  const StreamInfo& stream = timeline.streams[index];
  return std::to_string(timeline.devices[stream.device].id) + "/" + std::to_string(stream.id);
}

void compare(const std::string& where, const JsonValue& expected, const Timeline& timeline,
             const DeviceFigures& figures, std::span<const StreamFigures> streams) {
  INFO(where);
  REQUIRE(row(figures.gpu_ops, figures.gpu_sum_ns, figures.any_busy_ns, figures.first_ns, figures.last_ns) ==
          expected_row(expected));
  std::map<std::string, std::string> actual_rows;
  for (const StreamFigures& of : streams)
    actual_rows[stream_name(timeline, of.stream)] =
        row(of.gpu_ops, of.gpu_sum_ns, of.gpu_busy_ns, of.first_ns, of.last_ns);
  std::map<std::string, std::string> expected_rows;
  if (expected.has("streams"))
    for (const auto& [name, of] : expected["streams"].members()) expected_rows[name] = expected_row(of);
  REQUIRE(actual_rows == expected_rows);
}

/// Compares one trace with its answers; the number of range instances compared.
std::size_t compare_trace(const std::string& path, const JsonValue& answer) {
  const Result<Timeline> timeline = importer::kineto::import_kineto(path, {});
  REQUIRE(timeline.ok());
  const Projection projection = project(*timeline, {Attribution::kLaunch, true, false});
  require_sound_account(*timeline, projection);

  const Account& account = projection.account;
  CHECK(account.total.gpu_ops == static_cast<std::uint64_t>(answer["gpu_ops"].integer()));
  CHECK(account.total.gpu_sum_ns == answer["gpu_ns"].integer());
  CHECK(account.outside.gpu_ops == static_cast<std::uint64_t>(answer["outside_ops"].integer()));
  // In each of these traces what has no launch call was launched before the trace began.
  CHECK(account.before.gpu_ops == static_cast<std::uint64_t>(answer["unlinked_ops"].integer()));
  CHECK(account.unknown.gpu_ops == 0);

  std::unordered_map<std::int64_t, RangeIndex> by_event;
  for (RangeIndex range{0}; range < timeline->ranges.size(); ++range)
    if (timeline->ranges.kind[range] == RangeKind::kAnnotation) by_event[timeline->ranges.source_row[range]] = range;
  const auto rows_of = [](const std::vector<StreamFigures>& rows, const std::vector<std::uint32_t>& offset,
                          RangeIndex r) { return std::span(rows).subspan(offset[r], offset[r + 1] - offset[r]); };
  for (const JsonValue& expected : answer["rows"].items()) {
    const std::int64_t event = expected["event"].integer();
    const std::string where = path + " event " + std::to_string(event) + " " + expected["name"].text();
    INFO(where);
    REQUIRE(by_event.count(event) == 1);
    const RangeIndex range = by_event[event];
    CHECK(timeline->text(timeline->ranges.name[range]) == expected["name"].text());
    compare(where + " inclusive", expected["inclusive"], *timeline, projection.inclusive[range],
            rows_of(projection.inclusive_streams, projection.inclusive_offset, range));
    compare(where + " innermost", expected["innermost"], *timeline, projection.exclusive[range],
            rows_of(projection.exclusive_streams, projection.exclusive_offset, range));
  }
  return answer["rows"].size();
}

}  // namespace

TEST_CASE("figures of real traces equal an independent program's", "[projection][data]") {
  const std::string folder = shared_file("data/kineto/expected/projection");
  if (folder.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
  std::size_t traces = 0;
  std::size_t ranges = 0;
  for (const std::string& file : files_in(folder)) {
    const JsonValue answers = JsonValue::load(folder + "/" + file);
    for (const auto& [name, answer] : answers.members()) {
      const std::string trace = trace_of(name);
      INFO(name);
      REQUIRE_FALSE(trace.empty());
      ranges += compare_trace(trace, answer);
      ++traces;
    }
  }
  CHECK(traces >= 24);
  CHECK(ranges >= 1000);
}

TEST_CASE("device time of real traces is accounted for", "[projection][data]") {
  struct Known {
    const char* name;
    double before_percent;
    double outside_percent;
  };
  // What is known of these files: work launched before the trace began, and by the autograd thread.
  for (const Known& known :
       {Known{"cudagraph_a100_rank0of16.json.gz", 13.2, 29.4}, Known{"h100_Qwen_Qwen1.5-0.5B-Chat.json.gz", 30.1, 0.0},
        Known{"nccl_a100_rank0of2.json.gz", 0.0, 46.9},
        Known{"worker1_step_12.1694128201556.pt.trace.json.gz", 1.6, 4.2}}) {
    const std::string path = trace_of(known.name);
    if (path.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
    const Result<Timeline> timeline = importer::kineto::import_kineto(path, {});
    REQUIRE(timeline.ok());
    const Account account = project(*timeline, {Attribution::kLaunch, true, false}).account;
    const auto percent = [&](const Account::Part& part) {
      return 100.0 * static_cast<double>(part.gpu_sum_ns) / static_cast<double>(account.total.gpu_sum_ns);
    };
    INFO(known.name);
    CHECK(percent(account.before) == Approx(known.before_percent).margin(0.05));
    CHECK(percent(account.outside) == Approx(known.outside_percent).margin(0.05));
  }
}

TEST_CASE("real traces that do not say where graphs were captured leave replays where they were launched",
          "[projection][data]") {
  for (const char* name : {"cudagraph_a100_rank0of16.json.gz", "vllm_decode_fullgraph_exec_mi300.json.gz"}) {
    const std::string path = trace_of(name);
    if (path.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
    const Result<Timeline> timeline = importer::kineto::import_kineto(path, {});
    REQUIRE(timeline.ok());
    INFO(name);
    const Projection launch = project(*timeline, {Attribution::kLaunch, true, false});
    const Projection capture = project(*timeline, {Attribution::kCapture, true, false});
    CHECK(capture.attribution == Attribution::kLaunch);
    CHECK(capture.owner == launch.owner);
    CHECK(capture.account.total.gpu_ops == timeline->activities.size());
    // Every operation of a replay counts, and not the replay as one.
    std::size_t most = 0;
    std::vector<std::size_t> operations(timeline->launches.size(), 0);
    for (const std::uint32_t row : timeline->activities.launch)
      if (row != kNone) most = std::max(most, ++operations[row]);
    CHECK(most > 10);
  }
}

TEST_CASE("backward of real traces finds the ranges of the forward pass", "[projection][data]") {
  struct Known {
    const char* name;
    double launch_percent;  // of the device time that ranges own
    double forward_percent;
  };
  for (const Known& known :
       {Known{"nccl_a100_rank0of2.json.gz", 53.1, 98.3}, Known{"cudagraph_a100_rank0of16.json.gz", 57.4, 81.6},
        Known{"diff_control_a100_rank3of8.json.gz", 64.5, 97.7}, Known{"diff_test_v100_rank1of2.json.gz", 55.2, 92.5},
        Known{"minitoy_mi250.json.gz", 67.5, 93.9}}) {
    const std::string path = trace_of(known.name);
    if (path.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
    const Result<Timeline> timeline = importer::kineto::import_kineto(path, {});
    REQUIRE(timeline.ok());
    INFO(known.name);
    const auto owned_percent = [&](Attribution attribution) {
      const Projection projection = project(*timeline, {attribution, true, false});
      CHECK(projection.attribution == attribution);
      require_sound_account(*timeline, projection);
      for (const Pass pass : projection.pass) CHECK(pass != Pass::kUnmatched);  // every node's operator is in the file
      return 100.0 * static_cast<double>(projection.account.owned.gpu_sum_ns) /
             static_cast<double>(projection.account.total.gpu_sum_ns);
    };
    CHECK(owned_percent(Attribution::kLaunch) == Approx(known.launch_percent).margin(0.05));
    CHECK(owned_percent(Attribution::kForward) == Approx(known.forward_percent).margin(0.05));
  }
}
