// SPDX-License-Identifier: MIT
#include "projection/streaming.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace rangefinder::projection {

StreamingProjector::StreamingProjector(ProjectionSink& sink, const StreamingOptions& options)
    : sink_(sink), options_(options), bounds_(options.windows, options.clock_error_ns) {}

template <typename Row>
std::uint32_t StreamingProjector::Pool<Row>::take() {
  if (free.empty()) {
    rows.emplace_back();
    generation.push_back(0);
    return static_cast<std::uint32_t>(rows.size() - 1);
  }
  const std::uint32_t row = free.back();
  free.pop_back();
  return row;
}

template <typename Row>
void StreamingProjector::Pool<Row>::give_back(std::uint32_t row) {
  rows[row] = Row{};
  ++generation[row];
  free.push_back(row);
}

namespace {

// Queues hold on to what is gone until it comes to the front; here they let go of it when it is most of them.
template <typename Entry, typename Alive>
void compact(std::deque<Entry>& queue, std::size_t alive_count, Alive&& alive) {
  constexpr std::size_t kSlack = 1024;
  if (queue.size() > 2 * alive_count + kSlack) std::erase_if(queue, [&](const Entry& entry) { return !alive(entry); });
}

}  // namespace

// ---- ranges -----------------------------------------------------------------------------------------------------

StreamingProjector::Range* StreamingProjector::known(std::uint64_t key) {
  const std::uint32_t row = key == 0 ? FlatMap::kAbsent : range_of_key_.find(key);
  return row == FlatMap::kAbsent ? nullptr : &ranges_.rows[row];
}

// A range may be named by a launch or a child before anything else is known of it.
std::uint32_t StreamingProjector::range_row(std::uint64_t key) {
  std::uint32_t row = range_of_key_.find(key);
  if (row != FlatMap::kAbsent) return row;
  row = ranges_.take();
  ranges_.rows[row].info.key = key;
  ranges_.rows[row].in_use = true;
  range_of_key_.set(key, row);
  return row;
}

void StreamingProjector::register_child(std::uint64_t parent) {
  if (parent != 0 && gone_elsewhere_.count(parent) == 0) ++ranges_.rows[range_row(parent)].open_children;
}

void StreamingProjector::begin_range(const StreamingRange& range) {
  if (range.key == 0) return;
  Range& row = ranges_.rows[range_row(range.key)];
  if (row.begun || row.ended) return;
  row.begun = true;
  row.info = range;
  if (range.start_end) row.info.parent = 0;
  if (range.start_end)
    open_start_end_[range.thread].push_back(range.key);
  else
    register_child(range.parent);
}

void StreamingProjector::end_range(const StreamingRange& range) {
  if (range.key == 0) return;
  Range& row = ranges_.rows[range_row(range.key)];
  if (row.ended) return;
  const bool begun = row.begun;
  const std::uint64_t parent_at_begin = row.info.parent;
  row.ended = true;
  row.info = range;
  if (range.start_end) {
    row.info.parent = 0;
    if (begun) std::erase(open_start_end_[range.thread], range.key);
  } else if (begun) {
    row.info.parent = parent_at_begin;  // which counts it among its children
  } else {
    register_child(range.parent);  // may move `row`
  }
  ended_.push_back(range.key);
  ++waiting_ranges_;
  try_give_out(range.key);
  bound_ranges();
}

void StreamingProjector::try_give_out(std::uint64_t key) {
  for (;;) {
    const std::uint32_t row = key == 0 ? FlatMap::kAbsent : range_of_key_.find(key);
    if (row == FlatMap::kAbsent) return;
    const Range& range = ranges_.rows[row];
    // Of one that ended on another thread, children may still be open that were not announced.
    const bool may_have_children = range.info.ended_elsewhere && !range.info.start_end && !range.begun;
    if (!range.ended || range.pending_launches != 0 || range.open_children != 0 || may_have_children) return;
    const std::uint64_t parent = range.info.parent;
    give_out(row);
    key = parent;
  }
}

