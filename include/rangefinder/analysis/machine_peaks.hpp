// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rangefinder {

/// A measured peak of a processor or device.
struct MachinePeak {
  std::string device;  ///< "host", or the name of a device: "NVIDIA H100 80GB HBM3"
  std::string what;    ///< "flops", "bandwidth", "transfer" or "latency"
  std::string type;    ///< of flops "fp64", "fp32", "tf32", "bf16", "fp16", "fp8"; of bandwidth "copy", "triad"; ...
  double value = 0;    ///< floating point operations or bytes a second; latencies in seconds
};

/// The peaks of a machine, as `rangefinder measure-peaks` writes them and bench::read_peaks reads them.
struct MachinePeaks {
  std::string source;  ///< the file
  std::vector<MachinePeak> rows;
  std::string cpu_key;  ///< processor and how many of it were used, as captures name theirs; empty: not known

  /// The best of that kind; 0 where it was not measured. Any type where `type` is empty.
  double best(std::string_view device, std::string_view what, std::string_view type = {}) const noexcept {
    double value = 0;
    for (const MachinePeak& row : rows) {
      if (row.device == device && row.what == what && (type.empty() || row.type == type) && row.value > value)
        value = row.value;
    }
    return value;
  }
};

}  // namespace rangefinder
