// SPDX-License-Identifier: MIT
#pragma once

// Catch2 2.13 is one header; Catch2 3 is many.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <cstdio>

/// Leaves the test case as skipped, with the reason in the log. Catch2 2.13 has no SKIP of its own; ctest finds the
/// word.
#define RANGEFINDER_SKIP(reason)                               \
  do {                                                         \
    std::printf("SKIPPED: %s\n", std::string(reason).c_str()); \
    SUCCEED("skipped");                                        \
    return;                                                    \
  } while (false)
