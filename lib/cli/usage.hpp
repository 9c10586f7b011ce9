// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace rangefinder::cli {

/// What is wrong with the arguments, in one line that names the nearest command or option and where to read more.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int argc, const char* const* argv);

}  // namespace rangefinder::cli
