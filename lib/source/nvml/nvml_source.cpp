// SPDX-License-Identifier: MIT
#include "source/nvml/nvml_source.hpp"

#include "base/health_numbers.hpp"
#include "base/signals_blocked.hpp"
#include "source/nvml/nvml_device.hpp"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace rangefinder::source {
namespace {

// What may wait for a flush: minutes of eight devices at the shortest useful period.
constexpr std::size_t kMaxWaiting = 1u << 16;
constexpr char kNoCudaYet[] =
    "the program uses no device so far: CUDA is not initialised, or no device has a primary context";

// NVML's locks may be held by a thread of the parent, for good.
std::atomic<bool> forked{false};

std::int64_t system_realtime_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

/// What the thread and the source share; the thread's alone but for what is said to be under the lock.
struct NvmlSource::Sampler {
  explicit Sampler(const NvmlOptions& wanted) : options(wanted) {}

  void run() noexcept;
  bool open();
  void take() noexcept;
  void look_for_devices();
  void set_state(bool working, std::string reason) {
    const std::lock_guard lock(mutex);
    state = {working, std::move(reason)};
  }

  NvmlOptions options;
  std::optional<nvml::NvmlApi> api;
  nvml::DriverApi driver;
  std::vector<nvml::NvmlDevice> devices;
  bool more_devices = true;  // may come

  std::mutex mutex;
  std::condition_variable changed;
  // Under the lock.
  SourceState state{false, "NVML is being opened"};
  std::string version;
  std::map<std::string, std::string> boards;  // facts
  std::vector<format::DeviceSampleRow> waiting;
  std::uint64_t dropped = 0;
  std::uint64_t failed = 0;
  bool active = false;
  bool changed_over = false;  // went on or off since the last sample: one is due now
  bool stopping = false;
  bool ended = false;
};

bool NvmlSource::Sampler::open() {
  Result<nvml::NvmlApi> loaded = nvml::load_nvml();
  if (!loaded) return set_state(false, loaded.error().message()), false;
  api = std::move(*loaded);
  if (const nvml::Return result = api->init(); result != nvml::kSuccess) {
    const char* const why = api->error_string(result);
    return set_state(false, api->path + ": nvmlInit: " + (why != nullptr ? why : std::to_string(result))), false;
  }
  char text[96] = {};
  const bool told = api->driver_version != nullptr && api->driver_version(text, sizeof text) == nvml::kSuccess;
  set_state(false, kNoCudaYet);
  const std::lock_guard lock(mutex);
  if (told) version = text;
  return true;
}

void NvmlSource::Sampler::look_for_devices() {
  if (!driver.whole()) driver = nvml::find_driver();
  const std::size_t known = devices.size();
  more_devices = nvml::find_devices(*api, driver, devices);
  if (known == 0 && !devices.empty()) set_state(true, {});
  for (std::size_t i = known; i < devices.size(); ++i) {
    const std::string number = std::to_string(devices[i].cuda_id());
    const std::string board = devices[i].board();
    const bool mig = devices[i].mig();
    const std::lock_guard lock(mutex);
    if (!board.empty()) boards["nvml_board:" + number] = board;
    if (mig) boards["nvml_mig:" + number] = "on";
  }
}

void NvmlSource::Sampler::take() noexcept {
  std::vector<format::DeviceSampleRow> rows;
  std::uint64_t failures = 0;
  std::size_t unread = 0;
  try {
    if (more_devices) look_for_devices();
    for (nvml::NvmlDevice& device : devices) rows.push_back(device.sample(options.realtime_ns, failures));
  } catch (...) {  // no memory: what was read is kept, the rest counted
    unread = devices.size() - rows.size();
  }
  const std::lock_guard lock(mutex);
  failed += failures;
  dropped += unread;
  for (const format::DeviceSampleRow& row : rows) {
    if (waiting.size() < kMaxWaiting && waiting.size() < waiting.capacity())
      waiting.push_back(row);
    else
      ++dropped;
  }
}

void NvmlSource::Sampler::run() noexcept {
  bool opened = false;
  try {
    opened = open();
  } catch (...) {  // no memory for the words
  }
  for (bool more = opened; more;) {
    bool wanted = false;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, options.period, [&] { return stopping || changed_over; });
      more = !stopping;
      wanted = active || changed_over;
      changed_over = false;
    }
    if (wanted) take();
  }
  // Within the lock: who sees that it ended may destroy the rest.
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

