// SPDX-License-Identifier: MIT
#include "capi/structs.hpp"

#include <rangefinder/exporters.hpp>

#include <string>

namespace capi = rangefinder::capi;

namespace {

constexpr std::size_t kLeastChromeOptions = RANGEFINDER_SIZE_UP_TO(rf_chrome_options, progress_user);
constexpr std::size_t kLeastHtmlOptions = RANGEFINDER_SIZE_UP_TO(rf_html_options, progress_user);
constexpr std::size_t kLeastSnapshotOptions = RANGEFINDER_SIZE_UP_TO(rf_snapshot_options, reserved);

rf_chrome_options default_chrome_options() noexcept {
  const rangefinder::ChromeExportOptions from;
  rf_chrome_options options{};
  options.begin_ns = from.begin_ns;
  options.end_ns = from.end_ns;
  options.compression = static_cast<std::uint32_t>(from.compression);
  options.attribution = static_cast<std::uint32_t>(from.attribution);
  options.replace = from.replace;
  options.pretty = from.pretty;
  options.api_calls = from.api_calls;
  options.syncs = from.syncs;
  options.overheads = from.overheads;
  options.counters = from.counters;
  options.flows = from.flows;
  options.exclusive_ranges = from.exclusive_ranges;
  options.inclusive_ranges = from.inclusive_ranges;
  options.max_memory_bytes = from.max_memory_bytes;
  return options;
}

rf_status read_chrome_options(std::string_view function, const rf_chrome_options* given,
                              rangefinder::ChromeExportOptions& options) {
  rf_chrome_options known = default_chrome_options();
  const rf_status status = capi::read_struct(function, given, kLeastChromeOptions, known);
  if (status != RF_STATUS_OK) return status;
  if (known.compression > RF_COMPRESSION_GZIP) return capi::no_such_value(function, "compression", known.compression);
  if (known.attribution > RF_ATTRIBUTION_CAPTURE)
    return capi::no_such_value(function, "attribution", known.attribution);
  if (capi::check_reserved(function, known.reserved) != RF_STATUS_OK) return RF_STATUS_UNSUPPORTED;
  options.begin_ns = known.begin_ns;
  options.end_ns = known.end_ns;
  options.compression = static_cast<rangefinder::ExportCompression>(known.compression);
  options.attribution = static_cast<rangefinder::Attribution>(known.attribution);
  options.replace = known.replace;
  options.pretty = known.pretty;
  options.api_calls = known.api_calls;
  options.syncs = known.syncs;
  options.overheads = known.overheads;
  options.counters = known.counters;
  options.flows = known.flows;
  options.exclusive_ranges = known.exclusive_ranges;
  options.inclusive_ranges = known.inclusive_ranges;
  options.progress = known.progress;
  options.progress_user = known.progress_user;
  options.max_memory_bytes = known.max_memory_bytes;
  return RF_STATUS_OK;
}

rf_snapshot_options default_snapshot_options() noexcept {
  const rangefinder::MemorySnapshotOptions from;
  rf_snapshot_options options{};
  options.max_memory_bytes = from.max_memory_bytes;
  options.moment = static_cast<std::uint32_t>(from.at);
  options.replace = from.replace;
  return options;
}

rf_status export_snapshot(std::string_view function, const char* input, const char* output,
                          const rf_snapshot_options& options) {
  if (input == nullptr) return capi::null_argument(function, "input");
  if (output == nullptr) return capi::null_argument(function, "output");
  if (options.moment > RF_SNAPSHOT_PEAK) return capi::no_such_value(function, "moment", options.moment);
  rangefinder::MemorySnapshotOptions wanted;
  wanted.max_memory_bytes = options.max_memory_bytes;
  wanted.at = static_cast<rangefinder::SnapshotMoment>(options.moment);
  wanted.replace = options.replace;
  return capi::finish(function, rangefinder::export_memory_snapshot(input, output, wanted));
}

rf_status fill_chrome_report(std::string_view function, const rangefinder::ChromeExportReport& from,
                             rf_chrome_report* report) {
  rf_chrome_report filled{};
  filled.events = from.events;
  filled.json_bytes = from.json_bytes;
  filled.output_bytes = from.output_bytes;
  filled.overlapping = from.overlapping;
  filled.left_out = from.left_out;
  return capi::write_struct(function, report, report->struct_size, RANGEFINDER_SIZE_UP_TO(rf_chrome_report, left_out),
                            filled);
}

rf_html_options default_html_options() noexcept {
  const rangefinder::HtmlExportOptions from;
  rf_html_options options{};
  options.most_slices = from.most_slices;
  options.max_memory_bytes = from.max_memory_bytes;
  options.attribution = static_cast<std::uint32_t>(from.attribution);
  options.replace = from.replace;
  return options;
}

rf_status read_html_options(std::string_view function, const rf_html_options* given,
                            rangefinder::HtmlExportOptions& options) {
  rf_html_options known = default_html_options();
  const rf_status status = capi::read_struct(function, given, kLeastHtmlOptions, known);
  if (status != RF_STATUS_OK) return status;
  if (known.attribution > RF_ATTRIBUTION_CAPTURE)
    return capi::no_such_value(function, "attribution", known.attribution);
  if (capi::check_reserved(function, known.reserved) != RF_STATUS_OK) return RF_STATUS_UNSUPPORTED;
  if (known.title != nullptr) options.title = known.title;
  options.most_slices = known.most_slices;
  options.max_memory_bytes = known.max_memory_bytes;
  options.attribution = static_cast<rangefinder::Attribution>(known.attribution);
  options.replace = known.replace;
  options.progress = known.progress;
  options.progress_user = known.progress_user;
  return RF_STATUS_OK;
}

rf_status fill_html_report(std::string_view function, const rangefinder::HtmlExportReport& from,
                           rf_html_report* report) {
  rf_html_report filled{};
  filled.slices = from.slices;
  filled.left_out = from.left_out;
  filled.output_bytes = from.output_bytes;
  return capi::write_struct(function, report, report->struct_size, RANGEFINDER_SIZE_UP_TO(rf_html_report, output_bytes),
                            filled);
}

}  // namespace

