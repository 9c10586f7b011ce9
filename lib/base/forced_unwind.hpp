// SPDX-License-Identifier: MIT
#pragma once

#include <cxxabi.h>

/// For a function that catches abi::__forced_unwind and throws it on: pthread_exit, by which Python ends threads when
/// it is gone, unwinds by an exception without an object, and a sanitizer takes that for a reference to nothing.
#define RANGEFINDER_THREAD_MAY_END __attribute__((no_sanitize("null")))
