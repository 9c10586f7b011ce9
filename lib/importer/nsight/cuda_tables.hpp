// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/entities.hpp"
#include "importer/nsight/import_context.hpp"
#include "importer/nsight/string_table.hpp"

namespace rangefinder::importer::nsight {

/// CUPTI_ACTIVITY_KIND_RUNTIME: API calls of the runtime and of the driver.
void read_calls(ImportContext& context, StringTable& strings, Entities& entities);

/// Kernels, copies and memsets. After read_calls: an old export names no process on device rows.
void read_activities(ImportContext& context, StringTable& strings, Entities& entities);

/// Waiting, and the profiler's own cost.
void read_syncs(ImportContext& context, Entities& entities);
void read_overheads(ImportContext& context, Entities& entities);
void read_allocations(ImportContext& context, Entities& entities);

}  // namespace rangefinder::importer::nsight
