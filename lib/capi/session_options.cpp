// SPDX-License-Identifier: MIT
#include "capi/session_options.hpp"

#include "capi/structs.hpp"
#include "capi/text.hpp"

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace rangefinder::capi {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLeastSessionOptions = RANGEFINDER_SIZE_UP_TO(rf_session_options, on_capture_ready_user);
// 146 years: what is longer does not fit into nanoseconds.
constexpr std::int64_t kLongestMs = std::numeric_limits<std::int64_t>::max() / 2 / 1'000'000;

rf_status check_session_options(std::string_view function, const rf_session_options& given) {
  const auto refuse = [&](std::string_view member, std::int64_t number, std::string_view limits) {
    return fail(RF_STATUS_INVALID_ARGUMENT, {function, ": ", member, ": ", std::to_string(number), " is not ", limits});
  };
  if (given.mode > RF_CAPTURE_BUFFERED) return no_such_value(function, "mode", given.mode);
  if (given.overflow > RF_OVERFLOW_GROW) return no_such_value(function, "overflow", given.overflow);
  if (given.graph_tracing > RF_GRAPHS_AUTOMATIC) return no_such_value(function, "graph_tracing", given.graph_tracing);
  if (given.cuda_idle > RF_CUDA_IDLE_DISABLE) return no_such_value(function, "cuda_idle", given.cuda_idle);
  if (given.graph_node_replays == 0) return refuse("graph_node_replays", 0, "a number of launches, at least 1");
  for (const auto& [member, ms] : {std::pair{"ring_time_ms", given.ring_time_ms},
                                   {"flush_period_ms", given.flush_period_ms},
                                   {"stop_timeout_ms", given.stop_timeout_ms},
                                   {"delay_ms", given.delay_ms},
                                   {"duration_ms", given.duration_ms},
                                   {"nvml_period_ms", given.nvml_period_ms}}) {
    if (ms < 0 || ms > kLongestMs) return refuse(member, ms, "between 0 and 146 years, in milliseconds");
  }
  if (given.dump_step_over_ns < 0)
    return refuse("dump_step_over_ns", given.dump_step_over_ns, "a time; 0 makes no dump");
  for (const auto& [member, number] :
       {std::pair{"record_signal", given.record_signal}, {"dump_signal", given.dump_signal}}) {
    if (number < 0 || number >= NSIG) return refuse(member, number, "the number of a signal; 0 is for none");
  }
  if (given.metadata == nullptr && given.metadata_count != 0) return null_argument(function, "metadata");
  return check_reserved(function, given.reserved);
}

void read_numbers(const rf_session_options& given, SessionOptions& options) {
  options.replace = given.replace;
  options.mode = static_cast<CaptureMode>(given.mode);
  options.memory_bytes = given.memory_bytes;
  options.overflow = static_cast<OverflowPolicy>(given.overflow);
  options.grow_limit_bytes = given.grow_limit_bytes;
  options.schedule = {given.skip_first, given.wait, given.warmup, given.active, given.repeat};
  options.record_signal = given.record_signal;
  options.record_steps = given.record_steps;
  options.cuda = given.cuda;
  options.cuda_api = given.cuda_api;
  options.cuda_sync = given.cuda_sync;
  options.cuda_overhead = given.cuda_overhead;
  options.graph_tracing = static_cast<GraphTracing>(given.graph_tracing);
  options.graph_node_replays = given.graph_node_replays;
  options.cuda_idle = static_cast<CudaIdle>(given.cuda_idle);
  options.autograd = given.autograd;
  options.nvtx = given.nvtx;
  options.flush_period = milliseconds(given.flush_period_ms);
  options.stop_timeout = milliseconds(given.stop_timeout_ms);
  options.ring_bytes = given.ring_bytes;
  options.ring_time = milliseconds(given.ring_time_ms);
  options.dump_signal = given.dump_signal;
  options.dump_step_over = std::chrono::nanoseconds(given.dump_step_over_ns);
  options.max_dumps = given.max_dumps;
  options.cuda_memory = given.cuda_memory;
  options.cuda_latency = given.cuda_latency;
  options.cpu_counters = given.cpu_counters;
  options.delay = milliseconds(given.delay_ms);
  options.duration = milliseconds(given.duration_ms);
  options.nvml_period = milliseconds(given.nvml_period_ms);
  options.sample_interval = std::chrono::nanoseconds(given.sample_interval_ns);
  options.counter_depth = given.counter_depth;
  options.until_step = given.until_step;
}

void read_texts(const rf_session_options& given, SessionOptions& options) {
  options.output = text_or(given.output);
  options.samples = text_or(given.samples);
  options.counters = text_or(given.counters);
  options.counter_ranges = text_or(given.counter_ranges);
  options.counter_category = text_or(given.counter_category);
}

rf_status read_metadata(std::string_view function, const rf_session_options& given, SessionOptions& options) {
  for (std::size_t i = 0; i < given.metadata_count; ++i) {
    const rf_metadata& fact = given.metadata[i];
    if (fact.key == nullptr || fact.value == nullptr)
      return null_argument(function, "metadata[" + std::to_string(i) + "]." + (fact.key == nullptr ? "key" : "value"));
    options.metadata.emplace_back(fact.key, fact.value);
  }
  return RF_STATUS_OK;
}

void tell_of_capture(void (*function)(void*, const rf_capture_ready*), void* user, const CaptureReady& ready) {
  rf_capture_ready capture{};
  capture.struct_size = sizeof capture;
  capture.path = ready.path.c_str();
  capture.number = ready.number;
  capture.first_step = ready.first_step;
  capture.last_step = ready.last_step;
  capture.status = ready.status.ok() ? RF_STATUS_OK : status_of(ready.status.error().code());
  capture.message = ready.status.ok() ? "" : ready.status.error().message().c_str();
  function(user, &capture);
}

}  // namespace

