// SPDX-License-Identifier: MIT
#include "analysis/stragglers_links.hpp"
#include "analysis/stragglers_statistics.hpp"
#include "analysis/synthetic_job.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/stragglers.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Stragglers found_in(const SyntheticJob& job, const StragglerOptions& options = {}) {
  Result<Stragglers> found = find_stragglers(make_job(job), options);
  REQUIRE(found);
  return std::move(*found);
}

bool says(const std::vector<std::string>& notes, std::string_view words) {
  for (const std::string& note : notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

const char* name_of(Planted planted) {
  constexpr const char* kNames[] = {"nothing", "input", "host", "GEMM", "device", "link"};
  return kNames[static_cast<int>(planted)];
}

bool is_right(Planted planted, bool on_device, const Straggler& one) {
  switch (planted) {
    case Planted::kInput:
      return one.cause == StragglerCause::kInput;
    case Planted::kHost:
      return one.cause == StragglerCause::kHost;
    case Planted::kGemm:
      if (!on_device) return one.cause == StragglerCause::kHost;
      return one.cause == StragglerCause::kKernels && one.kernel_class == KernelClass::kGemm;
    case Planted::kDevice:
      return one.cause == (on_device ? StragglerCause::kDevice : StragglerCause::kHost);
    case Planted::kLink:
      return one.cause == StragglerCause::kCommunication;
    case Planted::kNothing:
      break;
  }
  return false;
}

struct Outcome {
  int jobs = 0, named = 0, right_cause = 0, wrong = 0;
};

const char* excess_row(double slowdown) {
  return slowdown < 0.06 ? "excess: 04 to 06 %" : slowdown < 0.10 ? "excess: 06 to 10 %" : "excess: 10 to 30 %";
}

/// Sizes as often as jobs of a cluster have them: many small, few large.
int size_of(std::mt19937_64& random) {
  constexpr std::pair<std::uint64_t, int> kSizes[] = {{400, 8},  {250, 16}, {150, 32}, {100, 64},
                                                      {60, 128}, {25, 256}, {15, 512}};
  std::uint64_t at = below(random, 1000);
  for (const auto& [weight, ranks] : kSizes) {
    if (at < weight) return ranks;
    at -= weight;
  }
  return 8;
}

SyntheticJob random_job(std::mt19937_64& random) {
  SyntheticJob job;
  job.seed = random();
  job.ranks = size_of(random);
  job.steps = 16 + static_cast<int>(below(random, 25));
  job.on_device = below(random, 5) != 0;
  job.in_two_levels = below(random, 2) == 0;
  job.planted = below(random, 2) == 0 ? Planted::kNothing : static_cast<Planted>(1 + below(random, 5));
  job.slow_rank = static_cast<int>(below(random, static_cast<std::uint64_t>(job.ranks)));
  job.slowdown = 0.04 + 0.26 * static_cast<double>(below(random, 1001)) / 1000;
  if (job.planted == Planted::kLink) {
    job.in_two_levels = true;  // with one group nobody can tell
    job.ranks = std::max(job.ranks, 16);
  }
  return job;
}

void print(const std::map<std::string, Outcome>& rows) {
  std::printf("%-22s %6s %6s %7s %12s %6s\n", "", "jobs", "named", "recall", "right cause", "wrong");
  for (const auto& [name, one] : rows) {
    const bool healthy = name.find("nothing") != std::string::npos;
    std::printf("%-22s %6d %6d", name.c_str(), one.jobs, one.named);
    if (healthy)
      std::printf(" %7s %12s %6d\n", "", "", one.wrong);
    else
      std::printf(" %6.1f%% %11.1f%% %6d\n", 100.0 * one.named / one.jobs,
                  one.named == 0 ? 0 : 100.0 * one.right_cause / one.named, one.wrong);
  }
}

}  // namespace

TEST_CASE("of synthetic jobs the slow rank is named, and of healthy ones nobody", "[stragglers][property]") {
  const int jobs = sanitized() ? 100 : 1000;
  const std::uint64_t seed = given_seed() != nullptr ? first_seed() : 26;
  std::mt19937_64 random(seed);
  std::map<std::string, Outcome> rows;
  Outcome slow, healthy;
  for (int i = 0; i < jobs; ++i) {
    const SyntheticJob job = random_job(random);
    const Stragglers found = found_in(job);
    CHECK(found.abstained.empty());
    bool named = false, right = false, wrong = false;
    for (const Straggler& one : found.stragglers) {
      if (job.planted == Planted::kNothing || one.rank != static_cast<std::size_t>(job.slow_rank)) {
        wrong = true;
        continue;
      }
      named = true;
      right = right || is_right(job.planted, job.on_device, one);
    }
    const bool nothing = job.planted == Planted::kNothing;
    const std::string what = nothing ? "nothing" : "slow";
    for (Outcome* outcome :
         {&rows["cause: " + std::string(name_of(job.planted))],
          &rows[what + (job.ranks < 64 ? ", 8 to 32 ranks" : ", 64 to 512 ranks")],
          &rows[what + (job.on_device ? ", on devices" : ", on hosts")],
          nothing ? &rows["all with nothing"] : &rows[excess_row(job.slowdown)], nothing ? &healthy : &slow}) {
      ++outcome->jobs;
      outcome->named += named ? 1 : 0;
      outcome->right_cause += right ? 1 : 0;
      outcome->wrong += wrong ? 1 : 0;
    }
  }
  rows["all slow"] = slow;
  std::printf("stragglers: %d jobs, RANGEFINDER_SEED=%llu\n", jobs, static_cast<unsigned long long>(seed));
  print(rows);
  REQUIRE(slow.jobs > 0);
  REQUIRE(healthy.jobs > 0);
  CHECK(slow.named >= 0.95 * slow.jobs);
  CHECK(slow.wrong <= 0.01 * slow.jobs);
  CHECK(healthy.wrong <= 0.01 * healthy.jobs);
  CHECK(slow.right_cause >= 0.9 * slow.named);
}

TEST_CASE("the slow rank is named though all steps take equally long", "[stragglers]") {
  SyntheticJob job;
  job.planted = Planted::kGemm;
  job.slow_rank = 5;
  const Stragglers found = found_in(job);
  REQUIRE(found.stragglers.size() == 1);
  const Straggler& one = found.stragglers[0];
  CHECK(one.rank == 5);
  CHECK(one.persistent);
  CHECK(one.cause == StragglerCause::kKernels);
  CHECK(one.kernel_class == KernelClass::kGemm);
  CHECK(one.excess_ratio == Approx(0.1).margin(0.015));
  CHECK(one.confidence() > 0.999);
  CHECK(one.cause_ratio > 0.8);
  const RankScore& slow = found.ranks[5];
  const RankScore& other = found.ranks[0];
  CHECK(static_cast<double>(slow.step_ns) == Approx(static_cast<double>(other.step_ns)).epsilon(0.005));
  CHECK(slow.waited_ns < other.waited_ns / 4);
  CHECK(slow.class_score[static_cast<std::size_t>(KernelClass::kGemm)] ==
        Approx(1 / (1 + 0.1 * 18'000 / 10'100)).margin(0.02));
  CHECK(slow.class_score[static_cast<std::size_t>(KernelClass::kAttention)] == Approx(1).margin(0.02));
  for (std::size_t step = 0; step < found.steps.size(); ++step) {
    const RankStep& cell = found.cell(5, step);
    CHECK(cell.own_ns + cell.waited_ns + cell.communication_ns == cell.step_ns);
  }
}

TEST_CASE("the cause is what takes longer", "[stragglers]") {
  for (const Planted planted : {Planted::kInput, Planted::kHost, Planted::kGemm, Planted::kDevice, Planted::kLink}) {
    for (const bool on_device : {true, false}) {
      CAPTURE(name_of(planted), on_device);
      SyntheticJob job;
      job.ranks = 32;
      job.planted = planted;
      job.slow_rank = 11;
      job.on_device = on_device;
      job.in_two_levels = planted == Planted::kLink;
      const Stragglers found = found_in(job);
      REQUIRE(found.stragglers.size() == 1);
      CHECK(found.stragglers[0].rank == 11);
      CHECK(is_right(planted, on_device, found.stragglers[0]));
    }
  }
}

TEST_CASE("the shortest range that takes longer is told", "[stragglers]") {
  SyntheticJob job;
  job.slow_rank = 2;
  const auto range = [&] {
    const Timeline timeline = make_job(job);
    const Result<Stragglers> found = find_stragglers(timeline);
    REQUIRE(found);
    REQUIRE(found->stragglers.size() == 1);
    return std::string(timeline.text(found->stragglers[0].range));
  };
  SECTION("input") {
    job.planted = Planted::kInput;
    CHECK(range() == "data");
  }
  SECTION("input without a device, inside of one that takes longer as well") {
    job.planted = Planted::kInput;
    job.on_device = false;
    CHECK(range() == "data");
  }
  SECTION("host") {
    job.planted = Planted::kHost;
    CHECK(range() == "tokenize");
  }
  SECTION("more than one range: the one around them") {
    job.planted = Planted::kGemm;
    job.on_device = false;
    CHECK(range() == "train");
  }
}

TEST_CASE("one that is slow in every fourth step is no persistent straggler", "[stragglers]") {
  SyntheticJob job;
  job.planted = Planted::kHost;
  job.slow_rank = 3;
  job.slowdown = 0.3;
  job.every = 4;
  job.steps = 40;
  job.spikes = 0;
  const Stragglers found = found_in(job);
  REQUIRE(found.stragglers.size() == 1);
  CHECK(found.stragglers[0].rank == 3);
  CHECK_FALSE(found.stragglers[0].persistent);
  CHECK(found.stragglers[0].steps == std::vector<std::int64_t>{4, 8, 12, 16, 20, 24, 28, 32, 36});
  CHECK(found.odd.empty());
}

TEST_CASE("one that is slow from a step on is told with its steps", "[stragglers]") {
  SyntheticJob job;
  job.planted = Planted::kGemm;
  job.slow_rank = 4;
  job.steps = 40;
  job.first_slow_step = 14;
  job.spikes = 0;
  const Stragglers found = found_in(job);
  REQUIRE(found.stragglers.size() == 1);
  CHECK(found.stragglers[0].rank == 4);
  CHECK_FALSE(found.stragglers[0].persistent);
  REQUIRE(found.stragglers[0].steps.size() == 26);
  CHECK(found.stragglers[0].steps.front() == 14);
  CHECK(found.stragglers[0].excess_ratio == Approx(0.1).margin(0.015));
}

TEST_CASE("where all ranks differ, none is named for it", "[stragglers]") {
  SyntheticJob job;
  job.ranks = 32;
  job.rank_noise = 0.04;
  const Stragglers found = found_in(job);
  CHECK(found.stragglers.empty());
  double most = 0;
  for (const RankScore& one : found.ranks) most = std::max(most, one.excess_ratio);
  CHECK(most > 0.05);
}

TEST_CASE("a slow link is told only where one rank alone is in all slow groups", "[stragglers]") {
  // Eight ranks in four pairs, by two kinds of groups. The first of each kind is slow.
  const bool same_pairs = GENERATE(true, false);
  Timeline timeline;
  MatchedCollectives matched;
  Stragglers out;
  for (int step = 0; step < 20; ++step) {
    out.steps.push_back(step);
    for (std::uint32_t group = 0; group < 8; ++group) {
      MatchedCollective one;
      one.kind = group < 4 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
      one.group = ProcessGroupIndex(group);
      one.ranks = one.part_count = 2;
      one.first_part = matched.parts.size();
      one.latency_ns = (group % 4 == 0 ? 2000 : 1000) + step % 3;
      const std::uint32_t pair = group % 4;
      const bool neighbours = group < 4 || same_pairs;
      for (const std::uint32_t rank : {neighbours ? 2 * pair : pair, neighbours ? 2 * pair + 1 : pair + 4})
        matched.parts.push_back({kNone, ProcessIndex(rank)});
      matched.collectives.push_back(one);
    }
  }
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    timeline.processes.emplace_back();
    timeline.process_groups.emplace_back().name = std::to_string(rank);
    for (int step = 0; step < 20; ++step) timeline.steps.append({.number = step, .thread = ThreadIndex(rank)});
    RankScore score;
    score.process = ProcessIndex(rank);
    score.steps = 20;
    score.step_ns = 10'000;
    out.ranks.push_back(score);
  }
  analysis::find_slow_links(timeline, matched, {}, out);
  if (same_pairs) {
    CHECK(out.stragglers.empty());
    CHECK(says(out.notes, "which of its ranks or links is slow cannot be told"));
  } else {
    REQUIRE(out.stragglers.size() == 1);
    CHECK(out.stragglers[0].rank == 0);
    CHECK(out.stragglers[0].excess_ns == 2000);
    CHECK(out.stragglers[0].excess_ratio == Approx(0.2));
    CHECK(out.notes.empty());
  }
}