void StreamingProjector::give_out(std::uint32_t row) {
  Range range = std::exchange(ranges_.rows[row], Range{});
  range_of_key_.erase(range.info.key);
  ranges_.give_back(row);
  if (range.ended) --waiting_ranges_;
  if (range.info.ended_elsewhere) gone_elsewhere_.insert(range.info.key);
  const bool resolved = range.resolved && range.pending_launches == 0 && range.open_children == 0;
  if (range.info.parent != 0) {
    if (Range* parent = known(range.info.parent); parent != nullptr) {
      parent->tracks.add_inner(range.tracks);
      parent->resolved = parent->resolved && resolved;
      if (parent->open_children > 0) --parent->open_children;
    } else {
      ++counts_.late_ranges;
    }
  }
  result_.range = range.info;
  range.tracks.exclusive(result_.exclusive);
  range.tracks.inclusive(result_.inclusive);
  result_.resolved = resolved && range.ended;
  result_.never_ended = !range.ended;
  sink_.on_projected(result_);
}

void StreamingProjector::bound_ranges() {
  compact(ended_, waiting_ranges_, [this](std::uint64_t key) { return known(key) != nullptr; });
  while (waiting_ranges_ > options_.max_waiting_ranges && !ended_.empty()) {
    const std::uint64_t key = ended_.front();
    ended_.pop_front();
    const std::uint32_t row = range_of_key_.find(key);
    if (row == FlatMap::kAbsent) continue;
    ++counts_.evicted_ranges;
    const std::uint64_t parent = ranges_.rows[row].info.parent;
    give_out(row);
    try_give_out(parent);
  }
}

// ---- launches ---------------------------------------------------------------------------------------------------

template <typename Use>
void StreamingProjector::for_each_range(const Launch& launch, Use&& use) {
  if (launch.info.range != 0) use(launch.info.range, true);
  if (launch.info.scoped != 0 && launch.info.scoped != launch.info.range) use(launch.info.scoped, false);
  for (const std::uint64_t key : launch.others) use(key, false);
}

void StreamingProjector::launch(const StreamingLaunch& info) {
  if (info.correlation == 0) return;  // nothing can refer to it
  bounds_.add_call(ProcessIndex{0}, info.correlation, info.time_ns);
  if (const std::uint32_t old = launch_of_correlation_.find(info.correlation); old != FlatMap::kAbsent) {
    resolve(old, false);  // ids have wrapped around: nothing of the old one will come
    forget(old);
  }
  const std::uint32_t row = launches_.take();
  Launch& launch = launches_.rows[row];
  launch.info = info;
  launch.pending = true;
  if (const auto open = open_start_end_.find(info.thread); open != open_start_end_.end())
    for (const std::uint64_t key : open->second)
      if (key != info.range && known(key)->info.begin_ns <= info.time_ns) launch.others.push_back(key);
  launch_of_correlation_.set(info.correlation, row);
  for_each_range(launch, [&](std::uint64_t key, bool) {
    if (gone_elsewhere_.count(key) != 0)
      ++counts_.late_launches;
    else
      ++ranges_.rows[range_row(key)].pending_launches;
  });
  const Ticket ticket{row, launches_.generation[row]};
  pending_.push_back(ticket);
  ++pending_count_;

  // Activities that came first.
  std::uint32_t first = waiting_of_correlation_.find(info.correlation);
  if (first != FlatMap::kAbsent) waiting_of_correlation_.erase(info.correlation);
  while (first != FlatMap::kAbsent) {
    const StreamingActivity arrived = waiting_.rows[first].activity;
    first = take_first_waiting(first);
    if (launches_.generation[row] == ticket.generation) deliver(row, arrived);
  }
  bound_launches();
}

