// SPDX-License-Identifier: MIT
#pragma once

#include "report/text_table.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::report {

/// What stands under every report: where all device time went, what the recording lost, and what else to know.
struct Footer {
  std::optional<Account> account;            ///< nothing where no projection was made
  std::vector<CaptureHealth::Entry> health;  ///< the counters that are not 0
  std::vector<std::string> notes;
  bool simulated = false;
};

Footer make_footer(const Timeline& timeline, const std::optional<Account>& account);

/// A line on what profiling cost, where that is more than 5 % of the recording; else empty.
std::string profiling_note(std::int64_t cost_ns, std::int64_t recorded_ns);

/// The footer as lines of text.
std::string to_text(const Footer& footer, const TextOptions& options);

/// Appends `"account": {...}, "health": [...], "notes": [...], "simulated": false`, members of an object.
void append_json_members(std::string& out, const Footer& footer);

}  // namespace rangefinder::report
