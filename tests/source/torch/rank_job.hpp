// SPDX-License-Identifier: MIT
#pragma once

#include <string>

// What rank_job, the program whose ranks collectives_test and the hang tests watch, is asked to do.
namespace rangefinder::testing {

/// All kinds of collectives that Gloo has, in a group of all ranks, and with four ranks in two groups of two as well.
inline constexpr const char* kAllKinds = "all_kinds";
/// Training steps in which rank 2 goes wrong: it skips a collective, calls another kind or another size, is killed, or
/// sleeps.
inline constexpr const char* kPlantedHangs[] = {"skips", "kind", "size", "dies", "sleeps"};
inline constexpr int kPlantedRank = 2;

/// The file into which a rank writes a line for each call that it makes, by itself.
inline std::string calls_file(const std::string& folder, int rank) {
  return folder + "/rank" + std::to_string(rank) + ".calls";
}
inline std::string capture_file(const std::string& folder, int rank) {
  return folder + "/rank" + std::to_string(rank) + ".rfcap";
}

}  // namespace rangefinder::testing
