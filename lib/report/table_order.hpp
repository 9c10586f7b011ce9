// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"
#include "report/view.hpp"

#include <rangefinder/result.hpp>

namespace rangefinder::report {

/// Applies filter, sort and top of the options, in this order, to any table.
Status arrange(Table& table, const ViewOptions& options);

}  // namespace rangefinder::report
