// SPDX-License-Identifier: MIT
#include "session/dependencies.hpp"

#include "session/options.hpp"
#include "session/output_name.hpp"
#include "source/nvml/nvml_source.hpp"
#include "source/perf/cpu_counters.hpp"

#include <rangefinder/detail/nvtx.hpp>

#if RANGEFINDER_HAS_CUPTI
#include "source/counters/counter_source.hpp"
#include "source/counters/sample_source.hpp"
#include "source/cupti/cupti_source.hpp"
#endif
#if RANGEFINDER_HAS_NVTX
#include "source/nvtx/nvtx_emitter.hpp"
#endif

namespace rangefinder {
namespace session {
namespace {

#if RANGEFINDER_HAS_CUPTI
source::CuptiOptions cupti_options(const SessionOptions& options) {
  source::CuptiOptions out;
  out.api_records = options.cuda_api;
  out.sync_records = options.cuda_sync;
  out.overhead_records = options.cuda_overhead;
  out.graph_tracing = static_cast<source::CuptiOptions::GraphTracing>(options.graph_tracing);
  out.graph_node_replays = options.graph_node_replays;
  out.memory_records = options.cuda_memory;
  out.latency_timestamps = options.cuda_latency;
  out.idle = static_cast<source::CuptiOptions::Idle>(options.cuda_idle);
  out.memory_bytes = options.memory_bytes / 2;
  out.flush_period = {};  // the session flushes
  return out;
}

static_assert(static_cast<int>(CudaIdle::kGate) == static_cast<int>(source::CuptiOptions::Idle::kGate) &&
              static_cast<int>(CudaIdle::kDisable) == static_cast<int>(source::CuptiOptions::Idle::kDisable));

source::CounterOptions counter_options(const SessionOptions& options) {
  source::CounterOptions out;
  out.metrics = options.counters;
  out.ranges = options.counter_ranges;
  out.category = options.counter_category;
  out.depth = options.counter_depth;
  return out;
}

source::SampleOptions sample_options(const SessionOptions& options) {
  source::SampleOptions out;
  out.metrics = options.pm_sampling;
  out.interval = options.pm_sampling_interval;
  out.flush_period = options.flush_period;
  out.describe_devices = !options.cuda && options.counters.empty();
  return out;
}
#endif

}  // namespace

Dependencies make_dependencies(const SessionOptions& options) {
  Dependencies dependencies;
  dependencies.record = record_of_environment();
#if RANGEFINDER_HAS_NVTX
  if (options.nvtx) source::emit_nvtx_if_heard();
#endif
#if RANGEFINDER_HAS_CUPTI
  // Counting synchronizes the device around ranges, which changes the times of activities: they are not recorded.
  if (!options.counters.empty())
    dependencies.sources.push_back(std::make_shared<source::CounterSource>(counter_options(options)));
  else if (options.cuda)
    dependencies.sources.push_back(std::make_shared<source::CuptiSource>(cupti_options(options)));
  if (!options.pm_sampling.empty())
    dependencies.sources.push_back(std::make_shared<source::SampleSource>(sample_options(options)));
#endif
  if (options.nvml_period.count() > 0)
    dependencies.sources.push_back(std::make_shared<source::NvmlSource>(source::NvmlOptions{options.nvml_period}));
  if (options.cpu_counters) {
    source::CpuCounters counters = source::cpu_counters();
    dependencies.cpu_counters = counters.hook;
    dependencies.cpu_counters_state = counters.state + (counters.fix.empty() ? "" : "; " + counters.fix);
  }
  return dependencies;
}

Status release_device(std::chrono::steady_clock::time_point deadline) noexcept {
#if RANGEFINDER_HAS_CUPTI
  return source::cupti_release(deadline);
#else
  (void)deadline;
  return {};
#endif
}

DeviceState prepare_device(const SessionOptions& options) {
#if RANGEFINDER_HAS_CUPTI
  source::SourceState state = source::cupti_prepare({}, cupti_options(options));
  return {state.working, std::move(state.reason)};
#else
  (void)options;
  return {false, kNoCupti};
#endif
}

}  // namespace session

void detail::cuda_is_initializing(bool now) noexcept {
#if RANGEFINDER_HAS_CUPTI
  source::cupti_is_in_cuinit(now);
#else
  (void)now;
#endif
}

DeviceState prepare() noexcept try {
  return session::prepare_device(session::with_environment({}));
} catch (const std::exception&) {
  return {false, session::no_memory().message()};
}

}  // namespace rangefinder
