// SPDX-License-Identifier: MIT
#include "buffer/held_records.hpp"

#include "base/never_destroyed.hpp"
#include "buffer/thread_log.hpp"
#include "format/node_note.hpp"

#include <chrono>
#include <utility>

namespace rangefinder::buffer {
namespace {

using namespace std::chrono_literals;

// A range and a node are 48 bytes; 2,000 of each in 50 graphs are 5 MB. Private memory that nobody touches costs
// nothing.
constexpr std::uint64_t kMemory = std::uint64_t{8} << 20;
constexpr std::uint64_t kMostMemory = std::uint64_t{64} << 20;
constexpr std::size_t kMostRecords = kMostMemory / sizeof(detail::Record);
constexpr std::size_t kMostClockPoints = 256;

}  // namespace

HeldRecords& HeldRecords::instance() noexcept {
  static base::NeverDestroyed<HeldRecords> one;
  return *one;
}

void HeldRecords::set_capturing(bool on) noexcept {
  const std::lock_guard lock(mutex_);
  Recorder& recorder = Recorder::instance();
  capturing_ = on;
  if (on && recorder.generation() == 0) hold();
  recorder.set_capturing(on);
  if (on || !holding_) return;
  sample_clock();
  recorder.drain(*this, true);  // its memory serves the next capture
}

/// Of a process whose recorder runs for nobody.
void HeldRecords::hold() noexcept {
  RecorderOptions options;
  options.arena.memory_bytes = kMemory;
  options.arena.limit_bytes = kMostMemory;
  options.overflow = Overflow::kGrow;
  options.clock = clock_;
  options.first_thread = threads_;
  try {
    holding_ = Recorder::instance().start(options).ok();
  } catch (const std::exception&) {  // no memory for the arena: nodes of this capture are not noted
  }
  if (holding_) sample_clock();
}

void HeldRecords::end_hold() noexcept {
  if (!std::exchange(holding_, false)) return;
  Recorder& recorder = Recorder::instance();
  recorder.quiesce(std::chrono::steady_clock::now() + 1s);
  recorder.drain(*this, true);
  lost_ += recorder.health();
  threads_ = recorder.threads();
  recorder.finish(true);
}

void HeldRecords::sample_clock() {
  clock::Clock& clock = Recorder::instance().clock();
  try {
    if (clock_points_.size() < kMostClockPoints) clock_points_.push_back(clock.sample());
  } catch (const std::exception&) {  // no memory: times are a little less exact
  }
}

Status HeldRecords::start_recorder(RecorderOptions options) {
  const std::lock_guard lock(mutex_);
  end_hold();
  options.first_thread = threads_;
  return Recorder::instance().start(options);
}

bool HeldRecords::holding() noexcept {
  const std::lock_guard lock(mutex_);
  return holding_;
}

HeldRecords::Note HeldRecords::note_node() noexcept {
  const std::lock_guard lock(mutex_);
  if (!capturing_ || !try_note_launch(notes_ + 1, format::kNodeNote)) return {};
  return {++notes_, holding_};
}

bool HeldRecords::on_records(const Thread& thread, const format::HostRun& run,
                             std::span<const detail::Record> records) noexcept try {
  if (records_ + records.size() > kMostRecords) return false;
  runs_.push_back({std::string(thread.name), run, {records.begin(), records.end()}});
  records_ += records.size();
  return true;
} catch (const std::exception&) {  // no memory: counted by the caller
  return false;
}

CaptureHealth HeldRecords::replay(HostSink& sink) noexcept {
  const std::lock_guard lock(mutex_);
  CaptureHealth lost = lost_;
  for (const Run& held : runs_) {
    if (!sink.on_records({held.run.thread, held.run.tid, held.thread_name}, held.run, held.records))
      lost.records_not_written += held.records.size();
  }
  return lost;
}

std::vector<clock::ClockPoint> HeldRecords::clock_points() {
  const std::lock_guard lock(mutex_);
  return clock_points_;
}

void HeldRecords::unlock_after_fork(bool in_child) noexcept {
  // The child has the parent's graphs no more than its device.
  if (in_child) capturing_ = holding_ = false;
  mutex_.unlock();
}

void HeldRecords::forget(clock::Clock* clock) noexcept {
  const std::lock_guard lock(mutex_);
  end_hold();
  capturing_ = false;
  Recorder::instance().set_capturing(false);
  threads_ = 0;
  notes_ = 0;
  records_ = 0;
  runs_.clear();
  clock_points_.clear();
  lost_ = {};
  clock_ = clock;
}

}  // namespace rangefinder::buffer
