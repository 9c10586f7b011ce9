// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/cupti_error.hpp"

#include <rangefinder/result.hpp>

namespace rangefinder::source::counters {

/// kUnsupported, with the call and what its code means, unless the code is that of success.
inline Status checked(const char* call, CUptiResult result) {
  if (result == CUPTI_SUCCESS) return {};
  return Error(ErrorCode::kUnsupported, cupti::describe_failure(call, result));
}

}  // namespace rangefinder::source::counters

/// Calls an entry point of `api_` with the address of its parameters: RANGEFINDER_CHECKED(cuptiPmSamplingStop, params).
#define RANGEFINDER_CHECKED(call, params) ::rangefinder::source::counters::checked(#call, api_.call(&(params)))
