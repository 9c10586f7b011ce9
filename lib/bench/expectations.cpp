// SPDX-License-Identifier: MIT
#include "bench/expectations.hpp"

#include "base/file.hpp"
#include "bench/statistics.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr int kExpectationsVersion = 1;
constexpr double kTimeShare = 0.25, kBytesShare = 0.02, kMinAllowance_ns = 10;
constexpr double kTimeRatioShare = 0.08, kBytesRatioShare = 0.05;
constexpr std::size_t kMaxRuns = 20;

constexpr std::array<std::string_view, 6> kStates{"new", "met", "improved", "regressed", "missing", "not_reported"};

constexpr const char* kTooFewSteps = "fewer than 5 timed steps, too few for a ratio";

bool is_gated(std::string_view name) { return name.rfind("baseline.", 0) != 0; }

/// Regressed, then not reported, then improved, met, new.
int weight(State state) {
  constexpr std::array<int, 6> kWeights{0, 1, 2, 5, 4, 3};
  return kWeights[static_cast<std::size_t>(state)];
}

/// To four digits: people read the file.
double four_digits(double ratio) {
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(ratio)));
  return std::round(ratio * scale) / scale;
}

/// `before`: the ratios of earlier runs.
Json ratio_entries(const std::vector<Ratio>& ratios, JsonView before) {
  Json out = Json::object();
  for (const Ratio& ratio : ratios) {
    std::vector<double> runs;
    for (const JsonView run : before[ratio.name]["runs"].items()) runs.push_back(run.number());
    runs.push_back(four_digits(ratio.value));
    if (runs.size() > kMaxRuns) runs.erase(runs.begin());
    out[ratio.name] = Json::object({{"least", four_digits(least_of(ratio.name, runs))}, {"runs", runs}});
  }
  return out;
}

Json entry_of(const Measured& measured, JsonView ratios_before) {
  Json out = Json::object({{"goal", measured.goal}});
  if (measured.ratios.empty()) {
    Json metrics = Json::object();
    for (const Metric& metric : measured.metrics) metrics[metric.name] = metric.value;
    out["metrics"] = std::move(metrics);
  } else {
    out["ratios"] = ratio_entries(measured.ratios, ratios_before);
  }
  out["provenance"] = measured.provenance.to_json();
  return out;
}

bool has_unknown_ratio(const Measured& measured) {
  return std::any_of(measured.ratios.begin(), measured.ratios.end(),
                     [](const Ratio& ratio) { return ratio.high <= 0; });
}

template <typename Figure>
bool reports(const std::vector<Figure>& figures, const std::string& name) {
  return std::any_of(figures.begin(), figures.end(), [&](const Figure& figure) { return figure.name == name; });
}

void check_metrics(const std::vector<Metric>& metrics, JsonView stored, RegressionCheck& out) {
  for (const Metric& metric : metrics) {
    if (!is_gated(metric.name)) continue;
    const JsonView value = stored[metric.name];
    const State state = value.is_number() ? state_of(metric, value.number()) : State::kNew;
    out.metrics.push_back({metric.name, state, value.number(), metric.value});
  }
  for (const auto& [name, value] : stored.members()) {
    if (!reports(metrics, name) && is_gated(name))
      out.metrics.push_back({name, State::kNotReported, JsonView(value).number(), 0});
  }
}

void check_ratios(const std::vector<Ratio>& ratios, JsonView stored, RegressionCheck& out) {
  for (const Ratio& ratio : ratios) {
    const JsonView least = stored[ratio.name]["least"];
    const State state = least.is_number() ? state_of(ratio, least.number()) : State::kNew;
    out.metrics.push_back({"ratio." + ratio.name, state, least.number(), ratio.value});
  }
  for (const auto& [name, entry] : stored.members()) {
    if (!reports(ratios, name))
      out.metrics.push_back({"ratio." + name, State::kNotReported, JsonView(entry)["least"].number(), 0});
  }
}

Result<Json> load_document(const std::string& path, const std::string& hardware_key) {
  if (!base::exists(path)) {
    return Json::object(
        {{"schema_version", kExpectationsVersion}, {"hardware_key", hardware_key}, {"examples", Json::object()}});
  }
  Result<Json> document = load_json(path);
  if (!document) return document.error();
  const JsonView stored = *document;
  if (!stored["examples"].is_object() || stored["schema_version"].integer() != kExpectationsVersion)
    return Error{
        ErrorCode::kUnreadable,
        fmt::format("{}: not an expectations file of schema_version {}; name another one with --expectations FILE",
                    path, kExpectationsVersion)};
  if (const std::string key = stored["hardware_key"].text(); key != hardware_key)
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format(
            "{}: hardware_key is \"{}\", but this machine is \"{}\"; name its file with --expectations FILE, and add "
            "--ratios where it has those of a processor family",
            path, key, hardware_key)};
  return document;
}

Result<base::Fd> lock(const std::string& path) {
  const std::string name = path + ".lock";
  base::Fd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) return base::system_error("open", name, errno);
  if (!base::lock_file(fd))
    return Error{ErrorCode::kBusy, name + ": another run is writing these expectations; nothing was written"};
  return fd;
}

