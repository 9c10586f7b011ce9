// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/arrow.h>
#include <rangefinder/result.hpp>

namespace rangefinder::parquet {

/// Loads the component: RANGEFINDER_PARQUET_LIBRARY, then the folder of librangefinder, then where the system's loader
/// looks. What it returns is static.
///
/// Errors: kUnsupported where it is not there or of another version, with what to do.
Result<const rf_parquet_writer*> load_parquet_writer();

}  // namespace rangefinder::parquet
