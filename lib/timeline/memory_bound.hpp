// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>

namespace rangefinder::timeline {

/// The bound on memory of one load. It is asked while tables grow, so that what does not fit is refused before it fills
/// the memory.
///
/// The bytes of rows are counted; columns have up to as many in reserve, they are copied when they grow, and a report
/// projects and adds up what was loaded. All in all that is kNeededPerByte times the rows, as tests measure.
class MemoryBound {
 public:
  explicit MemoryBound(const LoadOptions& options) noexcept
      : most_bytes_(options.max_memory_bytes != 0 ? options.max_memory_bytes : default_max_memory()) {}

  /// kTooLarge where the tables have outgrown the bound; without the name of the file. `more_bytes`: of what the loader
  /// keeps beside them.
  Status check(const Timeline& timeline, std::uint64_t more_bytes = 0) const;

  static constexpr std::uint64_t kNeededPerByte = 6;

 private:
  std::uint64_t most_bytes_;
};

}  // namespace rangefinder::timeline
