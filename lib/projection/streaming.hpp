// SPDX-License-Identifier: MIT
#pragma once

#include "projection/flat_map.hpp"
#include "projection/launch_bounds.hpp"
#include "projection/range_tracks.hpp"

#include <rangefinder/projection.hpp>

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rangefinder::projection {

/// A range that has ended. What begin_range said of its parent holds. Keys are not 0, never reused, and smaller for
/// ranges that began earlier.
struct StreamingRange {
  std::uint64_t key = 0;
  std::uint64_t parent = 0;  ///< key of the scoped range around it; 0: none. Start/end ranges have none.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t thread = 0;
  bool start_end = false;
  bool ended_elsewhere = false;  ///< on another thread
  std::uint64_t tag = 0;         ///< the caller's own, handed back
};

struct StreamingLaunch {
  std::uint64_t correlation = 0;
  std::int64_t time_ns = 0;
  std::uint32_t thread = 0;
  std::uint64_t range = 0;   ///< key of the innermost range: the owner; 0: outside
  std::uint64_t scoped = 0;  ///< key of the innermost scoped range, where `range` is a start/end range
  /// How many activities it causes; 0: not known (a graph), then it stays unresolved until `settle` or `finish`.
  std::uint32_t activities = 1;
  /// There may be more of them than that: it stays unresolved until `complete`, `settle` or `finish`.
  bool may_cause_more = false;
  std::uint64_t tag = 0;  ///< the caller's own, handed back
};

struct StreamingActivity {
  std::uint64_t correlation = 0;
  Place place;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;  ///< the caller's own, handed back
};

/// A range and everything launched in it. Valid during the call.
struct ProjectedRange {
  StreamingRange range;
  StreamingFigures exclusive;
  StreamingFigures inclusive;
  /// Everything known to be launched in it has arrived; false: finished or evicted before that.
  bool resolved = true;
  /// No end was seen; only the key is known, or what `begin_range` said.
  bool never_ended = false;
};

class ProjectionSink {
 public:
  virtual ~ProjectionSink() = default;
  virtual void on_projected(const ProjectedRange& range) = 0;
  /// An activity and its launch have come together, in whatever order they came.
  virtual void on_joined(const StreamingLaunch& launch, const StreamingActivity& activity) {
    (void)launch, (void)activity;
  }
};

struct StreamingOptions {
  /// Ended ranges that wait for activities. The one that ended first is given out when there are more.
  std::size_t max_waiting_ranges = std::size_t{1} << 16;
  /// Launches that wait for activities; the oldest are given up.
  std::size_t max_pending_launches = std::size_t{1} << 20;
  /// Launches remembered after their activities came, for activities beyond the expected number.
  std::size_t max_remembered_launches = std::size_t{1} << 14;
  /// Activities that wait for their launch; the oldest become unknown or before.
  std::size_t max_waiting_activities = std::size_t{1} << 18;
  /// As Timeline has them. None: the recording is on all the time.
  std::span<const Window> windows = {};
  std::int64_t clock_error_ns = 0;
};

/// What a bound, or the end, cut short. All 0: every figure is what project() gives.
struct StreamingCounts {
  std::uint64_t evicted_ranges = 0;      ///< given out early: more than max_waiting_ranges waited
  std::uint64_t abandoned_launches = 0;  ///< too few activities came by finish(), or max_pending_launches was reached
  std::uint64_t evicted_activities = 0;  ///< given up before finish(): more than max_waiting_activities waited
  std::uint64_t late_activities = 0;     ///< came when a range that they belong to had been given out: missing there
  std::uint64_t late_launches = 0;       ///< named a range that had been given out
  std::uint64_t late_ranges = 0;         ///< ended after the range around them had been given out: missing there
};

/// Projection, attribution `launch`, of data that come by: captures larger than memory, and recordings still running.
/// Gives out each range once, when it has ended and everything launched in it has arrived, children before parents.
///
/// Order:   a range ends after the ranges inside it, and after the launches in it were fed; so importer::HostAssembler
///          delivers them. Activities may come before their launch, long after it, and in any order.
/// Start/end ranges count what their thread launched while they were open only if `begin_range` announced them; else
/// only
///          what they own. One that ends on another thread counts launches up to the moment its end is fed.
/// Figures: as project() gives them. Busy times are exact while the activities of a range arrive in about the order in
///          which they ran, else an upper bound, flagged.
/// Memory:  open ranges, ended ones that wait, and what StreamingOptions bounds.
/// Threads: one at a time.
class StreamingProjector {
 public:
  explicit StreamingProjector(ProjectionSink& sink, const StreamingOptions& options = {});

  /// Optional for scoped ranges. `range.end_ns` is not known yet.
  void begin_range(const StreamingRange& range);
  void end_range(const StreamingRange& range);
  void launch(const StreamingLaunch& launch);
  void activity(const StreamingActivity& activity);
  /// An API call that is fed as no launch: helps to tell what was launched before the recording.
  void call(std::uint64_t correlation, std::int64_t time_ns);
  /// A window of the recording that StreamingOptions did not hold, in order; the last one again, with a later end.
  void window(const Window& window);
  /// All activities of that launch have been delivered.
  void complete(std::uint64_t correlation);
  /// Everything launched before `time_ns` has been delivered: the launches that still wait caused nothing.
  void settle(std::int64_t time_ns);
  /// Gives out the rest. Nothing may follow.
  void finish();

  /// Complete after finish(); until then, of what has been decided.
  const Account& account() const noexcept { return account_; }
  const StreamingCounts& counts() const noexcept { return counts_; }

  /// The range around one that has not been given out; 0: none, or it is not known.
  std::uint64_t parent_of(std::uint64_t key) const noexcept;
  /// When that launch was; kNoTime where it has not come, or is forgotten.
  std::int64_t launch_time(std::uint64_t correlation) const noexcept;
  /// Launches whose activities have not all come.
  std::size_t pending_launches() const noexcept { return pending_count_; }
  /// When the first of them was made; the end of all time where there is none.
  std::int64_t oldest_pending_ns() const noexcept;
  /// What is held at the moment.
  struct Held {
    std::size_t ranges;      ///< open, or ended and waiting
    std::size_t launches;    ///< pending or remembered
    std::size_t activities;  ///< waiting for their launch
  };
  Held held() const noexcept { return {range_of_key_.size(), launch_of_correlation_.size(), waiting_count_}; }

 private:
  struct Range {
    StreamingRange info;
    RangeTracks tracks;
    std::uint32_t pending_launches = 0;
    std::uint32_t open_children = 0;
    bool begun = false;
    bool ended = false;
    bool resolved = true;
    bool in_use = false;
  };
  struct Launch {
    StreamingLaunch info;
    std::uint32_t arrived = 0;
    bool pending = false;
    std::vector<std::uint64_t> others;  // keys of start/end ranges open there
  };
  struct Waiting {  // an activity without a launch; those of one correlation make a list, oldest first
    StreamingActivity activity;
    std::uint32_t next = FlatMap::kAbsent;
    std::uint32_t last = FlatMap::kAbsent;  // of the list; kept in its first
  };
  /// Rows with a generation, so that queues may hold on to rows that are gone.
  template <typename Row>
  struct Pool {
    std::vector<Row> rows;
    std::vector<std::uint32_t> generation;
    std::vector<std::uint32_t> free;
    std::uint32_t take();
    void give_back(std::uint32_t row);
  };
  struct Ticket {
    std::uint32_t row;
    std::uint32_t generation;
  };
  bool is_pending(Ticket ticket) const noexcept {
    return launches_.generation[ticket.row] == ticket.generation && launches_.rows[ticket.row].pending;
  }
  bool is_waiting(Ticket ticket) const noexcept { return waiting_.generation[ticket.row] == ticket.generation; }

  std::uint32_t range_row(std::uint64_t key);
  Range* known(std::uint64_t key);
  void register_child(std::uint64_t parent);
  template <typename Use>
  void for_each_range(const Launch& launch, Use&& use);
  void deliver(std::uint32_t launch_row, const StreamingActivity& activity);
  void count_unowned(const StreamingActivity& activity, Unowned why);
  void resolve(std::uint32_t launch_row, bool complete);
  void forget(std::uint32_t launch_row);
  void try_give_out(std::uint64_t key);
  void give_out(std::uint32_t row);
  void bound_ranges();
  void bound_launches();
  void bound_activities();
  void drop_oldest_activity();
  std::uint32_t take_first_waiting(std::uint32_t first);

  ProjectionSink& sink_;
  StreamingOptions options_;
  LaunchBounds bounds_;
  Account account_;
  StreamingCounts counts_;

  Pool<Range> ranges_;
  FlatMap range_of_key_;
  std::deque<std::uint64_t> ended_;  // keys, in order of end
  std::size_t waiting_ranges_ = 0;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> open_start_end_;  // by thread
  std::unordered_set<std::uint64_t> gone_elsewhere_;  // ended on another thread and given out; children may follow

  Pool<Launch> launches_;
  FlatMap launch_of_correlation_;
  std::deque<Ticket> pending_;
  std::size_t pending_count_ = 0;
  std::deque<Ticket> remembered_;

  Pool<Waiting> waiting_;
  FlatMap waiting_of_correlation_;  // the first
  std::deque<Ticket> waiting_order_;
  std::size_t waiting_count_ = 0;

  ProjectedRange result_;
};

}  // namespace rangefinder::projection
