// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/arrow/batch.hpp"

#include <rangefinder/timeline.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace rangefinder::arrow {

/// What makes a table: `texts` is the dictionary of the timeline's names.
using MakeTable = Batch(const std::shared_ptr<const Timeline>& timeline, std::shared_ptr<const Column> texts);

struct TableKind {
  std::string_view name;
  std::string_view description;
  MakeTable* make;
};

/// In the order of docs/reference/arrow.md.
std::span<const TableKind> table_kinds();

// Tables of events (event_tables.cpp) and of places and details (place_tables.cpp).
MakeTable activities, calls, launches, ranges, steps, collectives, syncs, overheads, marks, counters, autograd_nodes,
    graph_nodes, operators, cuda_allocations, allocator_events, sensor_samples;
MakeTable processes, threads, devices, streams, process_groups, kernel_details, copy_details;

}  // namespace rangefinder::arrow
