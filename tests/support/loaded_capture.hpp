// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace rangefinder::testing {

inline constexpr auto at = CaptureBuilder::at;

/// What a reader makes of that capture.
inline Timeline load(const CaptureBuilder& capture, const LoadOptions& options = {}) {
  const ScratchFolder folder(true);
  capture.write(folder.file("a.rfcap"));
  Result<Timeline> timeline = load_timeline(folder.file("a.rfcap"), options);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  return std::move(*timeline);
}

inline bool has_note(const Timeline& timeline, const std::string& part) {
  return std::any_of(timeline.notes.begin(), timeline.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace rangefinder::testing
