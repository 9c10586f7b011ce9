// SPDX-License-Identifier: MIT
#include "source/cupti/subscription.hpp"

#include "base/library.hpp"
#include "base/other_tools.hpp"
#include "base/text.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/cupti_error.hpp"
#include "source/cupti/graph_nodes.hpp"
#include "source/cupti/stream_captures.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

namespace rangefinder::source::cupti {
namespace {

constexpr const char* kSubscriberName = "rangefinder";

bool is_noted(std::string_view function) noexcept { return causes_device_work(function) || makes_graph_node(function); }

Error somebody_else(const char* holder) {
  std::string who = base::printable(std::string_view(holder, ::strnlen(holder, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN)));
  if (const std::vector<base::OtherTool> others = base::other_tools(); who.empty() && !others.empty())
    who = others.front().text();
  if (who.empty()) who = likely_profiler();
  return Error(ErrorCode::kBusy, "another profiler holds CUPTI in this process" +
                                     (who.empty() ? "" : " (" + who + ")") + ": stop it first, or look at its report");
}

}  // namespace

std::string likely_profiler() {
  const bool torch = base::Library::open("libtorch_cpu.so", true).ok();
  return torch ? "it may be torch.profiler, because LibTorch is loaded" : "";
}

Subscription::Subscription(CuptiApi api, RealtimeClock realtime)
    : api_(std::move(api)),
      realtime_(realtime),
      runtime_names_(api_, CUPTI_CB_DOMAIN_RUNTIME_API),
      driver_names_(api_, CUPTI_CB_DOMAIN_DRIVER_API),
      runtime_launches_(runtime_names_.ids(&is_noted)),
      driver_launches_(driver_names_.ids(&is_noted)) {
  // These stay on, and are noted while anything is. The runtime's functions call them.
  std::erase_if(driver_launches_, [this](std::uint32_t id) { return copies_graph(driver_names_.name(id)); });
}

// ---- opening ---------------------------------------------------------------------------------------------------

Status Subscription::open(const CuptiOptions& options) {
  if (Status status = subscribe(); !status.ok()) return status;
  // The default is pthread_self() cut to 32 bits, which identifies no thread.
  system_thread_ids_ = false;
  if (api_.cuptiSetThreadIdType != nullptr) {
    const CUptiResult result = api_.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    if (result == CUPTI_SUCCESS)
      system_thread_ids_ = true;
    else
      failed("cuptiSetThreadIdType(SYSTEM)", result);
  }
  // Before the buffers are registered and before any kind is enabled (cupti_activity.h). The first saves CUPTI from
  // clearing each buffer on the application's thread; the second is the default from 13.0 on and keeps threads apart.
  set_flag(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, "ZEROED_OUT_ACTIVITY_BUFFER",
           "CUPTI clears buffers on the program's threads");
  set_flag(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, "PER_THREAD_ACTIVITY_BUFFER",
           "threads share one buffer and wait for each other");
  latency_asked_ = false;
  set_latency(options.latency_timestamps);
  if (Status status = register_buffers(); !status.ok()) return close(), status;
  const CUptiResult result =
      api_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
  if (result != CUPTI_SUCCESS)
    refused("cuptiEnableCallback(STATE_FATAL_ERROR)", result, "callback STATE_FATAL_ERROR",
            "fatal errors inside CUPTI go unnoticed");
  watch_graphs();
  if (api_.version >= (kNewestMajor + 1) * 10000)
    note("CUPTI " + version_text(api_.version) +
         " is of a newer major version than was tried: times and names may be wrong");
  if (runtime_launches_.empty() && driver_launches_.empty())
    note("CUPTI names no launching function: launches come from API records alone");
  return {};
}

Status Subscription::subscribe() {
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = {};
  CUptiResult result;
  if (api_.cuptiSubscribe_v2 != nullptr) {
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = kSubscriberName;
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN;
    result = api_.cuptiSubscribe_v2(&subscriber_, &on_callback, nullptr, &params);
  } else {
    result = api_.cuptiSubscribe(&subscriber_, &on_callback, nullptr);
  }
  if (result == CUPTI_SUCCESS) return {};
  subscriber_ = nullptr;
  // From here on nothing else of CUPTI may be touched: registering buffers would take the holder's away.
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return somebody_else(holder);
  failed("cuptiSubscribe", result);
  return Error(ErrorCode::kUnsupported, describe_failure("cuptiSubscribe", result));
}

// From now on, also between recordings: these fire where graphs are made and changed, and nowhere else.
void Subscription::watch_graphs() {
  if (api_.cuptiGetGraphNodeId == nullptr) return;
  graph_nodes().watch(api_, realtime_);
  for (const GraphCallback& wanted : kGraphCallbacks) {
    const CUptiResult result = api_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, wanted.id);
    if (result == CUPTI_SUCCESS) continue;
    if (wanted.id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) graph_nodes().execs_are_unknown();
    const std::string callback = std::string("RESOURCE_") + wanted.name;
    const std::string call = "cuptiEnableCallback(" + callback + ")";
    if (wanted.without == nullptr) return failed(call, result);
    refused(call, result, "callback " + callback, wanted.without);
  }
  watch_graph_calls(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_names_);
  watch_graph_calls(CUPTI_CB_DOMAIN_DRIVER_API, driver_names_);
}

