// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"

#include <rangefinder/result.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::bench {

/// What the ranks of a variant print: one log of whole lines in the order in which they arrived, each with its rank.
///
///   [rank 1] connected
///   [rank 0] connected
///
/// A rank that prints faster than it is read waits, as with any pipe.
class RankOutput {
 public:
  /// `append`: behind what earlier processes wrote.
  static Result<RankOutput> open(const std::string& log, bool append, unsigned ranks);

  /// What the process of a rank gets for its stdout and stderr; closed here by `close_writing_end`.
  int writing_end(unsigned rank) const noexcept { return pipes_[rank].writing.get(); }
  void close_writing_end(unsigned rank) noexcept { pipes_[rank].writing.reset(); }
  /// To wait on; -1 when the rank has closed it.
  int reading_end(unsigned rank) const noexcept { return pipes_[rank].reading.get(); }

  /// Takes what has arrived of a rank, and waits for nothing.
  void drain(unsigned rank);
  /// Writes lines without an end, too: of ranks that are gone.
  void finish();
  /// The last lines of a rank, one line, for a message: "; its last lines: a / b". Empty: it has printed nothing.
  std::string last_lines(unsigned rank) const;

 private:
  struct Pipe {
    base::Fd reading;
    base::Fd writing;
    std::string line;  ///< whose end has not arrived
    std::deque<std::string> last;
  };

  RankOutput() = default;
  void take(unsigned rank, std::string_view text);
  void write_line(unsigned rank);

  base::Fd log_;
  std::vector<Pipe> pipes_;
};

}  // namespace rangefinder::bench
