// SPDX-License-Identifier: MIT
#pragma once

#include "timeline/node_makers.hpp"

#include <rangefinder/detail/cells.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace rangefinder::importer::nsight {

/// The text of a range of torch.autograd.profiler.emit_nvtx:
/// "aten::mm, seq = 3, op_id = 7, sizes = [[4, 8], [8, 2]], input_op_ids = [(5,0), (6,0)]". Behind the name each part
/// may be missing, but not all.
struct OperatorText {
  std::string_view name;
  std::int64_t sequence = -1;  ///< -1: none
  std::string_view shapes;     ///< JSON; empty: none
};
/// Nothing for any other text.
std::optional<OperatorText> parse_operator_text(std::string_view text) noexcept;

/// Makes of such ranges what they were: operators, nodes of autograd and who had made them. The texts do not say which
/// are nodes: the engine's range around each has its name behind a word of its own; where there is none, as in old
/// versions, the name has to do.
class EmitNvtx {
 public:
  EmitNvtx(Timeline& timeline, const LoadOptions& options) noexcept
      : timeline_(timeline), options_(options), makers_(timeline) {}

  /// The last row of the ranges, but for its domain and category. Where the text is such it gets the name in it and the
  /// kind that it was; the whole text is attached.
  void add(std::string_view text);
  /// Fills Timeline::nodes; once, when all is added.
  void finish();

 private:
  enum class Role : std::uint8_t {
    kOperator,
    kNode,
    kEvaluation,  ///< the engine's range around a node: takes its number
  };
  struct Told {
    std::int64_t sequence;
    RangeIndex range;
    Role role;
  };
  void add_inputs(RangeIndex range, const OperatorText& text);
  void sort_told();
  void find_nodes();
  /// `around` is right around it, null for none; `is_evaluated`: the engine's range is, at whatever distance.
  bool is_node(const Told& told, const Told* around, bool is_evaluated) const;

  Timeline& timeline_;
  const LoadOptions& options_;
  timeline::NodeMakers makers_;
  detail::Cells<Told> told_;
};

}  // namespace rangefinder::importer::nsight
