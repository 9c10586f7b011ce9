// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/doctor.hpp>

#include <string>
#include <vector>

// One question each; they append what they find.
namespace rangefinder::doctor {

using Findings = std::vector<DoctorFinding>;
using State = DoctorFinding::State;

void check_driver(Findings& findings);
/// After check_driver: without a driver the advice is to install that.
void check_cupti(Findings& findings);
/// Tools that were told to inject themselves: they take the one place that CUPTI has for a profiler.
void check_holders(Findings& findings);
void check_counter_rights(Findings& findings);
/// Counters of the processor: what SessionOptions::cpu_counters would hold.
void check_cpu_counters(Findings& findings);
/// Asks CUPTI about the counters of each device, and tries whether they are allowed.
void check_counters(Findings& findings);
void check_nvml(Findings& findings);
void check_torch(Findings& findings);
/// Whether NCCL's profiler plugin lies where `rangefinder record` looks for it, and how to choose it without.
void check_nccl(Findings& findings);
void check_clock(Findings& findings);
void check_folder(Findings& findings, const std::string& folder);
void check_environment(Findings& findings);

}  // namespace rangefinder::doctor
