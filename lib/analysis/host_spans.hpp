// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"
#include "analysis/waits.hpp"
#include "projection/range_order.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// What a thread did.
enum class HostState : std::uint8_t {
  kOperator,    ///< in an operator of a framework
  kRange,       ///< in a range, and in no operator inside of it
  kCollective,  ///< called a collective, or waited for one; of a thread of Gloo: worked on one
  /// As kRange, while a collective of the process ran on the host (Gloo): the thread may have waited for it, which no
  /// record tells. Only where operators were recorded, so that work is told from waiting.
  kBesideCollective,
  kDeviceWait,  ///< waited for a device
  kEngineWait,  ///< waited for the autograd engine, which ran its backward pass on another thread
};
inline constexpr std::size_t kHostStates = 6;
/// Operators and ranges: the thread did something of its own.
constexpr bool is_running(HostState state) noexcept { return state <= HostState::kRange; }

/// A stretch of a thread's time in which nothing changed.
struct HostSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  HostState state = HostState::kRange;
  std::optional<WaitReason> wait;  ///< of kDeviceWait
  RangeIndex range = kNone;        ///< the innermost one that was open; kNone: a wait outside of any
};

/// Finds what each thread of the host did at every moment that something tells of.
///
///   const HostSpans host(timeline, options);
///   for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread)
///     for (const HostSpan& span : host.of(thread)) use(span);
///
/// A thread that calls the engine (`backward()`) is blocked until the engine is done: it waits from the first node that
/// it made in the forward pass to the last, as far as no range of its own begins or ends meanwhile and no operator of
/// it runs. Ranges from before the recording are left out.
///
/// Cost: O(n log n) in ranges, waits, collectives and nodes; 40 bytes a span of one thread at a time.
class HostSpans {
 public:
  /// `options`: which ranges `HostSpan::range` may be. States take operators into account in any case.
  HostSpans(const Timeline& timeline, const ProjectionOptions& options);

  /// Disjoint, in order. Between them nothing is known.
  std::vector<HostSpan> of(ThreadIndex thread) const;

 private:
  struct InRange {
    std::int64_t begin;
    std::int64_t end;
    HostState state;
    RangeIndex range;
  };
  std::vector<RangeIndex> candidates_of(ThreadIndex thread) const;
  std::vector<InRange> in_ranges(ThreadIndex thread) const;
  void find_engine_waits();
  void find_communications();
  bool is_quiet(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) const;

  const Timeline& timeline_;
  ProjectionOptions options_;
  projection::RangeOrder order_;                   // of annotations and operators
  std::vector<std::vector<Span>> blocked_;         // by thread; disjoint, in order; kinds as below
  std::vector<std::vector<Span>> engine_waits_;    // likewise
  std::vector<std::vector<Span>> communications_;  // by process that has operators; disjoint, in order
  std::vector<std::vector<std::int64_t>>
      changes_;  // by thread that waits for the engine: its ranges begin and end then
};

}  // namespace rangefinder::analysis
