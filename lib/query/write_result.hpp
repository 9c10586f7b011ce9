// SPDX-License-Identifier: MIT
#pragma once

#include "report/sink.hpp"

#include <rangefinder/query.hpp>
#include <rangefinder/result.hpp>

namespace rangefinder::query {

/// The result as text, CSV or JSON.
Status write_result(const QueryResult& result, const QueryOutput& output, const report::Sink& sink);

}  // namespace rangefinder::query