TEST_CASE("a single slow step is odd, and names nobody", "[stragglers]") {
  SyntheticJob job;
  job.planted = Planted::kHost;
  job.slow_rank = 6;
  job.slowdown = 0.4;
  job.every = 17;  // steps 0, which is warm-up, and 17
  job.spikes = 0;
  const Stragglers found = found_in(job);
  CHECK(found.stragglers.empty());
  REQUIRE(found.odd.size() == 1);
  CHECK(found.odd[0].rank == 6);
  CHECK(found.odd[0].steps == std::vector<std::int64_t>{17});
  CHECK(found.odd[0].excess_ratio == Approx(0.4 * 18 / 26).margin(0.06));
  CHECK(found.odd[0].cause == StragglerCause::kHost);
  std::size_t odd = 0;
  for (const RankStep& cell : found.cells) odd += cell.odd ? 1 : 0;
  CHECK(odd == 1);
}

TEST_CASE("with one group a slow link slows all alike, and names nobody", "[stragglers]") {
  SyntheticJob job;
  job.ranks = 32;
  job.planted = Planted::kLink;
  job.slowdown = 0.3;
  CHECK(found_in(job).stragglers.empty());
}

TEST_CASE("where nothing can be told nobody is judged, and the reason is given", "[stragglers]") {
  SyntheticJob job;
  job.planted = Planted::kHost;
  SECTION("few steps") {
    job.steps = 6;
    const Stragglers found = found_in(job);
    CHECK(found.stragglers.empty());
    CHECK(found.abstained.find("at least 8 are needed") != std::string::npos);
  }
  SECTION("one rank") {
    job.ranks = 1;
    CHECK(found_in(job).abstained == "only one process has steps: there is no other rank to compare it with");
  }
  SECTION("no steps") {
    const Result<Stragglers> found = find_stragglers(Timeline());
    REQUIRE(found);
    CHECK(found->abstained == "no process has steps (call session.step())");
  }
}

