// SPDX-License-Identifier: MIT
#include "fake_state.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace fake {
namespace {

thread_local ThreadBuffer* t_buffer = nullptr;
thread_local std::uint64_t t_buffer_generation = ~std::uint64_t{0};

constexpr std::uint8_t kGrown = 0xEE;

ThreadBuffer& my_buffer() {
  State& s = state();
  const std::uint32_t per_thread = s.attributes[CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER];
  // The default: 0 up to CUDA 12.9 and 1 in 13.0 (cupti_activity.h).
  if (per_thread == 0 || (per_thread == 0xFFFF && s.version < 130000)) {
    const std::lock_guard lock(s.mutex);
    if (s.threads.empty()) s.threads.push_back(std::make_unique<ThreadBuffer>());
    return *s.threads.front();
  }
  if (t_buffer == nullptr || t_buffer_generation != generation()) {
    const std::lock_guard lock(s.mutex);
    s.threads.push_back(std::make_unique<ThreadBuffer>());
    t_buffer = s.threads.back().get();
    t_buffer_generation = generation();
  }
  return *t_buffer;
}

void set_times(std::uint8_t* record, std::uint64_t begin_ns, std::uint64_t end_ns) {
  std::uint32_t kind = 0;
  std::memcpy(&kind, record, sizeof kind);
  std::size_t begin_at = 0, end_at = 0;
#define FAKE_TIMES(Kind, Record)        \
  case CUPTI_ACTIVITY_KIND_##Kind:      \
    begin_at = offsetof(Record, start); \
    end_at = offsetof(Record, end);     \
    break
  switch (kind) {
    FAKE_TIMES(CONCURRENT_KERNEL, CUpti_ActivityKernel10);
    FAKE_TIMES(MEMCPY, CUpti_ActivityMemcpy6);
    FAKE_TIMES(MEMCPY2, CUpti_ActivityMemcpyPtoP4);
    FAKE_TIMES(MEMSET, CUpti_ActivityMemset4);
    FAKE_TIMES(GRAPH_TRACE, CUpti_ActivityGraphTrace2);
    default:
      return;
  }
#undef FAKE_TIMES
  std::memcpy(record + begin_at, &begin_ns, sizeof begin_ns);
  std::memcpy(record + end_at, &end_ns, sizeof end_ns);
}

bool complete(const Buffer& buffer, std::uint64_t now) {
  return std::all_of(buffer.timed.begin(), buffer.timed.end(),
                     [now](const Buffer::Timed& t) { return !t.open && t.done_at <= now; });
}

std::unique_ptr<Buffer> request_buffer(ThreadBuffer& owner) {
  State& s = state();
  const CUpti_BuffersCallbackRequestFunc request = s.request.load();
  if (request == nullptr) return nullptr;
  std::uint8_t* data = nullptr;
  std::size_t size = 0, max_records = 0;
  {
    const InClient client(kFakeBufferRequested);
    request(&data, &size, &max_records);
  }
  if (data == nullptr || size == 0) {
    // CUDA 12.9 is the first that survives this.
    if (s.version < 27) misuse("a buffer was refused on a CUPTI that crashes then");
    return nullptr;
  }
  if (reinterpret_cast<std::uintptr_t>(data) % 8 != 0) misuse("a buffer is not aligned to 8 bytes");
  if (s.attributes[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 1 &&
      std::any_of(data, data + size, [](std::uint8_t byte) { return byte != 0; })) {
    misuse("a buffer is not zero although ZEROED_OUT_ACTIVITY_BUFFER promises it");
  }
  auto buffer = std::make_unique<Buffer>();
  buffer->owner = &owner;
  buffer->data = data;
  buffer->size = size;
  buffer->max_records = max_records;
  ++s.out;
  return buffer;
}

// From another thread, as CUPTI's worker does. The library lock is held, as in CUPTI.
void deliver(std::vector<std::unique_ptr<Buffer>> buffers, bool forced) {
  State& s = state();
  if (buffers.empty()) return;
  const std::uint64_t now = device_now();
  if (s.delivery == kFakeReversed) std::reverse(buffers.begin(), buffers.end());
  for (auto& buffer : buffers) {
    if (forced) {
      for (const Buffer::Timed& timed : buffer->timed) {
        if (timed.open || timed.done_at > now) set_times(buffer->data + timed.offset, 0, 0);
      }
    }
    if (s.cut_bytes != 0) buffer->used -= std::min<std::size_t>(std::exchange(s.cut_bytes, 0), buffer->used);
  }
  const CUpti_BuffersCallbackCompleteFunc done = s.complete.load();
  std::thread worker([&] {
    const InClient client(kFakeBufferCompleted);
    for (auto& buffer : buffers) {
      --s.out;
      s.last = {buffer->data, buffer->used};
      if (done != nullptr) done(nullptr, 0, buffer->data, buffer->size, buffer->used);
    }
  });
  worker.join();
}

// Full buffers go out by themselves. When CUPTI is busy elsewhere they wait for the next flush.
void deliver_full(ThreadBuffer& owner) {
  State& s = state();
  const std::unique_lock library(s.library, std::try_to_lock);
  if (!library.owns_lock() || s.delivery == kFakeHeld) return;
  std::vector<std::unique_ptr<Buffer>> ready;
  {
    const std::lock_guard lock(owner.mutex);
    const std::uint64_t now = device_now();
    for (auto& buffer : owner.full) {
      if (complete(*buffer, now)) ready.push_back(std::move(buffer));
    }
    std::erase(owner.full, nullptr);
  }
  deliver(std::move(ready), false);
}

// Records a thief's buffers, to tell them from the victim's.
std::mutex g_thief_mutex;
std::set<void*>& thief_buffers() {
  static auto* const all = new std::set<void*>;
  return *all;
}

void CUPTIAPI thief_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *size = 64 << 10;
  *buffer = static_cast<std::uint8_t*>(std::calloc(1, *size));
  *max_records = 0;
  const std::lock_guard lock(g_thief_mutex);
  thief_buffers().insert(*buffer);
}

void CUPTIAPI thief_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  const std::lock_guard lock(g_thief_mutex);
  if (thief_buffers().erase(buffer) != 0) std::free(buffer);  // what is not its own it ignores
}

}  // namespace

