// SPDX-License-Identifier: MIT
#include "projection/membership.hpp"

#include "projection/activity_set.hpp"
#include "projection/overlapping.hpp"
#include "projection/stretch_figures.hpp"

#include <algorithm>

namespace rangefinder::projection {

namespace {

class ByMembership {
 public:
  ByMembership(const RangeOrder& order, const LaunchOrder& launches, ThreadIndex thread,
               std::vector<RangeIndex>& encloser)
      : order_(order),
        launches_(launches),
        ranges_(order.ranges()),
        scoped_(order.scoped(thread)),
        crossing_(order),
        encloser_(encloser) {
    crossing_.begin_thread(launches, thread);
    find_enclosers(order, scoped_, encloser_, [](RangeIndex) { return true; });
  }

  /// The owner of what `launch` caused; `position` is that of the first activity.
  std::uint32_t visit(LaunchIndex launch, std::uint32_t position) {
    const std::int64_t time = launches_.time(launch);
    crossing_.open_until(time, position);
    while (next_ < scoped_.size() && ranges_.begin_ns[scoped_[next_]] <= time) open_.push_back(scoped_[next_++]);
    std::erase_if(open_, [&](RangeIndex range) { return is_over(ranges_.end_ns[range], time, order_.rule()); });

    const RangeIndex noted = launches_.note(launch);
    const bool scoped_note = noted != kNone && order_.is_scoped(noted);
    members_.clear();
    if (!scoped_note) {
      members_ = open_;
    } else {
      for (RangeIndex range = launches_.participant(noted); range != kNone; range = encloser_[range])
        members_.push_back(range);
      std::reverse(members_.begin(), members_.end());
    }
    const bool decided = scoped_note || (noted != kNone && order_.contains(noted, time));
    if (decided && order_.takes_part(noted)) return noted;
    return last_of(crossing_.innermost_before(time, decided ? noted : kNone), decided ? noted : kNone);
  }

  /// The scoped ranges that contain the launch visited last.
  const std::vector<RangeIndex>& members() const noexcept { return members_; }

  const std::vector<Stretch>& stretches() const noexcept { return crossing_.stretches(); }

 private:
  std::uint32_t last_of(RangeIndex crossing, RangeIndex limit) const {
    RangeIndex nested = kNone;
    for (const RangeIndex range : members_)  // in order
      if (limit == kNone || order_.before(range, limit)) nested = range;
    if (nested == kNone && crossing == kNone) return static_cast<std::uint32_t>(Unowned::kOutside);
    if (nested == kNone) return crossing;
    return crossing == kNone || order_.before(crossing, nested) ? nested : crossing;
  }

  const RangeOrder& order_;
  const LaunchOrder& launches_;
  const RangeTable& ranges_;
  std::span<const RangeIndex> scoped_;
  Overlapping crossing_;
  std::vector<RangeIndex>& encloser_;
  std::vector<RangeIndex> open_;
  std::vector<RangeIndex> members_;
  std::size_t next_ = 0;
};

}  // namespace

void project_by_membership(const Timeline& timeline, const RangeOrder& order, const LaunchOrder& launches,
                           ThreadIndex thread, std::vector<RangeIndex>& scratch, Output& output) {
  Projection& projection = output.projection;
  for (const RangeIndex range : order.scoped(thread)) {
    projection.exclusive.set(range, {});
    projection.inclusive.set(range, {});
    output.exclusive_rows.forget_stream(range);
    output.inclusive_rows.forget_stream(range);
  }
  ByMembership by_membership(order, launches, thread, scratch);
  Membership inclusive;
  std::vector<RangeIndex> owners;
  const ActivityOrder activities = launches.of(thread);
  LaunchIndex previous = kNone;
  std::uint32_t owner = kNone;
  for (std::uint32_t position = 0; position < activities.size(); ++position) {
    const LaunchIndex launch = launches.launch_of(activities[position]);
    if (launch != previous) {
      owner = by_membership.visit(launch, position);
      if (owner < timeline.ranges.size() && order.is_scoped(RangeIndex(owner))) owners.push_back(RangeIndex(owner));
    }
    previous = launch;
    projection.owner[activities[position]] = owner;
    if (!output.wants_figures) continue;
    for (const RangeIndex range : by_membership.members()) inclusive.add(range, activities[position]);
  }
  if (!output.wants_figures) return;
  inclusive.each([&](RangeIndex range, std::span<ActivityIndex> inside) {
    projection.inclusive.set(range, figures_of_set(timeline, range, inside, output.inclusive_rows));
  });
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  output.exclusive_by_owner.insert(output.exclusive_by_owner.end(), owners.begin(), owners.end());
  find_stretch_figures(timeline, launches, thread, by_membership.stretches(), output);
  for (const Stretch& stretch : by_membership.stretches()) output.exclusive_by_owner.push_back(stretch.range);
}

void find_members(const RangeOrder& order, const LaunchOrder& launches, ThreadIndex thread,
                  std::vector<RangeIndex>& scratch, Members& members) {
  ByMembership by_membership(order, launches, thread, scratch);
  const ActivityOrder activities = launches.of(thread);
  LaunchIndex previous = kNone;
  for (std::uint32_t position = 0; position < activities.size(); ++position) {
    const LaunchIndex launch = launches.launch_of(activities[position]);
    if (launch != previous) by_membership.visit(launch, position);
    previous = launch;
    for (const RangeIndex range : by_membership.members())
      if (!members.add(range, activities[position])) return;
  }
  for (const Stretch& stretch : by_membership.stretches())
    for (std::uint32_t position = stretch.begin; position < stretch.end; ++position)
      if (!members.add(stretch.range, activities[position])) return;
}

}  // namespace rangefinder::projection
