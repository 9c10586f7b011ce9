// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace rangefinder::importer {

/// How ranges end that are open where a window ends. Which of two of them is inside the other is told by their ends
/// where ranges need not nest: a first reading of all windows finds them, and a second one knows them.
struct RangeEnds {
  struct End {
    std::int64_t end_ns;
    std::uint8_t flags;      ///< as RangeTable has them
    std::int64_t opened_ns;  ///< likewise
  };
  std::unordered_map<std::uint64_t, End> ends;        ///< by key
  std::unordered_set<std::uint64_t> never_resumed{};  ///< keys of all that were suspended and never went on
};

}  // namespace rangefinder::importer
