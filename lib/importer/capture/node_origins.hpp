// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/host_assembler.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace rangefinder::importer {

/// Where the autograd nodes of a capture were made, from what threads noted of their numbers. Of all nodes that a
/// thread numbered between two of its records, the first of these records is known, which is enough to tell the range.
class NodeOrigins {
 public:
  /// Of each thread the last `most` are remembered.
  explicit NodeOrigins(std::size_t most = std::numeric_limits<std::size_t>::max()) noexcept : most_(most) {}

  struct Origin {
    std::uint64_t end;    ///< behind its last number; they begin where those of the one before end
    std::uint64_t ticks;  ///< of the record after which they were taken
    std::uint32_t thread;
    bool known;               ///< false: they were taken while nothing was recorded
    bool in_range;            ///< a scoped range was open
    std::uint64_t range = 0;  ///< key of the innermost range there; 0: none
    std::uint64_t node = 0;   ///< the caller's number of the node that ran there; 0: none
  };

  void add(const AssembledSequence& sequence, std::uint64_t node = 0);
  /// Where what a thread has numbered since its last record was made, until the thread tells or this is called again.
  void set_to_come(const AssembledSequence& sequence, std::uint64_t node);
  /// All that are remembered.
  template <typename Use>
  void for_each(Use use) const {
    for (const auto& [number, thread] : threads_)
      for (const Origin& origin : thread.origins) use(origin);
  }
  /// Null when nothing is known of it.
  const Origin* find(const AssembledNode& node) const;

 private:
  struct Thread {
    std::uint64_t first = 0;  // smaller numbers are forgotten
    std::deque<Origin> origins;
    std::optional<Origin> to_come;
  };
  static Origin origin_of(const AssembledSequence& sequence, std::uint64_t node) noexcept;
  std::size_t most_;
  std::map<std::uint32_t, Thread> threads_;  // by the thread's number in nodes
};

}  // namespace rangefinder::importer
