// SPDX-License-Identifier: MIT
// The breakdown of real traces against what TraceLens and HolisticTraceAnalysis (HTA) 0.5.0 say of them. Where they
// differ for a known reason, the input is changed to what the other tool sees of it; the figures have to agree then,
// and must not agree without any of those changes.
#include "support/catch.hpp"
#include "support/csv_records.hpp"
#include "support/files.hpp"
#include "support/json_value.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// What the other tool does that the definitions of docs/how-to/read-a-breakdown.md do not.
enum class Difference {
  kDropsOrphans,        ///< drops device work without a launch record, and does not say so
  kMemsetsAreCopies,    ///< HTA: memsets are memory operations like copies
  kStreamWaitsRun,      ///< HTA: rows of cuda_sync with a stream are device work: "Stream Wait Event" computes
  kFirstEventLaunches,  ///< HTA: work without a launch record was launched by the first event of the file
  kSubtractsOverlaps,   ///< HTA: activities of a stream that overlap make its kernel wait shorter
};
using Differences = std::set<Difference>;

const char* words_of(Difference difference) {
  switch (difference) {
    case Difference::kDropsOrphans:
      return "drops work without a launch record";
    case Difference::kMemsetsAreCopies:
      return "counts memsets as copies";
    case Difference::kStreamWaitsRun:
      return "counts synchronisations of streams as device work";
    case Difference::kFirstEventLaunches:
      return "takes the first event of the file for the launch of work without a launch record";
    case Difference::kSubtractsOverlaps:
      return "subtracts overlaps of activities of one stream from its kernel wait";
  }
  return "";
}

/// A synchronisation as work of a device: computing, or work of a kind that only `busy` has.
ActivityRow as_work(const Timeline& timeline, std::size_t sync, ActivityKind kind) {
  ActivityRow row;
  row.kind = kind;
  row.begin_ns = timeline.syncs.begin_ns[sync];
  row.end_ns = timeline.syncs.end_ns[sync];
  row.launch = timeline.launches.empty() ? LaunchIndex(kNone) : LaunchIndex(0);
  row.stream = timeline.activities.stream[0];  // the traces have one device
  return row;
}

/// When the first event of the file began; in these traces it is a range.
std::int64_t first_event_ns(const Timeline& timeline) {
  const RangeTable& ranges = timeline.ranges;
  RangeIndex first{0};
  for (RangeIndex range{0}; range < ranges.size(); ++range)
    if (ranges.source_row[range] < ranges.source_row[first]) first = range;
  return ranges.begin_ns[first];
}

/// The timeline as the other tool sees it. `all_syncs`: those too that are of none of HTA's kinds of kernel.
Timeline seen_with(const Timeline& timeline, const Differences& differences, bool all_syncs) {
  const auto has = [&](Difference difference) { return differences.count(difference) != 0; };
  Timeline seen = timeline;
  LaunchIndex first_launch = kNone;
  if (has(Difference::kFirstEventLaunches))
    first_launch = seen.launches.append({.time_ns = first_event_ns(timeline), .source = LaunchSource::kCall});
  ActivityTable activities;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    ActivityRow activity = timeline.activities.row(row);
    if (has(Difference::kDropsOrphans) && activity.launch == kNone) continue;
    if (activity.launch == kNone) activity.launch = first_launch;
    if (has(Difference::kMemsetsAreCopies) && activity.kind == ActivityKind::kMemset)
      activity.kind = ActivityKind::kMemcpy;
    activities.append(activity);
  }
  for (std::size_t sync = 0; has(Difference::kStreamWaitsRun) && sync < timeline.syncs.size(); ++sync) {
    const bool is_stream_wait = timeline.syncs.type[sync] == 2;
    if (timeline.syncs.stream[sync] == kNone || !(is_stream_wait || all_syncs)) continue;
    activities.append(as_work(timeline, sync, is_stream_wait ? ActivityKind::kKernel : ActivityKind::kMemcpy));
  }
  seen.activities = std::move(activities);
  return seen;
}

