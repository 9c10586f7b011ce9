// SPDX-License-Identifier: MIT
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

namespace rangefinder::injection {

/// Puts our functions into the table of one copy of NVTX. False where it is not one that we know.
bool install(NvtxGetExportTableFunc_t get_export_table) noexcept;
/// The same for an extension; of these we know the one for payloads.
bool install_extension(const nvtxExtModuleInfo_t* module) noexcept;

}  // namespace rangefinder::injection
