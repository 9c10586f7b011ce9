// SPDX-License-Identifier: MIT
#include "fake_state.hpp"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <set>
#include <unordered_map>

namespace fake {
namespace {

struct NamedFunction {
  CUpti_CallbackDomain domain;
  std::uint32_t id;
  const char* name;
};
constexpr NamedFunction kFunctions[] = {
#include "callback_names.inc"
};

struct Processes {
  std::mutex mutex;
  std::vector<std::unique_ptr<State>> all;  // none is destroyed: a thread may still be inside
  std::atomic<State*> present{nullptr};
  std::atomic<std::uint64_t> generation{0};
};

Processes& processes() {
  static auto* const all = new Processes;
  return *all;
}

std::unique_ptr<State> fresh() {
  auto made = std::make_unique<State>();
  become(*made, 130001);
  for (auto& attribute : made->attributes) attribute = 0xFFFF;
  made->devices = {{0, "Simulated GPU"}};
  made->contexts = {{1, 0}};
  made->streams = {{1, 7, 0}};
  return made;
}

std::uint64_t realtime_ns() {
  std::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

thread_local int t_in_client = 0;

}  // namespace

State& state() {
  Processes& all = processes();
  if (State* present = all.present.load(std::memory_order_acquire)) return *present;
  const std::lock_guard lock(all.mutex);
  if (all.present.load() == nullptr) {
    all.all.push_back(fresh());
    all.present.store(all.all.back().get(), std::memory_order_release);
  }
  return *all.present.load();
}

std::uint64_t generation() { return processes().generation.load(); }

namespace {

struct Kept {
  std::mutex mutex;
  std::set<const void*> things;
};
Kept& kept() {
  static auto* const all = new Kept;
  return *all;
}

}  // namespace

void keep(const void* thing) {
  const std::lock_guard lock(kept().mutex);
  kept().things.insert(thing);
}

void let_go(const void* thing) {
  const std::lock_guard lock(kept().mutex);
  kept().things.erase(thing);
}

// ---- functions by name -----------------------------------------------------------------------------------------

Function find_function(std::string_view name) {
  static const auto* const by_name = [] {
    auto* made = new std::unordered_map<std::string_view, Function>;
    for (const NamedFunction& function : kFunctions)
      made->emplace(function.name, Function{function.domain, function.id});
    return made;
  }();
  const auto found = by_name->find(name);
  if (found != by_name->end()) return found->second;
  misuse("no function " + std::string(name) + " in CUPTI's lists");
  return {CUPTI_CB_DOMAIN_INVALID, 0};
}

const char* kept_name(const char* name) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;  // still read while the program exits
  if (name == nullptr) return nullptr;
  const std::lock_guard lock(mutex);
  return names->emplace(name).first->c_str();
}

const char* function_name(CUpti_CallbackDomain domain, std::uint32_t id) {
  static const auto* const by_id = [] {
    auto* made = new std::map<std::pair<int, std::uint32_t>, const char*>;
    for (const NamedFunction& function : kFunctions)
      made->emplace(std::pair{function.domain, function.id}, function.name);
    return made;
  }();
  const auto found = by_id->find({domain, id});
  return found != by_id->end() ? found->second : nullptr;
}

// ---- the clock -------------------------------------------------------------------------------------------------

std::uint64_t device_now() {
  State& s = state();
  const std::uint64_t now = s.manual ? s.manual_ns.load() : realtime_ns();
  return now + static_cast<std::uint64_t>(s.step_ns.load());
}

std::uint64_t stamp(std::uint64_t device_time) {
  const CUpti_TimestampCallbackFunc timestamp = state().timestamp.load();
  if (timestamp == nullptr) return device_time;
  // CUPTI maps device times onto the client's clock; here both run at the same rate.
  return timestamp() + (device_time - device_now());
}

void wait_until(std::uint64_t device_time) {
  State& s = state();
  for (;;) {
    const std::uint64_t now = device_now();
    if (now >= device_time) return;
    if (s.manual) {
      s.manual_ns += device_time - now;
      continue;
    }
    const std::uint64_t left = device_time - now;
    const std::timespec pause{static_cast<std::time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    ::nanosleep(&pause, nullptr);
  }
}

// ---- entering CUPTI --------------------------------------------------------------------------------------------

void misuse(const std::string& what) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.misuse.empty()) s.misuse = what;
}

