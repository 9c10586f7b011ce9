// SPDX-License-Identifier: MIT
#include "analysis/kernel_sequences.hpp"

#include "analysis/activities_by_stream.hpp"
#include "analysis/chains.hpp"
#include "analysis/graph_replays.hpp"
#include "analysis/spread.hpp"
#include "analysis/waits.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rangefinder::analysis {
namespace {

bool is_fusible(KernelFamily family) noexcept {
  switch (family) {
    case KernelFamily::kElementwise:
    case KernelFamily::kReduction:
    case KernelFamily::kNormalization:
    case KernelFamily::kCopy:
    case KernelFamily::kOptimizer:
      return true;
    default:
      return false;
  }
}

/// Moments of threads that nothing in a CUDA graph may be around: waits for the device, begins of steps.
class Barriers {
 public:
  explicit Barriers(const Timeline& timeline) : times_(timeline.threads.size()) {
    for (const Wait& wait : waits_without_work(timeline))
      if (wait.blocks_host() && wait.thread < times_.size()) times_[wait.thread].push_back(within_reach(wait.begin_ns));
    const StepTable& steps = timeline.steps;
    for (std::size_t step = 0; step < steps.size(); ++step)
      if (steps.thread[step] < times_.size()) times_[steps.thread[step]].push_back(within_reach(steps.begin_ns[step]));
    for (std::vector<std::int64_t>& times : times_) std::sort(times.begin(), times.end());
  }
  /// After the one and until the other.
  bool any_between(ThreadIndex thread, std::int64_t after_ns, std::int64_t until_ns) const noexcept {
    if (thread >= times_.size()) return false;
    const std::vector<std::int64_t>& times = times_[thread];
    const auto next = std::upper_bound(times.begin(), times.end(), after_ns);
    return next != times.end() && *next <= until_ns;
  }

 private:
  std::vector<std::vector<std::int64_t>> times_;  // by thread, in order
};

/// What one run, or a chain in it, adds up to.
struct RunTimes {
  std::int64_t kernel_ns = 0;
  std::int64_t gap_ns = 0;
  std::int64_t longest_ns = 0;
  std::uint64_t kernels = 0;

  void add(std::int64_t kernel, std::int64_t gap) noexcept {
    kernel_ns = saturating_add(kernel_ns, kernel);
    gap_ns = saturating_add(gap_ns, kernels == 0 ? 0 : gap);
    longest_ns = std::max(longest_ns, kernel);
    ++kernels;
  }
};

class SequenceFinder {
 public:
  SequenceFinder(const Timeline& timeline, const Projection& projection, const KernelFamilies& families,
                 const ShortKernels& kernels)
      : timeline_(timeline),
        projection_(projection),
        families_(families),
        kernels_(kernels),
        by_stream_(timeline),
        barriers_(timeline) {}

  std::vector<KernelSequence> run() {
    for (StreamIndex stream{0}; stream < timeline_.streams.size(); ++stream) {
      for (const ActivityIndex activity : by_stream_.of(stream)) {
        const bool takes_part = can_be_in_one(activity);
        if (!run_.empty() && !(takes_part && continues(activity))) end_run();
        if (takes_part) run_.push_back(activity);
      }
      end_run();
    }
    std::sort(rows_.begin(), rows_.end(), [](const KernelSequence& a, const KernelSequence& b) {
      const std::int64_t of_a = std::max(a.gap_ns, a.fusion_ns), of_b = std::max(b.gap_ns, b.fusion_ns);
      return of_a != of_b ? of_a > of_b : a.first.front() < b.first.front();
    });
    return std::move(rows_);
  }

 private:
  LaunchIndex launch_of(ActivityIndex activity) const noexcept { return timeline_.activities.launch[activity]; }

  bool can_be_in_one(ActivityIndex activity) const {
    return kernels_.has(activity) && launch_of(activity) < timeline_.launches.size() &&
           !is_graph_work(timeline_, activity);
  }

