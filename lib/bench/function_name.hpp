// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rangefinder::bench {

/// A function's own name with its namespaces: demangled, without template arguments, parameters and return type.
std::string function_name(std::string_view symbol);

}  // namespace rangefinder::bench
