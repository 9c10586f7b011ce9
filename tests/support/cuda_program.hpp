// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>

namespace rangefinder::testing {

/// Launches real work through the CUDA driver, which is opened at run time: no CUDA is needed to build it. One device,
/// one context, two streams and a kernel that lasts as long as it is told. Never closed.
class CudaProgram {
 public:
  /// Why there is none: no driver, no device. The reason is fit for a skip.
  static Result<CudaProgram> open();

  /// A kernel on stream 0 or 1; 0 ns: an empty one.
  Status launch(int stream, std::uint64_t ns = 0);
  /// Host to device, from pinned memory.
  Status copy(int stream, std::size_t bytes);
  Status fill(int stream, std::size_t bytes);
  Status synchronize();
  /// The time of one kernel of that length by the device's own events, in nanoseconds.
  Result<std::int64_t> launch_between_events(int stream, std::uint64_t ns);

  /// An executable graph of so many empty kernels, captured from stream 0; `replay` launches the newest there.
  Status capture(int kernels);
  Status replay();

  static constexpr std::size_t kBytes = std::size_t{16} << 20;  ///< most that copy and fill take

 private:
  struct Driver;
  Driver* driver_ = nullptr;
};

}  // namespace rangefinder::testing
