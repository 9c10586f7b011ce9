// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/host_assembler.hpp"
#include "summary/path_totals.hpp"

#include <rangefinder/projection.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::summary {

/// Device time by Pass, attribution `forward`, of a recording that still runs; the definitions are those of project().
///
/// What a node launched is held until it is known where the node was made: the thread that made it tells that with its
/// next record. Memory: the nodes, launches in nodes and origins of nodes that the bounds below allow. What they cut
/// off counts as unmatched.
class PassTotals {
 public:
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 16;
  static constexpr std::size_t kMaxLaunches = std::size_t{1} << 18;
  static constexpr std::size_t kMaxOrigins = std::size_t{1} << 16;  // a thread

  /// Where on its thread something happens.
  struct Site {
    std::uint32_t path = 0;                 ///< of the innermost range, as PathTotals numbers them
    std::int64_t range_began_ns = kNoTime;  ///< when the range began that decides whether a node has one of its own
  };

  explicit PassTotals(PathTotals& totals) : totals_(totals) {}

  void name_thread(std::uint32_t thread, std::string_view name);
  void begin_node(const importer::AssembledNode& node, std::int64_t time_ns);
  void number_node(std::uint32_t thread, std::int64_t sequence);
  void end_node(std::uint32_t thread);
  void take_numbers(const importer::AssembledSequence& sequence, const Site& site);
  /// Gives what `activity` wants to know of the launch.
  std::uint64_t launch(std::uint32_t thread, const Site& site);
  /// `otherwise`: the tag of another launch, whose it is where the first turns out to be in no range.
  void activity(std::uint64_t tag, std::uint64_t otherwise, std::int64_t duration_ns);
  /// Counts what has become known. `all`: nothing follows.
  void settle(bool all);

 private:
  enum class Origin : std::uint8_t { kUnknown, kUnmatched, kMatched };
  struct Node {
    std::uint64_t outer = 0;  ///< the node that it runs in; 0: none
    std::int64_t begin_ns = 0;
    std::int64_t sequence = -1;
    std::uint32_t forward_thread = 0;
    std::uint32_t path = 0;  ///< where its work counts; with kMatched
    Origin origin = Origin::kUnknown;
    bool makes_nodes = false;
    /// Device time in ranges of its own, by path: backward, unless it turns out to have made nodes.
    std::vector<std::pair<std::uint32_t, std::int64_t>> own;
  };
  /// Numbers of one thread, up to `end`, that were taken in one place.
  struct Numbers {
    std::uint64_t end;
    std::uint64_t ticks;
    std::uint32_t path;
    bool known;            ///< false: taken while nothing was recorded
    std::uint64_t inside;  ///< the node that ran there; 0: none
    std::uint64_t maker;   ///< the same, where no range had been opened meanwhile
  };
  struct Origins {
    std::uint64_t first = 0;  ///< smaller numbers are forgotten
    std::deque<Numbers> numbers;
  };
  struct Launch {
    enum class State : std::uint8_t { kWaiting, kKnown } state = State::kWaiting;
    bool has_own_range = false;
    Pass pass = Pass::kForward;  ///< with kKnown; of one with a range of its own, its node says
    std::uint64_t node = 0;
    Site site;
    std::uint32_t path = 0;                                       ///< with kKnown
    std::vector<std::pair<std::uint64_t, std::int64_t>> waiting;  ///< device time, by `otherwise` of activity()
  };
  /// What runs inside a node, or on the thread itself. The engine adds up gradients between two nodes, outside of both:
  /// on a thread of its own what is launched there belongs to the one before.
  struct Level {
    std::uint64_t node = 0;    ///< 0: the thread itself
    std::uint64_t before = 0;  ///< that ran in it, on a thread of the engine
    std::uint64_t running() const noexcept { return before != 0 ? before : node; }
  };
  struct Thread {
    bool is_engine = false;
    std::vector<Level> levels{1};
  };
  /// Rows numbered from 1, of which the last so many are kept.
  template <typename Row>
  struct Recent {
    std::uint64_t gone = 0;
    std::deque<Row> rows;
    std::uint64_t add(Row row) {
      rows.push_back(std::move(row));
      return gone + rows.size();
    }
    Row* find(std::uint64_t number) noexcept {
      return number > gone && number <= gone + rows.size() ? &rows[number - gone - 1] : nullptr;
    }
    void drop_first() {
      rows.pop_front();
      ++gone;
    }
  };

  Thread& thread_at(std::uint32_t index);
  void settle_launch(Launch& launch, bool all);
  void resolve(Node& node, bool all);
  const Numbers* numbers_of(const Node& node, bool all, bool& is_gone) const;
  void mark_maker(std::uint64_t inside);
  void count(Launch& launch, std::uint64_t otherwise, std::int64_t duration_ns);
  void know(Launch& launch, Pass pass, std::uint32_t path);

  PathTotals& totals_;
  std::vector<Thread> threads_;
  Recent<Node> nodes_;
  Recent<Launch> launches_;
  std::unordered_map<std::uint32_t, Origins> origins_;  // by the thread's number in nodes
  std::vector<std::uint64_t> unresolved_nodes_;
  std::vector<std::uint64_t> waiting_launches_;
};

}  // namespace rangefinder::summary
