// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/cases.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rangefinder::testing::corpus {

/// How advice on a part of the corpus compares with what was planted.
struct Score {
  std::size_t cases = 0, healthy = 0;
  std::size_t recorded = 0, jobs = 0;
  std::size_t causes = 0, found = 0;    ///< planted, and of them named by a finding
  std::size_t findings = 0, right = 0;  ///< and of them a cause, or what also_right allows
  std::size_t on_healthy = 0;           ///< findings
  std::size_t ranked = 0, first = 0;  ///< cases with a cause, and of them those whose first finding is the first cause
  std::size_t bounds = 0, wrong_bounds = 0;  ///< causes found, and of them those that gain more than the finding says,
                                             ///< or findings that gain more than a step
  std::vector<std::string> faults;           ///< a line for each thing that is wrong

  double recall() const { return share(found, causes); }
  double precision() const { return share(right, findings); }
  double first_place() const { return share(first, ranked); }

 private:
  static double share(std::size_t part, std::size_t whole) {
    return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

/// What a cause really costs, in a mean step of all ranks: that much longer it is than in the same program without it.
std::int64_t true_gain_ns(const AdviceCase& one, std::uint64_t seed, std::size_t cause);
std::int64_t mean_step_ns(const std::vector<Program>& job);

/// The recording on which advice is asked for.
Timeline timeline_of(const AdviceCase& one, std::uint64_t seed);

/// Who gives advice on the recording of a case.
using Adviser = std::function<Advice(const AdviceCase&, const Timeline&)>;
/// The library.
Advice advice_of_library(const AdviceCase& one, const Timeline& timeline);

/// What is asked of programs that the rules were not made with: what advice gets wrong of them is printed, and counts
/// in the figures. Of these programs alone bounds may be wrong.
void require_unseen(const char* half, const Score& score);

Score judge(const std::vector<AdviceCase>& cases, std::uint64_t seed, const Adviser& adviser = advice_of_library);
/// A row of the table that both halves print.
void print_score(const char* half, const Score& score);
/// What a half has to reach.
void require_good(const char* half, const Score& score);

/// The same every time, unless RANGEFINDER_SEED says another one.
std::uint64_t corpus_seed();

}  // namespace rangefinder::testing::corpus
