// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "support/replay/recorded_program.hpp"

#include <rangefinder/timeline.hpp>

#include <map>
#include <string>
#include <vector>

namespace rangefinder::testing {

/// What an SQLite export of Nsight Systems holds of a program, read without our importer.
struct NsightProgram {
  std::vector<RecordedProcess> processes;
  /// Kernels by their mangled names: how Nsight spells those. Its demangler is its own.
  std::map<std::string, std::string> spellings;
};

/// Throws on what cannot be played.
NsightProgram read_nsight_program(const std::string& path);
NsightProgram read_nsight_program(base::ByteView image);

}  // namespace rangefinder::testing
