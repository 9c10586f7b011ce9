// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/child_memory.hpp"

#include <cstdint>
#include <string>

namespace rangefinder::testing {

/// A capture of ranges side by side, of 16 names, each with a launch, a call and a kernel. A child writes it: memory
/// that this process has freed would be used again by what is measured.
inline void write_long_capture(const std::string& path, std::int64_t ranges) {
  const ChildRun written = run_in_child([&] {
    CaptureBuilder capture;
    capture.h100().chunk_rows(4096);
    for (std::int64_t i = 0; i < ranges; ++i) {
      const std::int64_t begin = 5'000 * i;
      capture.range("layer " + std::to_string(i % 16), begin, begin + 900).launch(begin + 100);
      capture.call("cudaLaunchKernel", begin + 90, begin + 300).kernel("gemm", begin + 2'000, begin + 6'500);
    }
    capture.write(path);
    return 0;
  });
  REQUIRE(written.code == 0);
}

}  // namespace rangefinder::testing
