// SPDX-License-Identifier: MIT
#include "advice/corpus/cases.hpp"

#include <iterator>

namespace rangefinder::testing::corpus {

/// The half of the corpus that shows what rules are worth. Who makes them does not look at it.
std::vector<AdviceCase> held_out_cases() {
  std::vector<AdviceCase> all;
  for (auto part :
       {held_out_host_cases, held_out_device_cases, held_out_job_cases, held_out_cpu_cases, held_out_healthy_cases}) {
    std::vector<AdviceCase> cases = part();
    all.insert(all.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
  }
  return all;
}

}  // namespace rangefinder::testing::corpus