rf_session_options default_session_options() noexcept {
  const SessionOptions defaults;
  rf_session_options options{};
  options.memory_bytes = defaults.memory_bytes;
  options.grow_limit_bytes = defaults.grow_limit_bytes;
  options.ring_bytes = defaults.ring_bytes;
  options.ring_time_ms = defaults.ring_time.count();
  options.dump_step_over_ns = defaults.dump_step_over.count();
  options.flush_period_ms = defaults.flush_period.count();
  options.stop_timeout_ms = defaults.stop_timeout.count();
  options.mode = static_cast<std::uint32_t>(defaults.mode);
  options.overflow = static_cast<std::uint32_t>(defaults.overflow);
  options.skip_first = defaults.schedule.skip_first;
  options.wait = defaults.schedule.wait;
  options.warmup = defaults.schedule.warmup;
  options.active = defaults.schedule.active;
  options.repeat = defaults.schedule.repeat;
  options.record_signal = defaults.record_signal;
  options.record_steps = defaults.record_steps;
  options.dump_signal = defaults.dump_signal;
  options.max_dumps = defaults.max_dumps;
  options.replace = defaults.replace;
  options.cuda = defaults.cuda;
  options.cuda_api = defaults.cuda_api;
  options.cuda_sync = defaults.cuda_sync;
  options.cuda_overhead = defaults.cuda_overhead;
  options.autograd = defaults.autograd;
  options.nvtx = defaults.nvtx;
  options.graph_tracing = static_cast<std::uint32_t>(defaults.graph_tracing);
  options.cuda_idle = static_cast<std::uint32_t>(defaults.cuda_idle);
  options.graph_node_replays = defaults.graph_node_replays;
  options.cuda_memory = defaults.cuda_memory;
  options.cuda_latency = defaults.cuda_latency;
  options.cpu_counters = defaults.cpu_counters;
  options.delay_ms = defaults.delay.count();
  options.duration_ms = defaults.duration.count();
  options.nvml_period_ms = defaults.nvml_period.count();
  options.sample_interval_ns = defaults.sample_interval.count();
  options.counter_depth = defaults.counter_depth;
  options.until_step = defaults.until_step;
  return options;
}

rf_status read_session_options(std::string_view function, const rf_session_options* given, SessionOptions& options) {
  rf_session_options known = default_session_options();
  rf_status status = read_struct(function, given, kLeastSessionOptions, known);
  if (status == RF_STATUS_OK) status = check_session_options(function, known);
  if (status == RF_STATUS_OK) status = read_metadata(function, known, options);
  if (status != RF_STATUS_OK) return status;
  read_numbers(known, options);
  read_texts(known, options);
  if (known.on_capture_ready != nullptr)
    options.on_capture_ready = [function = known.on_capture_ready, user = known.on_capture_ready_user](
                                   const CaptureReady& ready) { tell_of_capture(function, user, ready); };
  return known.config != nullptr ? finish(function, options.apply(known.config)) : RF_STATUS_OK;
}

}  // namespace rangefinder::capi

rf_status rf_session_options_init(rf_session_options* options, size_t struct_size) noexcept {
  namespace capi = rangefinder::capi;
  if (options == nullptr) return capi::null_argument(__func__, "options");
  return capi::guarded(__func__, [&, function = __func__] {
    return capi::write_struct(function, options, struct_size, capi::kLeastSessionOptions,
                              capi::default_session_options());
  });
}
