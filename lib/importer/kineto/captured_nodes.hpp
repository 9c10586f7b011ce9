// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::importer::kineto {

/// Where nodes of CUDA graphs were made, which our own exports say of the work of their replays.
class CapturedNodes {
 public:
  explicit CapturedNodes(Timeline& timeline) : timeline_(timeline) {}

  /// Of the activity that was added last.
  void add(const EventArguments& arguments);
  /// Once all threads and launches are known: launches that made nodes, ActivityTable::captured, and the ranges that
  /// were over before the recording (kBeforeRecording).
  void finish();

 private:
  struct Made {
    ActivityIndex activity;
    std::int64_t tid;
    std::int64_t time_ns;
    std::uint32_t ranges;  ///< of `lists_`; kNone: events show them
  };
  using Names = std::vector<StringId>;
  std::uint32_t list_of(std::string_view json);
  ThreadIndex thread_of(const Made& made);
  /// `lists` of launches in order of thread and time.
  void add_ranges(const std::map<std::pair<ThreadIndex, std::int64_t>, std::pair<LaunchIndex, std::uint32_t>>& lists);
  RangeIndex begin_range(StringId name, ThreadIndex thread, std::int64_t time_ns);

  Timeline& timeline_;
  std::vector<Made> made_;
  std::map<std::string, std::uint32_t, std::less<>> known_lists_;
  std::vector<Names> lists_;
  std::unordered_map<std::int64_t, ThreadIndex> threads_;
};

}  // namespace rangefinder::importer::kineto
