// SPDX-License-Identifier: MIT
#include "buffer/held_records.hpp"

#include "base/never_destroyed.hpp"
#include "buffer/thread_log.hpp"
#include "format/host_columns.hpp"
#include "format/node_note.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

namespace rangefinder::buffer {
namespace {

using namespace std::chrono_literals;

// A range and a node are 48 bytes; 2,000 of each in 50 graphs are 5 MB. Private memory that is not touched costs
// nothing.
constexpr std::uint64_t kMemory = std::uint64_t{8} << 20;
constexpr std::uint64_t kMaxMemory = std::uint64_t{64} << 20;
constexpr std::size_t kMaxRecords = kMaxMemory / sizeof(detail::Record);
constexpr std::size_t kMaxClockPoints = 256;
// Captures that do not overlap, of graphs that are in use.
constexpr std::size_t kMaxEpisodes = std::size_t{1} << 16;
// Not worth a look at what of it is in use.
constexpr std::size_t kFewRecords = std::size_t{1} << 14;

bool is_open(const CaptureSpan& span) noexcept { return span.end_ticks == std::numeric_limits<std::uint64_t>::max(); }

}  // namespace

HeldRecords& HeldRecords::instance() noexcept {
  static base::NeverDestroyed<HeldRecords> one;
  return *one;
}

void HeldRecords::set_capturing(bool on) noexcept {
  const std::lock_guard lock(mutex_);
  if (on == capturing_) return;
  Recorder& recorder = Recorder::instance();
  capturing_ = on;
  if (on && recorder.generation() == 0) hold();
  try {
    if (on && recorder.generation() != 0) begin_episode();
  } catch (const std::exception&) {  // no memory: nodes of this capture are not noted
  }
  recorder.set_capturing(on);
  if (on) return;
  end_episode();
  sample_clock();
  if (holding_) recorder.drain(*this, true);  // its memory serves the next capture
  if (records_ > 2 * kept_last_time_ + kFewRecords) drop_unused();
}

void HeldRecords::begin_episode() {
  if (episodes_.size() >= kMaxEpisodes) drop_unused();
  if (episodes_.size() >= kMaxEpisodes) return;
  sample_clock();
  episodes_.push_back(
      {last_episode_ + 1, {Recorder::instance().ticks(), std::numeric_limits<std::uint64_t>::max()}, notes_ + 1, 0});
  ++last_episode_;
}

void HeldRecords::end_episode() noexcept {
  if (episodes_.empty() || !is_open(episodes_.back().span)) return;
  episodes_.back().span.end_ticks = Recorder::instance().ticks();
  episodes_.back().last_note = notes_;
}

/// Of a process whose recorder has no session.
void HeldRecords::hold() noexcept {
  RecorderOptions options;
  options.arena.memory_bytes = kMemory;
  options.arena.limit_bytes = kMaxMemory;
  options.overflow = Overflow::kGrow;
  options.clock = clock_;
  options.first_thread = threads_;
  try {
    holding_ = Recorder::instance().start(options).ok();
  } catch (const std::exception&) {  // no memory for the arena: nodes of this capture are not noted
  }
}

void HeldRecords::end_hold() noexcept {
  if (!std::exchange(holding_, false)) return;
  Recorder& recorder = Recorder::instance();
  recorder.quiesce(std::chrono::steady_clock::now() + 1s);
  recorder.drain(*this, true);
  close_open();
  lost_ += recorder.health();
  threads_ = std::max(threads_, recorder.threads());
  recorder.finish(true);
}

/// With the end of a recording.
void HeldRecords::close_open() noexcept try {
  for (CapturedRecords::Ends& ends : captured_.close(Recorder::instance().ticks()))
    add({last_episode_, last_episode_, true, {}, ends.run, std::move(ends.records)});
} catch (const std::exception&) {  // no memory: they are open for as long as any recording
}

void HeldRecords::sample_clock() {
  clock::Clock& clock = Recorder::instance().clock();
  try {
    if (clock_points_.size() < kMaxClockPoints) clock_points_.push_back(clock.sample());
  } catch (const std::exception&) {  // no memory: times are a little less exact
  }
}

Status HeldRecords::start_recorder(RecorderOptions options) {
  const std::lock_guard lock(mutex_);
  end_hold();
  options.first_thread = threads_;
  return Recorder::instance().start(options);
}

/// A session's records on their way to its capture.
class HeldRecords::Beside final : public HostSink {
 public:
  Beside(HeldRecords& held, HostSink& session) : held_(held), session_(session) {}
  bool on_records(const Thread& thread, const format::HostRun& run,
                  std::span<const detail::Record> records) noexcept override {
    const bool stored = session_.on_records(thread, run, records);
    try {
      std::vector<detail::Record> captured;
      {
        const std::lock_guard lock(held_.mutex_);
        if (!held_.hold_run(thread, run, records, captured)) held_.lost_.records_not_written += records.size();
      }
      if (!captured.empty()) session_.on_captured(thread, run, captured);
    } catch (const std::exception&) {  // no memory: of later sessions it is missing
      const std::lock_guard lock(held_.mutex_);
      held_.lost_.records_not_written += records.size();
    }
    return stored;
  }