InClient::InClient(FakeCallback callback)
    : callback_(callback), allocations_(state().client_allocations.load(std::memory_order_relaxed)) {
  ++t_in_client;
  if (allocations_ != nullptr) before_ = allocations_();
}
InClient::~InClient() {
  --t_in_client;
  if (allocations_ == nullptr) return;
  State::Watched& watched = state().watched[callback_];
  watched.allocations += allocations_() - before_;
  ++watched.callbacks;
}
bool InClient::here() { return t_in_client > 0; }

CUptiResult enter(const char* function, bool needs_driver) {
  State& s = state();
  const std::string_view name(function);
  if (!has(s, name)) misuse(std::string(name) + " called, which this version lacks");
  const bool parses_only =
      name == "cuptiActivityGetNextRecord" || name == "cuptiGetVersion" || name == "cuptiGetTimestamp";
  if (InClient::here() && !name.starts_with("cuptiGet")) misuse(std::string(name) + " called from inside a callback");
  if (s.finalized && !parses_only) misuse(std::string(name) + " called after CUPTI had finalized itself");
  std::unique_lock lock(s.mutex);
  ++s.calls[std::string(name)];
  s.changed.notify_all();
  if (s.hanging.contains(name)) {
    ++s.hanging_now;
    s.changed.notify_all();
    s.changed.wait(lock, [&] { return !s.hanging.contains(name); });
    --s.hanging_now;
  }
  if (const auto failure = s.failures.find(name); failure != s.failures.end() && failure->second != 0) {
    return static_cast<CUptiResult>(failure->second);
  }
  if (s.finalized && !parses_only) return CUPTI_ERROR_NOT_INITIALIZED;
  return needs_driver && !s.driver ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

namespace {

FakeCallback kind_of(CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return kFakeResourceCallback;
  const bool api = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  return api ? kFakeApiCallback : kFakeOtherCallback;
}

}  // namespace

void fire(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) {
  State& s = state();
  const CUpti_CallbackFunc callback = s.callback.load(std::memory_order_acquire);
  if (callback == nullptr || id >= kCallbackIds || !s.callback_on[domain][id].load(std::memory_order_relaxed)) return;
  const InClient client(kind_of(domain));
  callback(s.user.load(), domain, id, data);
}

}  // namespace fake

// ---- control: the process, the clock, faults, observation ------------------------------------------------------

using fake::state;

