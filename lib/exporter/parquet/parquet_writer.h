// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/arrow.h>

#include <stdint.h>

// What the component for Parquet, librangefinder_parquet.so, exports: it writes tables that it is handed by Arrow's C
// data interface. It links Arrow C++; librangefinder loads it when an export to Parquet asks for it.

#if defined(__cplusplus)
extern "C" {
#endif

/// Grows when rf_parquet_writer changes; the two libraries must agree.
#define RF_PARQUET_ABI_VERSION 1
RF_API uint32_t rf_parquet_abi_version(void) RF_NOEXCEPT;

/// Static. It writes columns of int64, int32, flags and dictionaries of texts: what the export makes.
RF_API const rf_parquet_writer* rf_parquet_arrow_writer(void) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
