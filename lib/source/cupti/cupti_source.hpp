// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/cupti_options.hpp"
#include "source/source.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace rangefinder::source {

namespace cupti {
struct CuptiApi;
class Process;
}  // namespace cupti

/// What a test puts in the place of the machine.
struct CuptiSeams {
  std::function<Result<cupti::CuptiApi>()> load;                                              ///< load_cupti
  void (*note_launch)(std::uint32_t correlation, std::uint32_t callback) noexcept = nullptr;  ///< buffer::note_launch
  std::int64_t (*realtime_ns)() noexcept = nullptr;                                           ///< CLOCK_REALTIME
};

/// Device activity, API calls, waits and CUPTI's own overhead, by CUPTI; and a note of every launch in the launching
/// thread's own records. docs/reference/cupti.md describes what is asked of CUPTI and every state and message.
///
/// A process has one CUPTI subscription. The first start takes it and keeps it; sources share it, one at a time.
///
///   CuptiSource source(options);
///   SourceState state = source.start(sink);   // not working: host only, and why
///   source.set_active(true);                  // nothing is noted or delivered before
///
/// Threads: any. CUPTI is called on a thread of its own, so that no call here waits longer than its deadline (`stop` a
///          second more); the sink is used by a second thread, and after `stop` has returned only while `at_sink`.
/// Fork:    in a child everything does nothing.
class CuptiSource final : public Source {
 public:
  explicit CuptiSource(CuptiOptions options, CuptiSeams seams = {});
  ~CuptiSource() override;

  std::string_view name() const noexcept override { return "cupti"; }
  SourceState start(RowSink& sink) noexcept override;
  void set_active(bool active) noexcept override;
  void flush(std::chrono::steady_clock::time_point deadline) noexcept override;
  void stop(std::chrono::steady_clock::time_point deadline) noexcept override;
  SourceState state() const noexcept override;
  bool at_sink() const noexcept override;
  bool uses_cupti() const noexcept override { return true; }

 private:
  const CuptiOptions options_;
  const CuptiSeams seams_;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

/// Takes the CUPTI subscription before any recording.
/// Not working: why, as `start` would say.
SourceState cupti_prepare(const CuptiSeams& seams = {}, const CuptiOptions& options = {}) noexcept;

/// While cuInit waits for its caller here, the driver is not asked whether CUDA is in use. It is not.
void cupti_is_in_cuinit(bool now) noexcept;

/// Gives CUPTI back to other profilers; the next start takes it again. kBusy while a recording runs, kTimeout when
/// CUPTI does not answer by the deadline. In a child of fork, and at exit, nothing is held.
Status cupti_release(std::chrono::steady_clock::time_point deadline) noexcept;

/// For a pthread_atfork child handler; rangefinder registers one that calls it. From then on nothing here does anything
/// in this process.
void cupti_after_fork_in_child() noexcept;

}  // namespace rangefinder::source
