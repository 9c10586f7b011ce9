// SPDX-License-Identifier: MIT
#pragma once

#include "advice/change.hpp"
#include "advice/host_spans.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::advice {

class Context;

/// Which rule a wait of the host counts for.
enum class WaitCause : std::uint8_t {
  kNone,           ///< it does not hold the host up, is in no frame, or its call is not known
  kProgram,        ///< the program asked for it: implicit_synchronization
  kAllocation,     ///< cudaFree waits for the device
  kPageableCopy,   ///< the copy waits because its memory is not pinned
  kCommunication,  ///< what was waited for was a collective
  kCapture,        ///< a graph is replaced
  kCompilation,
};

/// Stretches of host time that rules are about, and calls that wait: each moment counts for one rule. In frames only.
struct HostCauses {
  HostSpans input;        ///< ranges that get it, without CUDA calls in them and the operators that make these
  HostSpans allocations;  ///< calls that allocate and free memory of devices
  HostSpans compilation;
  HostSpans capture;                     ///< of CUDA graphs, and what replaces the ones before by them
  HostSpans profiler;                    ///< on threads of the program
  std::vector<RangeIndex> input_ranges;  ///< sorted
  std::vector<WaitCause> waits;          ///< parallel to Context::waits()
};

HostCauses find_host_causes(Context& context);
/// "compile", "recompile", "autotune"; not "CompiledFxGraph" or "Torch-Compiled Region", which run what is compiled.
bool is_compilation(std::string_view range);

/// Adds to `change` that what the spans cover is not done, and that calls which wait for that reason do not.
void skip(Context& context, const HostSpans& spans, WaitCause cause, Change& change);
/// Whether any of them is in a step that is not one of the first. What only those have is done once, whatever it takes.
bool recurs(Context& context, const HostSpans& spans);
/// All causes but that the program waits: what is left is launching and waiting.
Change without_causes(Context& context);

}  // namespace rangefinder::advice
