// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <rangefinder/report.hpp>
#include <rangefinder/timeline.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace capi = rangefinder::capi;

namespace {

constexpr std::size_t kLeastReportOptions = RANGEFINDER_SIZE_UP_TO(rf_report_options, colour);

rf_report_options default_report_options() noexcept {
  const rangefinder::ReportOptions from;
  rf_report_options options{};
  options.depth = from.depth;
  options.top = from.top;
  options.width = from.width;
  options.format = static_cast<std::uint32_t>(from.format);
  options.attribution = static_cast<std::uint32_t>(from.projection.attribution);
  options.annotations = from.projection.annotations;
  options.operators = from.projection.operators;
  options.instances = from.instances;
  options.by_shape = from.by_shape;
  options.fold = from.fold;
  options.filter_is_regex = from.filter_is_regex;
  options.utf8 = from.utf8;
  options.colour = from.colour;
  options.by_payload = from.by_payload;
  options.overview = from.overview;
  options.absolute_times = from.absolute_times;
  options.terminal = from.terminal;
  options.strict = rangefinder::LoadOptions{}.strict;
  return options;
}

rf_status read_report_options(std::string_view function, const rf_report_options* given,
                              rangefinder::ReportOptions& options, rangefinder::LoadOptions& load) {
  rf_report_options known = default_report_options();
  const rf_status status = capi::read_struct(function, given, kLeastReportOptions, known);
  if (status != RF_STATUS_OK) return status;
  if (known.format > RF_REPORT_JSON) return capi::no_such_value(function, "format", known.format);
  if (known.attribution > RF_ATTRIBUTION_CAPTURE)
    return capi::no_such_value(function, "attribution", known.attribution);
  if (capi::check_reserved(function, known.reserved) != RF_STATUS_OK) return RF_STATUS_UNSUPPORTED;
  if (known.view != nullptr) options.view = known.view;
  options.step_names = capi::text_or(known.step_names);
  options.filter = capi::text_or(known.filter);
  options.sort = capi::text_or(known.sort);
  options.columns = capi::text_or(known.columns);
  options.payload = capi::text_or(known.payload);
  options.by = capi::text_or(known.by);
  options.of = capi::text_or(known.of);
  options.depth = known.depth;
  options.top = known.top;
  options.width = known.width;
  options.format = static_cast<rangefinder::ReportFormat>(known.format);
  options.projection.attribution = static_cast<rangefinder::Attribution>(known.attribution);
  options.projection.annotations = known.annotations;
  options.projection.operators = known.operators;
  options.instances = known.instances;
  options.by_shape = known.by_shape;
  options.fold = known.fold;
  options.filter_is_regex = known.filter_is_regex;
  options.utf8 = known.utf8;
  options.colour = known.colour;
  options.by_payload = known.by_payload;
  options.overview = known.overview;
  options.absolute_times = known.absolute_times;
  options.terminal = known.terminal;
  load.max_memory_bytes = known.max_memory_bytes;
  load.strict = known.strict;
  return RF_STATUS_OK;
}

rf_status write_text(std::string_view function, const std::vector<std::string>& inputs,
                     const rf_report_options* options, rf_text** report) {
  rangefinder::ReportOptions wanted;
  rangefinder::LoadOptions load;
  if (const rf_status status = read_report_options(function, options, wanted, load); status != RF_STATUS_OK)
    return status;
  std::string text;
  const auto sink = [&](std::string_view part) { return text.append(part), true; };
  const rf_status status = capi::finish(function, rangefinder::report_files(inputs, load, wanted, sink));
  if (status == RF_STATUS_OK) *report = capi::make_text(std::move(text));
  return status;
}

}  // namespace

rf_status rf_report_options_init(rf_report_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastReportOptions, default_report_options());
  });
}

rf_status rf_report(const char* input, const rf_report_options* options, rf_text** report) noexcept {
  if (report == nullptr) return capi::null_argument(__func__, "report");
  *report = nullptr;
  if (input == nullptr) return capi::null_argument(__func__, "input");
  return capi::guarded(__func__, [&, function = __func__] { return write_text(function, {input}, options, report); });
}

rf_status rf_report_job(const char* const* inputs, size_t count, const rf_report_options* options,
                        rf_text** report) noexcept {
  if (report == nullptr) return capi::null_argument(__func__, "report");
  *report = nullptr;
  return capi::guarded(__func__, [&, function = __func__] {
    std::vector<std::string> paths;
    const rf_status status = capi::read_texts(function, "inputs", inputs, count, paths);
    return status == RF_STATUS_OK ? write_text(function, paths, options, report) : status;
  });
}

size_t rf_report_view_count(void) noexcept {
  std::size_t count = 0;
  (void)capi::guarded(__func__, [&] { return count = rangefinder::report_views().size(), RF_STATUS_OK; });
  return count;
}

rf_status rf_report_view_at(size_t index, rf_report_view* view) noexcept {
  if (view == nullptr) return capi::null_argument(__func__, "view");
  return capi::guarded(__func__, [&, function = __func__] {
    const auto views = rangefinder::report_views();
    if (index >= views.size()) return capi::no_entry(function, index, views.size());
    rf_report_view filled{};
    filled.name = views[index].name.data();  // both of literals
    filled.description = views[index].description.data();
    filled.nsight_compatible = views[index].nsight_compatible;
    return capi::write_struct(function, view, view->struct_size,
                              RANGEFINDER_SIZE_UP_TO(rf_report_view, nsight_compatible), filled);
  });
}