 private:
  HeldRecords& held_;
  HostSink& session_;
};

void HeldRecords::drain_recorder(HostSink& sink, bool partial) noexcept {
  Beside beside(*this, sink);
  Recorder::instance().drain(beside, partial);
}

void HeldRecords::finish_recorder(bool remove_live) noexcept {
  Recorder& recorder = Recorder::instance();
  {
    const std::lock_guard lock(mutex_);
    close_open();
  }
  recorder.finish(remove_live);
  const std::lock_guard lock(mutex_);
  if (capturing_ && recorder.generation() == 0) hold();
}

bool HeldRecords::holding() noexcept {
  const std::lock_guard lock(mutex_);
  return holding_;
}

std::uint32_t HeldRecords::note_node() noexcept {
  const std::lock_guard lock(mutex_);
  if (episodes_.empty() || !is_open(episodes_.back().span)) return 0;
  return try_note_launch(notes_ + 1, format::kNodeNote) ? ++notes_ : 0;
}

void HeldRecords::ask_for_notes_in_use(NotesInUse ask) noexcept {
  const std::lock_guard lock(mutex_);
  notes_in_use_ = ask;
}

bool HeldRecords::on_records(const Thread& thread, const format::HostRun& run,
                             std::span<const detail::Record> records) noexcept try {
  std::vector<detail::Record> held;
  return hold_run(thread, run, records, held);
} catch (const std::exception&) {  // no memory: counted by the caller
  return false;
}

/// What of a run belongs to captures, which is held from now on; of each episode by itself, as they go one by one.
/// False where there is no room for it: then only what closes something is.
bool HeldRecords::hold_run(const Thread& thread, const format::HostRun& run, std::span<const detail::Record> records,
                           std::vector<detail::Record>& held) {
  if (episodes_.empty() && !captured_.any_open()) return true;
  const auto [first, last] = format::tick_span(records);
  std::vector<Episode> overlapping;
  for (const Episode& episode : episodes_) {
    if (episode.span.end_ticks >= first && episode.span.begin_ticks <= last) overlapping.push_back(episode);
  }
  if (overlapping.empty() && !captured_.any_open()) return true;
  if (records_ + records.size() > kMaxRecords) drop_unused();
  const bool room = overlapping.empty() || records_ + records.size() <= kMaxRecords;
  if (overlapping.empty() || !room) overlapping = {{last_episode_, {1, 0}, 0, 0}};
  format::HostRun piece = run;
  for (std::size_t at = 0; at < overlapping.size(); ++at) {
    const Episode& episode = overlapping[at];
    const auto later = [&](const detail::Record& record) {
      return !format::carries_value(detail::word_kind(record.word)) && record.ticks > episode.span.end_ticks;
    };
    const bool is_last = at + 1 == overlapping.size();
    const auto end = is_last ? records.end() : std::find_if(records.begin(), records.end(), later);
    const std::span<const detail::Record> mine(records.begin(), end);
    const bool goes_on = captured_.any_open(run.thread);
    std::vector<detail::Record> taken = captured_.take(piece, mine, std::span(&episode.span, 1));
    held.insert(held.end(), taken.begin(), taken.end());
    if (!taken.empty())
      add({episode.number, episode.number, goes_on, std::string(thread.name), piece, std::move(taken)});
    piece.first_record += static_cast<std::uint32_t>(mine.size());
    records = records.subspan(mine.size());
  }
  return room;
}

void HeldRecords::add(Run run) {
  // Begin and end are held for equally long.
  const auto same_thread = [&](const Run& one) { return one.run.thread == run.run.thread; };
  bool joined = run.goes_on;
  for (auto one = runs_.rbegin(); joined && one != runs_.rend(); ++one) {
    if (!same_thread(*one)) continue;
    run.first_episode = std::min(run.first_episode, one->first_episode);
    one->last_episode = std::max(one->last_episode, run.last_episode);
    joined = one->goes_on;
    if (run.thread_name.empty()) run.thread_name = one->thread_name;
  }
  threads_ = std::max(threads_, run.run.thread + 1);
  const std::size_t count = run.records.size();
  runs_.push_back(std::move(run));
  records_ += count;
}

void HeldRecords::drop_unused() noexcept try {
  if (notes_in_use_ == nullptr) return;
  const std::vector<std::uint32_t> used = notes_in_use_();
  std::erase_if(episodes_, [&](const Episode& episode) {
    if (is_open(episode.span)) return false;
    const auto note = std::lower_bound(used.begin(), used.end(), episode.first_note);
    return note == used.end() || *note > episode.last_note;
  });
  std::erase_if(runs_, [&](const Run& run) {
    const auto episode = std::lower_bound(episodes_.begin(), episodes_.end(), run.first_episode,
                                          [](const Episode& one, std::uint64_t number) { return one.number < number; });
    const bool unused = episode == episodes_.end() || episode->number > run.last_episode;
    if (unused) records_ -= run.records.size();
    return unused;
  });
  kept_last_time_ = records_;
} catch (const std::exception&) {  // no memory: the next time
}

CaptureHealth HeldRecords::replay(HostSink& sink) noexcept {
  const std::lock_guard lock(mutex_);
  drop_unused();
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
  if (in_child) {
    capturing_ = holding_ = false;
    notes_in_use_ = nullptr;  // its lock may be held by a thread that is not there
    if (!episodes_.empty()) episodes_.back().span.end_ticks = episodes_.back().span.begin_ticks;
  }
  mutex_.unlock();
}

void HeldRecords::forget(clock::Clock* clock) noexcept {
  const std::lock_guard lock(mutex_);
  end_hold();
  capturing_ = false;
  Recorder::instance().set_capturing(false);
  (void)captured_.close(0);
  episodes_.clear();
  notes_in_use_ = nullptr;
  threads_ = 0;
  notes_ = 0;
  records_ = kept_last_time_ = 0;
  runs_.clear();
  clock_points_.clear();
  lost_ = {};
  clock_ = clock;
}

}  // namespace rangefinder::buffer
