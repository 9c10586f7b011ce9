// SPDX-License-Identifier: MIT
#include "projection/account.hpp"

#include "projection/figures.hpp"
#include "projection/launch_bounds.hpp"
#include "timeline/graph_launch.hpp"

namespace rangefinder::projection {

namespace {

constexpr auto kOutside = static_cast<std::uint32_t>(Unowned::kOutside);
constexpr auto kBefore = static_cast<std::uint32_t>(Unowned::kBefore);
constexpr auto kUnknown = static_cast<std::uint32_t>(Unowned::kUnknown);

/// All calls, by which LaunchBounds::without_launch() judges.
void add_calls(const Timeline& timeline, LaunchBounds& bounds) {
  for (const EarlierCall& call : timeline.earlier_calls) bounds.add_call(call.process, call.correlation, call.time_ns);
  const LaunchTable& launches = timeline.launches;
  for (std::size_t row = 0; row < launches.size(); ++row)
    if (launches.source[row] != LaunchSource::kUnknown && !timeline::is_node_note_key(launches.correlation[row]))
      bounds.add_call(launches.process[row], launches.correlation[row], launches.time_ns[row]);
  const CallTable& calls = timeline.calls;
  for (std::size_t row = 0; row < calls.size(); ++row)
    if (calls.thread[row] < timeline.threads.size())
      bounds.add_call(timeline.threads[calls.thread[row]].process, calls.correlation[row], calls.begin_ns[row]);
}

void find_before(const Timeline& timeline, Projection& projection, bool any_unknown) {
  const ActivityTable& activities = timeline.activities;
  LaunchBounds bounds(timeline.windows, timeline.clock_error_ns);
  if (any_unknown) add_calls(timeline, bounds);
  for (std::size_t row = 0; row < activities.size(); ++row) {
    std::uint32_t& owner = projection.owner[row];
    if (owner == kUnknown) {
      const DeviceIndex device = timeline.streams[activities.stream[row]].device;
      owner = static_cast<std::uint32_t>(bounds.without_launch(timeline.devices[device].process,
                                                               activities.correlation[row], activities.begin_ns[row]));
    } else if (owner == kOutside) {
      owner = static_cast<std::uint32_t>(bounds.without_range(
          timeline.launches.time_ns[projection.place_of(timeline, static_cast<ActivityIndex>(row))],
          activities.begin_ns[row]));
    }
  }
}

}  // namespace

void settle_account(const Timeline& timeline, Projection& projection) {
  const ActivityTable& activities = timeline.activities;
  bool any_unknown = false;
  for (const std::uint32_t owner : projection.owner) any_unknown = any_unknown || owner == kUnknown;
  if (any_unknown || !timeline.windows.empty()) find_before(timeline, projection, any_unknown);

  Account& account = projection.account;
  for (std::size_t row = 0; row < activities.size(); ++row) {
    const std::uint32_t owner = projection.owner[row];
    const std::int64_t length = Interval(activities.begin_ns[row], activities.end_ns[row]).length();
    Account::Part& part = owner == kUnknown   ? account.unknown
                          : owner == kBefore  ? account.before
                          : owner == kOutside ? account.outside
                                              : account.owned;
    for (Account::Part* counted : {&part, &account.total}) {
      ++counted->gpu_ops;
      counted->gpu_sum_ns = plus(counted->gpu_sum_ns, length);
    }
  }
}

void add_account(Account& to, const Account& more) noexcept {
  for (const auto part : {&Account::total, &Account::owned, &Account::outside, &Account::before, &Account::unknown}) {
    (to.*part).gpu_ops += (more.*part).gpu_ops;
    (to.*part).gpu_sum_ns += (more.*part).gpu_sum_ns;
  }
}

}  // namespace rangefinder::projection