std::uint32_t thread_id() {
  return state().system_thread_ids ? static_cast<std::uint32_t>(::syscall(SYS_gettid))
                                   : static_cast<std::uint32_t>(::pthread_self());
}

std::size_t header_record_bytes(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_JIT:
      return sizeof(CUpti_ActivityJit2);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return sizeof(CUpti_ActivityGraphTrace2);
    default:
      return 0;
  }
}

std::size_t record_bytes(std::uint32_t kind) {
  const auto& chosen = state().record_bytes;
  if (kind < chosen.size() && chosen[kind] != 0) return chosen[kind];
  return header_record_bytes(kind);
}

bool append(const void* record, std::size_t bytes, std::uint64_t done_at, std::uint32_t correlation, bool open) {
  State& s = state();
  if (s.finalized) return false;
  std::uint32_t kind = 0;
  std::memcpy(&kind, record, sizeof kind);
  std::size_t size = record_bytes(kind);
  if (size == 0) size = bytes;
  ThreadBuffer& mine = my_buffer();
  bool filled = false;
  {
    const std::lock_guard lock(mine.mutex);
    if (mine.current != nullptr &&
        (mine.current->used + size > mine.current->size ||
         (mine.current->max_records != 0 && mine.current->records >= mine.current->max_records))) {
      mine.full.push_back(std::move(mine.current));
      filled = true;
    }
    if (mine.current == nullptr) mine.current = request_buffer(mine);
    Buffer* const buffer = mine.current.get();
    if (buffer == nullptr || buffer->size < size) {
      ++s.dropped;
    } else {
      std::uint8_t* const at = buffer->data + buffer->used;
      std::memset(at, kGrown, size);
      std::memcpy(at, record, std::min(bytes, size));
      if (done_at != 0 || open) buffer->timed.push_back({buffer->used, done_at, correlation, open});
      buffer->used += size;
      ++buffer->records;
    }
  }
  if (filled) deliver_full(mine);
  return true;
}

void flush(bool forced) {
  State& s = state();
  const std::uint64_t now = device_now();
  std::vector<ThreadBuffer*> threads;
  {
    const std::lock_guard lock(s.mutex);
    for (const auto& thread : s.threads) threads.push_back(thread.get());
  }
  std::vector<std::unique_ptr<Buffer>> ready;
  for (ThreadBuffer* thread : threads) {
    const std::lock_guard lock(thread->mutex);
    for (auto& buffer : thread->full) {
      if (forced || complete(*buffer, now)) ready.push_back(std::move(buffer));
    }
    std::erase(thread->full, nullptr);
    if (thread->current != nullptr && (forced || complete(*thread->current, now)))
      ready.push_back(std::move(thread->current));
  }
  if (s.delivery == kFakeHeld) {
    for (auto& buffer : ready) s.held.push_back(std::move(buffer));
    return;
  }
  deliver(std::move(ready), forced);
}

void deliver_held() {
  State& s = state();
  const std::lock_guard library(s.library);
  std::vector<std::unique_ptr<Buffer>> held = std::move(s.held);
  s.held.clear();
  std::reverse(held.begin(), held.end());
  deliver(std::move(held), false);
}

namespace {

/// Those that are being filled, or full and not handed out yet.
template <typename Do>
void for_each_buffer(Do act) {
  State& s = state();
  std::vector<ThreadBuffer*> threads;
  {
    const std::lock_guard lock(s.mutex);
    for (const auto& thread : s.threads) threads.push_back(thread.get());
  }
  for (ThreadBuffer* thread : threads) {
    const std::lock_guard lock(thread->mutex);
    if (thread->current != nullptr) act(*thread->current);
    for (auto& buffer : thread->full) act(*buffer);
  }
}

}  // namespace

