// SPDX-License-Identifier: MIT
#include "base/cpu_key.hpp"
#include "base/file.hpp"
#include "base/processors.hpp"
#include "bench/hardware.hpp"
#include "bench/host_peaks.hpp"
#include "bench/json.hpp"
#include "bench/statistics.hpp"
#include "bench/targets.hpp"
#include "bench/worker_process.hpp"

#include <rangefinder/bench/measure_peaks.hpp>
#include <rangefinder/version.hpp>

#include <fmt/format.h>

#include <exception>
#include <string_view>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kPeaksVersion = 2;

std::string_view unit_of(std::string_view what) noexcept {
  return what == "flops" ? "FLOP/s" : what == "latency" ? "s" : "B/s";
}

/// The best of the samples, and how they spread. Of latencies the least is the best.
Json row_of(const std::string& device, const PeakSamples& measured) {
  const Statistics statistics = statistics_of(measured.samples);
  return Json::object({{"device", device},
                       {"what", measured.what},
                       {"type", measured.type},
                       {"unit", unit_of(measured.what)},
                       {"value", measured.what == "latency" ? statistics.least : statistics.most},
                       {"median", statistics.p50},
                       {"least", statistics.least},
                       {"most", statistics.most},
                       {"samples", static_cast<std::int64_t>(statistics.count)}});
}

void add_rows(Json& rows, const std::string& device, const std::vector<PeakSamples>& measured) {
  for (const PeakSamples& each : measured)
    if (!each.samples.empty()) rows.push_back(row_of(device, each));
}

std::vector<PeakSamples> samples_in(JsonView answer) {
  std::vector<PeakSamples> out;
  for (const JsonView each : answer["peaks"].items()) {
    PeakSamples samples{each["what"].text(), each["type"].text(), {}};
    for (const JsonView sample : each["samples"].items())
      if (sample.is_number() && sample.number() > 0) samples.samples.push_back(sample.number());
    out.push_back(std::move(samples));
  }
  return out;
}

/// What a worker measured of its first device; a note instead where it has none, or no hook.
Status add_device(const PeakOptions& options, Json& rows, Json& out, std::vector<std::string>& notes) {
  const Result<Description> description = describe(options.worker, options.cancelled);
  if (!description) return description.error();
  out["torch"] = description->torch;
  out["cuda"] = description->cuda;
  out["driver"] = description->driver;
  if (description->gpu.count == 0) {
    notes.emplace_back("no CUDA device: peaks of the host only");
    return {};
  }
  out["gpu_key"] = gpu_key(description->gpu.name, description->gpu.count);
  const Result<std::vector<Json>> answers =
      ask_in_passing({options.worker, {}, false, static_cast<std::int64_t>(options.timeout_s * 1e9), options.cancelled},
                     {Json::object({{"do", "measure_peaks"}, {"device", "cuda"}, {"seconds", options.seconds}})});
  if (!answers) return answers.error();
  add_rows(rows, description->gpu.name, samples_in(answers->front()));
  return {};
}

std::string shown(double value, std::string_view what) {
  if (what == "flops") return fmt::format("{:.1f} GFLOP/s", value / 1e9);
  if (what == "latency") return fmt::format("{:.2f} us", value * 1e6);
  return fmt::format("{:.1f} GB/s", value / 1e9);
}

}  // namespace

Result<std::string> measure_peaks(const PeakOptions& options) {
  if (!(options.seconds > 0) || options.seconds > 3600)
    return Error{ErrorCode::kInvalidArgument, "seconds for a figure: more than 0 and at most 3600"};
  const unsigned threads = options.threads != 0 ? options.threads : base::usable_processors();
  if (threads > 4096) return Error{ErrorCode::kInvalidArgument, "threads: at most 4096"};
  Json out = Json::object({{"schema_version", kPeaksVersion},
                           {"kind", "rangefinder.peaks"},
                           {"rangefinder_version", RANGEFINDER_VERSION},
                           {"measured_at", utc_now()},
                           {"cpu_key", base::cpu_key()},
                           {"host_threads", std::int64_t{threads}},
                           {"seconds", options.seconds}});
  Json rows = Json::array();
  std::vector<std::string> notes;
  try {
    add_rows(rows, "host", measure_host(threads, options.seconds, options.array_bytes, options.cancelled));
  } catch (const std::exception& error) {  // no memory, no threads
    return Error{ErrorCode::kIo, std::string("peaks of the host: ") + error.what()};
  }
  if (options.worker.empty()) {
    notes.emplace_back("no worker: peaks of the host only");
  } else if (Status status = add_device(options, rows, out, notes); !status.ok()) {
    return std::move(status).error();
  }
  if (options.cancelled && options.cancelled()) return Error{ErrorCode::kIo, "interrupted"};
  Json said = Json::array();
  for (const std::string& note : notes) said.push_back(note);
  out["peaks"] = std::move(rows);
  out["notes"] = std::move(said);
  return json_text(out);
}

Result<std::string> peaks_text(const std::string& json) {
  const Result<Json> parsed = parse_json(json);
  if (!parsed) return parsed.error();
  const JsonView document = *parsed;
  std::string out =
      fmt::format("{:<32} {:<10} {:<18} {:>18} {:>18} {:>8}\n", "DEVICE", "WHAT", "TYPE", "BEST", "MEDIAN", "SAMPLES");
  for (const JsonView row : document["peaks"].items()) {
    const std::string what = row["what"].text();
    out +=
        fmt::format("{:<32} {:<10} {:<18} {:>18} {:>18} {:>8}\n", row["device"].text(), what, row["type"].text(),
                    shown(row["value"].number(), what), shown(row["median"].number(), what), row["samples"].integer());
  }
  for (const JsonView note : document["notes"].items()) out += note.text() + "\n";
  return out;
}

Result<MachinePeaks> read_peaks(const std::string& path) {
  const Result<Json> parsed = load_json(path);
  if (!parsed) return parsed.error();
  const JsonView document = *parsed;
  if (document["kind"].text() != "rangefinder.peaks")
    return Error{ErrorCode::kUnreadable, path + ": not a file that `rangefinder measure-peaks -o` wrote"};
  if (document["schema_version"].integer() != kPeaksVersion)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format(
            "{}: schema_version {}; this version reads {}: measure again with `rangefinder measure-peaks -o FILE`",
            path, document["schema_version"].integer(), kPeaksVersion)};
  MachinePeaks out;
  out.source = path;
  out.cpu_key = document["cpu_key"].text();
  for (const JsonView row : document["peaks"].items())
    out.rows.push_back({row["device"].text(), row["what"].text(), row["type"].text(), row["value"].number()});
  return out;
}

}  // namespace rangefinder::bench