BreakdownRow device_row(const Timeline& timeline) {
  const std::vector<BreakdownRow> rows = breakdown(timeline);
  REQUIRE(rows.size() == 1);
  return rows[0];
}

/// Figures that were compared, and by how much they differ at most.
struct Comparison {
  int figures = 0;
  double greatest_ns = 0;
  void add(double ours_ns, double theirs_ns) {
    ++figures;
    greatest_ns = std::max(greatest_ns, std::abs(ours_ns - theirs_ns));
  }
  void add(const Comparison& other) {
    figures += other.figures;
    greatest_ns = std::max(greatest_ns, other.greatest_ns);
  }
};

/// The figures agree with all differences, and with none of them left out.
template <typename Compare>
Comparison compared_with(const Differences& differences, double tolerance_ns, Compare compare) {
  for (const Difference difference : differences) {
    Differences others = differences;
    others.erase(difference);
    CAPTURE(words_of(difference));
    CHECK(compare(others).greatest_ns > tolerance_ns);
  }
  const Comparison comparison = compare(differences);
  CHECK(comparison.greatest_ns <= tolerance_ns);
  return comparison;
}

void print_differences(const char* tool, const std::string& trace, const Differences& differences) {
  for (const Difference difference : differences)
    std::printf("  %s of %s %s\n", tool, trace.c_str(), words_of(difference));
}

Comparison with_tracelens(const Timeline& timeline, const std::map<std::string, double>& theirs_ns) {
  const BreakdownRow row = device_row(timeline);
  Comparison comparison;
  const std::pair<const char*, std::int64_t> figures[] = {{"computation_time", row.computation_ns},
                                                          {"exposed_comm_time", row.exposed_communication_ns},
                                                          {"exposed_memcpy_time", row.exposed_memcpy_ns},
                                                          {"busy_time", row.busy_ns},
                                                          {"idle_time", row.idle_ns},
                                                          {"total_time", row.total_ns},
                                                          {"total_comm_time", row.communication_ns},
                                                          {"total_memcpy_time", row.memcpy_ns}};
  for (const auto& [name, ours] : figures) comparison.add(static_cast<double>(ours), theirs_ns.at(name));
  return comparison;
}

struct HtaTrace {
  std::string file;  ///< below data/kineto
  std::string answers;
  std::size_t rank = 0;  ///< position in the answers
  Differences differences;
};

std::vector<HtaTrace> hta_traces() {
  using enum Difference;
  std::vector<HtaTrace> traces{
      {"cudagraph_a100_rank0of16.json.gz", "hta/cudagraph_a100_rank0of16", 0, {kDropsOrphans, kMemsetsAreCopies}},
      {"event_sync_multistream_a100.json.gz",
       "hta/event_sync_multistream_a100",
       0,
       {kMemsetsAreCopies, kStreamWaitsRun}},
      {"resnet50_workers0_v100.json.gz", "hta/kineto_resnet50_workers0_v100", 0, {kMemsetsAreCopies}},
      {"simple_add_a100.json.gz", "hta/simple_add_a100", 0, {kMemsetsAreCopies, kStreamWaitsRun}},
      {"step_annotations_gp100.json.gz", "hta/step_annotations_gp100", 0, {}},
      {"h100_Qwen_Qwen1.5-0.5B-Chat.json.gz", "hta_ns/h100_Qwen_Qwen1.5-0.5B-Chat", 0, {kMemsetsAreCopies}},
      {"h100_gaunernst_bert-small-uncased.json.gz", "hta_ns/h100_gaunernst_bert-small-uncased", 0, {}},
      {"minitoy_mi250.json.gz", "hta_ns/minitoy_mi250", 0, {}},
      {"nccl_a100_rank0of2.json.gz", "hta_ns/nccl_a100_rank0of2", 0, {kMemsetsAreCopies}}};
  for (std::size_t rank = 0; rank < 8; ++rank) {
    traces.push_back({"", "hta/dlrm_v100_8rank", rank, {}});
    if (rank == 3 || rank == 4) traces.back().differences = {kMemsetsAreCopies};  // of the others, copies hide them
  }
  return traces;
}

