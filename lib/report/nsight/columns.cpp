// SPDX-License-Identifier: MIT
#include "report/nsight/columns.hpp"

namespace rangefinder::report::nsight {

analysis::nsight::KernelNaming naming_of(const ViewOptions& options) noexcept {
  using analysis::nsight::KernelName;
  return {.form = options.is(kBase)      ? KernelName::kBase
                  : options.is(kMangled) ? KernelName::kMangled
                                         : KernelName::kFull,
          .innermost_range = options.is(kNvtxName)};
}

CellText text_of(const Labels& labels, Label label) noexcept {
  return labels.is_name(label) ? CellText(Labels::name(label)) : CellText(labels.text(label));
}

Paths::Node add_labelled_path(Table& table, Paths::Node around, std::int64_t id, const Labels& labels, Label label) {
  return labels.is_name(label) ? table.paths().add(around, id, labels.timeline(), Labels::name(label))
                               : table.paths().add(around, id, labels.text(label));
}

std::string_view style_name(RangeStyle style) noexcept { return style == RangeStyle::kScoped ? "PushPop" : "StartEnd"; }

}  // namespace rangefinder::report::nsight
