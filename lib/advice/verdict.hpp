// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"

#include <rangefinder/analysis/advice.hpp>

namespace rangefinder::advice {

/// What most of the critical path of the judged steps is; kUnknown where nothing has half of it.
AdviceBound bound_of(Context& context);

/// One sentence: what bounds the step, and the largest gain. `advice` is complete but for it.
std::string verdict_of(Context& context, const Advice& advice);

}  // namespace rangefinder::advice
