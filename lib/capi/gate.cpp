// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/c/compare.h>
#include <rangefinder/gate.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct rf_gate {
  rangefinder::GateResult result;
};

namespace capi = rangefinder::capi;

// No padding, which the language does not say of a struct with a double.
template <>
inline constexpr bool capi::kHasNoPadding<rf_gate_options> = sizeof(rf_gate_options) ==
                                                             2 * sizeof(std::size_t) + sizeof(void*) +
                                                                 2 * sizeof(double) + sizeof(std::uint64_t) +
                                                                 sizeof(std::uint32_t) + 4 * sizeof(bool);

namespace {

constexpr std::size_t kLeastGateOptions = RANGEFINDER_SIZE_UP_TO(rf_gate_options, strict);
constexpr std::size_t kLeastGateCheck = RANGEFINDER_SIZE_UP_TO(rf_gate_check, is_share);

/// What is read, and what is asked of it.
struct GateRequest {
  rangefinder::LoadOptions load;
  rangefinder::GateOptions gate;
};

rf_gate_options default_gate_options() noexcept {
  const GateRequest from;
  rf_gate_options options{};
  options.confidence = from.gate.confidence;
  options.assumed_run_spread = from.gate.assumed_run_spread;
  options.max_memory_bytes = from.load.max_memory_bytes;
  options.attribution = static_cast<std::uint32_t>(from.gate.projection.attribution);
  options.other_hardware = from.gate.other_hardware;
  options.annotations = from.gate.projection.annotations;
  options.operators = from.gate.projection.operators;
  options.strict = from.load.strict;
  return options;
}

rf_status read_gate_options(std::string_view function, const rf_gate_options* given, GateRequest& request) {
  rf_gate_options known = default_gate_options();
  const rf_status status = capi::read_struct(function, given, kLeastGateOptions, known);
  if (status != RF_STATUS_OK) return status;
  if (known.attribution > RF_ATTRIBUTION_CAPTURE)
    return capi::no_such_value(function, "attribution", known.attribution);
  request.load.max_memory_bytes = known.max_memory_bytes;
  request.load.strict = known.strict;
  request.gate.confidence = known.confidence;
  request.gate.assumed_run_spread = known.assumed_run_spread;
  request.gate.other_hardware = known.other_hardware;
  request.gate.projection.attribution = static_cast<rangefinder::Attribution>(known.attribution);
  request.gate.projection.annotations = known.annotations;
  request.gate.projection.operators = known.operators;
  return capi::read_texts(function, "rules", known.rules, known.rule_count, request.gate.rules);
}

std::uint32_t number_of(rangefinder::GateVerdict verdict) noexcept {
  if (verdict == rangefinder::GateVerdict::kPass) return RF_GATE_PASS;
  return verdict == rangefinder::GateVerdict::kRegression ? RF_GATE_REGRESSION : RF_GATE_CANNOT_TELL;
}

rangefinder::GateFormat format_of_gate(std::uint32_t format) noexcept {
  if (format == RF_REPORT_JSON) return rangefinder::GateFormat::kJson;
  if (format == RF_REPORT_MARKDOWN) return rangefinder::GateFormat::kMarkdown;
  return format == RF_REPORT_JUNIT ? rangefinder::GateFormat::kJunit : rangefinder::GateFormat::kText;
}

}  // namespace

rf_status rf_gate_options_init(rf_gate_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastGateOptions, default_gate_options());
  });
}

rf_status rf_gate_run(const char* const* baseline, size_t baseline_count, const char* const* candidate,
                      size_t candidate_count, const rf_gate_options* options, rf_gate** gate) noexcept {
  if (gate == nullptr) return capi::null_argument(__func__, "gate");
  *gate = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    GateRequest request;
    std::vector<std::string> before, after;
    rf_status status = read_gate_options(function, options, request);
    if (status == RF_STATUS_OK) status = capi::read_texts(function, "baseline", baseline, baseline_count, before);
    if (status == RF_STATUS_OK) status = capi::read_texts(function, "candidate", candidate, candidate_count, after);
    if (status != RF_STATUS_OK) return status;
    rangefinder::Result<rangefinder::GateResult> result =
        rangefinder::run_gate(before, after, request.gate, request.load);
    if (!result) return capi::fail(function, result.error());
    *gate = std::make_unique<rf_gate>(rf_gate{std::move(*result)}).release();
    return RF_STATUS_OK;
  });
}

uint32_t rf_gate_get_verdict(const rf_gate* gate) noexcept {
  return gate != nullptr ? number_of(gate->result.verdict) : std::uint32_t{RF_GATE_CANNOT_TELL};
}

size_t rf_gate_check_count(const rf_gate* gate) noexcept { return gate != nullptr ? gate->result.checks.size() : 0; }

rf_status rf_gate_check_at(const rf_gate* gate, size_t index, rf_gate_check* check) noexcept {
  if (gate == nullptr) return capi::null_argument(__func__, "gate");
  if (check == nullptr) return capi::null_argument(__func__, "check");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto& checks = gate->result.checks;
    if (index >= checks.size()) return capi::no_entry(function, index, checks.size());
    const rangefinder::GateCheck& found = checks[index];
    rf_gate_check filled{};
    filled.rule = found.rule.c_str();
    filled.metric = found.metric.c_str();
    filled.statistic = found.statistic.c_str();
    filled.unit = found.unit.c_str();
    filled.reason = found.reason.c_str();
    filled.baseline = found.baseline;
    filled.candidate = found.candidate;
    filled.limit = found.limit;
    filled.change = found.change;
    filled.change_low = found.change_low;
    filled.change_high = found.change_high;
    filled.verdict = number_of(found.verdict);
    filled.is_share = found.is_share;
    return capi::write_struct(function, check, check->struct_size, kLeastGateCheck, filled);
  });
}

rf_status rf_gate_text(const rf_gate* gate, uint32_t format, rf_text** text) noexcept {
  if (text == nullptr) return capi::null_argument(__func__, "text");
  *text = nullptr;
  if (gate == nullptr) return capi::null_argument(__func__, "gate");
  if (format > RF_REPORT_JUNIT || format == RF_REPORT_CSV) return capi::no_such_value(__func__, "format", format);
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::GateTextOptions options;
    options.format = format_of_gate(format);
    std::string written;
    const auto sink = [&](std::string_view part) { return written.append(part), true; };
    const rf_status status = capi::finish(function, rangefinder::write_gate(gate->result, options, sink));
    if (status == RF_STATUS_OK) *text = capi::make_text(std::move(written));
    return status;
  });
}

void rf_gate_free(rf_gate* gate) noexcept { delete gate; }

rf_status rf_baseline_save(const char* const* runs, size_t count, const char* output, bool replace,
                           const rf_gate_options* options) noexcept {
  if (output == nullptr) return capi::null_argument(__func__, "output");
  return capi::guarded(__func__, [&, function = __func__] {
    GateRequest request;
    std::vector<std::string> paths;
    rf_status status = read_gate_options(function, options, request);
    if (status == RF_STATUS_OK) status = capi::read_texts(function, "runs", runs, count, paths);
    if (status != RF_STATUS_OK) return status;
    return capi::finish(function,
                        rangefinder::save_baseline(paths, output, replace, request.gate.projection, request.load));
  });
}
