// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <string>

// What more than one page says of a row of results.
namespace rangefinder::bench {

/// "227 samples/s" of a variant: tokens, else samples, requests, steps; "-" where it was not timed.
std::string rate_text(JsonView variant);

/// "bound by device memory (...)", or what is missing to tell. Printable.
std::string bottleneck_text(JsonView bottleneck);

/// "device memory" of "device_memory".
std::string class_text(std::string bottleneck_class);

/// " (logs: a.log, b.log)" of what a row ran; empty where nothing was started.
std::string logs_text(JsonView row);

}  // namespace rangefinder::bench
