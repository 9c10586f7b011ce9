// SPDX-License-Identifier: MIT
#include "analysis/stragglers_judge.hpp"

#include "analysis/medians.hpp"
#include "analysis/stragglers_statistics.hpp"
#include "analysis/warm_up.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace rangefinder::analysis {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// Smallest standard deviations that are believed, in steps: of one rank from step to step, and of ranks from each
// other.
constexpr double kLeastStepDeviation = 0.002;
constexpr double kLeastRankDeviation = 0.003;
// A few ranks say little of how much ranks differ: what devices of one model usually do counts as much as four ranks.
constexpr double kUsualRankDeviation = 0.005;
constexpr double kUsualRanks = 4;
constexpr double kPersistentShare = 0.75;
// Of a rank that is slow now and then: in how many steps at least, and how much of a step that must cost on average.
constexpr std::size_t kFewestSlowSteps = 3;
constexpr double kLeastMeanExcess = 0.01;
constexpr double kSlowStepDeviations = 4;
constexpr double kSlowStepOfAll = 1.5;
// All classes of kernels are slow alike: those with this share of the time are at least half as slow as the slowest.
constexpr double kShareOfClass = 0.1;
constexpr double kSlowAlike = 0.5;

/// A figure of each rank and step, less that of the median rank in that step; NaN where it is not known.
using Excess = std::vector<double>;

/// What an excess is made of.
enum Component : std::size_t { kInputPart, kIdlePart, kFirstClass };
constexpr std::size_t kComponents = kFirstClass + kKernelClasses;

double component_of(const RankStep& cell, std::size_t component) noexcept {
  if (component == kInputPart) return static_cast<double>(cell.input_ns);
  if (component == kIdlePart) return static_cast<double>(cell.idle_ns);
  return static_cast<double>(cell.kernels_ns[component - kFirstClass]);
}

struct Parts {
  double input_ns = 0, host_ns = 0;
  std::array<double, kKernelClasses> kernels_ns{};
};

class Judge {
 public:
  Judge(const StragglerOptions& options, Stragglers& out)
      : options_(options), out_(out), ranks_(out.ranks.size()), steps_(out.steps.size()) {}

  void run() {
    find_excess();
    find_noise();
    for (std::size_t rank = 0; rank < ranks_; ++rank) score(rank);
    for (std::size_t rank = 0; rank < ranks_; ++rank) name_rank(rank);
    find_odd_steps();
    find_slow_steps();
  }

 private:
  std::size_t place(std::size_t rank, std::size_t step) const noexcept { return rank * steps_ + step; }

