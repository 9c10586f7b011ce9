// SPDX-License-Identifier: MIT
#pragma once

#include <sqlite3.h>

namespace rangefinder::query {

/// trim(X, Y), ltrim(X, Y) and rtrim(X, Y) in time that grows with the lengths of X and Y. SQLite's compare each
/// character of X with each of Y, which takes 13 s for two texts of 64 KiB, and nothing can end it.
int replace_trim_functions(sqlite3* connection) noexcept;

}  // namespace rangefinder::query
