// SPDX-License-Identifier: MIT
#include "projection/stretch_figures.hpp"

#include "projection/coverage.hpp"
#include "projection/figures.hpp"

#include <algorithm>
#include <numeric>

namespace rangefinder::projection {

namespace {

/// Sums over suffixes of values that change.
class SuffixSums {
 public:
  explicit SuffixSums(std::size_t size) : tree_(size + 1, 0) {}
  void add(std::size_t index, std::int64_t value) {
    for (std::size_t node = tree_.size() - 1 - index; node < tree_.size(); node += node & (0 - node))
      tree_[node] = plus(tree_[node], value);
  }
  /// From `index` on.
  std::int64_t from(std::size_t index) const {
    std::int64_t sum = 0;
    for (std::size_t node = tree_.size() - 1 - index; node > 0; node -= node & (0 - node)) sum = plus(sum, tree_[node]);
    return sum;
  }

 private:
  std::vector<std::int64_t> tree_;  // mirrored: node 1 is the last index
};

/// The best value of every suffix of a sequence that grows.
template <typename Better>
class SuffixBest {
 public:
  void push(std::uint32_t index, std::int64_t value) {
    while (!stack_.empty() && !Better{}(stack_.back().value, value)) stack_.pop_back();
    stack_.push_back({index, value});
  }
  std::int64_t from(std::uint32_t index) const {
    return std::partition_point(stack_.begin(), stack_.end(), [index](const Best& best) { return best.index < index; })
        ->value;
  }

 private:
  struct Best {
    std::uint32_t index;
    std::int64_t value;
  };
  std::vector<Best> stack_;
};

/// A question about activities [begin, end) of one track, begin < end, and its answer.
struct Question {
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t stretch;
  StreamIndex stream;
  Tally tally;
  std::int64_t busy;
};

/// The activities of a thread in launch order.
struct Launched {
  std::vector<Interval> intervals;
  std::vector<StreamIndex> streams;
  std::vector<std::uint64_t> bytes;  // of those before each activity; last, of all
  std::vector<std::int64_t> delay;   // likewise
};

Launched gather(const Timeline& timeline, const LaunchOrder& launches, ThreadIndex thread) {
  const ActivityTable& table = timeline.activities;
  Launched all;
  all.bytes = {0};
  all.delay = {0};
  const ActivityOrder activities = launches.of(thread);
  for (std::uint32_t position = 0; position < activities.size(); ++position) {
    const ActivityIndex activity = activities[position];
    const Interval interval(table.begin_ns[activity], table.end_ns[activity]);
    const std::int64_t launched = launches.launched(activity);
    all.intervals.push_back(interval);
    all.streams.push_back(table.stream[activity]);
    all.bytes.push_back(all.bytes.back() + table.bytes[activity]);
    all.delay.push_back(plus(all.delay.back(), minus(interval.begin, launched)));
  }
  return all;
}

/// Answers the questions about one track, whose activities are `members` (positions in `all`).
void answer(const Launched& all, const std::vector<std::uint32_t>& members, std::vector<Question>& questions) {
  std::sort(questions.begin(), questions.end(), [](const Question& a, const Question& b) { return a.end < b.end; });
  SuffixSums covered(members.size());
  SuffixBest<std::less<>> first;
  SuffixBest<std::greater<>> last;
  Coverage coverage;
  std::vector<std::int64_t> sum(members.size() + 1, 0);
  std::uint32_t index = 0;
  for (Question& question : questions) {
    for (; index < question.end; ++index) {
      const Interval& interval = all.intervals[members[index]];
      covered.add(index, interval.length());
      coverage.cover(interval.begin, interval.end, index,
                     [&](std::uint32_t earlier, std::int64_t length) { covered.add(earlier, minus(0, length)); });
      first.push(index, interval.begin);
      last.push(index, interval.end);
      sum[index + 1] = plus(sum[index], interval.length());
    }
    question.tally.ops = question.end - question.begin;
    question.tally.sum = minus(sum[question.end], sum[question.begin]);
    question.tally.first = first.from(question.begin);
    question.tally.last = last.from(question.begin);
    question.busy = covered.from(question.begin);
  }
}

/// One way of grouping activities into tracks: by stream, by device, all together.
template <typename TrackOf, typename Use>
void ask_by(const Launched& all, const std::vector<Stretch>& stretches, std::size_t track_count, TrackOf&& track_of,
            Use&& use) {
  std::vector<std::vector<std::uint32_t>> members(track_count);
  for (std::uint32_t position = 0; position < all.streams.size(); ++position)
    members[track_of(all.streams[position])].push_back(position);
  std::vector<std::uint32_t> used;
  for (std::uint32_t track = 0; track < track_count; ++track)
    if (!members[track].empty()) used.push_back(track);

  std::vector<std::vector<Question>> questions(track_count);
  std::vector<std::uint32_t> seen(track_count, kNone);
  const auto ask = [&](std::uint32_t track, std::uint32_t stretch, std::uint32_t from, std::uint32_t to) {
    const auto& positions = members[track];
    const auto begin = std::lower_bound(positions.begin(), positions.end(), from);
    const auto end = std::lower_bound(begin, positions.end(), to);
    if (begin == end) return;
    questions[track].push_back({static_cast<std::uint32_t>(begin - positions.begin()),
                                static_cast<std::uint32_t>(end - positions.begin()),
                                stretch,
                                StreamIndex(track),
                                {},
                                0});
  };
  for (std::uint32_t index = 0; index < stretches.size(); ++index) {
    const auto [range, from, to] = stretches[index];
    if (to - from >= used.size()) {
      for (const std::uint32_t track : used) ask(track, index, from, to);
      continue;
    }
    for (std::uint32_t position = from; position < to; ++position) {  // fewer activities than tracks
      const std::uint32_t track = track_of(all.streams[position]);
      if (seen[track] == index) continue;
      seen[track] = index;
      ask(track, index, from, to);
    }
  }
  for (const std::uint32_t track : used) {
    answer(all, members[track], questions[track]);
    for (const Question& question : questions[track]) use(question);
  }
}

}  // namespace

void find_stretch_figures(const Timeline& timeline, const LaunchOrder& launches, ThreadIndex thread,
                          const std::vector<Stretch>& stretches, Output& output) {
  if (stretches.empty()) return;
  const Launched all = gather(timeline, launches, thread);
  std::vector<DeviceFigures> figures(stretches.size());
  ask_by(
      all, stretches, timeline.streams.size(), [](StreamIndex stream) { return stream; },
      [&](const Question& question) {
        add_tally(figures[question.stretch], question.tally);
        output.inclusive_rows.add(
            stream_figures(stretches[question.stretch].range, question.stream, question.tally, question.busy));
      });
  ask_by(
      all, stretches, timeline.devices.size(), [&](StreamIndex stream) { return timeline.streams[stream].device; },
      [&](const Question& question) {
        DeviceFigures& of_range = figures[question.stretch];
        of_range.gpu_busy_ns = plus(of_range.gpu_busy_ns, question.busy);
      });
  ask_by(
      all, stretches, 1, [](StreamIndex) { return 0u; },
      [&](const Question& question) { figures[question.stretch].any_busy_ns = question.busy; });
  for (std::size_t index = 0; index < stretches.size(); ++index) {
    const auto [range, from, to] = stretches[index];
    figures[index].bytes = all.bytes[to] - all.bytes[from];
    figures[index].launch_delay_ns = minus(all.delay[to], all.delay[from]);
    output.projection.inclusive.set(range, figures[index]);
  }
}

}  // namespace rangefinder::projection
