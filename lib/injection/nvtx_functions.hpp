// SPDX-License-Identifier: MIT
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace rangefinder::injection {

/// Puts our functions into the table of one copy of NVTX. False where it is not one that we know.
bool install(NvtxGetExportTableFunc_t get_export_table) noexcept;

}  // namespace rangefinder::injection
