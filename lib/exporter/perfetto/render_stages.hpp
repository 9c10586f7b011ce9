// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rangefinder::perfetto {

/// What activities of one name that were launched alike have in common: what Perfetto calls a stage.
struct Specification {
  std::uint32_t number = 0;   ///< from 0
  std::string specification;  ///< InternedGpuRenderStageSpecification: name, launch in words
  std::string launch;         ///< the field of an event with the ComputeKernelLaunch; empty: not known
  std::string kernel;         ///< InternedComputeKernel: all of it, for readers that know the extension

  std::uint64_t iid() const noexcept { return 2 * std::uint64_t{number} + 2; }
};

/// Makes each once.
class Specifications {
 public:
  /// `name` is of `names`. `detail` null: not known, or no kernel.
  const Specification& of(const base::StringPool& names, std::uint32_t name, bool is_kernel, const DeviceInfo* device,
                          const KernelDetail* detail);

 private:
  /// The last one of a name.
  struct Recent {
    const Specification* specification = nullptr;
    std::uint32_t name = 0;
    bool is_kernel = false;
    const DeviceInfo* device = nullptr;  // null: without a detail
    KernelDetail detail;
  };
  const Specification& find(const base::StringPool& names, std::uint32_t name, bool is_kernel, const DeviceInfo* device,
                            const KernelDetail* detail);

  std::deque<Specification> all_;
  std::unordered_map<std::string, const Specification*> known_;
  std::string key_;
  std::array<Recent, 64> recent_;
};

/// Of a row: even numbers are those of specifications.
constexpr std::uint64_t queue_iid(std::uint32_t track) noexcept { return 2 * std::uint64_t{track} + 1; }

}  // namespace rangefinder::perfetto
