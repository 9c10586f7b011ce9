// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "compare/run_figures.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Runs as one small file: what `gate --save` writes, and what a gate in CI compares with.
namespace rangefinder::compare {

/// Ends in this by custom. What a file is, its first bytes say.
inline constexpr std::string_view kBaselineEnding = ".rfbase";

/// The bytes of a baseline: 8 of magic, version, size of what follows, the runs (a frame of Zstandard, or as they are
/// where that is not smaller), and last, in all versions, the checksum of all before it.
base::Bytes baseline_bytes(std::span<const Run> runs);

/// Errors: kUnreadable where these are no baseline or damaged, kUnsupported for a version that this build does not
/// know, kTooLarge where it takes more than `limit` bytes.
Result<std::vector<Run>> runs_of_baseline(base::ByteView bytes, std::uint64_t limit);

/// Writes it whole or not at all, in the place of an earlier one where `replace` is set.
Status save_baseline_file(const std::string& path, std::span<const Run> runs, bool replace);
Result<std::vector<Run>> read_baseline_file(const std::string& path, std::uint64_t limit);

/// Whether a plain file begins as a baseline does.
bool is_baseline_file(const std::string& path) noexcept;

}  // namespace rangefinder::compare
