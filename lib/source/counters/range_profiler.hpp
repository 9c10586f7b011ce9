// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/metric_set.hpp"
#include "source/counters/profiler_api.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rangefinder::source::counters {

/// What the range profiler counted, copied out of it: to be evaluated by whoever has time.
struct CountedRanges {
  std::vector<std::uint8_t> image;
  std::size_t ranges = 0;  ///< in the image
  /// That the profiler had no room for.
  std::size_t dropped = 0;
};

/// CUPTI's range profiler on one context, with user ranges and one pass. It synchronizes the device at each push and
/// pop.
///
/// Errors:  what CUPTI answers, in words. After one the profiler is not to be used any more, but closed.
/// Threads: one call at a time; the context is to be current, but for `close`.
class RangeProfiler {
 public:
  /// Enables the profiler, sets it up for so many ranges at a time, and starts it.
  static Result<std::unique_ptr<RangeProfiler>> open(const ProfilerApi& api, CUcontext context,
                                                     const MetricSet& metrics, std::size_t most_ranges);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// Ranges do not nest: one is open at a time. Each has a name of its own until `collect`.
  Status push(const char* name);
  Status pop();
  /// Ends the counting, takes what there is, and begins anew. No range is open.
  Result<CountedRanges> collect();
  /// Takes what there is and gives the hardware back.
  Result<CountedRanges> close();

 private:
  RangeProfiler(const ProfilerApi& api, CUcontext context, const MetricSet& metrics, std::size_t most_ranges)
      : api_(api), context_(context), metrics_(metrics), most_ranges_(most_ranges) {}
  Status enable();
  Status prepare();
  Status start();
  Status initialise_image();
  Result<CountedRanges> stop();
  void disable() noexcept;

  const ProfilerApi& api_;
  CUcontext context_;
  const MetricSet& metrics_;
  std::size_t most_ranges_;
  CUpti_RangeProfiler_Object* object_ = nullptr;  // null: disabled
  std::vector<std::uint8_t> image_;
  bool started_ = false;
};

/// The name that a range in there was pushed with.
Result<std::string> name_of_range(const ProfilerApi& api, const CountedRanges& counted, std::size_t index);

}  // namespace rangefinder::source::counters
