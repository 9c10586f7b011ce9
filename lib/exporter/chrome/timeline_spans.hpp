// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"
#include "exporter/chrome/timeline_export.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::chrome {

/// The ranges on the rows of streams, with everything that was launched in them, or, if that is not wanted, with what
/// they launched themselves.
class TimelineSpans {
 public:
  explicit TimelineSpans(const TimelineExport& shared);

  enum class Row : std::uint8_t {
    kStream,
    kBeside,    ///< on the stream's row it would cut another span
    kStartEnd,  ///< need not nest
    kNone,      ///< nested too deep
  };
  std::size_t size() const noexcept { return rows_.size(); }
  Row row(std::size_t span) const noexcept { return rows_[span]; }
  const StreamFigures& figures(std::size_t span) const noexcept { return (*figures_)[span]; }
  /// Null where the input has no nodes of autograd.
  const analysis::PassTimes* passes(std::size_t span) const noexcept {
    return passes_->empty() ? nullptr : &(*passes_)[span];
  }

 private:
  const std::vector<StreamFigures>* figures_ = nullptr;
  const std::vector<analysis::PassTimes>* passes_ = nullptr;
  std::vector<Row> rows_;
};

}  // namespace rangefinder::chrome
