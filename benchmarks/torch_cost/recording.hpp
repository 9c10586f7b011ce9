// SPDX-License-Identifier: MIT
#pragma once

#include "common/cases.hpp"

#include <rangefinder/session.hpp>

#include <string>

namespace bench {

/// Of the whole benchmark; a case's process records into it.
const std::string& folder();

/// What is recorded beside ranges.
struct Recorded {
  bool autograd = true;  ///< in which range each node was made
  bool operators = false;
  bool shapes = false;  ///< of the operators
  bool memory = false;  ///< of the host
  bool turns = false;   ///< off until `turn`
  bool cuda = false;    ///< kernels, copies and sets
  bool cuda_api = false;
  rangefinder::GraphTracing graphs = rangefinder::GraphTracing::kNodes;
};

/// The session of this process, or ended.
class Recording {
 public:
  /// Ends the process when it cannot record.
  static void start(const Recorded& what);
  /// On or off, of a recording that takes turns.
  static void turn(bool on);
  /// Until all that was recorded is packed and written; nothing without a session.
  static void flush();
  /// Ends it, removes the capture, tells what was lost.
  static std::string stop();
  /// Ends it and keeps the capture, of which this is the path.
  static std::string keep();
};

/// What a row costs beyond its floor.
inline double added(const Row& row) { return row.ratio - 1; }
/// A target for what ours adds to what theirs adds. Not met where one of them did not start, or theirs adds nothing.
void print_added_ratio(const std::string& what, double limit, const Row& ours, const Row& theirs);

}  // namespace bench
