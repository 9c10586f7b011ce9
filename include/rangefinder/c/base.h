// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What every part of the C interface uses: statuses, errors, versions, texts, facts. rangefinder.h has the rules.

#if defined(__GNUC__) || defined(__clang__)
#define RF_API __attribute__((visibility("default")))
#else
#define RF_API
#endif
#define RF_CALLS_BACK  // a callback may end its thread, which unwinds
#if defined(__cplusplus)
#define RF_NOEXCEPT noexcept
extern "C" {
#else
#define RF_NOEXCEPT
#endif

/// Version of this interface: grows with everything that is added, from the first release on. Nothing is removed or
/// redefined under one soname then.
#define RF_ABI_VERSION 1

/// What kind of thing went wrong; 0 is success. The message says the rest.
typedef enum rf_status {
  RF_STATUS_OK = 0,
  RF_STATUS_INVALID_ARGUMENT = 1,  ///< wrong use: a null, an option, a value, a combination
  RF_STATUS_NOT_FOUND = 2,         ///< no such file, view, range
  RF_STATUS_UNREADABLE = 3,        ///< input that is not what it claims to be, or is damaged beyond use
  RF_STATUS_UNSUPPORTED = 4,       ///< a version, option or platform that this library does not handle
  RF_STATUS_EXISTS = 5,            ///< the output is there already and may not be replaced
  RF_STATUS_IO = 6,                ///< the operating system refused: disk full, permission
  RF_STATUS_BUSY = 7,              ///< in use by another session or another profiler
  RF_STATUS_TIMEOUT = 8,           ///< a bounded wait ran out
  RF_STATUS_INCOMPLETE = 9,        ///< data are missing
  RF_STATUS_INTERNAL = 10,         ///< our mistake, or no memory
  RF_STATUS_TOO_LARGE = 11         ///< needs more memory than it may use
} rf_status;

/// "unreadable", "not found", ...; "unknown status" for a number that is none.
RF_API const char* rf_status_name(rf_status status) RF_NOEXCEPT;

/// What went wrong in the calling thread's last call that failed: what, where, and what to do. "" when none has. Holds
/// until the next call of that thread that fails; at most 2 KiB, cut where it is longer.
RF_API const char* rf_last_error(void) RF_NOEXCEPT;

/// Of the library that is loaded: "0.1.0", and RF_ABI_VERSION as it was built.
RF_API const char* rf_version(void) RF_NOEXCEPT;
RF_API uint32_t rf_abi_version(void) RF_NOEXCEPT;

/// A text that the library made. Null counts as empty.
typedef struct rf_text rf_text;
RF_API const char* rf_text_data(const rf_text* text) RF_NOEXCEPT;
/// Bytes, without the zero at the end.
RF_API size_t rf_text_size(const rf_text* text) RF_NOEXCEPT;
RF_API void rf_text_free(rf_text* text) RF_NOEXCEPT;

/// A fact to store with the capture: "model" = "resnet50".
typedef struct rf_metadata {
  const char* key;
  const char* value;
} rf_metadata;

/// Who owns device work; see projection.hpp.
typedef enum rf_attribution {
  RF_ATTRIBUTION_AUTO = 0,
  RF_ATTRIBUTION_LAUNCH = 1,
  RF_ATTRIBUTION_FORWARD = 2,
  RF_ATTRIBUTION_CAPTURE = 3
} rf_attribution;

#if defined(__cplusplus)
}
#endif
