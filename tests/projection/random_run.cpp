// SPDX-License-Identifier: MIT
#include "projection/random_run.hpp"

#include "support/timeline_builder.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace rangefinder::testing {

namespace {

class RunGenerator {
 public:
  RunGenerator(std::mt19937_64& random, const RandomRunShape& shape) : random_(random), shape_(shape) {}

  RandomRun run() {
    run_.threads.resize(static_cast<std::size_t>(shape_.threads));
    threads_.resize(run_.threads.size());
    builder_.correlation(first_id_);
    for (int thread = 0; thread < shape_.threads; ++thread) builder_.on_thread(thread + 1);
    for (int event = 0; event < shape_.events; ++event) step();
    for (thread_ = 0; thread_ < threads_.size(); ++thread_) {
      while (!threads_[thread_].scoped.empty()) end(threads_[thread_].scoped.back());
      while (!threads_[thread_].start_end.empty()) end(threads_[thread_].start_end.back());
    }
    for (int lost = pick(0, 4); lost > 0; --lost) lost_activity();
    if (shape_.windows)
      for (int count = pick(1, 3); count > 0; --count) {
        const std::int64_t begin = pick(0, static_cast<int>(now_));
        builder_.window(begin, begin + pick(0, 200));
      }
    run_.timeline = builder_.build();
    return std::move(run_);
  }

 private:
  struct Thread {
    std::vector<std::uint64_t> scoped;
    std::vector<std::uint64_t> start_end;
  };
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  std::int64_t tick() { return now_ += pick(1, 4); }
  std::vector<RandomRun::Event>& events() { return run_.threads[thread_]; }

  void step() {
    thread_ = static_cast<std::size_t>(pick(0, shape_.threads - 1));
    Thread& thread = threads_[thread_];
    const int what = pick(1, 12);
    if (what <= 3 && thread.scoped.size() < 6) return begin(false);
    if (what <= 5 && !thread.scoped.empty()) return end(thread.scoped.back());
    if (what == 6 && shape_.start_end && thread.start_end.size() < 4) return begin(true);
    if (what == 7 && !thread.start_end.empty())
      return end(thread.start_end[static_cast<std::size_t>(pick(0, static_cast<int>(thread.start_end.size()) - 1))]);
    if (what == 8) return call();
    launch();
  }

  void begin(bool start_end) {
    Thread& thread = threads_[thread_];
    projection::StreamingRange range;
    range.key = builder_.timeline().ranges.size() + 1;
    range.parent = start_end || thread.scoped.empty() ? 0 : thread.scoped.back();
    range.begin_ns = tick();
    range.thread = static_cast<std::uint32_t>(thread_);
    range.start_end = start_end;
    range.tag = range.key * 3;
    builder_.on_thread(static_cast<std::int64_t>(thread_) + 1)
        .range("r" + std::to_string(range.key), range.begin_ns, 0);
    if (start_end) builder_.start_end();
    (start_end ? thread.start_end : thread.scoped).push_back(range.key);
    begun_[range.key] = range;
    events().push_back({RandomRun::Event::Kind::kBegin, range, {}});
  }

  void end(std::uint64_t key) {
    Thread& thread = threads_[thread_];
    projection::StreamingRange range = begun_[key];
    range.end_ns = tick();
    change_row(builder_.timeline().ranges, key - 1, [&](auto& changed) { changed.end_ns = range.end_ns; });
    std::erase(thread.scoped, key);
    std::erase(thread.start_end, key);
    events().push_back({RandomRun::Event::Kind::kEnd, range, {}});
  }

  void call() {
    const std::int64_t begin = tick();
    builder_.on_thread(static_cast<std::int64_t>(thread_) + 1).call("cudaEventQuery", begin, begin + 1);
    RandomRun::Event event{RandomRun::Event::Kind::kCall, {}, {}};
    event.launch.correlation = builder_.timeline().calls.correlation.back();
    event.launch.time_ns = begin;
    events().push_back(event);
  }

  void launch() {
    const Thread& thread = threads_[thread_];
    const std::uint64_t scoped = thread.scoped.empty() ? 0 : thread.scoped.back();
    const std::uint64_t start_end = thread.start_end.empty() ? 0 : thread.start_end.back();
    projection::StreamingLaunch launch;
    launch.time_ns = tick();
    launch.thread = static_cast<std::uint32_t>(thread_);
    launch.range = std::max(scoped, start_end);
    launch.scoped = scoped;
    builder_.on_thread(static_cast<std::int64_t>(thread_) + 1).launch(launch.time_ns);
    launch.correlation = builder_.timeline().launches.correlation.back();
    change_last(builder_.timeline().launches, [&](auto& changed) {
      changed.range = launch.range == 0 ? kNone : static_cast<RangeIndex>(launch.range - 1);
    });
    const int caused = chance(5) ? pick(0, 4) : 1;
    launch.activities = chance(6) ? 0 : static_cast<std::uint32_t>(std::max(caused, 1));
    run_.unmet_launches += caused == 0 && launch.activities != 0 ? 1 : 0;
    for (int count = 0; count < caused; ++count) activity(launch.correlation, launch.time_ns);
    events().push_back({RandomRun::Event::Kind::kLaunch, {}, launch});
  }

  void activity(std::uint64_t correlation, std::int64_t launched) {
    projection::StreamingActivity activity;
    activity.correlation = correlation;
    const int stream = pick(0, 3);
    builder_.on_device(static_cast<std::uint32_t>(stream / 2)).on_stream(stream);
    activity.place.device = static_cast<std::uint32_t>(stream / 2);
    std::int64_t& idle_from = idle_from_[stream];
    activity.begin_ns = launched + pick(1, 25);
    if (shape_.in_stream_order) activity.begin_ns = std::max(activity.begin_ns, idle_from);
    activity.end_ns = activity.begin_ns + pick(0, 15);
    idle_from = activity.end_ns;
    activity.bytes = chance(3) ? static_cast<std::uint64_t>(pick(1, 100)) : 0;
    builder_.memcpy(activity.begin_ns, activity.end_ns, activity.bytes);
    activity.place.stream = builder_.timeline().activities.stream.back();
    run_.activities.push_back(activity);
  }

  void lost_activity() {
    const std::uint64_t ids = builder_.timeline().launches.size() + builder_.timeline().calls.size();
    const std::uint64_t id = chance(4) ? 0 : first_id_ - 3 + static_cast<std::uint64_t>(pick(0, 6));
    for (const std::uint64_t known : builder_.timeline().launches.correlation)
      if (known == id) return;
    builder_.without_launch(id);
    activity(id, pick(0, static_cast<int>(now_ + ids)));
  }

  std::mt19937_64& random_;
  const RandomRunShape& shape_;
  const std::uint64_t first_id_ = 100;
  RandomRun run_;
  TimelineBuilder builder_;
  std::size_t thread_ = 0;
  std::vector<Thread> threads_;
  std::map<std::uint64_t, projection::StreamingRange> begun_;
  std::int64_t now_ = 0;
  std::map<int, std::int64_t> idle_from_;
};

}  // namespace

RandomRun random_run(std::mt19937_64& random, const RandomRunShape& shape) { return RunGenerator(random, shape).run(); }

}  // namespace rangefinder::testing
