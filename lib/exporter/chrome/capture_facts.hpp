// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/document.hpp"

namespace rangefinder::chrome {

/// Facts of a recording (key, value as JSON text): those that torch.profiler has, under its names; all of them under
/// "rangefinder".
void add_capture_facts(DocumentFacts& facts, const JsonMembers& recorded);

}  // namespace rangefinder::chrome
