// SPDX-License-Identifier: MIT
#include "doctor/checks.hpp"

#include <rangefinder/doctor.hpp>

namespace rangefinder {

std::vector<DoctorFinding> run_doctor(const std::string& folder) {
  std::vector<DoctorFinding> findings;
  doctor::check_driver(findings);
  doctor::check_cupti(findings);
  doctor::check_holders(findings);
  doctor::check_counter_rights(findings);
  doctor::check_counters(findings);
  doctor::check_nvml(findings);
  doctor::check_cpu_counters(findings);
  doctor::check_torch(findings);
  doctor::check_nccl(findings);
  doctor::check_clock(findings);
  doctor::check_folder(findings, folder);
  doctor::check_environment(findings);
  return findings;
}

}  // namespace rangefinder