void StreamingProjector::deliver(std::uint32_t launch_row, const StreamingActivity& activity) {
  Launch& launch = launches_.rows[launch_row];
  const Interval interval(activity.begin_ns, activity.end_ns);
  const std::int64_t delay = minus(activity.begin_ns, launch.info.time_ns);
  if (launch.info.range == 0) {
    count_unowned(activity, bounds_.without_range(launch.info.time_ns, activity.begin_ns));
  } else {
    for (Account::Part* part : {&account_.owned, &account_.total}) {
      ++part->gpu_ops;
      part->gpu_sum_ns = plus(part->gpu_sum_ns, interval.length());
    }
  }
  sink_.on_joined(launch.info, activity);
  bool late = false;
  for_each_range(launch, [&](std::uint64_t key, bool own) {
    if (Range* range = known(key); range != nullptr)
      range->tracks.add(activity.place, interval, activity.bytes, delay, own);
    else
      late = true;
  });
  counts_.late_activities += late ? 1 : 0;
  ++launch.arrived;
  const bool all = launch.info.activities != 0 && launch.arrived >= launch.info.activities;
  if (launch.pending && all && !launch.info.may_cause_more) resolve(launch_row, true);
}

void StreamingProjector::complete(std::uint64_t correlation) {
  const std::uint32_t row = launch_of_correlation_.find(correlation);
  if (row != FlatMap::kAbsent) resolve(row, true);
}

// Its ranges wait for it no longer. It is remembered for a while.
void StreamingProjector::resolve(std::uint32_t launch_row, bool complete) {
  Launch& launch = launches_.rows[launch_row];
  if (!launch.pending) return;
  launch.pending = false;
  --pending_count_;
  const bool missing =
      !complete && launch.arrived < std::max(launch.info.activities, 1u) && launch.info.activities != 0;
  counts_.abandoned_launches += missing ? 1 : 0;
  remembered_.push_back({launch_row, launches_.generation[launch_row]});
  std::vector<std::uint64_t> keys;
  for_each_range(launch, [&](std::uint64_t key, bool) { keys.push_back(key); });
  for (const std::uint64_t key : keys) {
    Range* range = known(key);
    if (range == nullptr) continue;
    if (range->pending_launches > 0) --range->pending_launches;
    range->resolved = range->resolved && !missing;
    try_give_out(key);
  }
  while (remembered_.size() > options_.max_remembered_launches) {
    const Ticket oldest = remembered_.front();
    remembered_.pop_front();
    if (launches_.generation[oldest.row] == oldest.generation) forget(oldest.row);
  }
}

std::uint64_t StreamingProjector::parent_of(std::uint64_t key) const noexcept {
  const std::uint32_t row = range_of_key_.find(key);
  return row == FlatMap::kAbsent ? 0 : ranges_.rows[row].info.parent;
}

std::int64_t StreamingProjector::launch_time(std::uint64_t correlation) const noexcept {
  const std::uint32_t row = launch_of_correlation_.find(correlation);
  return row == FlatMap::kAbsent ? kNoTime : launches_.rows[row].info.time_ns;
}

void StreamingProjector::forget(std::uint32_t launch_row) {
  const std::uint64_t correlation = launches_.rows[launch_row].info.correlation;
  if (launch_of_correlation_.find(correlation) == launch_row) launch_of_correlation_.erase(correlation);
  launches_.give_back(launch_row);
}

void StreamingProjector::bound_launches() {
  compact(pending_, pending_count_, [this](Ticket ticket) { return is_pending(ticket); });
  while (pending_count_ > options_.max_pending_launches && !pending_.empty()) {
    const Ticket oldest = pending_.front();
    pending_.pop_front();
    if (is_pending(oldest)) resolve(oldest.row, false);
  }
}

std::int64_t StreamingProjector::oldest_pending_ns() const noexcept {
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  for (const Ticket ticket : pending_)
    if (is_pending(ticket)) oldest = std::min(oldest, launches_.rows[ticket.row].info.time_ns);
  return oldest;
}

void StreamingProjector::settle(std::int64_t time_ns) {
  std::deque<Ticket> later;
  for (const Ticket ticket : std::exchange(pending_, {})) {
    if (!is_pending(ticket)) continue;
    if (launches_.rows[ticket.row].info.time_ns < time_ns)
      resolve(ticket.row, true);
    else
      later.push_back(ticket);
  }
  pending_ = std::move(later);
}