TEST_CASE("collectives that cannot be matched leave kernels and ranges", "[stragglers]") {
  SyntheticJob job;
  job.planted = Planted::kGemm;
  job.slow_rank = 1;
  Timeline timeline = make_job(job);
  SECTION("refused") {
    CollectiveTable wrong;
    for (CollectiveIndex row{0}; row < timeline.collectives.size(); ++row) {
      CollectiveRow one = timeline.collectives.row(row);
      one.elements_in = one.elements_out = 1000 + static_cast<std::int64_t>(one.process);  // no two ranks agree
      wrong.append(one);
    }
    timeline.collectives = wrong;
    const Result<Stragglers> found = find_stragglers(timeline);
    REQUIRE(found);
    REQUIRE(found->stragglers.size() == 1);
    CHECK(found->stragglers[0].rank == 1);
    CHECK(says(found->notes, "no collective could be matched over ranks"));
    CHECK(found->ranks[0].waited_ns == kNoTime);
  }
  SECTION("none") {
    job.with_collectives = false;
    const Stragglers found = found_in(job);
    REQUIRE(found.stragglers.size() == 1);
    CHECK(found.stragglers[0].rank == 1);
    CHECK(found.stragglers[0].kernel_class == KernelClass::kGemm);
    CHECK(says(found.notes, "the input has no collectives"));
  }
}

