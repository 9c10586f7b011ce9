// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/text_output.hpp"
#include "exporter/stacks/stack_tree.hpp"

#include <string_view>

// A function for each format. All of them keep integer nanoseconds.
namespace rangefinder::stacks {

/// `step;forward;gemm 1234`: a line for each stack that has time of its own, as flamegraph.pl reads it. With several
/// profiles, their names are the outermost frames.
void write_folded(const StackTree& tree, chrome::TextOutput& out);

/// speedscope's file format, a profile of type "sampled" for each thread or device.
void write_speedscope(const StackTree& tree, std::string_view name, chrome::TextOutput& out);

/// What hatchet.GraphFrame.from_literal() takes: "time" and "time (inc)" in nanoseconds, and "count". With several
/// profiles, they are the roots.
void write_hatchet(const StackTree& tree, chrome::TextOutput& out);

}  // namespace rangefinder::stacks
