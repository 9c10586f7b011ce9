// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/c/compare.h>
#include <rangefinder/compare.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace capi = rangefinder::capi;

namespace {

constexpr std::size_t kLeastDiffOptions = RANGEFINDER_SIZE_UP_TO(rf_diff_options, reserved);

/// What is compared, and how it is written.
struct DiffRequest {
  rangefinder::LoadOptions load;
  rangefinder::CompareOptions compare;
  rangefinder::DiffTextOptions output;
};

rf_diff_options default_diff_options() noexcept {
  const DiffRequest from;
  rf_diff_options options{};
  options.top = from.output.top;
  options.width = from.output.width;
  options.max_memory_bytes = from.load.max_memory_bytes;
  options.format = RF_REPORT_TEXT;
  options.attribution = static_cast<std::uint32_t>(from.compare.projection.attribution);
  options.annotations = from.compare.projection.annotations;
  options.operators = from.compare.projection.operators;
  options.strict = from.load.strict;
  options.utf8 = from.output.utf8;
  options.colour = from.output.colour;
  options.terminal = from.output.terminal;
  return options;
}

rangefinder::DiffFormat format_of(std::uint32_t format) noexcept {
  if (format == RF_REPORT_CSV) return rangefinder::DiffFormat::kCsv;
  if (format == RF_REPORT_JSON) return rangefinder::DiffFormat::kJson;
  return format == RF_REPORT_MARKDOWN ? rangefinder::DiffFormat::kMarkdown : rangefinder::DiffFormat::kText;
}

rf_status read_diff_options(std::string_view function, const rf_diff_options* given, DiffRequest& request) {
  rf_diff_options known = default_diff_options();
  const rf_status status = capi::read_struct(function, given, kLeastDiffOptions, known);
  if (status != RF_STATUS_OK) return status;
  if (known.format > RF_REPORT_MARKDOWN) return capi::no_such_value(function, "format", known.format);
  if (known.attribution > RF_ATTRIBUTION_CAPTURE)
    return capi::no_such_value(function, "attribution", known.attribution);
  if (capi::check_reserved(function, known.reserved) != RF_STATUS_OK) return RF_STATUS_UNSUPPORTED;
  request.load.max_memory_bytes = known.max_memory_bytes;
  request.load.strict = known.strict;
  request.compare.projection.attribution = static_cast<rangefinder::Attribution>(known.attribution);
  request.compare.projection.annotations = known.annotations;
  request.compare.projection.operators = known.operators;
  request.output.format = format_of(known.format);
  request.output.top = known.top;
  request.output.width = known.width;
  request.output.utf8 = known.utf8;
  request.output.colour = known.colour;
  request.output.terminal = known.terminal;
  return RF_STATUS_OK;
}

}  // namespace

rf_status rf_diff_options_init(rf_diff_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastDiffOptions, default_diff_options());
  });
}

rf_status rf_diff(const char* baseline, const char* candidate, const rf_diff_options* options,
                  rf_text** text) noexcept {
  if (text == nullptr) return capi::null_argument(__func__, "text");
  *text = nullptr;
  if (baseline == nullptr) return capi::null_argument(__func__, "baseline");
  if (candidate == nullptr) return capi::null_argument(__func__, "candidate");
  return capi::guarded(__func__, [&, function = __func__] {
    DiffRequest request;
    if (const rf_status status = read_diff_options(function, options, request); status != RF_STATUS_OK) return status;
    const auto difference = rangefinder::compare_runs(baseline, candidate, request.load, request.compare);
    if (!difference) return capi::fail(function, difference.error());
    std::string written;
    const auto sink = [&](std::string_view part) { return written.append(part), true; };
    const rf_status status = capi::finish(function, rangefinder::write_difference(*difference, request.output, sink));
    if (status == RF_STATUS_OK) *text = capi::make_text(std::move(written));
    return status;
  });
}
