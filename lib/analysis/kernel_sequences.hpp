// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/kernel_families.hpp"
#include "analysis/short_kernels.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// Short kernels that follow each other on a stream and belong together, as often as the same kernels did so in ranges
/// of one name: what could be one kernel, or one launch of a CUDA graph.
///
/// A sequence is as long as can be. Another operation on the stream ends it, also a copy; and what a graph could not
/// have inside: another owning range or launching thread, a wait of that thread for the device between two launches,
/// the next step. Work of CUDA graphs, and work whose launch is not known, is in none.
struct KernelSequence {
  StringId range = StringId::kEmpty;  ///< the name of the range that owns them; kEmpty where `unowned` is set
  std::optional<Unowned> unowned;
  std::vector<ActivityIndex> first;  ///< the kernels of the first run, in order; at least two
  std::uint64_t count = 0;           ///< runs

  // Of all runs.
  std::int64_t kernel_ns = 0;  ///< time of the kernels
  /// Time between the end of a kernel and the begin of the next one: the most that a CUDA graph of them can save.
  std::int64_t gap_ns = 0;
  /// The most that fusing can save: of each chain of neighbours that can be fused (elementwise, reductions,
  /// normalization, copies, optimizers) the time and gaps, without its longest kernel. One kernel instead of them takes
  /// at least as long as that.
  std::int64_t fusion_ns = 0;
  std::uint64_t fusible = 0;   ///< kernels in such chains
  std::int64_t launch_ns = 0;  ///< time of the host in the calls that launched them, where they were recorded
};

/// By what they could save, most first. `projection` says which range owns what.
///
/// Cost: O(n log n) in activities and waits; 30 bytes an activity.
std::vector<KernelSequence> kernel_sequences(const Timeline& timeline, const Projection& projection,
                                             const KernelFamilies& families, const ShortKernels& kernels);

}  // namespace rangefinder::analysis
