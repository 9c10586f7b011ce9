// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/program.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/advice.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// A case of the corpus: a program, what makes it slow, and how it runs without.
namespace rangefinder::testing::corpus {

/// Which of the causes are in the program that is to be simulated.
class Planted {
 public:
  static Planted all() { return Planted(~0u); }
  Planted without(std::size_t cause) const { return Planted(causes_ & ~(1u << cause)); }
  bool operator()(std::size_t cause) const { return (causes_ >> cause & 1) != 0; }

 private:
  explicit Planted(unsigned causes) : causes_(causes) {}
  unsigned causes_;
};

struct PlantedCause {
  AdviceRule rule{};
  /// Another rule that names the same cause as rightly: float products without tensor cores are both "no tensor cores"
  /// and "32-bit".
  std::optional<AdviceRule> or_rule = std::nullopt;
};

/// A finding that is a direct consequence of a planted cause, and why.
struct AlsoRight {
  AdviceRule rule{};
  std::string reason;
};

struct AdviceCase {
  std::string name;
  std::vector<PlantedCause> causes;  ///< the most costly first; empty: a healthy program
  std::function<std::vector<Program>(std::uint64_t seed, Planted)> simulate;
  std::vector<AlsoRight> also_right;
  /// Played through the recorder, and read from its capture; else the timeline is built.
  bool recorded = false;
};

/// Of a program of one process.
inline std::function<std::vector<Program>(std::uint64_t, Planted)> alone(
    std::function<Program(std::uint64_t, Planted)> simulate) {
  return [simulate = std::move(simulate)](std::uint64_t seed, Planted planted) {
    std::vector<Program> job;
    job.push_back(simulate(seed, planted));
    return job;
  };
}

std::vector<AdviceCase> visible_cases();
std::vector<AdviceCase> held_out_cases();

/// Every fourth case under a sanitizer, where to simulate all takes minutes; else all.
inline std::vector<AdviceCase> affordable(std::vector<AdviceCase> cases) {
  if (!sanitized()) return cases;
  std::vector<AdviceCase> some;
  for (std::size_t i = 0; i < cases.size(); i += 4) some.push_back(std::move(cases[i]));
  return some;
}

/// What visible_cases() is made of.
std::vector<AdviceCase> visible_host_cases();
std::vector<AdviceCase> visible_device_cases();
std::vector<AdviceCase> visible_job_cases();
std::vector<AdviceCase> visible_cpu_cases();
std::vector<AdviceCase> visible_healthy_cases();
std::vector<AdviceCase> second_host_cases();
std::vector<AdviceCase> second_device_cases();
std::vector<AdviceCase> second_job_cases();
std::vector<AdviceCase> second_cpu_cases();
std::vector<AdviceCase> second_healthy_cases();
std::vector<AdviceCase> third_host_cases();
std::vector<AdviceCase> third_device_cases();
std::vector<AdviceCase> third_job_cases();
std::vector<AdviceCase> third_cpu_cases();
std::vector<AdviceCase> third_healthy_cases();
std::vector<AdviceCase> fourth_host_cases();
std::vector<AdviceCase> fourth_device_cases();
std::vector<AdviceCase> fourth_job_cases();
std::vector<AdviceCase> fourth_cpu_cases();
std::vector<AdviceCase> fourth_healthy_cases();

/// What held_out_cases() is made of.
std::vector<AdviceCase> held_out_host_cases();
std::vector<AdviceCase> held_out_device_cases();
std::vector<AdviceCase> held_out_job_cases();
std::vector<AdviceCase> held_out_cpu_cases();
std::vector<AdviceCase> held_out_healthy_cases();

}  // namespace rangefinder::testing::corpus