  bool continues(ActivityIndex activity) const {
    const ActivityIndex before = run_.back();
    if (projection_.owner[before] != projection_.owner[activity]) return false;
    const LaunchTable& launches = timeline_.launches;
    const LaunchIndex from = launch_of(before), to = launch_of(activity);
    if (from == to || launches.thread[from] != launches.thread[to]) return false;
    return !barriers_.any_between(launches.thread[from], within_reach(launches.time_ns[from]),
                                  within_reach(launches.time_ns[to]));
  }

  void end_run() {
    if (run_.size() > 1) add_run();
    run_.clear();
  }

  KernelSequence& row_of_run() {
    const std::uint32_t owner = projection_.owner[run_.front()];
    const bool is_owned = owner < timeline_.ranges.size();
    const StringId range = is_owned ? timeline_.ranges.name[RangeIndex(owner)] : StringId::kEmpty;
    // A range's name is not the number of a cause: those are greater than any name's.
    std::uint32_t chain = chains_.of(Chains::kEmpty, is_owned ? static_cast<std::uint32_t>(range) : owner);
    for (const ActivityIndex kernel : run_)
      chain = chains_.of(chain, static_cast<std::uint32_t>(timeline_.activities.name[kernel]));
    const std::uint32_t row = row_of_.find_or_set(chain, static_cast<std::uint32_t>(rows_.size()));
    if (row == rows_.size()) {
      KernelSequence& added = rows_.emplace_back();
      added.range = range;
      if (!is_owned) added.unowned = static_cast<Unowned>(owner);
      added.first = run_;
    }
    return rows_[row];
  }

  void add_run() {
    KernelSequence& row = row_of_run();
    ++row.count;
    RunTimes all, chain;
    std::int64_t ended_ns = by_stream_.begin_ns(run_.front());
    for (const ActivityIndex kernel : run_) {
      const std::int64_t gap_ns = std::max<std::int64_t>(by_stream_.begin_ns(kernel) - ended_ns, 0);
      const std::int64_t kernel_ns = by_stream_.length_ns(kernel);
      all.add(kernel_ns, gap_ns);
      if (is_fusible(families_.of(kernel)))
        chain.add(kernel_ns, gap_ns);
      else
        end_chain(row, chain);
      ended_ns = std::max(ended_ns, by_stream_.end_ns(kernel));
      row.launch_ns = saturating_add(row.launch_ns, call_time(kernel));
    }
    end_chain(row, chain);
    row.kernel_ns = saturating_add(row.kernel_ns, all.kernel_ns);
    row.gap_ns = saturating_add(row.gap_ns, all.gap_ns);
  }

  static void end_chain(KernelSequence& row, RunTimes& chain) noexcept {
    if (chain.kernels > 1) {
      row.fusible += chain.kernels;
      row.fusion_ns = saturating_add(row.fusion_ns, chain.kernel_ns - chain.longest_ns);
      row.fusion_ns = saturating_add(row.fusion_ns, chain.gap_ns);
    }
    chain = {};
  }

  std::int64_t call_time(ActivityIndex kernel) const noexcept {
    const CallIndex call = timeline_.launches.call[launch_of(kernel)];
    if (call >= timeline_.calls.size()) return 0;
    const std::int64_t begin_ns = within_reach(timeline_.calls.begin_ns[call]);
    return std::max(begin_ns, within_reach(timeline_.calls.end_ns[call])) - begin_ns;
  }

  const Timeline& timeline_;
  const Projection& projection_;
  const KernelFamilies& families_;
  const ShortKernels& kernels_;
  ActivitiesByStream by_stream_;
  Barriers barriers_;
  std::vector<ActivityIndex> run_;
  Chains chains_;
  projection::FlatMap row_of_;  // by chain
  std::vector<KernelSequence> rows_;
};

}  // namespace

std::vector<KernelSequence> kernel_sequences(const Timeline& timeline, const Projection& projection,
                                             const KernelFamilies& families, const ShortKernels& kernels) {
  return SequenceFinder(timeline, projection, families, kernels).run();
}

}  // namespace rangefinder::analysis
