// SPDX-License-Identifier: MIT
#include "bench/bottleneck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace rangefinder::bench {
namespace {

// A step has room for one part of a half; twice the next one is what noise and overlap do not turn around.
constexpr double kLeastShare = 0.5, kLeastLead = 2;
/// Figures of less than this share of the device's time say nothing of all of it.
constexpr double kLeastKnown = 2.0 / 3;
/// A host that works has so much CPU time of the part of a step that it holds up; the rest is noise of the timed steps.
constexpr double kLeastCpuTime = 0.7;

struct ClassText {
  std::string_view name, what_to_try;
};

constexpr std::array<ClassText, 7> kClasses{{
    {"undecided", "-"},
    {"input", "read ahead on threads of their own, pin the memory and copy on a stream beside the kernels"},
    {"host",
     "fewer and larger launches: fuse, capture the step as a CUDA graph; without a device: fused or "
     "reduced-precision operators, more threads"},
    {"device_compute", "reduced precision on tensor cores, less arithmetic: recompute less, use sparsity"},
    {"device_memory", "move fewer bytes: fuse kernels, keep data in caches, use smaller types"},
    {"synchronisation", "read results (item(), copies to the host) later or less often, after the next launches"},
    {"communication", "overlap it with backward, larger buckets, fewer reductions"},
}};

constexpr const char* kRecordRanges =
    "a range around what the host waits for: `data` for input, `all_reduce` for ranks";

double part_of(std::int64_t ns, double whole_ns) { return static_cast<double>(ns) / whole_ns; }

/// Recording takes time of the host: what it added is not the variant's.
double added_by_recording(const BottleneckEvidence& evidence) {
  const auto step_ns = static_cast<double>(evidence.steps->step_ns);
  const double added = step_ns - step_ns / (1 + std::max(0.0, evidence.recording_overhead));
  return std::min(added, static_cast<double>(evidence.steps->host_ns));
}

std::vector<StepPart> parts_on_device(const BottleneckEvidence& evidence) {
  const StepTime& t = *evidence.steps;
  const double added = added_by_recording(evidence), whole = static_cast<double>(t.step_ns) - added;
  return {
      {BottleneckClass::kDeviceCompute, "device", part_of(t.computing_ns, whole)},
      {BottleneckClass::kInput, "input", part_of(t.input_ns + t.to_device_ns, whole)},
      {BottleneckClass::kHost, "host", (static_cast<double>(t.host_ns) - added) / whole},
      {BottleneckClass::kSynchronisation, "synchronisation", part_of(t.waited_ns + t.to_host_ns, whole)},
      {BottleneckClass::kCommunication, "communication", part_of(t.communicating_ns + t.exchange_ns, whole)},
      {BottleneckClass::kUndecided, "not known", part_of(t.unnamed_ns + t.queued_ns + t.other_ns, whole)},
  };
}

/// Without a device the host works in all that no range says to be waiting, as far as it had CPU time.
std::vector<StepPart> parts_on_host(const BottleneckEvidence& evidence) {
  const StepTime& t = *evidence.steps;
  const auto whole = static_cast<double>(t.step_ns);
  const double input = part_of(t.input_ns, whole), exchange = part_of(t.exchange_ns, whole);
  const double rest = 1 - input - exchange, host = std::min(rest, evidence.processor.value_or(0));
  return {{BottleneckClass::kInput, "input", input},
          {BottleneckClass::kHost, "host", host},
          {BottleneckClass::kCommunication, "communication", exchange},
          {BottleneckClass::kUndecided, "not known", rest - host}};
}

/// "input 70 % of a step (range "data"), device 20 %, host 9 %".
std::string sentence_of(const std::vector<StepPart>& parts, const std::string& input_range) {
  std::string out;
  for (const StepPart& part : parts) {
    if (part.share < 0.005) continue;
    out += fmt::format("{}{} {:.0f} %{}", out.empty() ? "" : ", ", part.word, part.share * 100,
                       out.empty() ? " of a step" : "");
    if (part.what == BottleneckClass::kInput && !input_range.empty())
      out += fmt::format(" (range \"{}\")", input_range);
  }
  return out;
}

/// What would tell whose the part is that the data do not tell.
std::string missing_of(const BottleneckEvidence& evidence) {
  const StepTime& t = *evidence.steps;
  if (!evidence.on_device || (t.unnamed_ns >= t.queued_ns && t.unnamed_ns >= t.other_ns)) return kRecordRanges;
  if (t.queued_ns >= t.other_ns) return "what queued work waits for, which CUPTI does not tell: look at the trace";
  return "the launches of all device work: the whole program, with one session";
}

std::string percent_or_unknown(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", *share * 100) : "an unknown share";
}

/// Arithmetic or memory.
void decide_device(Bottleneck& out, const DeviceLimits& limits) {
  constexpr const char* kHowToRecord =
      "a roofline or counters: `rangefinder measure-peaks -o peaks.json`, then "
      "`--profile roofline --peaks peaks.json`; RANGEFINDER_CONFIG=pm_sampling=device where the driver permits it";
  if (limits.source.empty()) {
    out.missing = kHowToRecord;
    return;
  }
  out.evidence += fmt::format("; kernels reach {} of the peak of arithmetic and {} of that of memory, by {}",
                              percent_or_unknown(limits.compute), percent_or_unknown(limits.memory), limits.source);
  if (limits.known < kLeastKnown || !limits.compute || !limits.memory) {
    out.evidence += fmt::format(", known of {:.0f} % of the device time", limits.known * 100);
    out.missing = kHowToRecord;
    return;
  }
  const double compute = *limits.compute, memory = *limits.memory;
  if (compute >= kLeastShare && compute >= kLeastLead * memory)
    out.what = BottleneckClass::kDeviceCompute;
  else if (memory >= kLeastShare && memory >= kLeastLead * compute)
    out.what = BottleneckClass::kDeviceMemory;
  else if (std::max(compute, memory) < kLeastShare)
    out.missing = "why kernels reach neither peak: occupancy (`report --view launches`) and stalls (Nsight Compute)";
}

/// The process had too little CPU time to be what the device, or the step, waits for.
bool host_waits(const BottleneckEvidence& evidence, double share) {
  return evidence.processor && *evidence.processor < kLeastCpuTime * share;
}

Bottleneck undecided(std::string evidence, std::string missing) {
  return {BottleneckClass::kUndecided, std::move(evidence), std::move(missing)};
}

}  // namespace

