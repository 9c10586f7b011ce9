// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <rangefinder/timeline.hpp>

#include <string>

namespace rangefinder::importer::nsight {

/// Reads an Nsight Systems SQLite export (`nsys export --type sqlite`), of any schema version: a table or column that
/// the file lacks means less data and a note. RangeTable::source_row is the rowid in NVTX_EVENTS. A range that was
/// never closed runs to the last NVTX time and is flagged kUnfinished.
///
/// Errors:  kNotFound, kIo; kUnreadable for what is no SQLite database, an encrypted or damaged one whose schema cannot
/// be
///          read, or a database of something else. Damage further in ends a table early, is counted in
///          health.damaged_chunks and told in a note; with options.strict it is kIncomplete.
/// Cost:    one pass over each table and a structural check before it.
Result<Timeline> import_nsight(const std::string& path, const LoadOptions& options);

/// The same from the bytes of a file.
Result<Timeline> import_nsight_image(base::ByteView image, const LoadOptions& options);

}  // namespace rangefinder::importer::nsight
