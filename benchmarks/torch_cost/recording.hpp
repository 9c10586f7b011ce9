// SPDX-License-Identifier: MIT
#pragma once

#include "common/cases.hpp"

#include <string>

namespace bench {

/// Of the whole benchmark; a case's process records into it.
const std::string& folder();

/// The session of this process, on ranges alone, or ended.
class Recording {
 public:
  /// `autograd`: in which range each node was made is recorded too. Ends the process when it cannot record.
  static void start(bool autograd, bool operators = false);
  /// Until all that was recorded is packed and written; nothing without a session.
  static void flush();
  /// Ends it, removes the capture, tells what was lost.
  static std::string stop();
  /// Ends it and keeps the capture, of which this is the path.
  static std::string keep();
};

/// What a row costs beyond its floor.
inline double added(const Row& row) { return row.ratio - 1; }
/// How sure the row's ratio is, in words.
std::string sure(const Row& row);

}  // namespace bench
