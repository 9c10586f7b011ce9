// SPDX-License-Identifier: MIT
#pragma once

#include "timeline/host_assembler.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace rangefinder::timeline {

/// Where the autograd nodes of a capture were made, from what threads noted of their numbers. Of all nodes that a
/// thread numbered between two of its records, the first of these records is known, which is enough to tell the range.
class NodeOrigins {
 public:
  struct Origin {
    std::uint64_t end;    ///< behind its last number; they begin where those of the one before end
    std::uint64_t ticks;  ///< of the record after which they were taken
    std::uint32_t thread;
    bool known;  ///< false: they were taken while nothing was recorded
  };

  void add(const AssembledSequence& sequence);
  /// Null when nothing is known of it.
  const Origin* find(const AssembledNode& node) const;

 private:
  std::map<std::uint32_t, std::vector<Origin>> origins_;  // by the thread's number in nodes; in order
};

/// True for the threads on which LibTorch's engine runs nodes and nothing else: their names say so.
bool is_engine_thread(std::string_view name) noexcept;

/// The engine adds up gradients between two nodes, outside of both: on a thread of its own a node lasts until the next
/// one begins. Afterwards nodes are in order of thread and begin.
void last_until_the_next(std::vector<AssembledNode>& nodes, const std::function<bool(std::uint32_t)>& is_engine);

}  // namespace rangefinder::timeline
