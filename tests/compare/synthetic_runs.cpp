// SPDX-License-Identifier: MIT
#include "compare/synthetic_runs.hpp"

#include <cmath>

namespace rangefinder::testing {

using namespace compare;

std::vector<double> autocorrelated(std::mt19937_64& random, std::size_t count, double correlation, double middle,
                                   double deviation) {
  std::normal_distribution<double> normal;
  const double fresh = std::sqrt(1 - correlation * correlation);
  std::vector<double> out;
  double at = normal(random);
  for (std::size_t i = 0; i < count; ++i) {
    at = correlation * at + fresh * normal(random);
    out.push_back(middle + deviation * at);
  }
  return out;
}

Run SyntheticRun::make(std::mt19937_64& random) const {
  std::normal_distribution<double> normal;
  Run run;
  run.name = "synthetic";
  run.hardware.cpu = "cpu_test_2t";
  run.paths.push_back({std::uint32_t{kNone}, "train"});
  Subject step{SubjectKind::kStep, 0, {}}, train{SubjectKind::kPath, 0, {}};
  std::vector<Subject> paths;
  for (std::uint32_t path = 0; path < path_ns.size(); ++path) {
    run.paths.push_back({0, "p" + std::to_string(path)});
    paths.push_back({SubjectKind::kPath, path + 1, {}});
  }
  for (std::uint32_t number = 0; number < steps; ++number) {
    Amounts all{1, 0, 0, 0, 0, 0};
    for (std::size_t path = 0; path < path_ns.size(); ++path) {
      Amounts amounts{1, 0, 0, 0, std::llround(path_ns[path] * speed * (1 + noise * normal(random))), 0};
      paths[path].by_step.emplace_back(number, amounts);
      all.host_ns += amounts.host_ns;
    }
    train.by_step.emplace_back(number, all);
    step.by_step.emplace_back(number, all);
    RunStep entry;
    entry.number = number;
    entry.places = 1;
    entry.peak_bytes = peak_bytes;
    entry.computation_ns = all.host_ns;
    run.steps.push_back(entry);
  }
  run.subjects = {step, train};
  run.subjects.insert(run.subjects.end(), paths.begin(), paths.end());
  return run;
}

std::vector<Run> synthetic_runs(std::mt19937_64& random, std::size_t count, const SyntheticRun& shape,
                                double speed_deviation) {
  std::normal_distribution<double> normal;
  std::vector<Run> runs;
  for (std::size_t i = 0; i < count; ++i) {
    SyntheticRun one = shape;
    one.speed = shape.speed * std::exp(speed_deviation * normal(random));
    runs.push_back(one.make(random));
  }
  return runs;
}

}  // namespace rangefinder::testing
