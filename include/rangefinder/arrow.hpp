// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/arrow.h>
#include <rangefinder/report.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <memory>
#include <string_view>
#include <vector>

// Tables of a timeline as Apache Arrow's C data interface, without a library of Arrow.
namespace rangefinder {

struct ArrowTableInfo {
  std::string_view name;         ///< "activities"; ends with a zero byte
  std::string_view description;  ///< one sentence; likewise
};

/// The tables that every timeline has, in the order of docs/reference/arrow.md.
RANGEFINDER_EXPORT std::vector<ArrowTableInfo> arrow_tables();

/// A table of the timeline as a stream of one batch.
///
///   auto timeline = std::make_shared<const rangefinder::Timeline>(std::move(*loaded));
///   ArrowArrayStream stream;
///   if (rangefinder::export_arrow_table(timeline, "activities", &stream)) import(&stream);
///
/// Columns whose memory is laid out as Arrow wants it are not copied: arrays point into the timeline and hold a
/// reference on it until they are released. Columns are copied where the timeline stores them narrower, where it stores
/// nothing because every row has the default, and where they are bits. Names are dictionary arrays.
///
/// Errors:  kNotFound for an unknown table, with the nearest name; kTooLarge where names take more than 2 GiB. `out` is
///          left alone then.
/// Threads: any; the timeline must not be changed while an array is in use.
/// Cost:    a bit a row for columns that have nulls, and a copy of all names.
RANGEFINDER_EXPORT Status export_arrow_table(const std::shared_ptr<const Timeline>& timeline, std::string_view table,
                                             ArrowArrayStream* out);

/// A view of report_views() as a stream of one batch, which is a copy: the columns of the view under their keys in
/// JSON, with the same numbers. Of `options`, what is about text only has no effect.
///
/// Errors:  as write_report.
RANGEFINDER_EXPORT Status export_arrow_view(const Timeline& timeline, const ReportOptions& options,
                                            ArrowArrayStream* out);

}  // namespace rangefinder
