// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::importer::kineto {

/// Where nodes of CUDA graphs were made, which our own exports say of the work of their replays.
class CapturedNodes {
 public:
  explicit CapturedNodes(Timeline& timeline) : timeline_(timeline) {}

  /// Of the activity that was added last.
  void add(const EventArguments& arguments);
  /// Once all threads and launches are known: launches that made nodes, and ActivityTable::captured.
  void finish();

 private:
  struct Made {
    ActivityIndex activity;
    std::int64_t tid;
    std::int64_t time_ns;
  };
  Timeline& timeline_;
  std::vector<Made> made_;
};

}  // namespace rangefinder::importer::kineto
