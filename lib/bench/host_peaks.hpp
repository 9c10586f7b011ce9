// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/worker.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace rangefinder::bench {

/// What the processors that this process may use reach together: "flops" of "fp32" and "fp64", by chains of
/// multiply-add in registers; "bandwidth" of "copy" and "triad" (a = b + s c), of arrays that no cache holds, counting
/// what is read and what is written once each. `threads` of them at once, some `seconds` for each figure.
/// Arrays have `array_bytes`; 0: more than caches hold.
std::vector<PeakSamples> measure_host(unsigned threads, double seconds, std::size_t array_bytes,
                                      const std::function<bool()>& cancelled);

}  // namespace rangefinder::bench
