// SPDX-License-Identifier: MIT
#pragma once

#include "session/capture_writer.hpp"

namespace rangefinder::session {

/// Writes which NVTX domains the program used that are not recorded, as facts of the capture:
/// base/left_out_domains.hpp.
void write_left_out_domains(CaptureWriter& writer) noexcept;

}  // namespace rangefinder::session
