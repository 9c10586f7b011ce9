// SPDX-License-Identifier: MIT
#include "advice/corpus/cases.hpp"

#include <iterator>

namespace rangefinder::testing::corpus {

/// The half of the corpus that rules are made with. All its parts but the first were the held-out half of
/// earlier rules.
std::vector<AdviceCase> visible_cases() {
  std::vector<AdviceCase> all;
  for (auto part :
       {visible_host_cases, visible_device_cases, visible_job_cases, visible_cpu_cases, visible_healthy_cases,
        second_host_cases,  second_device_cases,  second_job_cases,  second_cpu_cases,  second_healthy_cases,
        third_host_cases,   third_device_cases,   third_job_cases,   third_cpu_cases,   third_healthy_cases,
        fourth_host_cases,  fourth_device_cases,  fourth_job_cases,  fourth_cpu_cases,  fourth_healthy_cases}) {
    std::vector<AdviceCase> cases = part();
    all.insert(all.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
  }
  return all;
}

}  // namespace rangefinder::testing::corpus
