// SPDX-License-Identifier: MIT
#include "bench/profile.hpp"

#include "base/file.hpp"
#include "bench/copy_overlap.hpp"
#include "bench/device_limits.hpp"
#include "bench/host_samples.hpp"
#include "bench/report_view.hpp"

#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/exporters.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>

namespace rangefinder::bench {
namespace {

constexpr std::size_t kOperators = 20, kRanges = 200;

Result<Json> view(const Timeline& timeline, const std::string& name) {
  ReportOptions options;
  options.view = name;
  options.top = kRanges;
  return report_view(timeline, options);
}

Json operators(const Timeline& timeline) {
  KeyAverages averages = key_averages(timeline);
  std::sort(averages.groups.begin(), averages.groups.end(), [](const OperatorGroup& a, const OperatorGroup& b) {
    return a.cpu_self_ns + a.device_self_ns > b.cpu_self_ns + b.device_self_ns;
  });
  Json out = Json::array();
  for (const OperatorGroup& group : averages.groups) {
    if (out.size() == kOperators) break;
    out.push_back(Json::object({{"name", timeline.text(group.name)},
                                {"calls", static_cast<std::int64_t>(group.calls)},
                                {"cpu_self_ns", group.cpu_self_ns},
                                {"device_self_ns", group.device_self_ns},
                                {"flops", static_cast<std::int64_t>(group.flops)}}));
  }
  return out;
}

/// Operations and bytes of ranges and operators, by shapes or counters, as points of a roofline: the rows of two views
/// of reports, and the peaks of what ran them.
struct Roofline {
  Json json;
  double flops = 0;  ///< of all steps; an operator inside one that is counted is not counted again
};

Result<Roofline> roofline_of(const Timeline& timeline, const MachinePeaks* peaks) {
  ReportOptions options;
  options.peaks = peaks;
  options.top = kRanges;
  options.view = "roofline";
  Result<Json> ranges = report_view(timeline, options);
  if (!ranges) return ranges.error();
  options.view = "roofline_operators";
  Result<Json> operators = report_view(timeline, options);
  if (!operators) return operators.error();
  Roofline out;
  for (const JsonView each : JsonView(*operators)["rows"].items()) out.flops += each["flops"].number();
  const std::string device = timeline.activities.size() != 0 ? worked_device(timeline) : "host";
  Json peaks_json = Json::array();
  for (const MachinePeak& peak : peaks != nullptr ? peaks->rows : std::vector<MachinePeak>{}) {
    if (peak.device == device && (peak.what == "flops" || peak.what == "bandwidth"))
      peaks_json.push_back(Json::object({{"what", peak.what}, {"type", peak.type}, {"value", peak.value}}));
  }
  out.json = Json::object({{"device", device},
                           {"peaks", std::move(peaks_json)},
                           {"ranges", JsonView(*ranges)["rows"].json()},
                           {"operators", JsonView(*operators)["rows"].json()}});
  return out;
}

/// The worker's files, and ours: each tensor that was there when most memory was taken.
Result<Json> files_of(const Timeline& timeline, const std::string& stem, JsonView answer, ProfileLevel level) {
  Json files = Json::array();
  for (const JsonView file : answer["files"].items()) files.push_back(file.json());
  if (level != ProfileLevel::kDeep || timeline.allocator_events.size() == 0) return files;
  const std::string snapshot = stem + ".memory.pickle";
  const MemorySnapshotOptions options{.replace = true, .at = SnapshotMoment::kPeak};
  if (Status status = export_memory_snapshot(timeline, snapshot, options); !status.ok()) return status.error();
  files.push_back(snapshot);
  return files;
}

/// Samples of the host's stacks, and the name of a file that has them all; null where the worker took none.
Result<Json> host_samples_of(const Timeline& timeline, const std::string& stem, JsonView samples, Json& files) {
  if (!samples.is_object() || samples.has("missing")) return samples.json();
  const HostSamples found = host_samples(samples, timeline);
  const std::string path = stem + ".stacks.folded";
  if (Status status = base::write_whole_file(path, found.folded); !status.ok()) return status.error();
  files.push_back(path);
  return found.figures;
}

/// What is left out where it was not recorded.
Status add_memory_and_copies(const Timeline& timeline, Json& out) {
  if (timeline.allocator_events.size() != 0) {
    Result<Json> memory = view(timeline, "memory");
    if (!memory) return memory.error();
    out["memory"] = JsonView(*memory)["rows"].json();
  }
  const Result<Json> allocator = view(timeline, "memory_fragmentation");
  if (!allocator) return allocator.error();
  if (const JsonView rows = JsonView(*allocator)["rows"]; !rows.items().empty()) out["allocator"] = rows.json();
  if (const CopyOverlap copies = copy_overlap(timeline); copies.copy_ns > 0)
    out["copies"] =
        Json::object({{"busy_ns", copies.copy_ns},
                      {"hidden_ns", copies.hidden_ns},
                      {"hidden_share", static_cast<double>(copies.hidden_ns) / static_cast<double>(copies.copy_ns)}});
  return {};
}

/// Median of profiled steps over median of timed ones, less 1; null without samples.
Json overhead(JsonView profiled, const std::vector<double>& timed) {
  std::vector<double> samples;
  for (const JsonView each : profiled.items()) samples.push_back(each.number());
  const double median = statistics_of(timed).p50;
  if (samples.empty() || median <= 0) return {};
  return statistics_of(samples).p50 / median - 1;
}

}  // namespace

Result<ProfileResult> profile_of(const std::string& capture, JsonView answer, const VariantResult& variant,
                                 ProfileLevel level, const MachinePeaks* peaks) {
  LoadOptions load;
  load.operator_inputs = true;
  const Result<Timeline> timeline = load_timeline(capture, load);
  if (!timeline) return timeline.error();
  Result<Json> ranges = view(*timeline, "ranges");
  if (!ranges) return ranges.error();
  const std::string stem = capture.substr(0, capture.rfind('.')), trace = stem + ".pt.trace.json.gz";
  ChromeExportOptions options;
  options.replace = true;
  if (Status status = export_chrome_trace(capture, trace, options); !status.ok()) return status.error();
  Result<Json> files = files_of(*timeline, stem, answer, level);
  if (!files) return files.error();
  Result<Json> samples = host_samples_of(*timeline, stem, answer["host_samples"], *files);
  if (!samples) return samples.error();
  const auto steps = static_cast<std::int64_t>(answer["wall_ns"].items().size());
  Json out = Json::object({{"steps", steps},
                           {"capture", capture},
                           {"trace", trace},
                           {"files", std::move(*files)},
                           {"wall_overhead", overhead(answer["wall_ns"], variant.wall_ns)},
                           {"cpu_overhead", overhead(answer["cpu_ns"], variant.cpu_ns)},
                           {"ranges", JsonView(*ranges)["rows"].json()},
                           {"operators", operators(*timeline)}});
  if (!samples->is_null()) out["host_samples"] = std::move(*samples);
  if (Status status = add_memory_and_copies(*timeline, out); !status.ok()) return status.error();
  if (level == ProfileLevel::kDeep || level == ProfileLevel::kRoofline) {
    Result<Roofline> roofline = roofline_of(*timeline, peaks);
    if (!roofline) return roofline.error();
    // By shapes of operators: nothing that a counter has measured.
    if (roofline->flops > 0 && steps > 0) out["flops_by_shapes"] = roofline->flops / static_cast<double>(steps);
    if (level == ProfileLevel::kRoofline) out["roofline"] = std::move(roofline->json);
  }
  Result<StepTime> time = step_time(*timeline);
  if (!time) return time.error();
  Result<DeviceLimits> limits = device_limits(*timeline, peaks);
  if (!limits) return limits.error();
  return ProfileResult{std::move(out), std::move(*time), std::move(*limits)};
}

}  // namespace rangefinder::bench