void Subscription::watch_graph_calls(CUpti_CallbackDomain domain, const CallbackNames& names) {
  struct Watched {
    bool (*is_wanted)(std::string_view) noexcept;
    GraphCall call;
  };
  static constexpr Watched kCaptures[] = {{&makes_graph_node, GraphCall::kAddsNode},
                                          {&begins_capture, GraphCall::kBeginsCapture},
                                          {&ends_capture, GraphCall::kEndsCapture}};
  // The runtime's functions call these.
  static constexpr Watched kDrivers[] = {{&copies_graph, GraphCall::kCopies},
                                         {&updates_graph, GraphCall::kUpdates},
                                         {&makes_condition, GraphCall::kMakesCondition}};
  auto& calls = callback_state().graph_calls[domain == CUPTI_CB_DOMAIN_DRIVER_API ? 1 : 0];
  const auto watch = [&](const Watched& wanted) {
    for (const std::uint32_t id : names.ids(wanted.is_wanted)) {
      const bool adds = wanted.call == GraphCall::kCopies && makes_graph_node(names.name(id));
      calls[id].store(adds ? GraphCall::kAddsCopy : wanted.call, std::memory_order_relaxed);
      if (wanted.call == GraphCall::kAddsNode) continue;  // enabled while launches are noted
      const CUptiResult result = api_.cuptiEnableCallback(1, subscriber_, domain, id);
      if (result != CUPTI_SUCCESS) return failed("cuptiEnableCallback(graphs)", result);
    }
  };
  for (const Watched& wanted : kCaptures) watch(wanted);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  for (const Watched& wanted : kDrivers) watch(wanted);
}

void Subscription::set_flag(CUpti_ActivityAttribute attribute, const char* name, const char* without) {
  if (api_.cuptiActivitySetAttribute == nullptr) return;
  std::uint8_t on = 1;
  std::size_t size = sizeof on;
  const CUptiResult result = api_.cuptiActivitySetAttribute(attribute, &size, &on);
  if (result != CUPTI_SUCCESS)
    refused(std::string("cuptiActivitySetAttribute(") + name + ")", result, std::string("attribute ") + name, without);
}

/// CUPTI takes it before CUDA is initialised and does not say when it is too late; the decoder sees what comes of it.
void Subscription::set_latency(bool wanted) {
  if (wanted == std::exchange(latency_asked_, wanted)) return;
  if (api_.cuptiActivityEnableLatencyTimestamps == nullptr)
    return note("this CUPTI has no cuptiActivityEnableLatencyTimestamps: cuda_latency is off");
  const CUptiResult result = api_.cuptiActivityEnableLatencyTimestamps(wanted ? 1 : 0);
  if (result != CUPTI_SUCCESS) failed("cuptiActivityEnableLatencyTimestamps", result);
}

Status Subscription::register_buffers() {
  const CUptiResult result = api_.cuptiActivityRegisterCallbacks(&on_buffer_requested, &on_buffer_completed);
  if (result != CUPTI_SUCCESS) {
    failed("cuptiActivityRegisterCallbacks", result);
    return Error(ErrorCode::kUnsupported, describe_failure("cuptiActivityRegisterCallbacks", result));
  }
  registered_ = true;
  return {};
}

// ---- a recording -----------------------------------------------------------------------------------------------

Status Subscription::start(const CuptiOptions& options) {
  if (!registered_) {
    if (Status status = register_buffers(); !status.ok()) return status;
  }
  set_latency(options.latency_timestamps);
  std::size_t stale = 0;  // dropped while nothing was recorded
  (void)api_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &stale);
  // Not of queries that found work unfinished: a program that polls makes millions.
  if (options.sync_records && api_.cuptiActivityEnableAllSyncRecords != nullptr) {
    const CUptiResult result = api_.cuptiActivityEnableAllSyncRecords(0);
    if (result != CUPTI_SUCCESS) failed("cuptiActivityEnableAllSyncRecords(0)", result);
  }
  choose_kinds(options);
  dump_objects();
  sample_clock();
  return enable_work(true);
}

