// SPDX-License-Identifier: MIT
#include "source/counters/counter_source.hpp"

#include "base/health_numbers.hpp"
#include "base/lists.hpp"
#include "source/counters/range_counting.hpp"
#include "source/cupti/cupti_api.hpp"

#include <mutex>
#include <utility>

namespace rangefinder::source {

using counters::ProfilerApi;
using counters::RangeCounting;

struct CounterSource::Shared {
  mutable std::mutex mutex;
  std::shared_ptr<RangeCounting> counting;  // while it runs
  RowSink* sink = nullptr;
  SourceState last{false, "not started"};

  std::shared_ptr<RangeCounting> running() const {
    const std::lock_guard lock(mutex);
    return counting;
  }
};

CounterSource::CounterSource(CounterOptions options, LoadProfiler load)
    : options_(std::move(options)),
      load_(load ? std::move(load) : LoadProfiler(counters::load_profiler)),
      shared_(std::make_shared<Shared>()) {}

CounterSource::~CounterSource() { stop(std::chrono::steady_clock::now() + std::chrono::seconds(2)); }

SourceState CounterSource::start(RowSink& sink) noexcept try {
  const auto open = [&]() -> Result<std::shared_ptr<RangeCounting>> {
    if (Status status = counters::MetricSet::check(options_.metrics); !status.ok()) return std::move(status).error();
    if (Status status = cupti::check_left_to_others(); !status.ok()) return std::move(status).error();
    Result<ProfilerApi> api = load_();
    if (!api) return std::move(api).error();
    if (Status status = counters::check_range_profiler(*api); !status.ok()) return std::move(status).error();
    auto counting = std::make_shared<RangeCounting>(options_, std::move(*api));
    if (Status status = counters::count_ranges(counting); !status.ok()) return std::move(status).error();
    return counting;
  };
  Result<std::shared_ptr<RangeCounting>> counting = open();
  sink.meta("counter_set", base::joined(options_.metrics, "+"));
  sink.meta("counter_state", counting.ok() ? counters::kNothingCounted : counting.error().message());
  const std::lock_guard lock(shared_->mutex);
  if (counting.ok()) {
    shared_->counting = std::move(*counting);
    shared_->sink = &sink;
    shared_->last = {true, {}};
  } else {
    shared_->last = {false, counting.error().message()};
  }
  return shared_->last;
} catch (const std::exception&) {
  return {false, "no memory"};
}

void CounterSource::set_active(bool active) noexcept {
  if (const std::shared_ptr<RangeCounting> counting = shared_->running()) counting->set_active(active);
}

void CounterSource::flush(std::chrono::steady_clock::time_point) noexcept try {
  if (const std::shared_ptr<RangeCounting> counting = shared_->running()) counting->flush(*shared_->sink);
} catch (const std::exception&) {  // no memory: what was not written is written at the next flush, or counted
}

void CounterSource::stop(std::chrono::steady_clock::time_point deadline) noexcept try {
  const std::shared_ptr<RangeCounting> counting = shared_->running();
  if (counting == nullptr) return;
  counting->set_active(false);
  (void)counters::count_ranges(nullptr);
  if (!counting->close(deadline)) shared_->sink->count(health::flush_timeouts, 1);
  counting->flush(*shared_->sink);
  std::string why = counting->failure();
  const std::lock_guard lock(shared_->mutex);
  shared_->last = {false, why.empty() ? "stopped" : std::move(why)};
  shared_->counting.reset();
} catch (const std::exception&) {
}

SourceState CounterSource::state() const noexcept try {
  const std::shared_ptr<RangeCounting> counting = shared_->running();
  if (counting == nullptr) {
    const std::lock_guard lock(shared_->mutex);
    return shared_->last;
  }
  std::string why = counting->failure();
  return {why.empty(), std::move(why)};
} catch (const std::exception&) {
  return {};
}

}  // namespace rangefinder::source
