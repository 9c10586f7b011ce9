// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

// Numbers for people: four significant digits and a unit. Integer arithmetic throughout.
namespace rangefinder::report {

/// A duration of value / 10^places nanoseconds: "999 ns", "17.00 us", "198.3 ms", "1.500 s".
std::string readable_time(std::int64_t value, int places = 0);

/// "512 B", "1.048 MB"; a megabyte is 1,000,000 bytes, as in Nsight's tables.
std::string readable_bytes(std::int64_t value);
std::string readable_flops(std::int64_t value);
/// Of any size, four digits of it: "0.001234", "1.5e-09", "64".
std::string readable_real(double value);

/// Seconds with all nine decimals: "155.357647753".
std::string readable_timestamp(std::int64_t nanoseconds);

}  // namespace rangefinder::report
