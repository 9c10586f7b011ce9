// SPDX-License-Identifier: MIT
#include "importer/capture/host_alignment.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace rangefinder::importer {
namespace {

// Fewer say too little about whether they belong together at all.
constexpr std::size_t kFewestMatched = 8;
// Where the recordings of two ranks do not begin with the same collective: so many are tried to find the one that does.
constexpr std::size_t kMaxSkipped = 64;
constexpr std::size_t kTried = 256;  // collectives, in each of those places
constexpr std::size_t kMaxKnots = 1024;
constexpr std::int64_t kLeastGap = 1000;                     // ns between knots: no line is steep
constexpr std::int64_t kLeaveWithin = 100'000;               // ns, more than a ring takes to let all of its ranks go
constexpr std::int64_t kBelievable = std::int64_t{1} << 60;  // ns; sums of a few such times do not overflow

/// Of NCCL and RCCL: those that no rank leaves before all have come. A broadcast's root may, and a pair's sender.
enum class Operation : std::uint8_t { kAllReduce, kAllGather, kReduceScatter };

struct Collective {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  Operation operation;
};

/// Of one stream of one process, in order: a communicator's collectives run on one stream.
using Sequence = std::vector<Collective>;

std::optional<Operation> operation_of(std::string_view kernel) noexcept {
  if (!kernel.starts_with("ncclDevKernel_") && !kernel.starts_with("ncclKernel_")) return std::nullopt;
  kernel.remove_prefix(kernel.find('_') + 1);
  if (kernel.starts_with("AllReduce")) return Operation::kAllReduce;
  if (kernel.starts_with("AllGather")) return Operation::kAllGather;
  if (kernel.starts_with("ReduceScatter")) return Operation::kReduceScatter;
  return std::nullopt;
}

/// By process.
std::vector<std::vector<Sequence>> sequences(const Timeline& timeline) {
  std::map<StringId, std::optional<Operation>> operations;
  std::map<StreamIndex, Sequence> by_stream;
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.kind[row] != ActivityKind::kKernel) continue;
    const auto [found, added] = operations.try_emplace(activities.name[row]);
    if (added) found->second = operation_of(timeline.text(activities.name[row]));
    const std::int64_t begin = activities.begin_ns[row], end = activities.end_ns[row];
    if (found->second && begin > -kBelievable && end < kBelievable)
      by_stream[activities.stream[row]].push_back({begin, end, *found->second});
  }
  std::vector<std::vector<Sequence>> all(timeline.processes.size());
  for (auto& [stream, sequence] : by_stream) {
    std::sort(sequence.begin(), sequence.end(),
              [](const Collective& a, const Collective& b) { return a.begin_ns < b.begin_ns; });
    all[timeline.devices[timeline.streams[stream].device].process].push_back(std::move(sequence));
  }
  return all;
}

/// Collectives that may be of one communicator.
struct Common {
  std::vector<ShiftBound> bounds;
  std::vector<HostShift::Knot> ends;  ///< the difference, if ranks left at the same moment, as they nearly do
};

/// What each says if `first` and `second` are the same ones, rank by rank; nothing where they cannot be.
Common common_of(std::span<const Collective> first, std::span<const Collective> second) {
  const std::size_t both = std::min(first.size(), second.size());
  Common common;
  for (std::size_t i = 0; i < both; ++i) {
    const Collective &a = first[i], &b = second[i];
    if (a.operation != b.operation) return {};
    common.bounds.push_back({b.begin_ns + (b.end_ns - b.begin_ns) / 2, a.begin_ns - b.end_ns, a.end_ns - b.begin_ns});
    common.ends.push_back({common.bounds.back().time_ns, a.end_ns - b.end_ns});
  }
  if (both < kFewestMatched || !tighten(common.bounds)) return {};
  return common;
}

std::int64_t middle(const ShiftBound& bound) noexcept { return bound.least_ns + (bound.most_ns - bound.least_ns) / 2; }

/// As many of one as of the other are the same ones. Else one recording began later, or ended earlier: of the places
/// where it fits, the one that the wall clocks are nearest to.
Common match(std::span<const Collective> first, std::span<const Collective> second) {
  if (first.size() == second.size()) return common_of(first, second);
  std::span<const Collective> best_first, best_second;
  std::int64_t nearest = 0;
  const auto attempt = [&](std::size_t skip_first, std::size_t skip_second) {
    if (skip_first >= first.size() || skip_second >= second.size()) return;
    const auto a = first.subspan(skip_first), b = second.subspan(skip_second);
    const std::vector<ShiftBound> bounds =
        common_of(a.first(std::min(a.size(), kTried)), b.first(std::min(b.size(), kTried))).bounds;
    if (bounds.empty()) return;
    const std::int64_t distance = std::abs(middle(bounds.front()));
    if (!best_first.empty() && distance >= nearest) return;
    nearest = distance;
    best_first = a, best_second = b;
  };
  for (std::size_t skip = 0; skip <= kMaxSkipped; ++skip) {
    attempt(skip, 0);
    if (skip != 0) attempt(0, skip);
  }
  return common_of(best_first, best_second);
}