  template <typename Figure>
  Excess excess_of(Figure figure) const {
    Excess excess(out_.cells.size(), kUnknown);
    std::vector<double> values;
    for (std::size_t step = 0; step < steps_; ++step) {
      values.clear();
      for (std::size_t rank = 0; rank < ranks_; ++rank)
        if (const RankStep& cell = out_.cell(rank, step); cell.step_ns != kNoTime) values.push_back(figure(cell));
      if (values.size() < 2) continue;
      const double usual = median_of(values);
      for (std::size_t rank = 0; rank < ranks_; ++rank)
        if (const RankStep& cell = out_.cell(rank, step); cell.step_ns != kNoTime)
          excess[place(rank, step)] = figure(cell) - usual;
    }
    return excess;
  }
  std::vector<double> of_rank(const std::vector<double>& matrix, std::size_t rank) const {
    const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(place(rank, 0));
    return known_of(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(steps_)));
  }
  /// In each step the ranks' median.
  template <typename Figure>
  std::vector<double> usual_of(Figure figure) const {
    std::vector<double> usual(steps_, 0), values;
    for (std::size_t step = 0; step < steps_; ++step) {
      values.clear();
      for (std::size_t rank = 0; rank < ranks_; ++rank)
        if (const RankStep& cell = out_.cell(rank, step); cell.step_ns != kNoTime)
          values.push_back(static_cast<double>(figure(cell)));
      usual[step] = median_of(values);
    }
    return usual;
  }

  void find_excess() {
    own_ = excess_of([](const RankStep& cell) { return static_cast<double>(cell.own_ns); });
    for (std::size_t part = 0; part < kComponents; ++part)
      parts_[part] = excess_of([part](const RankStep& cell) { return component_of(cell, part); });
    usual_step_ns_ = usual_of([](const RankStep& cell) { return cell.step_ns; });
    relative_.assign(own_.size(), kUnknown);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      for (std::size_t step = 0; step < steps_; ++step) {
        const double excess_ns = own_[place(rank, step)];
        if (!is_known(excess_ns) || usual_step_ns_[step] <= 0) continue;
        RankStep& cell = out_.cells[place(rank, step)];
        cell.excess_ns = std::llround(excess_ns);
        cell.excess_ratio = relative_[place(rank, step)] = excess_ns / usual_step_ns_[step];
      }
    }
  }

  /// How much ranks differ from step to step, and from each other.
  void find_noise() {
    std::vector<double> residuals;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      std::vector<double> own = of_rank(relative_, rank), values = own;
      const double middle = median_of(values);
      level_.push_back(middle);
      deviation_.push_back(robust_deviation(own, middle));
      for (const double value : own) residuals.push_back(value - middle);
    }
    step_deviation_ = std::max(kLeastStepDeviation, robust_deviation(std::move(residuals), 0));
    std::vector<double> judged;
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      if (is_judged(rank)) judged.push_back(level_[rank]);
    judged_ = judged.size();
    std::vector<double> values = judged;
    rank_middle_ = median_of(values);
    const double seen = robust_deviation(std::move(judged), rank_middle_);
    const double others = static_cast<double>(judged_) - 1;
    rank_deviation_ =
        std::max(kLeastRankDeviation,
                 std::sqrt((kUsualRanks * kUsualRankDeviation * kUsualRankDeviation + others * seen * seen) /
                           (kUsualRanks + std::max(0.0, others))));
  }
  bool is_judged(std::size_t rank) const noexcept { return out_.ranks[rank].steps >= options_.fewest_steps; }
  double bonferroni(double chance) const noexcept { return std::min(1.0, chance * static_cast<double>(judged_)); }

  void score(std::size_t rank) {
    RankScore& score = out_.ranks[rank];
    std::vector<double> step, own, waited;
    for (std::size_t i = 0; i < steps_; ++i) {
      const RankStep& cell = out_.cell(rank, i);
      if (cell.step_ns == kNoTime) continue;
      step.push_back(static_cast<double>(cell.step_ns));
      own.push_back(static_cast<double>(cell.own_ns));
      if (cell.waited_ns != kNoTime) waited.push_back(static_cast<double>(cell.waited_ns));
    }
    score.steps = step.size();
    score.step_ns = std::llround(median_of(step));
    score.own_ns = std::llround(median_of(own));
    score.waited_ns = waited.empty() ? kNoTime : std::llround(median_of(waited));
    std::vector<double> excess = of_rank(own_, rank);
    score.excess_ns = std::llround(median_of(excess));
    score.excess_ratio = level_[rank];
    const Parts parts = parts_over(rank, all_steps());
    score.input_excess_ns = std::llround(parts.input_ns);
    score.host_excess_ns = std::llround(parts.host_ns);
    for (std::size_t i = 0; i < kKernelClasses; ++i) score.kernel_excess_ns[i] = std::llround(parts.kernels_ns[i]);
    if (!is_judged(rank)) return;
    const auto count = static_cast<double>(score.steps);
    const double error = median_error(std::max(step_deviation_, deviation_[rank]), count);
    const double t = std::max(0.0, level_[rank]) / error;
    const double degrees = std::max(1.0, kMedianInformation * (count - 1) * static_cast<double>(judged_));
    const double z = (level_[rank] - rank_middle_) / rank_deviation_;
    score.p_value = bonferroni(std::max(student_tail(t, degrees), normal_tail(z)));
  }

  std::vector<std::size_t> all_steps() const {
    std::vector<std::size_t> all(steps_);
    for (std::size_t i = 0; i < steps_; ++i) all[i] = i;
    return all;
  }
  double median_over(const Excess& excess, std::size_t rank, const std::vector<std::size_t>& steps) const {
    std::vector<double> values;
    for (const std::size_t step : steps)
      if (is_known(excess[place(rank, step)])) values.push_back(excess[place(rank, step)]);
    return median_of(values);
  }
  /// Waiting for data matters as far as it left the device, or the host without one, with nothing to do.
  Parts parts_over(std::size_t rank, const std::vector<std::size_t>& steps) const {
    Parts parts;
    const double idle_ns = median_over(parts_[kIdlePart], rank, steps);
    parts.input_ns = std::clamp(median_over(parts_[kInputPart], rank, steps), 0.0, std::max(0.0, idle_ns));
    parts.host_ns = idle_ns - parts.input_ns;
    for (std::size_t i = 0; i < kKernelClasses; ++i)
      parts.kernels_ns[i] = median_over(parts_[kFirstClass + i], rank, steps);
    return parts;
  }

  void name_rank(std::size_t rank) {
    if (!is_judged(rank)) return;
    const RankScore& score = out_.ranks[rank];
    Straggler one;
    one.rank = rank;
    one.p_value = score.p_value;
    bool named = score.excess_ratio >= options_.least_excess && score.p_value < options_.significance;
    const std::vector<std::size_t> slow =
        named ? steps_above(rank, std::min(least_of_step(), level_[rank] / 2)) : odd_steps_of(rank);
    one.persistent = named && static_cast<double>(slow.size()) >= kPersistentShare * static_cast<double>(score.steps);
    if (!named) named = is_slow_again_and_again(rank, slow, one.p_value);
    if (!named) return;
    for (const std::size_t step : slow) one.steps.push_back(out_.steps[step]);
    explain(one, one.persistent ? all_steps() : slow);
    if (one.excess_ns > 0) out_.stragglers.push_back(std::move(one));
  }
  double least_of_step() const noexcept {
    return std::max(options_.least_excess, kSlowStepDeviations * step_deviation_);
  }
  std::vector<std::size_t> steps_above(std::size_t rank, double least) const {
    std::vector<std::size_t> slow;
    for (std::size_t step = 0; step < steps_; ++step)
      if (relative_[place(rank, step)] > least) slow.push_back(step);
    return slow;
  }
  /// Slower than the rank itself usually is, beyond noise: ranks that always do more than others are not slow for it.
  std::vector<std::size_t> odd_steps_of(std::size_t rank) const {
    return steps_above(rank, std::max(0.0, level_[rank]) + least_of_step());
  }
  bool is_slow_again_and_again(std::size_t rank, const std::vector<std::size_t>& slow, double& p_value) {
    if (slow.size() < kFewestSlowSteps) return false;
    double cost = 0;
    for (const std::size_t step : slow) cost += relative_[place(rank, step)];
    const auto tries = static_cast<double>(out_.ranks[rank].steps);
    if (cost < kLeastMeanExcess * tries) return false;
    if (odd_counts_.empty())
      for (std::size_t other = 0; other < ranks_; ++other) {
        odd_counts_.push_back(odd_steps_of(other).size());
        all_odd_ += odd_counts_.back();
        all_steps_ += out_.ranks[other].steps;
      }
    // One more than was seen: that none of the others was slow does not show that none can be.
    const double hits = static_cast<double>(all_odd_ - odd_counts_[rank] + 1);
    const double all = static_cast<double>(all_steps_ - out_.ranks[rank].steps + 1);
    p_value = bonferroni(binomial_tail(out_.ranks[rank].steps, std::min(1.0, hits / all), slow.size()));
    return p_value < options_.significance;
  }

  void explain(Straggler& one, const std::vector<std::size_t>& steps) const {
    one.excess_ns = std::llround(median_over(own_, one.rank, steps));
    one.excess_ratio = median_over(relative_, one.rank, steps);
    const Parts parts = parts_over(one.rank, steps);
    double most = parts.host_ns;
    one.cause = StragglerCause::kHost;
    if (parts.input_ns >= most) {
      one.cause = StragglerCause::kInput;
      most = parts.input_ns;
    }
    double kernels = 0, slowest = 0;
    for (std::size_t i = 0; i < kKernelClasses; ++i) {
      kernels += std::max(0.0, parts.kernels_ns[i]);
      if (parts.kernels_ns[i] <= slowest) continue;
      slowest = parts.kernels_ns[i];
      one.kernel_class = static_cast<KernelClass>(i);
    }
    if (kernels > most) {
      const bool alike = is_slow_device(one.rank);
      one.cause = alike ? StragglerCause::kDevice : StragglerCause::kKernels;
      most = alike ? kernels : slowest;
    }
    if (one.excess_ns > 0) one.cause_ratio = std::clamp(most / static_cast<double>(one.excess_ns), 0.0, 1.0);
  }
  /// All its kernels are slower than elsewhere, and alike.
  bool is_slow_device(std::size_t rank) const {
    std::array<double, kKernelClasses> time_ns{};
    double whole_ns = 0;
    for (std::size_t step = 0; step < steps_; ++step)
      for (std::size_t i = 0; i < kKernelClasses; ++i) {
        time_ns[i] += static_cast<double>(out_.cell(rank, step).kernels_ns[i]);
        whole_ns += static_cast<double>(out_.cell(rank, step).kernels_ns[i]);
      }
    double least = 1, most = 0;
    int classes = 0;
    for (std::size_t i = 0; i < kKernelClasses; ++i) {
      const double score = out_.ranks[rank].class_score[i];
      if (score <= 0 || time_ns[i] < kShareOfClass * whole_ns) continue;
      ++classes;
      least = std::min(least, score);
      most = std::max(most, score);
    }
    return classes > 1 && least < 1 - options_.least_excess / 2 && 1 - most >= kSlowAlike * (1 - least);
  }

  void find_odd_steps() {
    std::vector<bool> named(ranks_);
    for (const Straggler& one : out_.stragglers) named[one.rank] = true;
    const auto cells = static_cast<double>(std::max<std::size_t>(1, own_.size()));
    for (std::size_t step = 0; step < steps_; ++step) {
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const double excess = relative_[place(rank, step)] - std::max(0.0, level_[rank]);
        if (named[rank] || !(excess >= options_.least_step_excess)) continue;
        const double chance = normal_tail(excess / std::max(step_deviation_, deviation_[rank])) * cells;
        if (chance >= options_.significance) continue;
        out_.cells[place(rank, step)].odd = true;
        Straggler one;
        one.rank = rank;
        one.p_value = chance;
        one.steps = {out_.steps[step]};
        explain(one, {step});
        out_.odd.push_back(std::move(one));
      }
    }
  }
  void find_slow_steps() {
    std::vector<double> values = usual_step_ns_;
    const double usual_ns = median_of(values);
    for (std::size_t step = 0; step < steps_; ++step)
      if (usual_step_ns_[step] >= kSlowStepOfAll * usual_ns && usual_ns > 0)
        out_.slow_steps.push_back(out_.steps[step]);
  }

  const StragglerOptions& options_;
  Stragglers& out_;
  std::size_t ranks_, steps_;
  Excess own_;                             // ns
  std::array<Excess, kComponents> parts_;  // ns
  std::vector<double> relative_;           // own_ in steps
  std::vector<double> usual_step_ns_;
  std::vector<double> level_, deviation_;  // of relative_, by rank: median, and deviation from it
  double step_deviation_ = 0;
  double rank_middle_ = 0, rank_deviation_ = 0;
  std::size_t judged_ = 0;
  std::vector<std::size_t> odd_counts_;  // by rank
  std::size_t all_odd_ = 0, all_steps_ = 0;
};

}  // namespace

void judge_ranks(const StragglerOptions& options, Stragglers& out) { Judge(options, out).run(); }

}  // namespace rangefinder::analysis