extern "C" {

void fakecupti_reset() {
  fake::Processes& all = fake::processes();
  const std::lock_guard lock(all.mutex);
  all.all.push_back(fake::fresh());
  all.present.store(all.all.back().get(), std::memory_order_release);
  ++all.generation;
}

void fakecupti_set_version(std::uint32_t api_version) { state().version = api_version; }
void fakecupti_set_driver(bool present) { state().driver = present; }
void fakecupti_set_record_bytes(std::uint32_t kind, std::size_t bytes) {
  if (kind < state().record_bytes.size()) state().record_bytes[kind] = static_cast<std::uint32_t>(bytes);
}
void fakecupti_set_next_correlation(std::uint32_t id) { state().correlation = id; }

void fakecupti_add_device(std::uint32_t id, const char* name) {
  const std::lock_guard lock(state().mutex);
  std::erase_if(state().devices, [id](const fake::Device& device) { return device.id == id; });
  state().devices.push_back({id, name});
}
void fakecupti_add_context(std::uint32_t id, std::uint32_t device) {
  const std::lock_guard lock(state().mutex);
  state().contexts.push_back({id, device});
}
void fakecupti_destroy_contexts() {
  const std::lock_guard lock(state().mutex);
  state().contexts.clear();
}
void fakecupti_add_stream(std::uint32_t context, std::uint32_t id, std::uint32_t priority) {
  const std::lock_guard lock(state().mutex);
  state().streams.push_back({context, id, priority});
}

std::uint64_t fakecupti_now() { return fake::device_now(); }
void fakecupti_set_manual_clock(std::uint64_t now_ns) {
  state().manual_ns = now_ns;
  state().manual = true;
}
void fakecupti_advance(std::uint64_t ns) { state().manual_ns += ns; }
void fakecupti_step_clock(std::int64_t ns) { state().step_ns += ns; }
void fakecupti_set_launch_latency(std::uint64_t ns) { state().launch_latency_ns = ns; }

void fakecupti_fail(const char* function, int result) {
  const std::lock_guard lock(state().mutex);
  state().failures[function] = result;
}
void fakecupti_fail_kind(std::uint32_t kind, int result) {
  const std::lock_guard lock(state().mutex);
  state().kind_failures[kind] = result;
}
void fakecupti_hang(const char* function) {
  const std::lock_guard lock(state().mutex);
  state().hanging.emplace(function);
}
void fakecupti_wait_hanging() {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [] { return state().hanging_now > 0; });
}
void fakecupti_release_hangs() {
  const std::lock_guard lock(state().mutex);
  state().hanging.clear();
  state().changed.notify_all();
}
void fakecupti_set_holder(const char* name) {
  const std::lock_guard lock(state().mutex);
  state().holder = name != nullptr ? name : "";
}
void fakecupti_add_dropped(std::uint64_t records) { state().dropped += records; }
void fakecupti_set_delivery(FakeDelivery delivery) {
  const std::lock_guard lock(state().library);
  state().delivery = delivery;
}
void fakecupti_deliver() { fake::deliver_held(); }
void fakecupti_cut_next_buffer(std::uint32_t bytes) {
  const std::lock_guard lock(state().library);
  state().cut_bytes = bytes;
}
void fakecupti_return_again() { fake::return_last_again(); }
void fakecupti_return_foreign() { fake::return_foreign(); }
void fakecupti_return_empty() { fake::return_empty(); }
void fakecupti_destroy_context() { fake::give_up_open_work(); }

std::uint64_t fakecupti_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().calls.find(std::string_view(function));
  return found != state().calls.end() ? found->second : 0;
}
void fakecupti_watch_allocations(std::uint64_t (*allocations)()) {
  for (auto& watched : state().watched) watched.callbacks = watched.allocations = 0;
  state().client_allocations = allocations;
}
std::uint64_t fakecupti_allocations(FakeCallback callback) { return state().watched[callback].allocations; }
std::uint64_t fakecupti_callbacks(FakeCallback callback) { return state().watched[callback].callbacks; }
void fakecupti_wait_calls(const char* function, std::uint64_t calls) {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [&] {
    const auto found = state().calls.find(std::string_view(function));
    return found != state().calls.end() && found->second >= calls;
  });
}
bool fakecupti_kind_enabled(std::uint32_t kind) { return kind < fake::kKinds && state().kind_on[kind]; }
bool fakecupti_callback_enabled(const char* function) {
  const fake::Function found = fake::find_function(function);
  return state().callback_on[found.domain][found.id];
}
bool fakecupti_api_enabled(const char* function) {
  const fake::Function found = fake::find_function(function);
  const bool runtime = found.domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  return state().kind_on[runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER] &&
         !state().api_off[runtime ? 1 : 0][found.id];
}
bool fakecupti_subscribed() { return state().callback.load() != nullptr; }
std::uint32_t fakecupti_attribute(std::uint32_t attribute) {
  return attribute < state().attributes.size() ? state().attributes[attribute].load() : 0xFFFF;
}
std::uint64_t fakecupti_buffers_out() { return state().out; }
const char* fakecupti_misuse() {
  const std::lock_guard lock(state().mutex);
  return state().misuse.empty() ? nullptr : state().misuse.c_str();
}

}  // extern "C"
