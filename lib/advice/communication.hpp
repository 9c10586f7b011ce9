// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"
#include "advice/evidence.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Collectives of the judged steps, as rules look at them.
namespace rangefinder::advice {

/// One rank's part of a collective: a kernel, or on the host a wait for it.
struct Communication {
  ActivityIndex kernel = kNone;        ///< kNone: on the host
  CollectiveIndex collective = kNone;  ///< kNone: a kernel of which nothing else is known
  std::size_t frame = 0;               ///< in which it was called
  std::int64_t begin_ns = 0;           ///< of its work
  std::int64_t length_ns = 0;          ///< its own, without waiting for other ranks where that is known
  std::optional<std::uint64_t> bytes;  ///< of this rank
  // On the host, the thread that stood still for it, and from when until when without waiting for other ranks.
  ThreadIndex thread = kNone;
  std::int64_t blocked_begin_ns = 0;
  std::int64_t blocked_end_ns = 0;
  std::int64_t done_ns = 0;  ///< its work
};

/// By frame, then begin.
std::vector<Communication> communications_of(Context& context);

/// Whether it is one of many in its step that are so small that each takes its latency and little more.
std::vector<bool> small_communications(const Timeline& timeline, const std::vector<Communication>& all);

/// It takes no time beyond that until all ranks have come.
void skip_communication(const Timeline& timeline, const Communication& one, Change& change);
void add_evidence(const Timeline& timeline, const Communication& one, EvidenceTable& evidence);

}  // namespace rangefinder::advice
