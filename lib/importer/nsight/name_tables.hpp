// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/entities.hpp"
#include "importer/nsight/import_context.hpp"
#include "importer/nsight/string_table.hpp"

namespace rangefinder::importer::nsight {

/// Names and properties of what the event tables referred to: processes, threads, devices; the host; when it was; what
/// the profiler itself complained of. After the event tables.
void read_names(ImportContext& context, StringTable& strings, Entities& entities);

}  // namespace rangefinder::importer::nsight