void StreamingProjector::window(const Window& window) { bounds_.add_window(window); }

void StreamingProjector::call(std::uint64_t correlation, std::int64_t time_ns) {
  bounds_.add_call(ProcessIndex{0}, correlation, time_ns);
}

// ---- activities -------------------------------------------------------------------------------------------------

void StreamingProjector::activity(const StreamingActivity& activity) {
  if (activity.correlation == 0) return count_unowned(activity, Unowned::kUnknown);
  if (const std::uint32_t row = launch_of_correlation_.find(activity.correlation); row != FlatMap::kAbsent)
    return deliver(row, activity);
  const std::uint32_t row = waiting_.take();
  waiting_.rows[row].activity = activity;
  const std::uint32_t first = waiting_of_correlation_.find(activity.correlation);
  if (first == FlatMap::kAbsent) {
    waiting_of_correlation_.set(activity.correlation, row);
    waiting_.rows[row].last = row;
  } else {
    waiting_.rows[waiting_.rows[first].last].next = row;
    waiting_.rows[first].last = row;
  }
  waiting_order_.push_back({row, waiting_.generation[row]});
  ++waiting_count_;
  bound_activities();
}

// Gives the row back; what follows it is first then.
std::uint32_t StreamingProjector::take_first_waiting(std::uint32_t first) {
  const std::uint32_t next = waiting_.rows[first].next;
  if (next != FlatMap::kAbsent) waiting_.rows[next].last = waiting_.rows[first].last;
  waiting_.give_back(first);
  --waiting_count_;
  return next;
}

void StreamingProjector::count_unowned(const StreamingActivity& activity, Unowned why) {
  Account::Part& part = why == Unowned::kUnknown  ? account_.unknown
                        : why == Unowned::kBefore ? account_.before
                                                  : account_.outside;
  const std::int64_t length = Interval(activity.begin_ns, activity.end_ns).length();
  for (Account::Part* counted : {&part, &account_.total}) {
    ++counted->gpu_ops;
    counted->gpu_sum_ns = plus(counted->gpu_sum_ns, length);
  }
}

void StreamingProjector::bound_activities() {
  compact(waiting_order_, waiting_count_, [this](Ticket ticket) { return is_waiting(ticket); });
  while (waiting_count_ > options_.max_waiting_activities) {
    if (is_waiting(waiting_order_.front())) ++counts_.evicted_activities;
    drop_oldest_activity();
  }
}

void StreamingProjector::drop_oldest_activity() {
  const Ticket oldest = waiting_order_.front();
  waiting_order_.pop_front();
  if (!is_waiting(oldest)) return;
  const StreamingActivity dropped = waiting_.rows[oldest.row].activity;
  const std::uint32_t next = take_first_waiting(oldest.row);  // the oldest of all is the first of its list
  if (next == FlatMap::kAbsent)
    waiting_of_correlation_.erase(dropped.correlation);
  else
    waiting_of_correlation_.set(dropped.correlation, next);
  count_unowned(dropped, bounds_.without_launch(ProcessIndex{0}, dropped.correlation, dropped.begin_ns));
}

void StreamingProjector::finish() {
  while (!waiting_order_.empty()) drop_oldest_activity();
  for (const Ticket ticket : std::exchange(pending_, {}))
    if (is_pending(ticket)) resolve(ticket.row, false);
  // What is left waits for ranges inside it that never end, or may have such. Younger ones first: they are inside.
  std::vector<std::uint64_t> left;
  for (const Range& range : ranges_.rows)
    if (range.in_use) left.push_back(range.info.key);
  std::sort(left.begin(), left.end(), std::greater<>());
  for (const std::uint64_t key : left)
    if (const std::uint32_t row = range_of_key_.find(key); row != FlatMap::kAbsent) give_out(row);
}

}  // namespace rangefinder::projection
