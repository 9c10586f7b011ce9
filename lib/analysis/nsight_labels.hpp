// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rangefinder::analysis::nsight {

/// A text of a view; equal texts have equal labels.
using Label = std::uint32_t;

enum class KernelName : std::uint8_t {
  kFull,  ///< demangled, with template arguments and parameters
  kBase,  ///< the function's own name
  kMangled,
};

/// Names as Nsight's reports write them, made once per distinct name of the timeline.
class Labels {
 public:
  explicit Labels(const Timeline& timeline);

  /// `domain:name`, or the name alone in an unannounced domain.
  Label range(RangeIndex range);
  Label kernel(ActivityIndex activity, KernelName form);
  /// `[CUDA memcpy Host-to-Device]`, `[CUDA memset]`.
  Label memory_operation(ActivityIndex activity);
  /// Without the version, where that has four digits: `cudaLaunchKernel` for cudaLaunchKernel_v7000, but
  /// `cudaGraphLaunch_v10000`.
  Label call(CallIndex call);
  /// `range/kernel`: the range's name without its domain.
  Label inside(RangeIndex range, Label kernel);

  std::string_view text(Label label) const noexcept { return pool_.text(label); }
  std::size_t size() const noexcept { return pool_.size(); }

 private:
  Label of_name(StringId name);
  /// All that the input says of a range.
  StringId text_of(RangeIndex range) const noexcept {
    return texts_.empty() ? timeline_.ranges.name[range] : texts_[range];
  }

  const Timeline& timeline_;
  bool default_domain_announced_ = false;
  base::StringPool pool_;
  std::vector<StringId> texts_;                      // by range; empty where names say all
  std::unordered_map<std::uint64_t, Label> ranges_;  // domain << 32 | name
  std::unordered_map<std::uint64_t, Label> nested_;  // range's name << 32 | kernel's label
  std::unordered_map<std::uint32_t, Label> copies_;  // by copy kind
  // By StringId; kNotYet until somebody asks.
  static constexpr Label kNotYet = 0xFFFFFFFFu;
  std::vector<Label> names_;      // as they are
  std::vector<Label> shortened_;  // base names of kernels that came without one
  std::vector<Label> calls_;
};

/// The function's own name in a demangled one: `void at::native::(anonymous namespace)::add<float>(int)` gives `add`.
std::string_view base_name(std::string_view demangled) noexcept;

}  // namespace rangefinder::analysis::nsight