Timeline load_kineto(const std::string& below_kineto) {
  Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + below_kineto));
  REQUIRE(timeline);
  return std::move(*timeline);
}

/// HTA's get_temporal_breakdown and get_comm_comp_overlap; of the latter, hundredths of a percent.
Comparison with_temporal(const Timeline& timeline, const Differences& differences, const JsonValue& results,
                         std::size_t rank) {
  const BreakdownRow row = device_row(seen_with(timeline, differences, true));
  const JsonValue& theirs = results["temporal_breakdown"][rank];
  Comparison comparison;
  const auto add = [&](const char* name, std::int64_t ours) {
    comparison.add(static_cast<double>(ours), theirs[name].number() * 1e3);
  };
  add("idle_time(us)", row.idle_ns);
  add("compute_time(us)", row.computation_ns);
  add("non_compute_time(us)", row.busy_ns - row.computation_ns);
  add("kernel_time(us)", row.total_ns);
  return comparison;
}

void check_overlap(const Timeline& timeline, const Differences& differences, const JsonValue& results, std::size_t rank,
                   int& compared) {
  const JsonValue& theirs = results["comm_comp_overlap"][rank]["comp_comm_overlap_pctg"];
  const BreakdownRow row = device_row(seen_with(timeline, differences, false));
  if (theirs.kind() == JsonValue::Kind::kNull) {
    CHECK(row.communication_ns == 0);
    return;
  }
  ++compared;
  const auto hidden = static_cast<double>(row.communication_ns - row.exposed_communication_ns);
  CHECK(std::abs(100 * hidden / static_cast<double>(row.communication_ns) - theirs.number()) <= 0.0050001);
}

/// HTA's get_gpu_kernel_breakdown divides the time of all ranks by what runs at once.
Comparison with_kernel_types(const std::vector<BreakdownRow>& ranks, const JsonValue& results) {
  std::map<std::string, double> theirs;
  for (const JsonValue& type : results["kernel_breakdown"]["types"].items())
    theirs[type["kernel_type"].text()] = type["sum"].number() * 1e3;
  BreakdownRow sum;
  for (const BreakdownRow& row : ranks) {
    sum.computation_ns += row.computation_ns;
    sum.communication_ns += row.communication_ns;
    sum.exposed_communication_ns += row.exposed_communication_ns;
  }
  const double hidden = theirs["COMPUTATION overlapping COMMUNICATION"];
  const double alone = theirs["COMMUNICATION"] + theirs["COMMUNICATION overlapping MEMORY"];
  Comparison comparison;
  comparison.add(static_cast<double>(sum.computation_ns),
                 theirs["COMPUTATION"] + hidden + theirs["COMPUTATION overlapping MEMORY"]);
  comparison.add(static_cast<double>(sum.communication_ns), alone + hidden);
  comparison.add(static_cast<double>(sum.exposed_communication_ns), alone);
  return comparison;
}

/// One stream alone, so that gaps of the device are those of the stream, as HTA looks at them.
Timeline with_stream(const Timeline& timeline, std::int64_t stream) {
  Timeline alone = timeline;
  ActivityTable activities;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
    if (timeline.streams[timeline.activities.stream[row]].id == stream) activities.append(timeline.activities.row(row));
  alone.activities = std::move(activities);
  return alone;
}

/// Time in which an activity of a stream ran while the one before it did: HTA adds up begin less the end before.
std::int64_t overlap_ns(const Timeline& timeline) {
  std::vector<std::pair<std::int64_t, std::int64_t>> activities;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
    activities.emplace_back(timeline.activities.begin_ns[row], timeline.activities.end_ns[row]);
  std::sort(activities.begin(), activities.end());
  std::int64_t overlap = 0;
  for (std::size_t i = 1; i < activities.size(); ++i)
    overlap += std::max<std::int64_t>(0, activities[i - 1].second - activities[i].first);
  return overlap;
}