void Subscription::choose_kinds(const CuptiOptions& options) {
  // CONCURRENT_KERNEL, not KERNEL, which would run kernels one after the other.
  std::vector<Kind> wanted = {{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL", true},
                              {CUPTI_ACTIVITY_KIND_MEMCPY, "MEMCPY", false},
                              {CUPTI_ACTIVITY_KIND_MEMCPY2, "MEMCPY2", false},
                              {CUPTI_ACTIVITY_KIND_MEMSET, "MEMSET", false}};
  if (options.api_records) {
    wanted.push_back({CUPTI_ACTIVITY_KIND_RUNTIME, "RUNTIME", false});
    wanted.push_back({CUPTI_ACTIVITY_KIND_DRIVER, "DRIVER", false});
    wanted.push_back({CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, "INTERNAL_LAUNCH_API", false});
  }
  if (options.graph_tracing != CuptiOptions::GraphTracing::kNodes) wanted.push_back(whole_graphs());
  if (options.sync_records) {
    wanted.push_back({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "SYNCHRONIZATION", false});
    wanted.push_back({CUPTI_ACTIVITY_KIND_CUDA_EVENT, "CUDA_EVENT", false});  // which streams waits for events are for
  }
  if (options.overhead_records) {
    wanted.push_back({CUPTI_ACTIVITY_KIND_OVERHEAD, "OVERHEAD", false});
    wanted.push_back({CUPTI_ACTIVITY_KIND_JIT, "JIT", false});
  }
  // A record a call of the driver's, and none for what a caching allocator hands out.
  if (options.memory_records) wanted.push_back({CUPTI_ACTIVITY_KIND_MEMORY2, "MEMORY2", false});
  // What an earlier recording left enabled stays so: off and on again is what spoils correlation ids.
  for (Kind& kind : kinds_) {
    if (!kind.on) continue;
    const auto same =
        std::find_if(wanted.begin(), wanted.end(), [&](const Kind& other) { return other.kind == kind.kind; });
    // Enabling anew takes back what was left out, and comes before leaving out.
    const bool api = kind.kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind.kind == CUPTI_ACTIVITY_KIND_DRIVER;
    if (same != wanted.end())
      same->on = !(api && filter_noise_ != options.noisy_api_filter);
    else
      disable_kind(kind);
  }
  kinds_ = std::move(wanted);
  filter_noise_ = options.noisy_api_filter;
}

bool Subscription::trace_whole_graphs(bool on) {
  const auto known = std::find_if(kinds_.begin(), kinds_.end(),
                                  [](const Kind& kind) { return kind.kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE; });
  if (known == kinds_.end() || !usable()) return false;
  // Ids stay right over it (seen with 13.0.1), other than where kernels are switched off and on again.
  if (!on)
    disable_kind(*known);
  else if (work_enabled_)
    (void)enable_kind(*known);
  return known->on;
}

void Subscription::trace_whole_graphs_ahead(const CuptiOptions& options) {
  if (options.graph_tracing == CuptiOptions::GraphTracing::kNodes || !kinds_.empty()) return;
  kinds_.push_back(whole_graphs());
  (void)enable_kind(kinds_.back());
}

/// CUPTI crashes at the launch of a graph that was instantiated while launches were not recorded as a whole.
bool Subscription::may_trace_whole() {
  if (graph_nodes().may_be_whole() && !api_.cuda_in_use) return true;
  note(std::string(
           "graphs are recorded node by node, because CUPTI crashes at launches of a graph that was instantiated "
           "before its launches were recorded as a whole: ") +
       (api_.cuda_in_use ? "CUDA was in use when CUPTI was opened; call rangefinder::prepare() first in main, with "
                           "graph_tracing in RANGEFINDER_CONFIG"
                         : "such graphs exist; set graph_tracing in RANGEFINDER_CONFIG, which rangefinder::prepare() "
                           "reads, or start the session before they are instantiated"));
  return false;
}

void Subscription::dump_objects() {
  const std::pair<CUpti_ActivityKind, const char*> objects[] = {{CUPTI_ACTIVITY_KIND_DEVICE, "DEVICE"},
                                                                {CUPTI_ACTIVITY_KIND_CONTEXT, "CONTEXT"},
                                                                {CUPTI_ACTIVITY_KIND_STREAM, "STREAM"}};
  for (const auto& [kind, name] : objects) {
    // A late attach would otherwise never hear of what exists already.
    const bool dump = api_.cuptiActivityEnableAndDump != nullptr;
    const CUptiResult result = dump ? api_.cuptiActivityEnableAndDump(kind) : api_.cuptiActivityEnable(kind);
    if (result != CUPTI_SUCCESS)
      failed(std::string(dump ? "cuptiActivityEnableAndDump(" : "cuptiActivityEnable(") + name + ")", result);
  }
}

Status Subscription::enable_kind(Kind& kind) {
  if (kind.on) return {};
  const bool whole = kind.kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  if (whole && !may_trace_whole()) return {};
  const CUptiResult result = api_.cuptiActivityEnable(kind.kind);
  kind.on = result == CUPTI_SUCCESS;
  if (whole) graph_nodes().set_whole(kind.on);
  if (kind.on) return {};
  const std::string call = std::string("cuptiActivityEnable(") + kind.name + ")";
  failed(call, result);
  if (!kind.required) return {};
  return Error(ErrorCode::kUnsupported, describe_failure(call, result));
}

void Subscription::disable_kind(Kind& kind) {
  if (!std::exchange(kind.on, false)) return;
  // Before: what is instantiated meanwhile counts as made without.
  if (kind.kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) graph_nodes().set_whole(false);
  const CUptiResult result = api_.cuptiActivityDisable(kind.kind);
  if (result != CUPTI_SUCCESS) failed(std::string("cuptiActivityDisable(") + kind.name + ")", result);
}

Status Subscription::enable_work(bool on) {
  if (!usable()) return {};
  if (!on) {
    if (!std::exchange(work_enabled_, false)) return {};
    disabled_once_ = true;
    for (Kind& kind : kinds_) disable_kind(kind);
    enable_callbacks(false);
    return {};
  }
  if (!std::exchange(work_enabled_, true)) {
    enabled_again_ = disabled_once_;
    enable_callbacks(true);  // before the kinds: a recorded launch is a noted one
  }
  bool changed = false;
  for (Kind& kind : kinds_) {
    changed = changed || !kind.on;
    if (Status status = enable_kind(kind); !status.ok()) return (void)enable_work(false), status;
  }
  if (changed) leave_out_noise();
  const auto is_on = [this](CUpti_ActivityKind kind) {
    return std::any_of(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return k.kind == kind && k.on; });
  };
  recorded_calls_ = is_on(CUPTI_ACTIVITY_KIND_RUNTIME) && is_on(CUPTI_ACTIVITY_KIND_DRIVER);
  return {};
}

