// SPDX-License-Identifier: MIT
#pragma once

#include "job_of_ranks/job.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>

namespace job {

/// Records one rank of the job: a session with a clock and a device that the job plays, ranges, launches and
/// collectives by the calls that programs and sources make. Hosts have clocks of their own: another begin, a drift of
/// up to 20 in a million, wall clocks that are up to 3 ms off. Names and sessions are of the process: record each rank
/// in a new one.
rangefinder::Status record_rank(const Schedule& schedule, std::uint32_t rank, const std::string& path);

}  // namespace job