/// HTA's get_idle_time_breakdown of a stream.
Comparison with_reasons(const Timeline& timeline, const Differences& differences,
                        std::map<std::string, double> theirs) {
  BreakdownOptions options;
  options.usual_gap_ns = 29'999;  // HTA: less than 30 us
  const std::vector<BreakdownRow> rows = breakdown(seen_with(timeline, differences, false), options);
  REQUIRE(rows.size() == 1);
  IdleReasons ours = rows[0].idle;
  if (differences.count(Difference::kSubtractsOverlaps) != 0) ours.kernel_wait_ns -= overlap_ns(timeline);
  Comparison comparison;
  comparison.add(static_cast<double>(ours.host_wait_ns), theirs["host_wait"]);
  comparison.add(static_cast<double>(ours.kernel_wait_ns), theirs["kernel_wait"]);
  comparison.add(static_cast<double>(ours.sync_wait_ns + ours.other_ns), theirs["other"]);
  return comparison;
}

/// By stream, then class, ns.
std::map<std::int64_t, std::map<std::string, double>> reasons_of(const JsonValue& answers, std::size_t rank) {
  std::map<std::int64_t, std::map<std::string, double>> reasons;
  for (const JsonValue& row : answers["results"]["idle_time_breakdown"]["idle"].items())
    if (row["rank"].integer() == answers["ranks"][rank].integer())
      reasons[row["stream"].integer()][row["idle_category"].text()] = row["idle_time"].number() * 1e3;
  return reasons;
}

}  // namespace

TEST_CASE("the breakdown of real traces is TraceLens's", "[analysis][data]") {
  if (shared_file("data/tracelens").empty()) RANGEFINDER_SKIP("no figures of TraceLens (RANGEFINDER_SHARED)");
  const std::map<std::string, Differences> traces{{"h100_Qwen_Qwen1.5-0.5B-Chat", {Difference::kDropsOrphans}},
                                                  {"h100_gaunernst_bert-small-uncased", {}},
                                                  {"mi300_gaunernst_bert-small-uncased", {}},
                                                  {"torch_compile_triton", {}},
                                                  {"vllm_decode_fullgraph_exec_mi300", {}}};
  // TraceLens adds up doubles of microseconds since the epoch of the trace, which hold a quarter of a nanosecond.
  constexpr double kToleranceNs = 13;
  Comparison all;
  for (const auto& [trace, differences] : traces) {
    CAPTURE(trace);
    const Timeline timeline = load_kineto(trace + ".json.gz");
    std::map<std::string, double> theirs_ns;
    for (const auto& record : csv_records(read_file(shared_file("data/tracelens/" + trace + "/gpu_timeline.csv"))))
      theirs_ns[record.at("type")] = std::atof(record.at("time ms").c_str()) * 1e6;
    all.add(compared_with(differences, kToleranceNs, [&](const Differences& some) {
      return with_tracelens(seen_with(timeline, some, true), theirs_ns);
    }));
    print_differences("TraceLens", trace, differences);
  }
  std::printf("breakdown against TraceLens: %d figures of %zu traces, greatest difference %.3f ns\n", all.figures,
              traces.size(), all.greatest_ns);
  CHECK(all.figures == 40);
}

