// SPDX-License-Identifier: MIT
#include "analysis/profiling_cost.hpp"

#include "base/intervals.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::analysis {
namespace {

std::vector<bool> threads_of_program(const Timeline& timeline) {
  std::vector<bool> is_of_program(timeline.threads.size());
  const auto take = [&](const auto& column) {
    for (const ThreadIndex thread : column)
      if (thread < is_of_program.size()) is_of_program[thread] = true;
  };
  take(timeline.ranges.thread);
  take(timeline.calls.thread);
  return is_of_program;
}

}  // namespace

bool is_of_profiler(std::string_view overhead) {
  std::string name(overhead);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* of_cuda : {"driver compiler", "module loading", "function loading", "command buffer full", "jit "})
    if (name.find(of_cuda) != std::string::npos) return false;
  return true;
}

std::int64_t recorded_ns(const Timeline& timeline) {
  if (timeline.windows.empty()) return timeline.end_ns - timeline.begin_ns;
  std::vector<base::Interval> windows;
  for (const Window& window : timeline.windows)
    if (window.begin_ns < window.end_ns) windows.push_back({window.begin_ns, window.end_ns});
  return base::sort_and_union_length(windows);
}

std::int64_t profiler_ns(const Timeline& timeline) {
  const OverheadTable& overheads = timeline.overheads;
  if (overheads.size() == 0) return 0;
  const std::vector<bool> is_of_program = threads_of_program(timeline);
  std::vector<base::Interval> spans;
  for (std::size_t row = 0; row < overheads.size(); ++row) {
    const ThreadIndex thread = overheads.thread[row];
    if (thread < is_of_program.size() && !is_of_program[thread]) continue;
    if (overheads.begin_ns[row] >= overheads.end_ns[row]) continue;
    if (is_of_profiler(timeline.text(overheads.name[row])))
      spans.push_back({overheads.begin_ns[row], overheads.end_ns[row]});
  }
  return base::sort_and_union_length(spans);
}

}  // namespace rangefinder::analysis
