// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/html/page_input.hpp"
#include "exporter/html/slices.hpp"

#include <vector>

namespace rangefinder::html {

/// All slices of a timeline on their tracks, placed: each process with its steps and threads, then each device with
/// the ranges that are projected onto it and its streams. Tracks without slices are not there.
std::vector<Track> collect_tracks(const PageInput& input, PageOutput& output);

}  // namespace rangefinder::html