TEST_CASE("the breakdown of real traces is HTA's", "[analysis][data]") {
  if (shared_file("data/kineto/expected/hta").empty()) RANGEFINDER_SKIP("no figures of HTA (RANGEFINDER_SHARED)");
  constexpr double kToleranceNs = 1;  // HTA has doubles of microseconds
  Comparison temporal, types;
  int overlaps = 0;
  std::map<std::string, std::vector<BreakdownRow>> ranks;
  for (const HtaTrace& trace : hta_traces()) {
    const JsonValue answers = JsonValue::load(shared_file("data/kineto/expected/" + trace.answers + ".json"));
    const std::string name = answers["traces"][trace.rank].text();
    CAPTURE(name);
    const Timeline timeline = load_kineto(trace.file.empty() ? "param_dlrm_8rank/" + name : trace.file);
    const JsonValue& results = answers["results"];
    temporal.add(compared_with(trace.differences, kToleranceNs, [&](const Differences& some) {
      return with_temporal(timeline, some, results, trace.rank);
    }));
    check_overlap(timeline, trace.differences, results, trace.rank, overlaps);
    ranks[trace.answers].push_back(device_row(seen_with(timeline, trace.differences, false)));
    print_differences("HTA", name, trace.differences);
  }
  for (const auto& [file, rows] : ranks) {
    // HTA cuts each stretch of time between two changes to whole microseconds here; the other traces have no others.
    if (file.starts_with("hta_ns/")) continue;
    CAPTURE(file);
    const JsonValue answers = JsonValue::load(shared_file("data/kineto/expected/" + file + ".json"));
    const Comparison comparison = with_kernel_types(rows, answers["results"]);
    CHECK(comparison.greatest_ns == 0);
    types.add(comparison);
  }
  std::printf(
      "breakdown against HTA: %d figures of %zu traces, greatest difference %.3f ns; %d figures by type of kernel, "
      "greatest difference %.3f ns; %d shares of overlap\n",
      temporal.figures, hta_traces().size(), temporal.greatest_ns, types.figures, types.greatest_ns, overlaps);
  CHECK(temporal.figures == 4 * 17);
  CHECK(types.figures == 3 * 6);
  CHECK(overlaps == 10);
}

TEST_CASE("the reasons of idle time are HTA's where a stream is looked at alone", "[analysis][data]") {
  if (shared_file("data/kineto/expected/hta").empty()) RANGEFINDER_SKIP("no figures of HTA (RANGEFINDER_SHARED)");
  using enum Difference;
  const std::map<std::pair<std::string, std::int64_t>, Differences> differing{
      {{"cudagraph_a100_rank0of16.json.gz", 27}, {kSubtractsOverlaps}},
      {{"h100_Qwen_Qwen1.5-0.5B-Chat.json.gz", 7}, {kFirstEventLaunches}},
      {{"worker1_step_12.1694128201556.pt.trace.json.gz", 7}, {kFirstEventLaunches}},
      {{"worker3_step_12.1694128201557.pt.trace.json.gz", 7}, {kFirstEventLaunches}}};
  constexpr double kToleranceNs = 5.001;  // HTA rounds to hundredths of a microsecond
  Comparison all;
  std::size_t streams = 0;
  for (const HtaTrace& trace : hta_traces()) {
    const JsonValue answers = JsonValue::load(shared_file("data/kineto/expected/" + trace.answers + ".json"));
    const std::string name = answers["traces"][trace.rank].text();
    Differences dropped = trace.differences;
    dropped.erase(kMemsetsAreCopies);
    dropped.erase(kStreamWaitsRun);  // this analysis of HTA leaves them out
    const Timeline timeline =
        seen_with(load_kineto(trace.file.empty() ? "param_dlrm_8rank/" + name : trace.file), dropped, false);
    for (const auto& [stream, theirs] : reasons_of(answers, trace.rank)) {
      CAPTURE(name, stream);
      ++streams;
      const auto found = differing.find({name, stream});
      const Differences differences = found != differing.end() ? found->second : Differences{};
      const Timeline alone = with_stream(timeline, stream);
      all.add(compared_with(differences, kToleranceNs, [&, &reasons = theirs](const Differences& some) {
        return with_reasons(alone, some, reasons);
      }));
      print_differences("HTA", name + ", stream " + std::to_string(stream), differences);
    }
  }
  std::printf("reasons of idle time against HTA: %d figures of %zu streams, greatest difference %.3f ns\n", all.figures,
              streams, all.greatest_ns);
  CHECK(streams == 50);
}
