// SPDX-License-Identifier: MIT
#pragma once

#include "capi/structs.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

// What all exports have in common. A `Format` says the rest:
//   Options, Report               the structs of C
//   CppOptions, CppReport         those of C++
//   kLeastOptions, kLeastReport   sizes of the first versions of the former
//   defaults()                    Options, from a CppOptions
//   read(function, Options, CppOptions&)  all but attribution, `replace` and `max_memory_bytes`; an rf_status
//   report_of(CppReport)          Report
namespace rangefinder::capi {

/// rf_*_options_init.
template <typename Format>
rf_status init_options(std::string_view function, typename Format::Options* options, std::size_t struct_size) noexcept {
  if (options == nullptr) return null_argument(function, "options");
  return guarded(function, [&] {
    return write_struct(function, options, struct_size, Format::kLeastOptions, Format::defaults());
  });
}

/// Null: the defaults.
template <typename Format>
rf_status read_options(std::string_view function, const typename Format::Options* given,
                       typename Format::CppOptions& options) {
  typename Format::Options known = Format::defaults();
  const rf_status status = read_struct(function, given, Format::kLeastOptions, known);
  if (status != RF_STATUS_OK) return status;
  if (known.attribution > RF_ATTRIBUTION_CAPTURE) return no_such_value(function, "attribution", known.attribution);
  if (check_reserved(function, known.reserved) != RF_STATUS_OK) return RF_STATUS_UNSUPPORTED;
  options.attribution = static_cast<Attribution>(known.attribution);
  options.replace = known.replace;
  options.max_memory_bytes = known.max_memory_bytes;
  return Format::read(function, known, options);
}

/// `report` null: the caller wants none.
template <typename Format>
rf_status fill_report(std::string_view function, const typename Format::CppReport& from,
                      typename Format::Report* report) {
  if (report == nullptr) return RF_STATUS_OK;
  return write_struct(function, report, report->struct_size, Format::kLeastReport, Format::report_of(from));
}

/// A function of C++ that exports a file.
template <typename Format>
using ExportFile = Status (*)(const std::string& input, const std::string& output,
                              const typename Format::CppOptions& options, typename Format::CppReport* report);

/// rf_export_*. `output` is called `output_name` in messages.
template <typename Format>
RANGEFINDER_THREAD_MAY_END rf_status run_export(std::string_view function, const char* input, const char* output,
                                                const typename Format::Options* given, typename Format::Report* report,
                                                ExportFile<Format> export_file,
                                                std::string_view output_name = "output") {
  if (input == nullptr) return null_argument(function, "input");
  if (output == nullptr) return null_argument(function, output_name);
  return guarded(function, [&] {
    typename Format::CppOptions options;
    rf_status status = read_options<Format>(function, given, options);
    // Before the work is done, rather than after it.
    if (status == RF_STATUS_OK) status = fill_report<Format>(function, {}, report);
    if (status != RF_STATUS_OK) return status;
    typename Format::CppReport done;
    status = finish(function, export_file(input, output, options, &done));
    return status == RF_STATUS_OK ? fill_report<Format>(function, done, report) : status;
  });
}

}  // namespace rangefinder::capi
