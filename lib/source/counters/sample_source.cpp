// SPDX-License-Identifier: MIT
#include "source/counters/sample_source.hpp"

#include "base/health_numbers.hpp"
#include "base/lists.hpp"
#include "base/never_destroyed.hpp"
#include "format/rows.hpp"
#include "source/counters/chip.hpp"
#include "source/counters/device_facts.hpp"
#include "source/counters/device_sampling.hpp"
#include "source/cupti/activity_windows.hpp"
#include "source/cupti/call_thread.hpp"
#include "source/cupti/cupti_api.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace rangefinder::source {

using counters::DecodedSamples;
using counters::DeviceSampling;
using counters::MetricSet;
using counters::ProfilerApi;

namespace {

// Of a device, between two flushes: 64 MiB of memory.
constexpr std::uint32_t kMaxSamples = 4096;
constexpr char kNothingSampled[] =
    "no device was in use when they were looked for, each flush_period: by then CUDA is initialised, and one of "
    "several "
    "devices has a primary context";
// A time further from now than this is of a clock that is not ours.
constexpr std::int64_t kDay = std::int64_t{86'400} * 1'000'000'000;

/// Makes the calls of all recordings, one after the other. Never destroyed: a call may not come back.
cupti::CallThread& calls() noexcept {
  static base::NeverDestroyed<cupti::CallThread> one;
  return *one;
}

std::int64_t system_realtime_ns() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

/// Outlives the source where a call of CUPTI does not come back. What the calling thread does touches no sink.
struct SampleSource::Shared {
  explicit Shared(SampleOptions wanted) : options(std::move(wanted)) {}

  const SampleOptions options;
  ProfilerApi api;
  counters::SamplingOptions sampling;

  // The calling thread's.
  std::map<std::uint32_t, std::unique_ptr<DeviceSampling>> devices;  // null: it failed

  mutable std::mutex mutex;  // of all below
  bool running = false;
  cupti::ActivityWindows windows;
  std::int64_t seen_ns = 0;                                           // the latest time of day
  RowSink* sink = nullptr;                                            // used by who flushes and stops
  std::vector<std::pair<std::string, format::MetricSampleRow>> rows;  // and the metric, which has no id yet
  std::uint64_t overflows = 0;
  std::uint64_t invalid = 0;
  std::string chip;
  std::string description;
  std::string failure;
  std::vector<counters::DeviceFacts> found;  // to be written
  SourceState last{false, "not started"};

  pid_t pid = ::getpid();

  void fail(const Error& error) {
    const std::lock_guard lock(mutex);
    if (failure.empty()) failure = error.message();
  }

  void open(std::uint32_t device) {
    devices[device] = nullptr;
    Result<std::string> name = counters::chip_of(api, device);
    if (!name) return fail(name.error());
    Result<MetricSet> metrics = MetricSet::resolve(api, *name, counters::Collection::kSamples, options.metrics);
    if (!metrics) return fail(metrics.error());
    std::string text = metrics->description();
    Result<std::unique_ptr<DeviceSampling>> opened = DeviceSampling::open(api, device, std::move(*metrics), sampling);
    if (!opened) return fail(opened.error());
    devices[device] = std::move(*opened);
    const std::lock_guard lock(mutex);
    chip = *name;
    description = std::move(text);
    if (options.describe_devices) found.push_back(counters::facts_of(api, device));
  }

  /// Devices that the program has begun to use.
  void open_new() {
    int count = 0;
    if (api.cuDeviceGetCount(&count) != CUDA_SUCCESS) return;  // CUDA is not in use yet
    for (int device = 0; device < count; ++device) {
      unsigned flags = 0;
      int in_use = 0;
      if (devices.count(static_cast<std::uint32_t>(device)) != 0) continue;
      const bool told = api.cuDevicePrimaryCtxGetState(device, &flags, &in_use) == CUDA_SUCCESS;
      if (count > 1 && (!told || in_use == 0)) continue;
      open(static_cast<std::uint32_t>(device));
    }
  }

  /// Under the lock.
  std::int64_t now() {
    const std::int64_t time = (options.realtime_ns != nullptr ? options.realtime_ns : system_realtime_ns)();
    if (time < seen_ns) windows.clock_stepped();
    return seen_ns = time;
  }

  void take(const DeviceSampling& device, const DecodedSamples& decoded) {
    const std::lock_guard lock(mutex);
    const std::int64_t latest = now();
    if (decoded.overflowed) ++overflows;
    for (const counters::Sample& sample : decoded.samples) {
      const auto begin = static_cast<std::int64_t>(sample.begin_ns);
      const auto end = static_cast<std::int64_t>(sample.end_ns);
      if (begin < latest - kDay || begin > latest + kDay) {
        ++invalid;
        continue;
      }
      // The first sample of a device may have begun long before: what it says is of that time.
      if (!windows.keep_host(begin, begin)) continue;
      for (std::size_t i = 0; i < sample.values.size(); ++i) {
        rows.push_back(
            {device.metrics().metrics()[i], {begin, end, device.device(), 0, format::coded_number(sample.values[i])}});
      }
    }
  }

  /// Before the driver's own handler, which was there when the first device was opened.
  static void close_at_exit(const std::shared_ptr<Shared>& shared) {
    static base::NeverDestroyed<std::weak_ptr<Shared>> stored;  // recordings follow each other
    static std::weak_ptr<Shared>* const last = &*stored;
    static std::mutex mutex;
    static const int at_exit = std::atexit([] {
      std::shared_ptr<Shared> last_shared;
      {
        const std::lock_guard lock(mutex);
        last_shared = last->lock();
      }
      if (last_shared == nullptr || ::getpid() != last_shared->pid) return;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      (void)calls().wait(calls().post([last_shared] { last_shared->collect(true); }), deadline);
    });
    (void)at_exit;
    const std::lock_guard lock(mutex);
    *last = shared;
  }

  /// Takes what there is; at the end, all, and closes.
  void collect(bool end) {
    if (!end) open_new();
    for (auto& [number, device] : devices) {
      if (device == nullptr) continue;
      const Result<DecodedSamples> decoded = end ? device->close() : device->decode();
      if (decoded) {
        take(*device, *decoded);
      } else {
        fail(decoded.error());
      }
      if (end || !decoded) device.reset();
    }
  }

  void write(RowSink& to) {
    std::vector<std::pair<std::string, format::MetricSampleRow>> taken;
    std::vector<format::MetricSampleRow> done;
    std::vector<counters::DeviceFacts> described;
    {
      const std::lock_guard lock(mutex);
      done.reserve(rows.size());  // while they are still here, should there be no memory
      taken.swap(rows);
      described.swap(found);
      if (overflows != 0) to.count(health::sample_overflows, std::exchange(overflows, 0));
      if (invalid != 0) to.count(health::invalid_activities, std::exchange(invalid, 0));
      if (!chip.empty()) to.meta("sample_chip", chip);
      if (!description.empty()) to.meta("sample_metrics", description);
      if (!failure.empty())
        to.meta("sample_state", failure);
      else if (!chip.empty())
        to.meta("sample_state", "sampling");
    }
    for (const counters::DeviceFacts& device : described) device.write(to);
    for (auto& [metric, row] : taken) {
      row.metric = to.name(metric);
      done.push_back(row);
    }
    to.write(std::span<const format::MetricSampleRow>(done));
  }
};

SampleSource::SampleSource(SampleOptions options, LoadProfiler load)
    : options_(options),
      load_(load ? std::move(load) : LoadProfiler(counters::load_profiler)),
      shared_(std::make_shared<Shared>(std::move(options))) {}

SampleSource::~SampleSource() { stop(std::chrono::steady_clock::now() + std::chrono::seconds(2)); }

SourceState SampleSource::start(RowSink& sink) noexcept try {
  const auto open = [&]() -> Status {
    if (Status status = MetricSet::check(options_.metrics); !status.ok()) return status;
    const auto between = static_cast<std::uint64_t>(options_.flush_period / options_.interval);
    if (2 * between + 64 > kMaxSamples) {
      return Error(ErrorCode::kInvalidArgument,
                   "pm_sampling_interval: " + std::to_string(between) + " samples in a flush_period are too many, " +
                       std::to_string((kMaxSamples - 64) / 2) + " at most; choose a longer interval");
    }
    shared_->sampling.interval_ns = static_cast<std::uint64_t>(options_.interval.count());
    shared_->sampling.most_samples = static_cast<std::uint32_t>(2 * between + 64);
    if (Status status = cupti::check_left_to_others(); !status.ok()) return status;
    Result<ProfilerApi> api = load_();
    if (!api) return std::move(api).error();
    if (Status status = counters::check_pm_sampling(*api); !status.ok()) return status;
    shared_->api = std::move(*api);
    return {};
  };
  const Status status = open();
  sink.meta("sample_set", base::joined(options_.metrics, "+"));
  sink.meta("sample_state", status.ok() ? kNothingSampled : status.error().message());
  const std::lock_guard lock(shared_->mutex);
  shared_->running = status.ok();
  shared_->sink = &sink;
  shared_->last = {status.ok(), status.ok() ? std::string() : status.error().message()};
  return shared_->last;
} catch (const std::exception&) {
  return {false, "no memory"};
}

void SampleSource::set_active(bool active) noexcept {
  const std::lock_guard lock(shared_->mutex);
  const std::int64_t now = shared_->now();
  if (!active) return shared_->windows.close(now, 0);
  try {
    shared_->windows.open(now, 0);
  } catch (const std::exception&) {  // no memory: what is sampled until the next change is lost
    ++shared_->overflows;
  }
}

void SampleSource::flush(std::chrono::steady_clock::time_point deadline) noexcept try {
  RowSink* sink = nullptr;
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->running || ::getpid() != shared_->pid) return;
    sink = shared_->sink;
  }
  // One that has not come back is enough.
  if (calls().busy_for() == std::chrono::nanoseconds(0)) {
    const auto ticket = calls().post([shared = shared_] {
      shared->collect(false);
      if (!shared->devices.empty()) Shared::close_at_exit(shared);
    });
    if (!calls().wait(ticket, deadline)) sink->count(health::flush_timeouts, 1);
  }
  shared_->write(*sink);
} catch (const std::exception&) {  // no memory, or no thread: tried again at the next flush
}

void SampleSource::stop(std::chrono::steady_clock::time_point deadline) noexcept try {
  if (::getpid() != shared_->pid) return;
  RowSink* sink = nullptr;
  {
    const std::lock_guard lock(shared_->mutex);
    if (!std::exchange(shared_->running, false)) return;
    sink = shared_->sink;
  }
  const auto ticket = calls().post([shared = shared_] { shared->collect(true); });
  if (!calls().wait(ticket, deadline)) sink->count(health::flush_timeouts, 1);
  shared_->write(*sink);
  (void)calls().end(deadline);
  const std::lock_guard lock(shared_->mutex);
  shared_->last = {false, shared_->failure.empty() ? "stopped" : shared_->failure};
} catch (const std::exception&) {
}

SourceState SampleSource::state() const noexcept try {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->running) return shared_->last;
  return {shared_->failure.empty(), shared_->failure};
} catch (const std::exception&) {
  return {};
}

}  // namespace rangefinder::source
