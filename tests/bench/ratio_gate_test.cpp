// SPDX-License-Identifier: MIT
// Whether stored ratios tell a slowdown from noise: on a simulated machine that is as busy as one wants, many times
// over.
#include "bench/expectations.hpp"
#include "bench/row.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace rangefinder::bench;
using rangefinder::testing::first_seed;
using rangefinder::testing::given_seed;
using rangefinder::testing::repeats;
using rangefinder::testing::ScratchFolder;

namespace {

constexpr const char* kFamily = "cpu_x86_64_avx2";
constexpr int kSteps = 40, kRounds = 5, kStoredRuns = 9;

/// CPU times of steps on a machine that other programs share. Each variant has a speed of its own in each run (where
/// its memory lies), both drift together from round to round, steps vary, and one in twenty is interrupted.
/// In one round of five something else runs on the same core: all steps of a variant take up to twice as long.
class BusyMachine {
 public:
  explicit BusyMachine(std::uint64_t seed) : random_(seed) {}

  /// A run of a pair of which the optimized variant takes `slowdown` times as long as it did.
  Row run(double slowdown) {
    Row row;
    row.setup.device = "cpu";
    const double baseline_ns = 3e6 * varied(0.015), optimized_ns = 1e6 * slowdown * varied(0.015);
    for (int round = 0; round < kRounds; ++round) {
      const double drift = varied(0.03);
      append_steps(row.baseline.cpu_ns, baseline_ns * drift);
      append_steps(row.optimized.cpu_ns, optimized_ns * drift);
    }
    row.baseline.wall_ns = row.baseline.cpu_ns;
    row.optimized.wall_ns = row.optimized.cpu_ns;
    return row;
  }

 private:
  void append_steps(std::vector<double>& out, double step_ns) {
    if (chance_(random_) < 0.2) step_ns *= 1.3 + 0.7 * chance_(random_);
    for (int step = 0; step < kSteps / kRounds; ++step) {
      const bool interrupted = chance_(random_) < 0.05;
      out.push_back(step_ns * varied(0.03) * (interrupted ? 1.5 + 2 * chance_(random_) : 1));
    }
  }

  double varied(double spread) { return std::exp(spread * normal_(random_)); }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> chance_;
};

Measured measured(const Row& row) {
  return {"pair",
          "speed",
          {},
          {"c0ffee", kFamily, "cpu", "smoke", "none", "warm", "", kSteps, 5, "", "", ""},
          ratios_of(row)};
}

/// How many of some runs regressed.
int regressions(BusyMachine& machine, const Expectations& stored, int runs, double slowdown) {
  int out = 0;
  for (int run = 0; run < runs; ++run) {
    const RegressionCheck found = stored.check(measured(machine.run(slowdown)));
    REQUIRE(found.conflict.empty());
    out += found.state == State::kRegressed;
  }
  return out;
}

}  // namespace

TEST_CASE("a slowdown of 20 % is told from noise, and noise is no slowdown", "[bench][property]") {
  // What chance does cannot be bounded for every seed: other ones are tried with RANGEFINDER_SEED.
  BusyMachine machine(given_seed() != nullptr ? first_seed() : 16);
  const int files = repeats(16);
  int false_alarms = 0, caught = 0, faster = 0;
  for (int file = 0; file < files; ++file) {
    const ScratchFolder folder;
    const std::string path = folder.file("expectations.json");
    for (int run = 0; run < kStoredRuns; ++run)
      (void)update_expectations(path, kFamily, {measured(machine.run(1))}, {}).value();
    const Expectations stored = Expectations::load(path, kFamily).value();
    false_alarms += regressions(machine, stored, 10, 1);
    caught += regressions(machine, stored, 5, 1.2);
    faster += regressions(machine, stored, 5, 0.8);
  }
  // Measured with 150 files: false alarms in 1 of 1200 runs, and 97 of 100 slowdowns caught.
  CHECK(false_alarms * 100 <= files * 10);
  CHECK(caught * 100 >= files * 5 * 90);
  CHECK(faster == 0);
}
