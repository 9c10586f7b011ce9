// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/collectives.hpp"
#include "importer/nsight/entities.hpp"
#include "importer/nsight/import_context.hpp"
#include "importer/nsight/string_table.hpp"

namespace rangefinder::importer::nsight {

/// NVTX_EVENTS: ranges, marks, their values, and the names of domains, categories and threads. Ranges that may be calls
/// of NCCL go to `nccl`, too.
void read_nvtx(ImportContext& context, StringTable& strings, Entities& entities, NcclCalls& nccl);

}  // namespace rangefinder::importer::nsight