void complete_work(std::uint32_t correlation, std::uint64_t begin_ns, std::uint64_t end_ns) {
  for_each_buffer([&](Buffer& buffer) {
    for (Buffer::Timed& timed : buffer.timed) {
      if (!timed.open || timed.correlation != correlation) continue;
      timed.open = false;
      set_times(buffer.data + timed.offset, begin_ns, end_ns);
    }
  });
}

void dump_objects(CUpti_ActivityKind kind) {
  State& s = state();
  std::vector<Device> devices;
  std::vector<Context> contexts;
  std::vector<Stream> streams;
  {
    const std::lock_guard lock(s.mutex);
    devices = s.devices;
    contexts = s.contexts;
    streams = s.streams;
  }
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
    for (const Device& device : devices) {
      CUpti_ActivityDevice5 r{};
      r.kind = kind;
      r.id = device.id;
      r.computeCapabilityMajor = 9;
      r.globalMemorySize = 141ull << 30;
      r.globalMemoryBandwidth = 4'800'000'000;
      r.numMultiprocessors = 132;
      r.numThreadsPerWarp = 32;
      r.maxThreadsPerBlock = 1024;
      r.maxWarpsPerMultiprocessor = 64;
      r.maxBlocksPerMultiprocessor = 32;
      r.maxRegistersPerBlock = 65536;
      r.maxRegistersPerMultiprocessor = 65536;
      r.maxSharedMemoryPerBlock = 49152;
      r.maxSharedMemoryPerMultiprocessor = 233472;
      r.coreClockRate = 1'980'000;
      r.l2CacheSize = 60u << 20;
      r.name = kept_name(device.name.c_str());
      append(&r, sizeof r);
    }
  }
  if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) {
    for (const Context& context : contexts) {
      CUpti_ActivityContext3 r{};
      r.kind = kind;
      r.contextId = context.id;
      r.deviceId = context.device;
      r.nullStreamId = 7;
      append(&r, sizeof r);
    }
  }
  if (kind == CUPTI_ACTIVITY_KIND_STREAM) {
    for (const Stream& stream : streams) {
      CUpti_ActivityStream r{};
      r.kind = kind;
      r.contextId = stream.context;
      r.streamId = stream.id;
      r.priority = stream.priority;
      r.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
      append(&r, sizeof r);
    }
  }
}

void return_last_again() {
  State& s = state();
  const CUpti_BuffersCallbackCompleteFunc done = s.complete.load();
  const InClient client(kFakeBufferCompleted);
  if (done != nullptr && s.last.first != nullptr) done(nullptr, 0, s.last.first, s.last.second, s.last.second);
}

void return_foreign() {
  alignas(8) static std::uint8_t memory[4096];
  const CUpti_BuffersCallbackCompleteFunc done = state().complete.load();
  const InClient client(kFakeBufferCompleted);
  if (done != nullptr) done(nullptr, 0, memory, sizeof memory, 216);
}

void return_empty() {
  ThreadBuffer unowned;
  const std::unique_ptr<Buffer> buffer = request_buffer(unowned);
  if (buffer == nullptr) return;
  --state().out;
  const InClient client(kFakeBufferCompleted);
  state().complete.load()(nullptr, 0, buffer->data, buffer->size, 0);
}

void give_up_open_work() {
  for_each_buffer([](Buffer& buffer) {
    for (Buffer::Timed& timed : buffer.timed) {
      if (!std::exchange(timed.open, false)) continue;
      set_times(buffer.data + timed.offset, 0, 0);
    }
  });
}

}  // namespace fake

extern "C" {

void fakecupti_append(const void* record, std::size_t bytes) { fake::append(record, bytes); }

void fakecupti_complete(std::uint32_t correlation, std::uint64_t begin_ns, std::uint64_t end_ns) {
  fake::complete_work(correlation, begin_ns, end_ns);
}

void fakecupti_steal_buffers(bool stolen) {
  fake::State& s = fake::state();
  const std::lock_guard library(s.library);
  s.request = stolen ? &fake::thief_request : nullptr;
  s.complete = stolen ? &fake::thief_complete : nullptr;
  // What threads hold goes to whoever is registered now.
  const std::lock_guard lock(s.mutex);
  for (const auto& thread : s.threads) {
    const std::lock_guard thread_lock(thread->mutex);
    if (thread->current != nullptr) thread->full.push_back(std::move(thread->current));
  }
}

void fakecupti_fatal_error(int result) {
  fake::State& s = fake::state();
  CUpti_StateData data{};
  data.notification.result = static_cast<CUptiResult>(result);
  data.notification.message = "simulated";
  fake::fire(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
  const std::lock_guard library(s.library);
  fake::flush(false);
  s.finalized = true;
  s.callback = nullptr;
}

}  // extern "C"