rf_status rf_chrome_options_init(rf_chrome_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastChromeOptions, default_chrome_options());
  });
}

rf_status rf_export_chrome_trace(const char* input, const char* output, const rf_chrome_options* options,
                                 rf_chrome_report* report) {
  if (input == nullptr) return capi::null_argument(__func__, "input");
  if (output == nullptr) return capi::null_argument(__func__, "output");
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::ChromeExportOptions wanted;
    rf_status status = read_chrome_options(function, options, wanted);
    // Before the work is done, rather than after it.
    if (status == RF_STATUS_OK && report != nullptr) status = fill_chrome_report(function, {}, report);
    if (status != RF_STATUS_OK) return status;
    rangefinder::ChromeExportReport done;
    status = capi::finish(function, rangefinder::export_chrome_trace(input, output, wanted, &done));
    return status == RF_STATUS_OK && report != nullptr ? fill_chrome_report(function, done, report) : status;
  });
}

rf_status rf_export_memory_snapshot(const char* input, const char* output, uint32_t moment, bool replace) noexcept {
  return capi::guarded(__func__, [&, function = __func__] {
    rf_snapshot_options options = default_snapshot_options();
    options.moment = moment;
    options.replace = replace;
    return export_snapshot(function, input, output, options);
  });
}

rf_status rf_snapshot_options_init(rf_snapshot_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastSnapshotOptions, default_snapshot_options());
  });
}

rf_status rf_export_memory_snapshot_with(const char* input, const char* output,
                                         const rf_snapshot_options* options) noexcept {
  return capi::guarded(__func__, [&, function = __func__] {
    rf_snapshot_options known = default_snapshot_options();
    const rf_status status = capi::read_struct(function, options, kLeastSnapshotOptions, known);
    if (status != RF_STATUS_OK) return status;
    if (capi::check_reserved(function, known.reserved) != RF_STATUS_OK) return RF_STATUS_UNSUPPORTED;
    return export_snapshot(function, input, output, known);
  });
}

rf_status rf_html_options_init(rf_html_options* options, size_t struct_size) noexcept {
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, kLeastHtmlOptions, default_html_options());
  });
}

rf_status rf_export_html(const char* input, const char* output, const rf_html_options* options,
                         rf_html_report* report) {
  if (input == nullptr) return capi::null_argument(__func__, "input");
  if (output == nullptr) return capi::null_argument(__func__, "output");
  return capi::guarded(__func__, [&, function = __func__] {
    rangefinder::HtmlExportOptions wanted;
    rf_status status = read_html_options(function, options, wanted);
    // Before the work is done, rather than after it.
    if (status == RF_STATUS_OK && report != nullptr) status = fill_html_report(function, {}, report);
    if (status != RF_STATUS_OK) return status;
    rangefinder::HtmlExportReport done;
    status = capi::finish(function, rangefinder::export_html(input, output, wanted, &done));
    return status == RF_STATUS_OK && report != nullptr ? fill_html_report(function, done, report) : status;
  });
}