std::int64_t drift_in(std::int64_t ns) noexcept {
  return static_cast<std::int64_t>(static_cast<__int128>(ns) * kMaxDrift / 1'000'000'000) + 1;
}

/// A line through the middles of tight bounds, and how far the truth may be from it. Between two knots it may be off by
/// what the clocks drift on half of the way, beyond what it is at the knots.
void draw_line(const std::vector<ShiftBound>& bounds, HostAlignment& alignment) {
  const std::size_t stride = (bounds.size() + kMaxKnots - 1) / kMaxKnots;
  std::int64_t widest_gap = 0;
  for (std::size_t i = 0; i < bounds.size(); i += stride) {
    const ShiftBound& bound = bounds[i];
    if (!alignment.knots.empty()) {
      const std::int64_t gap = bound.time_ns - alignment.knots.back().time_ns;
      if (gap < kLeastGap) continue;
      widest_gap = std::max(widest_gap, gap);
    }
    alignment.knots.push_back({bound.time_ns, middle(bound)});
    alignment.error_ns = std::max(alignment.error_ns, (bound.most_ns - bound.least_ns + 1) / 2);
  }
  alignment.error_ns += drift_in(widest_gap / 2);
}

/// Ranks that wait for each other leave at about the same moment, by a line that goes through what is common to all.
bool leave_together(const std::vector<HostShift::Knot>& ends, const HostShift& shift, std::int64_t error_ns) {
  std::vector<std::int64_t> off;
  for (const HostShift::Knot& end : ends) off.push_back(std::abs(end.shift_ns - shift.at(end.time_ns)));
  const auto median = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::nth_element(off.begin(), median, off.end());
  return *median <= error_ns + kLeaveWithin;
}

/// Collectives of one communicator agree with each other. Those of two that were taken for one (each host has a group
/// of its own) contradict themselves, and are left out. Where the hosts work in lockstep they may not; then they
/// contradict the common ones, or have the hosts leave those apart. Which are the common ones cannot be told, and
/// nothing is claimed.
HostAlignment compare(std::span<const std::vector<Sequence>* const> reference,
                      std::span<const std::vector<Sequence>* const> other) {
  HostAlignment alignment;
  std::vector<Common> agreeing;
  for (const std::vector<Sequence>* first : reference) {
    for (const std::vector<Sequence>* second : other) {
      for (const Sequence& a : *first) {
        for (const Sequence& b : *second) {
          if (a.size() < kFewestMatched || b.size() < kFewestMatched) continue;
          Common common = match(a, b);
          if (!common.bounds.empty())
            agreeing.push_back(std::move(common));
          else
            alignment.contradiction = true;
        }
      }
    }
  }
  std::vector<ShiftBound> all;
  for (const Common& common : agreeing) all.insert(all.end(), common.bounds.begin(), common.bounds.end());
  if (all.empty()) return alignment;
  HostAlignment nothing;
  nothing.contradiction = true;
  if (!tighten(all)) return nothing;
  draw_line(all, alignment);
  alignment.matched = all.size();
  HostShift shift;
  shift.set_knots(alignment.knots);
  const auto together = [&](const Common& common) { return leave_together(common.ends, shift, alignment.error_ns); };
  return std::all_of(agreeing.begin(), agreeing.end(), together) ? alignment : nothing;
}

}  // namespace

bool tighten(std::vector<ShiftBound>& bounds) {
  std::sort(bounds.begin(), bounds.end(),
            [](const ShiftBound& a, const ShiftBound& b) { return a.time_ns < b.time_ns; });
  const auto take = [](ShiftBound& to, const ShiftBound& from, std::int64_t apart_ns) {
    const std::int64_t slack = apart_ns == 0 ? 0 : drift_in(apart_ns);
    to.least_ns = std::max(to.least_ns, from.least_ns - slack);
    to.most_ns = std::min(to.most_ns, from.most_ns + slack);
  };
  for (std::size_t i = 1; i < bounds.size(); ++i)
    take(bounds[i], bounds[i - 1], bounds[i].time_ns - bounds[i - 1].time_ns);
  for (std::size_t i = bounds.size(); i-- > 1;)
    take(bounds[i - 1], bounds[i], bounds[i].time_ns - bounds[i - 1].time_ns);
  return std::all_of(bounds.begin(), bounds.end(), [](const ShiftBound& one) { return one.least_ns <= one.most_ns; });
}

std::vector<HostAlignment> align_hosts(const Timeline& timeline, std::span<const std::uint32_t> host_of,
                                       std::uint32_t hosts) {
  const std::vector<std::vector<Sequence>> by_process = sequences(timeline);
  std::vector<std::vector<const std::vector<Sequence>*>> by_host(hosts);
  for (std::size_t process = 0; process < by_process.size(); ++process)
    by_host[host_of[process]].push_back(&by_process[process]);
  std::vector<HostAlignment> all(hosts);
  for (std::uint32_t host = 1; host < hosts; ++host) all[host] = compare(by_host[0], by_host[host]);
  return all;
}

}  // namespace rangefinder::importer