void Subscription::leave_out_noise() {
  if (!filter_noise_) return;
  // After the kinds: enabling a kind overrides these (cupti_activity.h). Before 12.5 the decoder leaves them out alone.
  const auto leave_out = [this](const CallbackNames& names, auto* call, const char* call_name) {
    if (call == nullptr) return;
    for (const std::uint32_t id : names.ids(&is_noisy)) {
      const CUptiResult result = call(id, 0);
      if (result != CUPTI_SUCCESS) return failed(call_name, result);  // the rest would fail alike
    }
  };
  for (const Kind& kind : kinds_) {
    if (!kind.on) continue;
    if (kind.kind == CUPTI_ACTIVITY_KIND_RUNTIME)
      leave_out(runtime_names_, api_.cuptiActivityEnableRuntimeApi, "cuptiActivityEnableRuntimeApi");
    if (kind.kind == CUPTI_ACTIVITY_KIND_DRIVER)
      leave_out(driver_names_, api_.cuptiActivityEnableDriverApi, "cuptiActivityEnableDriverApi");
  }
}

void Subscription::enable_callbacks(bool on) {
  // One by one: a whole domain would call us for every query that the program makes.
  const std::pair<CUpti_CallbackDomain, const std::vector<std::uint32_t>*> domains[] = {
      {CUPTI_CB_DOMAIN_RUNTIME_API, &runtime_launches_}, {CUPTI_CB_DOMAIN_DRIVER_API, &driver_launches_}};
  for (const auto& [domain, ids] : domains) {
    for (const std::uint32_t id : *ids) {
      const CUptiResult result = api_.cuptiEnableCallback(on ? 1 : 0, subscriber_, domain, id);
      if (result == CUPTI_SUCCESS) continue;
      failed(domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "cuptiEnableCallback(RUNTIME_API)"
                                                   : "cuptiEnableCallback(DRIVER_API)",
             result);
      break;
    }
  }
}

