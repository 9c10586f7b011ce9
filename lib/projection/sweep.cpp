// SPDX-License-Identifier: MIT
#include "projection/sweep.hpp"

namespace rangefinder::projection {

namespace {
constexpr auto kOutsideOfRanges = static_cast<std::uint32_t>(Unowned::kOutside);
}

bool Sweep::run(ThreadIndex thread) {
  const ActivityOrder activities = launches_.of(thread);
  const std::uint32_t count = activities.size();
  scoped_ = order_.scoped(thread);
  next_ = 0;
  look_at_next();
  has_notes_ = launches_.has_notes(thread);
  has_start_end_ = !order_.start_end(thread).empty();
  contradiction_ = false;
  overlapping_.begin_thread(launches_, thread);
  figures_.begin_thread(thread);
  LaunchIndex launch = kNone;
  std::uint32_t owner = kNone;
  for (std::uint32_t position = 0; position < count; ++position) {
    const ActivityIndex activity = activities[position];
    if (launches_.launch_of(activity) != launch) {
      launch = launches_.launch_of(activity);
      owner = visit(launch, position);
      if (contradiction_) {
        figures_.abandon_thread();
        return false;
      }
    }
    figures_.add(activity, launches_.launched(activity), owner);
  }
  while (figures_.depth() > 0) figures_.close();
  return true;
}

std::uint32_t Sweep::visit(LaunchIndex launch, std::uint32_t position) {
  const std::int64_t time = launches_.time(launch);
  if (has_start_end_) overlapping_.open_until(time, position);
  const RangeIndex noted = has_notes_ ? launches_.note(launch) : kNone;
  if (noted == kNone) {
    open_until(time, position);
    close_until(time);
    return owner_by_time(time);
  }
  if (noted == figures_.top() && time <= next_begin_ && time <= top_end()) return noted;
  if (order_.is_scoped(noted)) {
    if (!go_to_noted(launches_.participant(noted), time, position)) contradiction_ = true;
    return order_.takes_part(noted) ? noted : owner_before(noted, time);
  }
  // A start/end range is judged by time like all of its kind; a note of one only settles who owns.
  open_until(time, position);
  close_until(time);
  if (!order_.contains(noted, time)) return owner_by_time(time);
  return order_.takes_part(noted) ? noted : owner_before(noted, time);
}

void Sweep::open_until(std::int64_t time, std::uint32_t position) {
  while (next_has_begun(time)) open_next(time, position);
}

void Sweep::close_until(std::int64_t time) {
  while (figures_.depth() > 0 && is_over(top_end(), time, order_.rule())) figures_.close();
}

// `time` is that of the launch of the activity at `position`, the first that the range can contain.
void Sweep::open_next(std::int64_t time, std::uint32_t position) {
  const RangeIndex range = scoped_[next_++];
  look_at_next();
  const std::int64_t begin = ranges_.begin_ns[range];
  const std::int64_t end = ranges_.end_ns[range];
  if (is_over(end, time, order_.rule()) && !(has_notes_ && end == time)) return;  // no launch inside
  close_until(begin);
  while (figures_.depth() > 0 && top_end() < end) {
    // Still open where this one begins, and ends before it: they cross. Closed ends that only touch do not, unless
    // there is a launch at that very time, which then lies in both.
    if (begin < time && top_end() == begin) {
      figures_.close();
      continue;
    }
    contradiction_ = contradiction_ || has_notes_;
    overlapping_.open(range, position);
    return;
  }
  figures_.open(range);
}

// The recorder knows in which range a launch was, whatever the clock's resolution makes of it. Everything before `time`
// has happened; of what happens at `time` itself only as much has as leads to the noted range.
bool Sweep::go_to_noted(RangeIndex target, std::int64_t time, std::uint32_t position) {
  while (next_ < scoped_.size() && next_begin_ < time) open_next(time, position);
  while (figures_.depth() > 0 && top_end() < time) figures_.close();
  while (figures_.top() != target) {
    const bool can_open = next_has_begun(time);
    const bool nothing_open = figures_.depth() == 0;
    if (can_open && (nothing_open || top_end() >= order_.enclosing_end(scoped_[next_])))
      open_next(time, position);
    else if (!nothing_open && is_over(top_end(), time, order_.rule()))
      figures_.close();
    else
      return false;
  }
  return true;
}

std::uint32_t Sweep::owner_by_time(std::int64_t time) noexcept {
  const RangeIndex nested = figures_.top();
  const RangeIndex crossing = overlapping_.innermost(time);
  if (nested == kNone && crossing == kNone) return kOutsideOfRanges;
  if (nested == kNone) return crossing;
  return crossing == kNone || order_.before(crossing, nested) ? nested : crossing;
}

std::uint32_t Sweep::owner_before(RangeIndex limit, std::int64_t time) noexcept {
  std::size_t levels = figures_.depth();
  while (levels > 0 && !order_.before(figures_.at(levels - 1), limit)) --levels;
  const RangeIndex nested = levels == 0 ? kNone : figures_.at(levels - 1);
  const RangeIndex crossing = overlapping_.innermost_before(time, limit);
  if (nested == kNone && crossing == kNone) return kOutsideOfRanges;
  if (crossing != kNone && (nested == kNone || order_.before(nested, crossing))) return crossing;
  if (levels < figures_.depth()) figures_.owns_from_outside(levels - 1);
  return nested;
}

}  // namespace rangefinder::projection
