// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <string>

namespace rangefinder::bench {

/// Reads the text of a trace, unpacked where it is packed, and appends it to `into`; null: it is unpacked and dropped.
Status read_trace_text(const std::string& path, std::string* into);

}  // namespace rangefinder::bench