void Subscription::flush(std::uint32_t flag) {
  if (!usable()) return;
  sample_clock();
  const CUptiResult result = api_.cuptiActivityFlushAll(flag);
  if (result != CUPTI_SUCCESS) failed("cuptiActivityFlushAll", result);
  if (!usable()) return;
  std::size_t dropped = 0;
  if (api_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) != CUPTI_SUCCESS) dropped = 0;
  const std::lock_guard lock(facts_mutex_);
  facts_.dropped += dropped;
  ++facts_.flushes;
}

void Subscription::finish(bool disable, std::chrono::steady_clock::time_point patience) {
  // First off, then the flush: else a program that goes on launching keeps its buffers full.
  if (disable) (void)enable_work(false);
  flush(0);
  const BufferPool* const pool = callback_state().pool.load(std::memory_order_acquire);
  const auto work_is_running = [&] { return pool != nullptr && pool->outstanding() > 0 && usable(); };
  while (work_is_running() && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    flush(0);
  }
  // What still runs comes without times, is counted, and does not come again.
  if (work_is_running()) flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  // Kinds that stay on may have taken new ones by now.
  if (disable) note_kept_buffers();
}

void Subscription::finish_taken_over() {
  flush(0);
  if (std::exchange(work_enabled_, false)) enable_callbacks(false);
  for (Kind& kind : kinds_) kind.on = false;  // as far as we are concerned: the next start asks for them anew
  registered_ = false;
  note_kept_buffers();
}

void Subscription::close() {
  if (subscriber_ == nullptr) return;
  if (usable()) {
    (void)enable_work(false);
    for (Kind& kind : kinds_) disable_kind(kind);  // what is on ahead of a recording
    if (registered_) (void)api_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const CUptiResult result = api_.cuptiUnsubscribe(subscriber_);
    if (result != CUPTI_SUCCESS) failed("cuptiUnsubscribe", result);
  }
  subscriber_ = nullptr;
  registered_ = false;
  stream_captures().forget();
  graph_nodes().stop_watching();
}

// ---- facts -----------------------------------------------------------------------------------------------------

bool Subscription::usable() const noexcept {
  return subscriber_ != nullptr && !callback_state().fatal.load(std::memory_order_acquire);
}

void Subscription::sample_clock() {
  CUptiResult result = CUPTI_SUCCESS;
  const std::optional<ClockPair> pair = take_clock_pair(api_, realtime_, result);
  if (result != CUPTI_SUCCESS) failed("cuptiGetTimestamp", result);
  if (!pair) return;
  const std::lock_guard lock(facts_mutex_);
  try {
    facts_.clock_pairs.push_back(*pair);
  } catch (const std::exception&) {  // no memory: times are a little less exact, and the flush goes on
  }
}

void Subscription::note(std::string text) {
  const std::lock_guard lock(facts_mutex_);
  if (std::find(facts_.notes.begin(), facts_.notes.end(), text) == facts_.notes.end())
    facts_.notes.push_back(std::move(text));
}

void Subscription::failed(std::string_view call, CUptiResult result) noexcept {
  {
    const std::lock_guard lock(facts_mutex_);
    ++facts_.errors;
  }
  try {
    note(describe_failure(call, result));
  } catch (const std::exception&) {  // no memory for the words: it is counted
  }
}

// An older CUPTI says of what it does not know that the parameter is invalid (cupti_activity.h, cupti_callbacks.h).
void Subscription::refused(std::string_view call, CUptiResult result, std::string_view what, std::string_view without) {
  if (result != CUPTI_ERROR_INVALID_PARAMETER) return failed(call, result);
  note(std::string("this CUPTI has no ").append(what).append(": ").append(without));
}

void Subscription::note_kept_buffers() {
  const std::size_t kept = callback_state().pool.load()->count_kept();
  if (kept == 0) return;
  {
    const std::lock_guard lock(facts_mutex_);
    facts_.kept += kept;
  }
  note("CUPTI kept " + std::to_string(kept) +
       (kept == 1 ? " activity buffer: its records are missing" : " activity buffers: their records are missing"));
}

CallFacts Subscription::take_facts() {
  const std::lock_guard lock(facts_mutex_);
  return std::exchange(facts_, CallFacts());
}

std::string Subscription::kinds_text() const {
  std::string text;
  for (const Kind& kind : kinds_) {
    if (!kind.on) continue;
    if (!text.empty()) text += ' ';
    text += kind.name;
  }
  return text;
}

}  // namespace rangefinder::source::cupti
