// SPDX-License-Identifier: MIT
#include "analysis/profiling_cost.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace rangefinder::analysis {

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

void ProfilerTime::add(const Timeline& timeline) {
  is_of_program_.resize(timeline.threads.size());
  const auto take = [&](const auto& column) {
    for (const ThreadIndex thread : column)
      if (thread < is_of_program_.size()) is_of_program_[thread] = true;
  };
  take(timeline.ranges.thread);
  take(timeline.calls.thread);
  const OverheadTable& overheads = timeline.overheads;
  for (std::size_t row = 0; row < overheads.size(); ++row) {
    const base::Interval span{overheads.begin_ns[row], overheads.end_ns[row]};
    if (span.begin < span.end && is_of_profiler(timeline.text(overheads.name[row])))
      spans_.emplace_back(overheads.thread[row], span);
  }
}

std::int64_t ProfilerTime::total_ns() const {
  std::vector<base::Interval> spans;
  for (const auto& [thread, span] : spans_)
    if (thread >= is_of_program_.size() || is_of_program_[thread]) spans.push_back(span);
  return base::sort_and_union_length(spans);
}

std::int64_t profiler_ns(const Timeline& timeline) {
  if (timeline.overheads.size() == 0) return 0;
  ProfilerTime time;
  time.add(timeline);
  return time.total_ns();
}

}  // namespace rangefinder::analysis
