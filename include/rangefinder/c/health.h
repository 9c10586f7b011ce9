// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a recording lost.

#if defined(__cplusplus)
extern "C" {
#endif

/// What a recording lost, by cause, at one moment.
typedef struct rf_health rf_health;

typedef struct rf_health_entry {
  size_t struct_size;
  const char* name;  ///< "dropped_ranges", ...; never freed
  const char* text;  ///< for people; never freed
  uint64_t count;
  uint32_t number;  ///< in the capture file
  bool loss;        ///< data are missing where count is not 0; false: a note
} rf_health_entry;

/// True when nothing is missing; false for null.
RF_API bool rf_health_complete(const rf_health* health) RF_NOEXCEPT;
/// Entries, those with a count of 0 included.
RF_API size_t rf_health_count(const rf_health* health) RF_NOEXCEPT;
/// RF_STATUS_NOT_FOUND past the last one. The caller sets entry->struct_size.
RF_API rf_status rf_health_at(const rf_health* health, size_t index, rf_health_entry* entry) RF_NOEXCEPT;
/// The count of the entry with that name. RF_STATUS_NOT_FOUND, and *count is 0, for a name that this library does not
/// have; later versions have more entries, and their numbers and names stay.
///
///   uint64_t dropped;
///   rf_health_get(health, "dropped_ranges", &dropped);
RF_API rf_status rf_health_get(const rf_health* health, const char* name, uint64_t* count) RF_NOEXCEPT;
RF_API void rf_health_free(rf_health* health) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
