// SPDX-License-Identifier: MIT
#include "advice/corpus/judge.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#ifdef RANGEFINDER_CORPUS_RECORDS
#include "advice/corpus/recorder.hpp"
#endif

#include <algorithm>
#include <cstdio>

namespace rangefinder::testing::corpus {
namespace {

bool names(const AdviceFinding& finding, const PlantedCause& cause) {
  return finding.rule == cause.rule || (cause.or_rule && finding.rule == *cause.or_rule);
}

bool is_right(const AdviceFinding& finding, const AdviceCase& one) {
  const auto cause = [&](const PlantedCause& planted) { return names(finding, planted); };
  const auto also = [&](const AlsoRight& right) { return finding.rule == right.rule; };
  return std::any_of(one.causes.begin(), one.causes.end(), cause) ||
         std::any_of(one.also_right.begin(), one.also_right.end(), also);
}

std::string milliseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", static_cast<double>(ns) / 1e6);
  return text;
}

class Judge {
 public:
  Judge(const AdviceCase& one, std::uint64_t seed, const Adviser& adviser, Score& score)
      : one_(one), seed_(seed), adviser_(adviser), score_(score) {}

  void judge() {
    const std::vector<Program> job = one_.simulate(seed_, Planted::all());
    step_ns_ = mean_step_ns(job);
    ++score_.cases;
    score_.jobs += job.size() > 1 ? 1 : 0;
    score_.recorded += one_.recorded ? 1 : 0;
    score_.healthy += one_.causes.empty() ? 1 : 0;
    const Advice advice = adviser_(one_, timeline_of(one_, seed_));
    for (const AdviceFinding& finding : advice.findings) judge(finding, advice);
    for (std::size_t cause = 0; cause < one_.causes.size(); ++cause) judge_cause(cause, advice);
    if (!one_.causes.empty()) judge_first(advice);
  }

 private:
  void fault(const std::string& what) { score_.faults.push_back(one_.name + ": " + what); }

  void judge(const AdviceFinding& finding, const Advice& advice) {
    ++score_.findings;
    if (finding.gain_ns > std::max(step_ns_, advice.step_ns)) {
      ++score_.wrong_bounds;
      fault(std::string(to_string(finding.rule)) + " gains " + milliseconds(finding.gain_ns) + " of a step of " +
            milliseconds(step_ns_));
    }
    if (is_right(finding, one_)) {
      ++score_.right;
      return;
    }
    score_.on_healthy += one_.causes.empty() ? 1 : 0;
    fault("found " + std::string(to_string(finding.rule)) + ", " + milliseconds(finding.gain_ns) + " of " +
          milliseconds(step_ns_) + ": " + finding.headline);
  }

  void judge_cause(std::size_t cause, const Advice& advice) {
    ++score_.causes;
    const PlantedCause& planted = one_.causes[cause];
    const auto found = std::find_if(advice.findings.begin(), advice.findings.end(),
                                    [&](const AdviceFinding& finding) { return names(finding, planted); });
    const std::int64_t gain_ns = true_gain_ns(one_, seed_, cause);
    if (found == advice.findings.end())
      return fault("missed " + std::string(to_string(planted.rule)) + ", " + milliseconds(gain_ns) + " of " +
                   milliseconds(step_ns_));
    ++score_.found;
    ++score_.bounds;
    if (found->gain_ns >= gain_ns - gain_ns / 20) return;
    ++score_.wrong_bounds;
    fault(std::string(to_string(found->rule)) + " gains at most " + milliseconds(found->gain_ns) + ", it says; it is " +
          milliseconds(gain_ns));
  }

  void judge_first(const Advice& advice) {
    ++score_.ranked;
    if (advice.findings.empty()) return;
    if (names(advice.findings.front(), one_.causes.front()))
      ++score_.first;
    else
      fault(std::string(to_string(advice.findings.front().rule)) + " is first, before " +
            to_string(one_.causes.front().rule));
  }

  const AdviceCase& one_;
  std::uint64_t seed_;
  const Adviser& adviser_;
  Score& score_;
  std::int64_t step_ns_ = 0;
};

}  // namespace

std::uint64_t corpus_seed() { return given_seed() != nullptr ? first_seed() : 28; }

std::int64_t mean_step_ns(const std::vector<Program>& job) {
  std::int64_t sum_ns = 0;
  for (const Program& program : job) sum_ns += mean_step_ns(program);
  return sum_ns / static_cast<std::int64_t>(job.size());
}

std::int64_t true_gain_ns(const AdviceCase& one, std::uint64_t seed, std::size_t cause) {
  return mean_step_ns(one.simulate(seed, Planted::all())) -
         mean_step_ns(one.simulate(seed, Planted::all().without(cause)));
}

Timeline timeline_of(const AdviceCase& one, std::uint64_t seed) {
  const std::vector<Program> job = one.simulate(seed, Planted::all());
#ifdef RANGEFINDER_CORPUS_RECORDS
  if (one.recorded) return recorded(job);
#endif
  return timeline_of(job);
}

Advice advice_of_library(const AdviceCase&, const Timeline& timeline) { return advise(timeline); }

Score judge(const std::vector<AdviceCase>& cases, std::uint64_t seed, const Adviser& adviser) {
  Score score;
  for (const AdviceCase& one : cases) Judge(one, seed, adviser, score).judge();
  return score;
}

void print_score(const char* half, const Score& score) {
  std::printf("%-9s %5s %7s %8s %4s %6s %7s %9s %10s %11s %6s\n", "half", "cases", "healthy", "recorded", "jobs",
              "causes", "recall", "precision", "on healthy", "first place", "bounds");
  std::printf("%-9s %5zu %7zu %8zu %4zu %6zu %6.1f%% %8.1f%% %10zu %10.1f%% %3zu/%zu\n", half, score.cases,
              score.healthy, score.recorded, score.jobs, score.causes, 100 * score.recall(), 100 * score.precision(),
              score.on_healthy, 100 * score.first_place(), score.bounds - std::min(score.bounds, score.wrong_bounds),
              score.bounds);
  for (const std::string& fault : score.faults) std::printf("  %s\n", fault.c_str());
}

void require_unseen(const char* half, const Score& score) {
  print_score(half, score);
  if (sanitized()) return;  // of a part of the half
  CHECK(score.recall() >= 0.9);
  CHECK(score.precision() >= 0.95);
  CHECK(score.first_place() >= 0.8);
  CHECK(score.on_healthy == 0);
}

void require_good(const char* half, const Score& score) {
  require_unseen(half, score);
  CHECK(score.wrong_bounds == 0);
}

}  // namespace rangefinder::testing::corpus