std::string_view to_string(BottleneckClass what) noexcept { return kClasses[static_cast<std::size_t>(what)].name; }

std::string_view what_to_try(std::string_view bottleneck_class) noexcept {
  for (const ClassText& each : kClasses)
    if (each.name == bottleneck_class) return each.what_to_try;
  return kClasses[0].what_to_try;
}

Bottleneck bottleneck_of(const BottleneckEvidence& evidence) {
  if (!evidence.steps || evidence.steps->step_ns <= 0) {
    std::string said;
    if (evidence.processor) said = fmt::format("CPU time is {:.0f} % of the wall time", *evidence.processor * 100);
    return undecided(std::move(said), "ranges and device activity of steps: --profile minimal");
  }
  if (evidence.on_device && !evidence.steps->on_device)
    return undecided("no device work was recorded", "device activity: `rangefinder doctor` says why there is none");
  if (!evidence.on_device && !evidence.processor) return undecided("", "CPU time of the process");
  std::vector<StepPart> parts = evidence.on_device ? parts_on_device(evidence) : parts_on_host(evidence);
  std::stable_sort(parts.begin(), parts.end(), [](const StepPart& a, const StepPart& b) { return a.share > b.share; });
  const StepPart first = parts[0];
  Bottleneck out;
  out.parts = parts;
  out.input_range = evidence.steps->input_range;
  out.evidence = sentence_of(parts, out.input_range);
  const bool leads = first.share >= kLeastShare && first.share >= kLeastLead * parts[1].share;
  if (first.what == BottleneckClass::kUndecided || !leads) {
    const auto unknown = std::find_if(parts.begin(), parts.end(),
                                      [](const StepPart& part) { return part.what == BottleneckClass::kUndecided; });
    // Where the known parts alone come too close to each other, no further record decides.
    if (first.share < kLeastLead * unknown->share) out.missing = missing_of(evidence);
    return out;
  }
  if (first.what == BottleneckClass::kHost && host_waits(evidence, first.share)) {
    out.evidence += fmt::format("; but CPU time is only {:.0f} % of the wall time", *evidence.processor * 100);
    out.missing = kRecordRanges;
  } else if (first.what == BottleneckClass::kDeviceCompute) {
    decide_device(out, evidence.limits);
  } else {
    out.what = first.what;
  }
  return out;
}

Json to_json(const Bottleneck& bottleneck) {
  const auto or_null_text = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json parts = Json::array();
  for (const StepPart& part : bottleneck.parts) {
    const bool device = part.what == BottleneckClass::kDeviceCompute, input = part.what == BottleneckClass::kInput;
    parts.push_back(Json::object({{"class", device ? "device" : to_string(part.what)},
                                  {"share", part.share},
                                  {"range", or_null_text(input ? bottleneck.input_range : std::string())}}));
  }
  return Json::object({{"class", to_string(bottleneck.what)},
                       {"evidence", or_null_text(bottleneck.evidence)},
                       {"missing", or_null_text(bottleneck.missing)},
                       {"parts", std::move(parts)}});
}

}  // namespace rangefinder::bench
