// SPDX-License-Identifier: MIT
#pragma once

namespace rangefinder::source {

/// Becomes the recorder's listener when a tool injects itself into NVTX (NVTX_INJECTION64_PATH, or one linked in), and
/// does nothing otherwise; likewise for our own. Runs when the library is loaded and again when a session starts, since
/// the variable may have been set meanwhile. True when a tool listens.
bool emit_nvtx_if_heard() noexcept;

}  // namespace rangefinder::source
