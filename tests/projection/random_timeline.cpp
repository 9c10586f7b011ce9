// SPDX-License-Identifier: MIT
#include "projection/random_timeline.hpp"

#include "support/timeline_builder.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace rangefinder::testing {

namespace {

class Generator {
 public:
  Generator(std::mt19937_64& random, const RandomShape& shape) : random_(random), shape_(shape) {}

  Timeline run() {
    processes_ = pick(1, 2);
    threads_ = pick(1, 3);
    if (chance(2)) builder_.closed_ends();
    for (int process = 1; process <= processes_; ++process) {
      builder_.on_process(process);
      for (int thread = 1; thread <= threads_; ++thread) {
        builder_.on_thread(thread);
        if (shape_.nested_only)
          nest(0, shape_.length_ns, 0);
        else
          scatter();
      }
    }
    if (shape_.nodes) add_nodes();
    for (int launches = pick(0, shape_.max_launches); launches > 0; --launches) add_launch();
    if (shape_.windows) add_windows();
    shuffle_activities();
    if (shape_.graphs) add_graphs();
    if (chance(3)) builder_.clock_error(pick(0, 5));
    return builder_.build();
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::int64_t time(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(int one_in) { return pick(1, one_in) == 1; }

  void adorn() {
    if (!shape_.other_kinds) return;
    if (chance(4)) builder_.of_kind(RangeKind::kOperator);
    if (chance(12)) builder_.of_kind(RangeKind::kPythonFunction);
    if (chance(12)) builder_.flagged(kOwnerless);
    if (chance(30)) change_last(builder_.timeline().ranges, [&](auto& changed) { changed.thread = kNone; });
  }
  void range(std::int64_t begin, std::int64_t end) {
    builder_.range("r" + std::to_string(builder_.timeline().ranges.size()), begin, end);
  }
  void scatter() {
    for (int count = pick(0, shape_.max_ranges); count > 0; --count) {
      const std::int64_t begin = time(0, shape_.length_ns);
      range(begin, chance(6) ? begin : time(begin, shape_.length_ns + 5));
      adorn();
      if (shape_.start_end && chance(4)) builder_.start_end();
      if (shape_.start_end && chance(12)) builder_.ended_on(99);
    }
  }
  void nest(std::int64_t begin, std::int64_t end, int depth) {
    for (std::int64_t at = begin; at < end && depth < 5;) {
      const std::int64_t from = time(at, end);
      const std::int64_t to = time(from, end);
      if (chance(3)) {
        range(from, to);
        adorn();
        nest(from, to, depth + 1);
      }
      if (shape_.start_end && chance(6)) {
        range(from, time(from, shape_.length_ns + 5));
        builder_.start_end();
      }
      at = to + pick(0, 2);
    }
  }

  void add_launch() {
    const int process = pick(1, processes_);
    builder_.on_process(process).on_thread(pick(1, threads_)).on_device(static_cast<std::uint32_t>(pick(0, 2)));
    builder_.on_stream(pick(7, 9));
    const std::int64_t at = time(0, shape_.length_ns + 10);
    if (shape_.missing_launches && chance(6)) {
      builder_.without_launch(static_cast<std::uint64_t>(pick(0, 30)));
      add_activities(at);
      return;
    }
    if (chance(5)) {
      const std::int64_t begin = time(0, shape_.length_ns);
      correlate(begin);
      builder_.call("cudaStreamSynchronize", begin, shape_.length_ns);
    }
    correlate(at);
    if (chance(2))
      builder_.launch(at);
    else
      builder_.launch_call("cudaLaunchKernel", at, at + 1);
    if (chance(25))
      change_last(builder_.timeline().launches, [&](auto& changed) { changed.source = LaunchSource::kUnknown; });
    note(at);
    add_activities(at);
  }

  // Ids grow with time, as CUPTI's do; where only one window is looked at, any will do.
  void correlate(std::int64_t at) {
    if (shape_.windows)
      builder_.correlation(static_cast<std::uint64_t>(at / 2 + 5));
    else if (chance(3))
      builder_.correlation(static_cast<std::uint64_t>(pick(1, 40)));
  }

  void note(std::int64_t at) {
    LaunchTable& launches = builder_.timeline().launches;
    const RangeTable& ranges = builder_.timeline().ranges;
    if (shape_.notes == RandomShape::Notes::kNone || ranges.size() == 0 || chance(4)) return;
    if (shape_.notes == RandomShape::Notes::kAny) {
      change_last(launches, [&](auto& changed) {
        changed.range = static_cast<RangeIndex>(pick(0, static_cast<int>(ranges.size())));
      });
      return;
    }
    // What a recorder would note: of the ranges that are open or end just now, the one begun last, or one it is nested
    // in.
    std::vector<RangeIndex> open;
    for (RangeIndex row{0}; row < ranges.size(); ++row)
      if (ranges.thread[row] == launches.thread.back() && ranges.begin_ns[row] <= at && at <= ranges.end_ns[row])
        open.push_back(row);
    if (!open.empty())
      change_last(launches, [&](LaunchRow& launch) {
        launch.range =
            open[open.size() - static_cast<std::size_t>(pick(1, std::min<int>(2, static_cast<int>(open.size()))))];
      });
  }

  void add_activities(std::int64_t launched) {
    for (int count = chance(6) ? pick(0, 4) : 1; count > 0; --count) {
      if (count > 1 || chance(5)) builder_.on_stream(pick(7, 9));
      std::int64_t begin = launched + pick(-2, 15);
      if (shape_.in_stream_order) {
        const auto key = std::pair(builder_.timeline().streams.size(), 0);
        begin = std::max(begin, busy_until_[key]);
      }
      const std::int64_t end = begin + (chance(8) ? 0 : pick(0, 12));
      if (shape_.in_stream_order) busy_until_[std::pair(builder_.timeline().streams.size(), 0)] = end;
      if (chance(5))
        builder_.memcpy(begin, end, static_cast<std::uint64_t>(pick(0, 1000)));
      else
        builder_.kernel(begin, end);
      if (chance(40)) change_last(builder_.timeline().activities, [&](auto& changed) { changed.end_ns = begin - 3; });
    }
  }

  void add_nodes() {
    const int engine = chance(2) ? pick(1, threads_) : 0;
    if (engine != 0) {
      builder_.on_process(1).on_thread(engine).engine();
      add_nested_nodes(0, shape_.length_ns, 0);
    }
    for (int count = pick(0, shape_.max_ranges); count > 0; --count) {
      const int process = pick(1, processes_), thread = pick(1, threads_);
      if (process == 1 && thread == engine) continue;
      builder_.on_process(process).on_thread(thread);
      const std::int64_t begin = time(0, shape_.length_ns);
      add_node(begin, chance(6) ? begin : time(begin, shape_.length_ns + 5));
    }
  }
  void add_node(std::int64_t begin, std::int64_t end) {
    if (chance(4))
      builder_.gradient_accumulation(begin, end);
    else
      builder_.node(begin, end, pick(0, 5), pick(1, threads_), time(0, shape_.length_ns));
    if (chance(8)) builder_.made_elsewhere();
  }
  /// As the engine runs them: one after the other, or inside.
  void add_nested_nodes(std::int64_t from, std::int64_t to, int depth) {
    while (from < to && !chance(5)) {
      const std::int64_t begin = time(from + 1, to + 1), end = time(begin, to + 1);
      if (end <= begin) return;
      add_node(begin, end);
      if (depth < 2 && chance(3)) add_nested_nodes(begin + 1, end - 1, depth + 1);
      from = end;
    }
  }

  void add_graphs() {
    Timeline& timeline = builder_.timeline();
    const int launches = static_cast<int>(timeline.launches.size());
    for (ActivityIndex row{0}; row < timeline.activities.size() && launches != 0; ++row) {
      const LaunchIndex made(pick(0, launches - 1));
      // Nothing launches the node that it makes.
      if (chance(2) && made != timeline.activities.launch[row]) timeline.activities.set_captured(row, made);
    }
  }

  void add_windows() {
    for (int count = pick(1, 4); count > 0; --count) {
      const std::int64_t begin = time(0, shape_.length_ns);
      builder_.window(begin, begin + pick(-2, 25));
    }
  }

  void shuffle_activities() {
    if (!chance(2)) return;
    ActivityTable& table = builder_.timeline().activities;
    std::vector<std::size_t> order(table.size());
    for (std::size_t row = 0; row < order.size(); ++row) order[row] = row;
    std::shuffle(order.begin(), order.end(), random_);
    const ActivityTable copy = table;
    for (std::size_t row = 0; row < order.size(); ++row) table.set(row, copy.row(order[row]));
  }

  std::mt19937_64& random_;
  const RandomShape& shape_;
  TimelineBuilder builder_;
  int processes_ = 1;
  int threads_ = 1;
  std::map<std::pair<std::size_t, int>, std::int64_t> busy_until_;
};

}  // namespace

Timeline random_timeline(std::mt19937_64& random, const RandomShape& shape) { return Generator(random, shape).run(); }

}  // namespace rangefinder::testing