/// Why an entry stays as it is; empty: it may be written.
std::string refusal(const Measured& measured, const RegressionCheck& regression, const UpdateOptions& options) {
  if (has_unknown_ratio(measured)) return kTooFewSteps;
  if (!regression.conflict.empty() && !options.accept_provenance)
    return "measured under other conditions: " + regression.conflict + " (--accept-provenance replaces it)";
  if (options.accept_regressions) return {};
  for (const MetricState& metric : regression.metrics) {
    if (metric.state == State::kRegressed)
      return fmt::format("{} regressed from {} to {} (--accept-regressions replaces it)", metric.name, metric.stored,
                         metric.measured);
    if (metric.state == State::kNotReported)
      return metric.name + " is stored and was not reported (--accept-regressions replaces it)";
  }
  return {};
}

}  // namespace

std::string_view to_string(State state) noexcept { return kStates[static_cast<std::size_t>(state)]; }

double allowance(MetricKind kind, double stored) noexcept {
  switch (kind) {
    case MetricKind::kTime:
      return std::max(kTimeShare * stored, kMinAllowance_ns);
    case MetricKind::kRate:
      return kTimeShare * stored;
    case MetricKind::kBytes:
      return kBytesShare * stored;
    default:
      return 0;
  }
}

double least_of(const std::string& name, const std::vector<double>& runs) {
  const Statistics all = statistics_of(runs);
  return std::min((1 - (name == "bytes" ? kBytesRatioShare : kTimeRatioShare)) * all.p50, all.least);
}

State state_of(const Ratio& ratio, double least) noexcept {
  return ratio.high < least ? State::kRegressed : State::kMet;
}

State state_of(const Metric& metric, double stored) noexcept {
  if (metric.kind == MetricKind::kFact) return State::kMet;
  const double worse = metric.kind == MetricKind::kRate ? stored - metric.value : metric.value - stored;
  const double allowed = allowance(metric.kind, stored);
  // A value that is no number is worse than any.
  return !(worse <= allowed) ? State::kRegressed : worse < -allowed ? State::kImproved : State::kMet;
}

Json Provenance::to_json() const {
  return Json::object({{"commit", commit},
                       {"hardware_key", hardware_key},
                       {"device", device},
                       {"size", size},
                       {"profile", profile},
                       {"caches", caches},
                       {"time", time},
                       {"iterations", iterations},
                       {"warmup", warmup},
                       {"torch", torch},
                       {"cuda", cuda},
                       {"driver", driver},
                       {"ranks", ranks}});
}

Provenance Provenance::from_json(JsonView json) {
  return {json["commit"].text(),    json["hardware_key"].text(), json["device"].text(), json["size"].text(),
          json["profile"].text(),   json["caches"].text("warm"), json["time"].text(),   json["iterations"].integer(),
          json["warmup"].integer(), json["torch"].text(),        json["cuda"].text(),   json["driver"].text(),
          json["ranks"].integer(1)};
}

std::string Provenance::conflict(const Provenance& stored) const {
  const std::pair<const char*, std::string Provenance::*> fields[] = {{"hardware_key", &Provenance::hardware_key},
                                                                      {"device", &Provenance::device},
                                                                      {"size", &Provenance::size},
                                                                      {"profile", &Provenance::profile},
                                                                      {"caches", &Provenance::caches},
                                                                      {"torch", &Provenance::torch},
                                                                      {"cuda", &Provenance::cuda},
                                                                      {"driver", &Provenance::driver}};
  for (const auto& [name, field] : fields) {
    if (this->*field != stored.*field)
      return fmt::format("{} \"{}\", stored \"{}\"", name, this->*field, stored.*field);
  }
  if (ranks != stored.ranks) return fmt::format("ranks {}, stored {}", ranks, stored.ranks);
  return {};
}

Result<Expectations> Expectations::load(const std::string& path, const std::string& hardware_key) {
  Result<Json> document = load_document(path, hardware_key);
  if (!document) return document.error();
  Expectations out;
  out.document_ = std::move(*document);
  return out;
}

RegressionCheck Expectations::check(const Measured& measured) const {
  RegressionCheck out;
  const JsonView entry = JsonView(document_)["examples"][measured.name];
  if (!entry.is_object()) return out;
  out.conflict = measured.provenance.conflict(Provenance::from_json(entry["provenance"]));
  if (out.conflict.empty() && has_unknown_ratio(measured)) out.conflict = kTooFewSteps;
  if (!out.conflict.empty()) return out;
  check_metrics(measured.metrics, entry["metrics"], out);
  check_ratios(measured.ratios, entry["ratios"], out);
  for (const MetricState& metric : out.metrics) {
    if (weight(metric.state) > weight(out.state)) out.state = metric.state;
  }
  return out;
}

Result<UpdateReport> update_expectations(const std::string& path, const std::string& hardware_key,
                                         const std::vector<Measured>& measured, const UpdateOptions& options) {
  UpdateReport report;
  const Result<base::Fd> held = lock(path);
  if (!held) return held.error();
  Result<Json> document = load_document(path, hardware_key);
  if (!document) return document.error();
  const Result<Expectations> stored = Expectations::load(path, hardware_key);
  if (!stored) return stored.error();
  Json& examples = (*document)["examples"];
  for (const Measured& each : measured) {
    const RegressionCheck found = stored->check(each);
    if (const std::string why = refusal(each, found, options); !why.empty()) {
      report.refused.push_back(each.name + ": " + why);
      continue;
    }
    const bool goes_on = found.conflict.empty() && found.state == State::kMet;
    const Json before = goes_on ? examples[each.name]["ratios"] : Json();
    examples[each.name] = entry_of(each, before);
    report.written.push_back(each.name);
  }
  if (report.written.empty()) return report;
  if (Status status = base::write_whole_file(path, json_text(*document)); !status.ok()) return status.error();
  return report;
}

}  // namespace rangefinder::bench
