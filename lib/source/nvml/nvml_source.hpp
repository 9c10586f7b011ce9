// SPDX-License-Identifier: MIT
#pragma once

#include "source/source.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace rangefinder::source {

struct NvmlOptions {
  std::chrono::milliseconds period{20};
  /// CLOCK_REALTIME, ns; tests put their own in.
  std::int64_t (*realtime_ns)() noexcept = nullptr;
};

/// Samples the sensors of the devices that the program uses, in a thread of its own, each from when the program has
/// begun to use it. A sample is taken when the recording goes on, each `period` after that, and when it goes off; each
/// flush writes what there is, as DeviceSampleRow.
///
/// Says how it stands as metadata `nvml_state`: "full", or why there is nothing; and as `nvml_board:<device>` which
/// board a device is or is part of, `nvml_mig:<device>` = "on" where it is divided into instances. A driver that hangs
/// holds up that thread alone: `stop` leaves it behind.
class NvmlSource final : public Source {
 public:
  explicit NvmlSource(NvmlOptions options);
  ~NvmlSource() override;

  std::string_view name() const noexcept override { return "nvml"; }
  SourceState start(RowSink& sink) noexcept override;
  void set_active(bool active) noexcept override;
  void flush(std::chrono::steady_clock::time_point deadline) noexcept override;
  void stop(std::chrono::steady_clock::time_point deadline) noexcept override;
  SourceState state() const noexcept override;
  bool records_device_work() const noexcept override { return false; }

 private:
  struct Sampler;
  void write_samples(bool last) noexcept;

  NvmlOptions options_;
  std::shared_ptr<Sampler> sampler_;  // the thread's too: it may outlive us
  RowSink* sink_ = nullptr;
};

}  // namespace rangefinder::source
