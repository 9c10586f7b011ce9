// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/cupti_api.hpp"

#include <string>
#include <string_view>

namespace rangefinder::source::cupti {

/// "CUPTI_ERROR_NOT_COMPATIBLE"; empty for a code this version does not know.
std::string_view error_name(CUptiResult result) noexcept;

/// What the code means for the person in front of it, and what to do. cuptiGetErrorMessage has prose for three codes
/// only and echoes the name for the rest.
std::string_view error_text(CUptiResult result) noexcept;

/// "cuptiActivityEnable(MEMCPY): another API family or ... (CUPTI_ERROR_NOT_COMPATIBLE, 14)".
std::string describe_failure(std::string_view call, CUptiResult result);

}  // namespace rangefinder::source::cupti
