// SPDX-License-Identifier: MIT
#pragma once

#include <cupti.h>

#include <vector>

// The least client of CUPTI: what any tool pays that asks for the same. It keeps nothing.
namespace bench {

struct RawRequest {
  std::vector<CUpti_ActivityKind> kinds;
  bool callbacks = false;             ///< of the calls that launch kernels and graphs; they do nothing
  bool latency_timestamps = false;    ///< before CUDA is initialised
  bool external_correlation = false;  ///< see RawRange
  bool walk = false;                  ///< records are walked and copied once, on a thread of its own
};

/// Once in a process. It ends the process when CUPTI refuses.
void start_raw_cupti(const RawRequest& what);
/// Everything complete is delivered and, where asked for, walked.
void flush_raw_cupti();

/// A range as CUPTI itself can mark one: an id is pushed for the calls inside, and popped.
class RawRange {
 public:
  RawRange() noexcept;
  ~RawRange();
  RawRange(const RawRange&) = delete;
  RawRange& operator=(const RawRange&) = delete;
};

}  // namespace bench
