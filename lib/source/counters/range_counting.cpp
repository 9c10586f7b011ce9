// SPDX-License-Identifier: MIT
#include "source/counters/range_counting.hpp"

#include "base/health_numbers.hpp"
#include "base/never_destroyed.hpp"
#include "buffer/listener.hpp"
#include "buffer/record_writer.hpp"
#include "buffer/recorder.hpp"
#include "format/rows.hpp"
#include "source/counters/chip.hpp"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>

namespace rangefinder::source::counters {
namespace {

/// Whose hardware a context runs on. It is current.
std::uint32_t device_of(const ProfilerApi& api) noexcept {
  CUdevice device = 0;
  return api.cuCtxGetDevice(&device) == CUDA_SUCCESS && device >= 0 ? static_cast<std::uint32_t>(device) : 0;
}

/// Makes a context current on the thread for a while.
class Current {
 public:
  Current(const ProfilerApi& api, CUcontext context) noexcept
      : api_(api), pushed_(api.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {}
  ~Current() {
    CUcontext before = nullptr;
    if (pushed_) (void)api_.cuCtxPopCurrent_v2(&before);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const ProfilerApi& api_;
  bool pushed_;
};

std::atomic<std::uint64_t> generations{0};

}  // namespace

// ---- one context ------------------------------------------------------------------------------------------------

Status ContextCounting::open(const std::vector<std::string>& selection) {
  const std::lock_guard lock(mutex_);
  const auto give_up = [&](Error error) {
    fail(error);
    return Status(std::move(error));
  };
  facts_ = facts_of(api_, device_);
  Result<std::string> chip = chip_of(api_, device_);
  if (!chip) return give_up(std::move(chip).error());
  Result<MetricSet> metrics = MetricSet::resolve(api_, *chip, Collection::kRanges, selection);
  if (!metrics) return give_up(std::move(metrics).error());
  metrics_ = std::make_unique<MetricSet>(std::move(*metrics));
  Result<std::unique_ptr<RangeProfiler>> profiler = RangeProfiler::open(api_, context_, *metrics_, most_ranges_);
  if (!profiler) return give_up(std::move(profiler).error());
  profiler_ = std::move(*profiler);
  return {};
}

bool ContextCounting::begin(std::uint32_t name, std::uint32_t thread) {
  // Whoever has it counts a range, or takes out what was counted.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_open_ || profiler_ == nullptr) return false;
  const CountedRange range{++pushed_, 0, 0, thread, name};
  if (Status status = profiler_->push(std::to_string(range.number).c_str()); !status.ok()) {
    fail(status.error());
    return false;
  }
  ranges_.push_back(range);
  ranges_.back().begin_ticks = buffer::Recorder::instance().ticks();
  is_open_ = true;
  return true;
}

void ContextCounting::end() {
  const std::lock_guard lock(mutex_);
  if (!is_open_) return;  // closed meanwhile
  is_open_ = false;
  ranges_.back().end_ticks = buffer::Recorder::instance().ticks();
  if (Status status = profiler_->pop(); !status.ok()) return fail(status.error());
  if (ranges_.size() < most_ranges_ && !wanted_.exchange(false, std::memory_order_relaxed)) return;
  take(profiler_->collect());
}

void ContextCounting::take(Result<CountedRanges> counted) {
  if (!counted) return fail(counted.error());
  const std::lock_guard lock(results_mutex_);
  batches_.push_back({std::move(*counted), std::move(ranges_)});
  ranges_.clear();
}

void ContextCounting::fail(const Error& error) {
  profiler_.reset();
  is_open_ = false;
  lost_ += ranges_.size();
  ranges_.clear();
  const std::lock_guard lock(results_mutex_);
  if (failure_.empty()) failure_ = error.message();
}

void ContextCounting::write_batch(const Batch& batch, RowSink& sink) const {
  std::vector<format::RangeMetricRow> rows;
  std::size_t found = 0;
  for (std::size_t index = 0; index < batch.counted.ranges; ++index) {
    const Result<std::string> name = name_of_range(api_, batch.counted, index);
    std::uint64_t number = 0;
    if (!name || std::from_chars(name->data(), name->data() + name->size(), number).ec != std::errc()) continue;
    const CountedRange* range = nullptr;
    for (const CountedRange& candidate : batch.ranges) {
      if (candidate.number == number) range = &candidate;
    }
    const Result<std::vector<double>> values = metrics_->evaluate(batch.counted.image, index);
    if (range == nullptr || !values) continue;
    ++found;
    for (std::size_t metric = 0; metric < values->size(); ++metric) {
      rows.push_back({range->begin_ticks, range->end_ticks, range->thread, range->name, device_,
                      sink.name(metrics_->metrics()[metric]), format::coded_number((*values)[metric])});
    }
  }
  sink.write(std::span<const format::RangeMetricRow>(rows));
  if (found < batch.ranges.size()) sink.count(health::lost_range_counters, batch.ranges.size() - found);
}

void ContextCounting::write(RowSink& sink) {
  std::vector<Batch> batches;
  {
    const std::lock_guard lock(results_mutex_);
    batches.swap(batches_);
  }
  for (const Batch& batch : batches) write_batch(batch, sink);
  if (const std::uint64_t lost = lost_.exchange(0); lost != 0) sink.count(health::lost_range_counters, lost);
  if (batches.empty() || described_) return;
  described_ = true;
  facts_.write(sink);
  sink.meta("counter_chip", metrics_->chip());
  sink.meta("counter_metrics", metrics_->description());
}

bool ContextCounting::close(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  while (!lock.owns_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    (void)lock.try_lock();
  }
  if (profiler_ != nullptr) {
    const Current current(api_, context_);
    if (is_open_) {
      // Its thread may be inside of it for ever; CUPTI wants a pop for each push.
      (void)profiler_->pop();
      ranges_.pop_back();
      ++lost_;
      is_open_ = false;
    }
    if (!ranges_.empty()) take(profiler_->close());
    profiler_.reset();
  }
  return true;
}

std::string ContextCounting::failure() const {
  const std::lock_guard lock(results_mutex_);
  return failure_;
}

namespace {

/// Before the driver's own handler, which was there when the first context was made: handlers run in reverse order.
void close_at_exit() noexcept;

}  // namespace

// ---- a recording ------------------------------------------------------------------------------------------------

RangeCounting::RangeCounting(const CounterOptions& options, ProfilerApi api)
    : options_(options),
      api_(std::move(api)),
      choice_(options.ranges, options.category, options.depth),
      generation_(++generations) {}

/// Of the calling thread; null where it has none.
ContextCounting* RangeCounting::context() {
  CUcontext current = nullptr;
  if (api_.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr) return nullptr;
  std::shared_ptr<ContextCounting> counting;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    auto [found, added] = contexts_.try_emplace(current);
    if (added) {
      found->second = std::make_shared<ContextCounting>(api_, current, device_of(api_), options_.ranges_at_once);
    }
    counting = found->second;
    is_new = added;
  }
  if (is_new) {
    close_at_exit();
    (void)counting->open(options_.metrics);
  }
  return counting.get();  // lives as long as this
}

ContextCounting* RangeCounting::begin(std::uint32_t name, std::uint32_t thread) noexcept try {
  ContextCounting* const counting = context();
  if (counting != nullptr && counting->begin(name, thread)) return counting;
  ++uncounted_;
  return nullptr;
} catch (const std::exception&) {  // no memory
  ++uncounted_;
  return nullptr;
}

void RangeCounting::end(ContextCounting& context) noexcept try { context.end(); } catch (const std::exception&) {
  ++lost_;
}

std::vector<std::shared_ptr<ContextCounting>> RangeCounting::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ContextCounting>> found;
  for (const auto& [context, counting] : contexts_) found.push_back(counting);
  return found;
}

void RangeCounting::flush(RowSink& sink) {
  bool has_counted = false;
  for (const auto& context : all()) {
    context->ask_for_ranges();
    context->write(sink);
    has_counted = has_counted || context->has_counted();
  }
  if (const std::string why = failure(); !why.empty())
    sink.meta("counter_state", why);
  else if (has_counted)
    sink.meta("counter_state", "counting");
  if (const std::uint64_t uncounted = uncounted_.exchange(0); uncounted != 0)
    sink.count(health::uncounted_ranges, uncounted);
  if (const std::uint64_t lost = lost_.exchange(0); lost != 0) sink.count(health::lost_range_counters, lost);
}

bool RangeCounting::close(std::chrono::steady_clock::time_point deadline) {
  bool closed = true;
  for (const auto& context : all()) closed = context->close(deadline) && closed;
  return closed;
}

std::string RangeCounting::failure() const {
  for (const auto& context : all()) {
    if (std::string why = context->failure(); !why.empty()) return why;
  }
  return {};
}

// ---- hearing of ranges ------------------------------------------------------------------------------------------

namespace {

/// What a thread has open. Ranges that began before the recording are not known to it: their ends find nothing open.
struct ThreadRanges {
  std::uint64_t generation;
  std::uint32_t depth;       // of ranges that began since
  std::uint32_t open_depth;  // where `open` was begun
  ContextCounting* open;     // the range that is being counted
  bool inside;               // ranges of a signal handler are ignored then
};
thread_local ThreadRanges t_ranges{};

struct Listening {
  std::mutex mutex;
  std::shared_ptr<RangeCounting> counting;
};
// Never destroyed: ranges end while the process does.
Listening& listening() noexcept {
  static base::NeverDestroyed<Listening> one;
  return *one;
}
std::atomic<bool> forked{false};

/// While a thread is in here.
class Inside {
 public:
  explicit Inside(ThreadRanges& ranges) noexcept : ranges_(ranges), entered_(!ranges.inside) { ranges.inside = true; }
  ~Inside() {
    if (entered_) ranges_.inside = false;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  bool entered() const noexcept { return entered_; }

 private:
  ThreadRanges& ranges_;
  bool entered_;
};

std::shared_ptr<RangeCounting> current_counting(ThreadRanges& ranges) noexcept {
  Listening& heard = listening();
  const std::lock_guard lock(heard.mutex);
  if (heard.counting != nullptr && heard.counting->generation() != ranges.generation) {
    const bool inside = ranges.inside;
    ranges = {heard.counting->generation(), 0, 0, nullptr, inside};
  }
  return heard.counting;
}

void on_begin(std::uint32_t name, std::uint32_t category, const detail::Extra*) noexcept {
  ThreadRanges& ranges = t_ranges;
  const Inside inside(ranges);
  if (!inside.entered() || forked.load(std::memory_order_relaxed)) return;
  const std::shared_ptr<RangeCounting> counting = current_counting(ranges);
  if (counting == nullptr) return;
  const std::uint32_t depth = ranges.depth++;
  if (!counting->active() || ranges.open != nullptr || !counting->chooses(name, category, depth)) return;
  const buffer::ThreadState* const state = buffer::state_of(detail::hot_thread);
  if (state == nullptr) return;  // the range itself was dropped
  ranges.open = counting->begin(name, state->index);
  ranges.open_depth = depth;
}

void on_end() noexcept {
  ThreadRanges& ranges = t_ranges;
  const Inside inside(ranges);
  if (!inside.entered() || forked.load(std::memory_order_relaxed)) return;
  const std::shared_ptr<RangeCounting> counting = current_counting(ranges);
  if (counting == nullptr || ranges.depth == 0) return;
  --ranges.depth;
  if (ranges.open == nullptr || ranges.depth != ranges.open_depth) return;
  counting->end(*std::exchange(ranges.open, nullptr));
}

void on_mark(std::uint32_t, std::uint32_t, const detail::Extra*) noexcept {}
void on_async_begin(std::uint32_t, std::uint32_t, std::uint64_t) noexcept {}
void on_async_end(std::uint64_t) noexcept {}

void close_at_exit() noexcept {
  static const int at_exit = std::atexit([] {
    if (forked.load(std::memory_order_relaxed)) return;
    std::shared_ptr<RangeCounting> counting;
    {
      const std::lock_guard lock(listening().mutex);
      counting = listening().counting;
    }
    if (counting == nullptr) return;
    counting->set_active(false);
    (void)counting->close(std::chrono::steady_clock::now() + std::chrono::seconds(2));
  });
  (void)at_exit;
}

constexpr buffer::Listener kListener{on_begin, on_end, on_mark, on_async_begin, on_async_end};

}  // namespace

Status count_ranges(std::shared_ptr<RangeCounting> counting) {
  static const int at_fork = ::pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  (void)at_fork;
  const buffer::Listener* const present = buffer::listener();
  if (counting != nullptr && present != nullptr && present != &kListener) {
    return Error(ErrorCode::kBusy,
                 "another tool listens to ranges in this process (NVTX): unset NVTX_INJECTION64_PATH, or count there");
  }
  const bool counts = counting != nullptr;
  {
    const std::lock_guard lock(listening().mutex);
    if (counts && listening().counting != nullptr)
      return Error(ErrorCode::kBusy, "another recording of this process counts ranges");
    listening().counting.swap(counting);
  }
  if (counts)
    buffer::set_listener(&kListener);
  else if (present == &kListener)
    buffer::set_listener(nullptr);
  return {};
}

}  // namespace rangefinder::source::counters
