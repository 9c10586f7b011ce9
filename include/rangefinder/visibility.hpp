// SPDX-License-Identifier: MIT
#pragma once

// The library is built with hidden visibility: only what carries RANGEFINDER_EXPORT can be reached from outside.
#if defined(__GNUC__) || defined(__clang__)
#define RANGEFINDER_EXPORT __attribute__((visibility("default")))
#else
#define RANGEFINDER_EXPORT
#endif
