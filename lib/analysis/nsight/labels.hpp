// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"
#include "projection/flat_map.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::analysis::nsight {

/// A text of a view; equal texts have equal labels, of a timeline that gets no new names meanwhile.
using Label = std::uint32_t;

enum class KernelName : std::uint8_t {
  kFull,  ///< demangled, with template arguments and parameters
  kBase,  ///< the function's own name
  kMangled,
};

/// Names as Nsight's reports write them, made once per distinct name of the timeline; those that are a name of it are
/// not copied. Rows and names of the timeline may change, as they do from window to window of a capture: labels stay.
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

  std::string_view text(Label label) const noexcept {
    return is_name(label) ? timeline_.text(name(label)) : made_.text(label >> 1);
  }
  /// By label, for those that `labels` names: its place in the order of their texts. Cheaper than to compare texts in a
  /// sort of rows.
  std::vector<std::uint32_t> ranks(const std::vector<Label>& labels) const;
  /// All labels are below.
  std::size_t size() const noexcept {
    return std::max<std::size_t>(timeline_.string_count(), std::size_t{made_.size()}) * 2;
  }
  /// It is a name of the timeline, which is `name(label)`.
  static bool is_name(Label label) noexcept { return (label & 1) == 0; }
  static StringId name(Label label) noexcept { return static_cast<StringId>(label >> 1); }
  /// The label of that text which was given out first: one may have been made before the timeline got such a name.
  Label first_of(Label label) const noexcept;
  const Timeline& timeline() const noexcept { return timeline_; }

 private:
  static Label of_name(StringId name) noexcept { return static_cast<Label>(name) << 1; }
  static Label of_made(std::uint32_t id) noexcept { return id << 1 | 1; }
  Label of_text(std::string_view text);
  template <typename Make>
  Label once(projection::FlatMap& known, std::uint64_t key, Make make);
  /// All that the input says of a range.
  StringId text_of(RangeIndex range) const noexcept {
    return texts_.empty() ? timeline_.ranges.name[range] : texts_[range];
  }

  const Timeline& timeline_;
  bool default_domain_announced_ = false;
  base::StringPool made_;          // texts that were no name of the timeline
  std::vector<StringId> texts_;    // by range; empty where names say all
  projection::FlatMap ranges_;     // by domain << 32 | name
  projection::FlatMap nested_;     // by range's name << 32 | kernel's label
  projection::FlatMap copies_;     // by copy kind
  projection::FlatMap shortened_;  // by name: base names of kernels that came without one
  projection::FlatMap calls_;      // by name
};

/// The function's own name in a demangled one: `void at::native::(anonymous namespace)::add<float>(int)` gives `add`.
std::string_view base_name(std::string_view demangled) noexcept;

}  // namespace rangefinder::analysis::nsight
