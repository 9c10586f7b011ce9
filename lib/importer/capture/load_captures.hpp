// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::importer {

/// Reads captures into one timeline: a file, or all captures of a folder as the processes of one job. Captures of one
/// host share its CLOCK_MONOTONIC; those of other hosts are moved by the difference of their wall clocks, and by what
/// their collectives say beyond that. Notes say how each clock is known, and which ranks are missing.
Result<Timeline> load_captures(const std::vector<std::string>& paths, const LoadOptions& options);

/// Refuses what would fill the memory, before it does; adds what the capture unpacks to.
Status check_size(const capture::CaptureReader& reader, std::uint64_t& unpacked, const LoadOptions& options);

}  // namespace rangefinder::importer
