// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>
#include <rangefinder/c/compare.h>
#include <rangefinder/c/export.h>
#include <rangefinder/c/health.h>
#include <rangefinder/c/query.h>
#include <rangefinder/c/ranges.h>
#include <rangefinder/c/reading.h>
#include <rangefinder/c/session.h>

// rangefinder for C, and for whatever calls C: C11 or C++17, and nothing else. docs/reference/c-api.md has an example.
//
// Structs: whoever calls writes sizeof of the struct, as compiled, into its first member, struct_size; the functions
//          *_init do. A struct of an older version gets the defaults for what it lacks. In one of a newer version, what
//          this library does not know must be zero, else RF_STATUS_UNSUPPORTED; in structs that are filled for the
//          caller it is set to zero.
// Errors:  a function that fails returns a status, or the value that stands at its declaration, and leaves a message
//          for rf_last_error(). Nothing is thrown, printed or aborted. Handles may be null: RF_STATUS_INVALID_ARGUMENT.
// Text:    UTF-8, ended by a zero byte; copied where the library keeps it.
// Threads: any, where a declaration does not say otherwise. One handle is used by one thread at a time.
// Range, mark, session, rf_session_health and summary functions are missing in libraries built without the recording
// half.
