// SPDX-License-Identifier: MIT
#include "analysis/stragglers_ranges.hpp"

#include "analysis/device_states.hpp"
#include "analysis/medians.hpp"
#include "analysis/stragglers_cells.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::analysis {
namespace {

constexpr std::size_t kMostReferences = 32;
constexpr std::size_t kMostExplained = 16;
/// A range explains a rank if it holds this much of the excess, and the shortest of those that hold nearly as much as
/// the one that holds most is the one to look at.
constexpr double kLeastExplained = 0.3;
constexpr double kNearlyAsMuch = 0.8;

/// How long of a stretch a rank was held up by collectives.
class Blocked {
 public:
  explicit Blocked(std::vector<Span> spans) : spans_(std::move(spans)) {
    before_ns_.reserve(spans_.size() + 1);
    before_ns_.push_back(0);
    for (const Span& span : spans_) before_ns_.push_back(before_ns_.back() + span.end - span.begin);
  }
  std::int64_t in(std::int64_t begin_ns, std::int64_t end_ns) const noexcept { return until(end_ns) - until(begin_ns); }

 private:
  std::int64_t until(std::int64_t time_ns) const noexcept {
    const auto after = std::upper_bound(spans_.begin(), spans_.end(), time_ns,
                                        [](std::int64_t time, const Span& span) { return time < span.begin; });
    if (after == spans_.begin()) return 0;
    const auto place = static_cast<std::size_t>(after - spans_.begin());
    return before_ns_[place - 1] + std::min(time_ns, after[-1].end) - after[-1].begin;
  }
  std::vector<Span> spans_;
  std::vector<std::int64_t> before_ns_;
};

/// One range of a rank that is looked at.
struct OwnRange {
  std::size_t rank;
  std::int64_t step;
  StringId name;
  std::int64_t own_ns;
};

class RangeFinder {
 public:
  RangeFinder(const Timeline& timeline, Stragglers& out) : timeline_(timeline), out_(out) {}

  void run() {
    choose_ranks();
    if (wanted_.empty()) return;
    read_steps();
    read_ranges();
    for (Straggler* one : wanted_) one->range = range_of(*one);
  }

 private:
  static bool is_of_host(const Straggler& one) noexcept {
    return one.cause == StragglerCause::kInput || one.cause == StragglerCause::kHost;
  }
  void choose_ranks() {
    std::vector<bool> named(out_.ranks.size());
    for (std::vector<Straggler>* list : {&out_.stragglers, &out_.odd}) {
      for (Straggler& one : *list) {
        named[one.rank] = true;
        if (is_of_host(one) && wanted_.size() < kMostExplained) wanted_.push_back(&one);
      }
    }
    looked_at_.assign(timeline_.processes.size(), kNotLookedAt);
    for (const Straggler* one : wanted_) look_at(one->rank);
    const std::size_t others = static_cast<std::size_t>(std::count(named.begin(), named.end(), false));
    const std::size_t stride = std::max<std::size_t>(1, others / kMostReferences);
    std::size_t place = 0;
    for (std::size_t rank = 0; rank < named.size(); ++rank)
      if (!named[rank] && place++ % stride == 0 && references_.size() < kMostReferences) {
        references_.push_back(rank);
        look_at(rank);
      }
  }
  void look_at(std::size_t rank) { looked_at_[out_.ranks[rank].process] = rank; }
  std::size_t rank_of(ThreadIndex thread) const noexcept {
    return thread < timeline_.threads.size() ? looked_at_[timeline_.threads[thread].process] : kNotLookedAt;
  }

  void read_steps() {
    const StepTable& steps = timeline_.steps;
    for (std::size_t row = 0; row < steps.size(); ++row)
      if (const std::size_t rank = rank_of(steps.thread[row]); rank != kNotLookedAt)
        steps_[rank][steps.begin_ns[row]] = {steps.end_ns[row], steps.number[row]};
  }
  void read_ranges() {
    std::map<std::size_t, Blocked> blocked;
    for (auto& [process, spans] : blocked_by_collectives(timeline_))
      if (looked_at_[process] != kNotLookedAt) blocked.emplace(looked_at_[process], std::move(spans));
    const RangeTable& ranges = timeline_.ranges;
    for (RangeIndex row{0}; row < ranges.size(); ++row) {
      const bool fits = ranges.kind[row] == RangeKind::kAnnotation || ranges.kind[row] == RangeKind::kOperator;
      const std::size_t rank = fits && ranges.is_run(row) ? rank_of(ranges.thread[row]) : kNotLookedAt;
      if (rank == kNotLookedAt || ranges.thread[row] != ranges.end_thread[row]) continue;
      const std::int64_t begin_ns = std::clamp(ranges.begin_ns[row], -kFarthestNs, kFarthestNs);
      const std::int64_t end_ns = std::clamp(ranges.end_ns[row], begin_ns, kFarthestNs);
      const auto& steps = steps_[rank];
      auto step = steps.upper_bound(begin_ns);
      if (step == steps.begin()) continue;
      --step;
      if (begin_ns >= step->second.first) continue;
      const auto held = blocked.find(rank);
      const std::int64_t held_ns = held == blocked.end() ? 0 : held->second.in(begin_ns, end_ns);
      ranges_.push_back({rank, step->second.second, ranges.name[row], end_ns - begin_ns - held_ns});
    }
  }

  StringId range_of(const Straggler& one) const {
    const std::vector<std::int64_t>& steps = one.persistent ? out_.steps : one.steps;
    std::map<StringId, std::map<std::size_t, double>> totals;
    for (const OwnRange& range : ranges_)
      if (std::binary_search(steps.begin(), steps.end(), range.step))
        totals[range.name][range.rank] += static_cast<double>(range.own_ns);
    struct Candidate {
      StringId name;
      double excess_ns;
      double usual_ns;
    };
    std::vector<Candidate> candidates;
    double most_ns = 0;
    for (const auto& [name, ranks] : totals) {
      std::vector<double> others;
      for (const std::size_t rank : references_) {
        const auto found = ranks.find(rank);
        others.push_back(found == ranks.end() ? 0 : found->second);
      }
      const auto own = ranks.find(one.rank);
      if (own == ranks.end() || others.empty()) continue;
      const double usual_ns = median_of(others);
      candidates.push_back({name, own->second - usual_ns, usual_ns});
      most_ns = std::max(most_ns, own->second - usual_ns);
    }
    const double whole_ns = static_cast<double>(one.excess_ns) * static_cast<double>(steps.size());
    if (most_ns < kLeastExplained * whole_ns) return StringId::kEmpty;
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
      if (candidate.excess_ns < kNearlyAsMuch * most_ns) continue;
      if (best == nullptr || candidate.usual_ns < best->usual_ns) best = &candidate;
    }
    return best == nullptr ? StringId::kEmpty : best->name;
  }

  static constexpr std::size_t kNotLookedAt = std::numeric_limits<std::size_t>::max();
  const Timeline& timeline_;
  Stragglers& out_;
  std::vector<Straggler*> wanted_;
  std::vector<std::size_t> looked_at_;  // by process: its rank
  std::vector<std::size_t> references_;
  std::map<std::size_t, std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>>> steps_;  // begin: end, number
  std::vector<OwnRange> ranges_;
};

}  // namespace

void find_slow_ranges(const Timeline& timeline, Stragglers& out) { RangeFinder(timeline, out).run(); }

}  // namespace rangefinder::analysis
