// SPDX-License-Identifier: MIT
#pragma once

#include "projection/range_order.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rangefinder::projection {

/// The autograd nodes of one thread that run at a time, as time goes on. On a thread of the engine a node goes on
/// behind its end, until the next one begins or the one around it ends.
class RunningNodes {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();
  struct Running {
    AutogradNodeIndex node;
    std::int64_t ranges_to = kNever;  ///< the caller's: of the outer node the latest of those inside, when they end
  };

  /// `nodes` in order of begin, of two that begin together the longer first.
  RunningNodes(const Timeline& timeline, std::span<const AutogradNodeIndex> nodes, ThreadIndex thread)
      : table_(timeline.autograd_nodes),
        nodes_(nodes),
        is_engine_(timeline.threads[thread].is_engine),
        rule_(timeline.range_end) {}

  /// When the next node begins; kAfterAll: there is none.
  std::int64_t next_begin() const noexcept {
    return next_ < nodes_.size() ? table_.begin_ns[nodes_[next_]] : kAfterAll;
  }
  void begin_next() {
    end_before(next_begin(), true);
    running_.push_back({nodes_[next_++]});
  }
  /// Ends the nodes that are over.
  void end_before(std::int64_t time) { end_before(time, false); }
  /// All until then; with nothing else to look at meanwhile.
  void advance(std::int64_t time) {
    while (next_ < nodes_.size() && next_begin() <= time) begin_next();
    end_before(time);
  }

  bool empty() const noexcept { return running_.empty(); }
  const Running& innermost() const noexcept { return running_.back(); }
  Running& innermost() noexcept { return running_.back(); }

 private:
  bool is_over_at(std::size_t depth, std::int64_t time) const noexcept {
    return is_over(table_.end_ns[running_[depth].node], time, rule_);
  }
  void end_before(std::int64_t time, bool next_begins) {
    while (!running_.empty() && is_over_at(running_.size() - 1, time)) {
      const bool around_is_over = running_.size() > 1 && is_over_at(running_.size() - 2, time);
      if (is_engine_ && !next_begins && !around_is_over) return;
      const std::int64_t ranges_to = running_.back().ranges_to;
      running_.pop_back();
      if (!running_.empty()) running_.back().ranges_to = std::max(running_.back().ranges_to, ranges_to);
    }
  }

  const AutogradNodeTable& table_;
  std::span<const AutogradNodeIndex> nodes_;
  bool is_engine_;
  RangeEnd rule_;
  std::vector<Running> running_;  // innermost last
  std::size_t next_ = 0;
};

/// The nodes of each thread in the order that RunningNodes wants.
std::vector<std::vector<AutogradNodeIndex>> nodes_by_thread(const Timeline& timeline);

}  // namespace rangefinder::projection