NvmlSource::NvmlSource(NvmlOptions options) : options_(options) {
  if (options_.realtime_ns == nullptr) options_.realtime_ns = system_realtime_ns;
}

NvmlSource::~NvmlSource() { stop(std::chrono::steady_clock::now()); }

SourceState NvmlSource::start(RowSink& sink) noexcept try {
  static const int at_fork = ::pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  (void)at_fork;
  if (forked.load(std::memory_order_relaxed)) return {false, "NVML was in use where this process was forked"};
  sink_ = &sink;
  auto sampler = std::make_shared<Sampler>(options_);
  sampler->waiting.reserve(kMaxWaiting);
  const base::SignalsBlocked blocked;
  std::thread thread([sampler] { sampler->run(); });
  ::pthread_setname_np(thread.native_handle(), "rf-nvml");
  thread.detach();
  sampler_ = std::move(sampler);
  sink.meta("nvml_period_ms", std::to_string(options_.period.count()));
  return state();
} catch (...) {
  return {false, "no memory"};  // or no thread; longer words need some
}

void NvmlSource::set_active(bool active) noexcept {
  if (sampler_ == nullptr) return;
  {
    const std::lock_guard lock(sampler_->mutex);
    sampler_->changed_over = sampler_->changed_over || sampler_->active != active;
    sampler_->active = active;
  }
  sampler_->changed.notify_all();
}

void NvmlSource::write_samples(bool last) noexcept {
  if (sampler_ == nullptr || sink_ == nullptr) return;
  std::vector<format::DeviceSampleRow> rows;
  std::uint64_t dropped = 0, failed = 0;
  SourceState state;
  std::string version;
  std::map<std::string, std::string> boards;
  try {
    const std::lock_guard lock(sampler_->mutex);
    rows.assign(sampler_->waiting.begin(), sampler_->waiting.end());
    sampler_->waiting.clear();
    dropped = std::exchange(sampler_->dropped, 0);
    failed = std::exchange(sampler_->failed, 0);
    state = sampler_->state;
    version = sampler_->version;
    boards = sampler_->boards;
  } catch (...) {  // no memory: they wait on
    if (last) {
      const std::lock_guard lock(sampler_->mutex);
      sink_->count(health::dropped_device_samples, sampler_->waiting.size() + sampler_->dropped);
    }
    return;
  }
  sink_->write<format::DeviceSampleRow>(rows);
  if (dropped != 0) sink_->count(health::dropped_device_samples, dropped);
  if (failed != 0) sink_->count(health::failed_device_samples, failed);
  sink_->meta("nvml_state", state.working ? "full" : state.reason);
  if (!version.empty()) sink_->meta("nvml_driver_version", version);
  for (const auto& [key, value] : boards) sink_->meta(key, value);
}

void NvmlSource::flush(std::chrono::steady_clock::time_point) noexcept { write_samples(false); }

void NvmlSource::stop(std::chrono::steady_clock::time_point deadline) noexcept {
  if (sampler_ == nullptr) return;
  {
    std::unique_lock lock(sampler_->mutex);
    sampler_->stopping = true;
    sampler_->changed.notify_all();
    if (!sampler_->changed.wait_until(lock, deadline, [&] { return sampler_->ended; }) && sink_ != nullptr)
      sink_->count(health::failed_device_samples, 1);
  }
  write_samples(true);
  sink_ = nullptr;
}

SourceState NvmlSource::state() const noexcept {
  if (sampler_ == nullptr) return {false, "not started"};
  try {
    const std::lock_guard lock(sampler_->mutex);
    return sampler_->state;
  } catch (...) {
    return {false, {}};
  }
}

}  // namespace rangefinder::source
