// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/metric_catalogue.hpp"
#include "source/counters/profiler_api.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::source::counters {

/// Metrics of one chip that can be collected in a single pass, ready to be configured and evaluated.
///
/// Threads: one at a time.
/// Cost:    resolving takes some tens of milliseconds; evaluating some microseconds a range or sample.
class MetricSet {
 public:
  /// `selection`: names of sets and of metrics, such as "memory" and "tensor_active_ratio".
  /// What has two underscores is a metric of CUPTI's own ("lts__t_sector_hit_rate.pct"), kept under that name.
  ///
  /// A metric of a set that the chip lacks, or cannot collect this way, is left out and listed in `missing`.
  ///
  /// Errors: kInvalidArgument for a name that is none, with the nearest; kUnsupported where the chip is not known,
  /// where
  ///         nothing can be collected, and where it takes more than one pass: the message says what to leave out.
  static Result<MetricSet> resolve(const ProfilerApi& api, std::string_view chip, Collection collection,
                                   const std::vector<std::string>& selection);
  /// Whether every name in a selection is one, without a look at any chip.
  static Status check(const std::vector<std::string>& selection);
  MetricSet(MetricSet&&) noexcept;
  MetricSet& operator=(MetricSet&&) noexcept;
  ~MetricSet();

  const std::string& chip() const noexcept { return chip_; }
  /// Our names, in the order of the selection.
  const std::vector<std::string>& metrics() const noexcept { return metrics_; }
  /// Of the sets named, what this chip cannot collect.
  const std::vector<std::string>& missing() const noexcept { return missing_; }
  /// "dram_read_bytes = dram__bytes_read.sum; flop_fp32 = ... + 2 * ...".
  std::string description() const;

  /// What SetConfig takes.
  std::span<const std::uint8_t> config_image() const noexcept { return config_image_; }
  /// CUPTI's names, for the size of a counter data image.
  std::span<const char* const> library_metrics() const noexcept { return pointers_; }

  /// The values of a range or sample of a decoded counter data image, in the order of `metrics`.
  /// Errors: kUnsupported, with CUPTI's reason.
  Result<std::vector<double>> evaluate(std::span<const std::uint8_t> counter_data, std::size_t index) const;

 private:
  struct Part {
    std::uint32_t metric;   // rangefinder's metric
    std::uint32_t library;  // position in library_
    double factor;
  };
  class Host;

  MetricSet();
  void add(std::string_view metric, std::span<const Term> terms);

  std::string chip_;
  std::vector<std::string> metrics_;
  std::vector<std::string> missing_;
  std::vector<std::string> library_;
  std::vector<const char*> pointers_;
  std::vector<Part> parts_;
  std::vector<std::uint8_t> config_image_;
  std::unique_ptr<Host> host_;
};

/// The chips that the library knows: "GH100", "AD102", ...
Result<std::vector<std::string>> known_chips(const ProfilerApi& api);

}  // namespace rangefinder::source::counters
