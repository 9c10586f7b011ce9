// SPDX-License-Identifier: MIT
#pragma once

#include "base/string_pool.hpp"
#include "projection/flat_map.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::analysis::nsight {

/// A text of a view; equal texts have equal labels. Those below the number of the timeline's strings are such strings.
using Label = std::uint32_t;

enum class KernelName : std::uint8_t {
  kFull,  ///< demangled, with template arguments and parameters
  kBase,  ///< the function's own name
  kMangled,
};

/// Names as Nsight's reports write them, made once per distinct name of the timeline; those that are a name of it are
/// not copied.
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
    return is_name(label) ? timeline_.text(static_cast<StringId>(label)) : made_.text(label - names_);
  }
  /// By label, for those that `labels` names: its place in the order of their texts. Cheaper than to compare texts in a
  /// sort of rows.
  std::vector<std::uint32_t> ranks(const std::vector<Label>& labels) const;
  /// All labels are below.
  std::size_t size() const noexcept { return std::size_t{names_} + made_.size(); }
  /// It is the StringId of a name of the timeline.
  bool is_name(Label label) const noexcept { return label < names_; }
  const Timeline& timeline() const noexcept { return timeline_; }

 private:
  static Label of_name(StringId name) noexcept { return static_cast<Label>(name); }
  Label of_text(std::string_view text);
  template <typename Make>
  Label once(projection::FlatMap& known, std::uint64_t key, Make make);
  /// All that the input says of a range.
  StringId text_of(RangeIndex range) const noexcept {
    return texts_.empty() ? timeline_.ranges.name[range] : texts_[range];
  }

  const Timeline& timeline_;
  std::uint32_t names_;  // of the timeline
  bool default_domain_announced_ = false;
  base::StringPool made_;          // texts that are no name of the timeline; their labels begin at names_
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
