// SPDX-License-Identifier: MIT
#include "capi/export_call.hpp"

#include <rangefinder/exporters.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capi = rangefinder::capi;

namespace {

/// Enumerations are numbers in C.
template <typename To, typename From>
void set(To& to, From from) noexcept {
  to = static_cast<To>(from);
}

/// What options of C and of C++ have under the same name, of traces.
template <typename From, typename To>
void copy_content(const From& from, To& to) noexcept {
  to.begin_ns = from.begin_ns;
  to.end_ns = from.end_ns;
  set(to.compression, from.compression);
  to.api_calls = from.api_calls;
  to.syncs = from.syncs;
  to.overheads = from.overheads;
  to.counters = from.counters;
  to.flows = from.flows;
  to.exclusive_ranges = from.exclusive_ranges;
  to.inclusive_ranges = from.inclusive_ranges;
}

/// The options of C that `read_options` reads.
template <typename Options, typename From>
Options common_defaults(const From& from) noexcept {
  Options options{};
  options.attribution = static_cast<std::uint32_t>(from.attribution);
  options.replace = from.replace;
  options.max_memory_bytes = from.max_memory_bytes;
  return options;
}

template <typename Options, typename From>
void copy_progress(const Options& from, From& to) noexcept {
  to.progress = from.progress;
  to.progress_user = from.progress_user;
}

struct Chrome {
  using Options = rf_chrome_options;
  using Report = rf_chrome_report;
  using CppOptions = rangefinder::ChromeExportOptions;
  using CppReport = rangefinder::ChromeExportReport;
  static constexpr std::size_t kLeastOptions = RANGEFINDER_SIZE_UP_TO(rf_chrome_options, progress_user);
  static constexpr std::size_t kLeastReport = RANGEFINDER_SIZE_UP_TO(rf_chrome_report, left_out);

  static Options defaults() noexcept {
    const CppOptions from;
    auto options = common_defaults<Options>(from);
    copy_content(from, options);
    options.pretty = from.pretty;
    return options;
  }
  static rf_status read(std::string_view function, const Options& known, CppOptions& options) {
    if (known.compression > RF_COMPRESSION_GZIP) return capi::no_such_value(function, "compression", known.compression);
    copy_content(known, options);
    options.pretty = known.pretty;
    copy_progress(known, options);
    return RF_STATUS_OK;
  }
  static Report report_of(const CppReport& from) noexcept {
    return {0, from.events, from.json_bytes, from.output_bytes, from.overlapping, from.left_out};
  }
};

struct Perfetto {
  using Options = rf_perfetto_options;
  using Report = rf_perfetto_report;
  using CppOptions = rangefinder::PerfettoExportOptions;
  using CppReport = rangefinder::PerfettoExportReport;
  static constexpr std::size_t kLeastOptions = RANGEFINDER_SIZE_UP_TO(rf_perfetto_options, max_memory_bytes);
  static constexpr std::size_t kLeastReport = RANGEFINDER_SIZE_UP_TO(rf_perfetto_report, left_out);

  static Options defaults() noexcept {
    const CppOptions from;
    auto options = common_defaults<Options>(from);
    copy_content(from, options);
    set(options.gpu, from.gpu);
    return options;
  }
  static rf_status read(std::string_view function, const Options& known, CppOptions& options) {
    if (known.compression > RF_COMPRESSION_GZIP) return capi::no_such_value(function, "compression", known.compression);
    if (known.gpu > RF_PERFETTO_SLICES) return capi::no_such_value(function, "gpu", known.gpu);
    copy_content(known, options);
    set(options.gpu, known.gpu);
    copy_progress(known, options);
    return RF_STATUS_OK;
  }
  static Report report_of(const CppReport& from) noexcept {
    return {0, from.events, from.slices, from.trace_bytes, from.output_bytes, from.overlapping, from.left_out};
  }
};

struct Html {
  using Options = rf_html_options;
  using Report = rf_html_report;
  using CppOptions = rangefinder::HtmlExportOptions;
  using CppReport = rangefinder::HtmlExportReport;
  static constexpr std::size_t kLeastOptions = RANGEFINDER_SIZE_UP_TO(rf_html_options, progress_user);
  static constexpr std::size_t kLeastReport = RANGEFINDER_SIZE_UP_TO(rf_html_report, output_bytes);

  static Options defaults() noexcept {
    const CppOptions from;
    auto options = common_defaults<Options>(from);
    options.most_slices = from.most_slices;
    return options;
  }
  static rf_status read(std::string_view, const Options& known, CppOptions& options) {
    if (known.title != nullptr) options.title = known.title;
    options.most_slices = known.most_slices;
    copy_progress(known, options);
    return RF_STATUS_OK;
  }
  static Report report_of(const CppReport& from) noexcept { return {0, from.slices, from.left_out, from.output_bytes}; }
};

constexpr std::size_t kLeastSnapshotOptions = RANGEFINDER_SIZE_UP_TO(rf_snapshot_options, reserved);

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

}  // namespace

rf_status rf_chrome_options_init(rf_chrome_options* options, size_t struct_size) noexcept {
  return capi::init_options<Chrome>(__func__, options, struct_size);
}

rf_status rf_export_chrome_trace(const char* input, const char* output, const rf_chrome_options* options,
                                 rf_chrome_report* report) {
  return capi::run_export<Chrome>(__func__, input, output, options, report, rangefinder::export_chrome_trace);
}

rf_status rf_perfetto_options_init(rf_perfetto_options* options, size_t struct_size) noexcept {
  return capi::init_options<Perfetto>(__func__, options, struct_size);
}

rf_status rf_export_perfetto_trace(const char* input, const char* output, const rf_perfetto_options* options,
                                   rf_perfetto_report* report) {
  return capi::run_export<Perfetto>(__func__, input, output, options, report, rangefinder::export_perfetto_trace);
}

rf_status rf_html_options_init(rf_html_options* options, size_t struct_size) noexcept {
  return capi::init_options<Html>(__func__, options, struct_size);
}

rf_status rf_export_html(const char* input, const char* output, const rf_html_options* options,
                         rf_html_report* report) {
  return capi::run_export<Html>(__func__, input, output, options, report, rangefinder::export_html);
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
