// SPDX-License-Identifier: MIT
#pragma once

#include "timeline/words.hpp"

#include <rangefinder/projection.hpp>

namespace rangefinder {

/// As `--attribute` has them.
inline constexpr std::array<std::string_view, 4> kAttributionWords{"auto", "launch", "forward", "capture"};

constexpr std::string_view word_of(Attribution attribution) noexcept { return word_in(kAttributionWords, attribution); }

}  // namespace rangefinder
