// SPDX-License-Identifier: MIT
#include "analysis/nsight/containment.hpp"

#include <rangefinder/types.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace rangefinder::analysis::nsight {
namespace {

using base::Interval;

template <typename Item, typename BeginOf>
std::vector<std::uint32_t> ordered_by_begin(std::span<const Item> items, BeginOf begin_of) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return begin_of(items[a]) < begin_of(items[b]); };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) std::stable_sort(order.begin(), order.end(), earlier);
  return order;
}

constexpr auto kBegin = [](const Interval& interval) { return interval.begin; };

std::vector<std::int64_t> sorted_ends(std::span<const Interval> intervals) {
  std::vector<std::int64_t> ends;
  ends.reserve(intervals.size());
  for (const Interval& interval : intervals) ends.push_back(interval.end);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

// Position from 1 of the least end that is not before `end`.
std::size_t rank_of(const std::vector<std::int64_t>& ends, std::int64_t end) {
  return static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), end) - ends.begin()) + 1;
}

struct Candidate {
  std::uint64_t length = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t index = kNone;
  friend bool operator<(const Candidate& a, const Candidate& b) noexcept {
    return std::pair(a.length, a.index) < std::pair(b.length, b.index);
  }
};

// A Fenwick tree over ends, greatest first, that holds the two best intervals of every prefix: two, because an interval
// must not find itself.
class TightestTree {
 public:
  explicit TightestTree(std::span<const Interval> containers)
      : ends_(sorted_ends(containers)), best_(ends_.size() + 1) {}

  void insert(const Interval& interval, std::uint32_t index) {
    const Candidate candidate{static_cast<std::uint64_t>(interval.end - interval.begin), index};
    for (std::size_t at = position(interval.end); at < best_.size(); at += at & (~at + 1)) best_[at].offer(candidate);
  }
  // The tightest inserted interval that ends at `end` or later.
  std::uint32_t find(std::int64_t end, std::uint32_t except) const {
    Candidate found;
    for (std::size_t at = position(end); at != 0; at &= at - 1) {
      const Candidate& candidate = best_[at].first.index == except ? best_[at].second : best_[at].first;
      if (candidate < found) found = candidate;
    }
    return found.index;
  }

 private:
  struct Best {
    Candidate first, second;
    void offer(const Candidate& candidate) {
      if (candidate < first) {
        second = std::exchange(first, candidate);
      } else if (candidate < second) {
        second = candidate;
      }
    }
  };
  std::size_t position(std::int64_t end) const { return ends_.size() + 1 - rank_of(ends_, end); }

  std::vector<std::int64_t> ends_;
  std::vector<Best> best_;
};

std::vector<std::uint32_t> find_tightest(std::span<const Interval> containers, std::span<const Interval> queries,
                                         bool queries_are_containers) {
  const std::vector<std::uint32_t> container_order = ordered_by_begin(containers, kBegin);
  const std::vector<std::uint32_t> query_order =
      queries_are_containers ? container_order : ordered_by_begin(queries, kBegin);
  TightestTree tree(containers);
  std::vector<std::uint32_t> out(queries.size(), kNone);
  std::size_t inserted = 0;
  for (const std::uint32_t query : query_order) {
    for (; inserted < container_order.size(); ++inserted) {
      const std::uint32_t container = container_order[inserted];
      if (containers[container].begin > queries[query].begin) break;
      tree.insert(containers[container], container);
    }
    out[query] = tree.find(queries[query].end, queries_are_containers ? query : kNone);
  }
  return out;
}

// A Fenwick tree over ends, least first.
class WorkTree {
 public:
  explicit WorkTree(std::span<const Interval> containers) : ends_(sorted_ends(containers)), sums_(ends_.size() + 1) {}

  void insert(const CausedWork& work) {
    for (std::size_t at = rank_of(ends_, work.cause.end); at < sums_.size(); at += at & (~at + 1))
      add(sums_[at], {work.first_ns, work.last_ns, 1});
  }
  ContainedWork until(std::int64_t end) const {
    ContainedWork sum;
    for (std::size_t at = rank_of(ends_, end); at != 0; at &= at - 1) add(sum, sums_[at]);
    return sum;
  }

 private:
  static void add(ContainedWork& sum, const ContainedWork& more) {
    if (more.count == 0) return;
    sum.first_ns = sum.count == 0 ? more.first_ns : std::min(sum.first_ns, more.first_ns);
    sum.last_ns = sum.count == 0 ? more.last_ns : std::max(sum.last_ns, more.last_ns);
    sum.count += more.count;
  }

  std::vector<std::int64_t> ends_;
  std::vector<ContainedWork> sums_;
};

}  // namespace

std::vector<std::uint32_t> tightest_around(std::span<const Interval> containers, std::span<const Interval> queries) {
  return find_tightest(containers, queries, false);
}

std::vector<std::uint32_t> tightest_parents(std::span<const Interval> containers) {
  return find_tightest(containers, containers, true);
}

std::vector<ContainedWork> work_inside(std::span<const Interval> containers, std::span<const CausedWork> work) {
  const std::vector<std::uint32_t> container_order = ordered_by_begin(containers, kBegin);
  const std::vector<std::uint32_t> work_order =
      ordered_by_begin(work, [](const CausedWork& item) { return item.cause.begin; });
  WorkTree tree(containers);
  std::vector<ContainedWork> out(containers.size());
  // Latest begin first: what has been inserted begins inside or after the container, and the tree answers for the end.
  std::size_t left = work_order.size();
  for (auto at = container_order.rbegin(); at != container_order.rend(); ++at) {
    for (; left != 0 && work[work_order[left - 1]].cause.begin >= containers[*at].begin; --left)
      tree.insert(work[work_order[left - 1]]);
    out[*at] = tree.until(containers[*at].end);
  }
  return out;
}

std::vector<bool> any_around(std::span<const Interval> containers, std::span<const Interval> queries) {
  const std::vector<std::uint32_t> container_order = ordered_by_begin(containers, kBegin);
  std::vector<bool> out(queries.size(), false);
  std::size_t begun = 0;
  std::int64_t latest_end = std::numeric_limits<std::int64_t>::min();
  for (const std::uint32_t query : ordered_by_begin(queries, kBegin)) {
    for (; begun < container_order.size() && containers[container_order[begun]].begin <= queries[query].begin; ++begun)
      latest_end = std::max(latest_end, containers[container_order[begun]].end);
    out[query] = begun != 0 && latest_end >= queries[query].end;
  }
  return out;
}

}  // namespace rangefinder::analysis::nsight