TEST_CASE("options out of their limits are refused", "[stragglers]") {
  StragglerOptions options;
  SECTION("excess") { options.least_excess = 0; }
  SECTION("step excess") { options.least_step_excess = -1; }
  SECTION("significance") { options.significance = 1; }
  SECTION("steps") { options.fewest_steps = 3; }
  SECTION("names") { options.step_names = "dta=load"; }
  const Result<Stragglers> found = find_stragglers(Timeline(), options);
  REQUIRE_FALSE(found);
  CHECK(found.error().code() == ErrorCode::kInvalidArgument);
}

TEST_CASE("kernels are told apart by their names", "[stragglers]") {
  const std::pair<const char*, KernelClass> kernels[] = {
      {"ampere_sgemm_128x64_tn", KernelClass::kGemm},
      {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x4_tn_align8>", KernelClass::kGemm},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", KernelClass::kGemm},
      {"void splitKreduce_kernel<32, 16, int, float>", KernelClass::kGemm},
      {"sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32", KernelClass::kConvolution},
      {"void cutlass::Kernel<cutlass_tensorop_s1688wgrad_optimized_tf32>", KernelClass::kConvolution},
      {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>", KernelClass::kAttention},
      {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)", KernelClass::kAttention},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::reduce_something>", KernelClass::kElementwise},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>", KernelClass::kNormalization},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float>>>",
       KernelClass::kReduction},
      {"my_kernel", KernelClass::kOther}};
  for (const auto& [name, kernel_class] : kernels) {
    CAPTURE(name);
    CHECK(to_string(kernel_class_of(name)) == std::string(to_string(kernel_class)));
  }
}

TEST_CASE("tails of the tests that name a rank", "[stragglers]") {
  CHECK(analysis::binomial_tail(10, 0.5, 10) == Approx(1.0 / 1024));
  CHECK(analysis::binomial_tail(4, 0.25, 2) == Approx((6 * 9 + 4 * 3 + 1) / 256.0));
  CHECK(analysis::binomial_tail(5, 0.3, 0) == 1);
  CHECK(analysis::binomial_tail(5, 0, 1) == 0);
  CHECK(analysis::normal_tail(1.959964) == Approx(0.025).epsilon(1e-4));
}
