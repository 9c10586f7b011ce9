// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/metric_set.hpp"
#include "source/counters/profiler_api.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rangefinder::source::counters {

struct SamplingOptions {
  std::uint64_t interval_ns = 1'000'000;
  /// Samples between two decodings. CUPTI loses what is more, so it has to be plenty; each takes some 16 KiB of memory,
  /// and twice as much of the hardware's buffer.
  std::uint32_t most_samples = 1024;
};

struct Sample {
  std::uint64_t begin_ns;  ///< on CUPTI's clock
  std::uint64_t end_ns;
  std::vector<double> values;  ///< in the order of MetricSet::metrics
};

struct DecodedSamples {
  std::vector<Sample> samples;
  bool overflowed = false;  ///< some are missing: the hardware's buffer or ours was full
};

/// CUPTI's PM sampling of one device: it needs no context and serialises nothing.
///
/// Errors:  what CUPTI answers, in words.
/// Threads: one call at a time.
class DeviceSampling {
 public:
  /// Enables sampling of the device and starts it.
  static Result<std::unique_ptr<DeviceSampling>> open(const ProfilerApi& api, std::uint32_t device, MetricSet metrics,
                                                      const SamplingOptions& options);
  ~DeviceSampling();
  DeviceSampling(const DeviceSampling&) = delete;
  DeviceSampling& operator=(const DeviceSampling&) = delete;

  /// Takes the samples that are complete. After an overflow sampling begins anew.
  Result<DecodedSamples> decode();
  /// Ends the sampling, takes the rest, and gives the hardware back.
  Result<DecodedSamples> close();

  std::uint32_t device() const noexcept { return device_; }
  const MetricSet& metrics() const noexcept { return metrics_; }

 private:
  DeviceSampling(const ProfilerApi& api, std::uint32_t device, MetricSet metrics, const SamplingOptions& options)
      : api_(api), device_(device), metrics_(std::move(metrics)), options_(options) {}
  Status enable();
  Status configure();
  Status prepare_image();
  Status initialise_image();
  Status start();
  Status stop();
  void disable() noexcept;
  Status read_samples(DecodedSamples& into) const;

  const ProfilerApi& api_;
  const std::uint32_t device_;
  const MetricSet metrics_;
  const SamplingOptions options_;
  CUpti_PmSampling_Object* object_ = nullptr;  // null: disabled
  std::vector<std::uint8_t> image_;
  bool started_ = false;
};

}  // namespace rangefinder::source::counters
