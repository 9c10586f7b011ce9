// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

// Where a figure was measured: figures of two machines are never compared.
namespace rangefinder::bench {

/// "h200", "2x_b200": the name without its vendor, and how many.
std::string gpu_key(std::string_view name, unsigned count);

/// The commit that is checked out in the repository around `folder`; empty where there is none.
std::string commit_of(const std::string& folder);

/// Now, in UTC: "2026-03-01T12:00:00Z".
std::string utc_now();

}  // namespace rangefinder::bench
