// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// How much was computed and moved in ranges, to be held against what the machine can do.
namespace rangefinder::analysis {

enum class Precision : std::uint8_t { kFp64, kFp32, kTf32, kBf16, kFp16, kFp8, kOther };
inline constexpr std::size_t kPrecisions = 7;
/// As MachinePeak::type has it.
std::string_view name_of(Precision precision) noexcept;

/// Floating point operations, and bytes of memory.
struct Work {
  std::array<double, kPrecisions> flops{};
  double bytes = 0;
  /// Time of the operators that this is about, durations added up; on the device where work ran there, else on the
  /// host.
  std::int64_t known_ns = 0;

  double all_flops() const noexcept;
  Work& operator+=(const Work& other) noexcept;
};

/// Calls of the operators of one name. `work.known_ns`: their time.
struct OperatorWork {
  StringId name = StringId::kEmpty;
  std::uint64_t calls = 0;
  Work work;
};

/// By shapes of operators' inputs (OperatorTable, with texts), of those whose operations or bytes are known; inside one
/// that is counted none is counted again. Exclusive: what belongs to a range itself.
struct WorkByShapes {
  bool on_device = false;    ///< an operator counts where its first device work belongs; else where it ran on the host
  std::vector<Work> ranges;  ///< parallel to Timeline::ranges
  std::vector<OperatorWork> operators;  ///< those that count, the longest first
  std::uint64_t counted = 0;            ///< operators
  std::uint64_t without_shapes = 0;     ///< that would have been, had their inputs been recorded
  std::uint64_t of_lists = 0;           ///< not counted: of lists of tensors, the types of which are not recorded
};
WorkByShapes work_by_shapes(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options);

/// By hardware counters, of a range instance with all that is inside it.
struct MeasuredWork {
  Work work;  ///< `known_ns`: device time that it is about
  bool has_flops = false;
  bool has_bytes = false;
  // Of samples: the device time that the bytes are of, and all that they should be of. Both 0: they were counted.
  double bytes_ns = 0;
  double busy_ns = 0;
};
/// Parallel to Timeline::ranges; empty where no counters were recorded.
std::vector<MeasuredWork> work_by_counters(const Timeline& timeline, const Projection& projection);

/// The time in which a machine computes some work at its peaks, each type at its own; nothing where a type has none.
std::optional<double> compute_seconds(const Work& work, const MachinePeaks& peaks, std::string_view device);

/// The least time in which a machine does some work: the longer of computing, each type at its own peak, and of
/// moving the bytes.
struct LeastTime {
  double compute_s = 0;   ///< 0: no peak for one of its types
  double memory_s = 0;    ///< 0: no peak, or no bytes
  bool complete = false;  ///< there is a peak for everything that was counted

  double seconds() const noexcept { return compute_s > memory_s ? compute_s : memory_s; }
};
LeastTime least_time(const Work& work, const MachinePeaks& peaks, std::string_view device);

}  // namespace rangefinder::analysis
