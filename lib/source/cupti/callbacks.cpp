// SPDX-License-Identifier: MIT
#include "source/cupti/callbacks.hpp"

#include "buffer/thread_log.hpp"
#include "source/cupti/graph_nodes.hpp"
#include "source/cupti/stream_captures.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace rangefinder::source::cupti {
namespace {

/// The launching calls that this thread is inside of.
struct ThreadLaunches {
  std::uint32_t epoch = 0;
  std::uint32_t depth = 0;
  std::uint32_t outermost = 0;  // correlation id
  std::uint32_t tid = 0;
  bool ours = false;
};
constinit thread_local ThreadLaunches t_launches;

constinit CallbackState g_state;

constexpr std::uint64_t kSomeCorrelation = std::uint64_t{1} << 32;

void note_launch(CallbackState& state, ThreadLaunches& thread, std::uint32_t correlation, CUpti_CallbackDomain domain,
                 CUpti_CallbackId id, bool makes_graph) noexcept {
  const NoteLaunch note = state.note.load(std::memory_order_relaxed);
  if (note != nullptr) {
    const std::uint32_t callback = id & (buffer::kDriverCallback - 1);
    note(correlation, domain == CUPTI_CB_DOMAIN_DRIVER_API ? callback | buffer::kDriverCallback : callback);
  }
  if (LaunchThreads* threads = state.threads.load(std::memory_order_relaxed)) {
    if (thread.tid == 0) thread.tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    threads->note(correlation, thread.tid);
  }
  if (!makes_graph) state.launches.fetch_add(1, std::memory_order_relaxed);
}

void remember_newest(CallbackState& state, std::uint32_t correlation) noexcept {
  const std::uint64_t mine = kSomeCorrelation | correlation;
  std::uint64_t newest = state.newest_correlation.load(std::memory_order_relaxed);
  while ((newest == 0 || correlation_after(correlation, static_cast<std::uint32_t>(newest))) &&
         !state.newest_correlation.compare_exchange_weak(newest, mine, std::memory_order_relaxed)) {
  }
}

GraphCall graph_call(const CallbackState& state, CUpti_CallbackDomain domain, CUpti_CallbackId id) noexcept {
  if (id >= kMaxCallbackIds) return GraphCall::kNo;
  return state.graph_calls[domain == CUPTI_CB_DOMAIN_DRIVER_API ? 1 : 0][id].load(std::memory_order_relaxed);
}

/// False where the call is noted like a launch.
bool take_graph_call(GraphCall call, const CUpti_CallbackData& data) noexcept {
  switch (call) {
    case GraphCall::kNo:
    case GraphCall::kAddsNode:
      return false;
    case GraphCall::kBeginsCapture:
    case GraphCall::kEndsCapture:
      stream_captures().on_call(call, data);
      return true;
    default:
      graph_nodes().on_call(call, data);
      return call != GraphCall::kAddsCopy;
  }
}

void on_api(CallbackState& state, CUpti_CallbackDomain domain, CUpti_CallbackId id,
            const CUpti_CallbackData& data) noexcept {
  ThreadLaunches& thread = t_launches;
  if (thread.ours) return;
  const GraphCall call = graph_call(state, domain, id);
  if (call != GraphCall::kNo && take_graph_call(call, data)) return;
  // acquire: `note` and `threads` were set before; pairs with the release in start_noting.
  const bool noting = state.noting.load(std::memory_order_acquire);
  // In pauses too: the ids say where the next window begins.
  if (data.callbackSite == CUPTI_API_ENTER) remember_newest(state, data.correlationId);
  if (!noting) return;
  if (const std::uint32_t epoch = state.epoch.load(std::memory_order_relaxed); thread.epoch != epoch) {
    thread.epoch = epoch;
    thread.depth = 0;
  }
  if (data.callbackSite == CUPTI_API_EXIT) {
    if (thread.depth > 0) --thread.depth;
    return;
  }
  // A runtime call reaches the driver, which calls us again. Records carry the id of one of them, so a nested call with
  // an id of its own is noted too; it lies in the same ranges.
  if (thread.depth++ == 0) {
    thread.outermost = data.correlationId;
  } else if (data.correlationId == thread.outermost) {
    return;
  }
  const bool makes_graph = call != GraphCall::kNo || state.capturing.load(std::memory_order_relaxed);
  note_launch(state, thread, data.correlationId, domain, id, makes_graph);
}

void on_state(CallbackState& state, CUpti_CallbackId id, const CUpti_StateData& data) noexcept {
  if (id != CUPTI_CBID_STATE_FATAL_ERROR) return;
  // CUPTI calls cuptiFinalize itself after this (cupti_callbacks.h): from here on rangefinder must not call it.
  state.fatal_result.store(static_cast<int>(data.notification.result), std::memory_order_relaxed);
  state.noting.store(false, std::memory_order_relaxed);
  state.fatal.store(true, std::memory_order_release);
  stream_captures().forget();
  ::sem_post(&state.work);
}

void on_resource(const CallbackState& state, CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept {
  // After a fatal error nothing of CUPTI may be called. Of this domain callbacks of graphs alone are enabled.
  if (data.resourceDescriptor == nullptr || state.fatal.load(std::memory_order_acquire)) return;
  graph_nodes().on_callback(id, *static_cast<const CUpti_GraphData*>(data.resourceDescriptor));
}

bool is_closed(const CallbackState& state) noexcept {
  return state.closed.load(std::memory_order_relaxed) != Closed::kNo;
}

}  // namespace

CallbackState& callback_state() noexcept { return g_state; }

void prepare_callback_state() noexcept {
  static const int done = ::sem_init(&g_state.work, 0, 0);
  (void)done;
}

void start_noting(NoteLaunch note, LaunchThreads* threads) noexcept {
  g_state.note.store(note, std::memory_order_relaxed);
  g_state.threads.store(threads, std::memory_order_relaxed);
  g_state.epoch.fetch_add(1, std::memory_order_relaxed);
  g_state.noting.store(true, std::memory_order_release);
}

void stop_noting() noexcept { g_state.noting.store(false, std::memory_order_relaxed); }

void ignore_callbacks_of_this_thread() noexcept { t_launches.ours = true; }

std::uint32_t noted_call() noexcept {
  const CallbackState& state = g_state;
  const ThreadLaunches& thread = t_launches;
  if (thread.ours || !state.noting.load(std::memory_order_acquire)) return 0;
  const bool counts = thread.epoch == state.epoch.load(std::memory_order_relaxed) && thread.depth > 0;
  return counts ? thread.outermost : 0;
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  CallbackState& state = callback_state();
  if (data == nullptr || is_closed(state)) return;
  switch (domain) {
    case CUPTI_CB_DOMAIN_RUNTIME_API:
    case CUPTI_CB_DOMAIN_DRIVER_API:
      on_api(state, domain, id, *static_cast<const CUpti_CallbackData*>(data));
      break;
    case CUPTI_CB_DOMAIN_STATE:
      on_state(state, id, *static_cast<const CUpti_StateData*>(data));
      break;
    case CUPTI_CB_DOMAIN_RESOURCE:
      on_resource(state, id, *static_cast<const CUpti_ResourceData*>(data));
      break;
    default:
      break;
  }
}

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  CallbackState& state = callback_state();
  *buffer = nullptr;
  *size = 0;
  *max_records = 0;  // as many as fit
  BufferPool* const pool = state.pool.load(std::memory_order_acquire);
  const bool never_refuse = state.never_refuse.load(std::memory_order_relaxed);
  if (pool == nullptr || (is_closed(state) && !never_refuse)) return;
  state.requests.fetch_add(1, std::memory_order_relaxed);
  std::span<std::uint8_t> memory = pool->take();
  if (memory.empty() && never_refuse) memory = pool->take_emergency();
  if (memory.empty()) {
    state.refused.fetch_add(1, std::memory_order_relaxed);
    ::sem_post(&state.work);  // decode now: that is what makes room
    return;
  }
  *buffer = memory.data();
  *size = memory.size();
}

void CUPTIAPI on_buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CallbackState& state = callback_state();
  BufferPool* const pool = state.pool.load(std::memory_order_acquire);
  if (pool == nullptr || is_closed(state)) return;
  if (!pool->give(buffer, valid)) {
    state.foreign_buffers.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  state.returns.fetch_add(1, std::memory_order_relaxed);
  ::sem_post(&state.work);
}

}  // namespace rangefinder::source::cupti
