// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_steps.hpp"

#include <utility>

namespace rangefinder::chrome {

void CaptureSteps::note(std::uint32_t thread, std::uint32_t number, std::int64_t time_ns, bool recorded) {
  const auto [newest, first] = newest_.try_emplace(thread, number);
  if (!first) complete(std::exchange(newest->second, number));
  noted_[number] = {time_ns, recorded, false, 0};
}

void CaptureSteps::add_items(std::uint32_t thread, std::uint64_t items) {
  const auto newest = newest_.find(thread);
  if (newest == newest_.end()) return;
  const std::uint32_t number = newest->second;
  if (const auto noted = noted_.find(number); noted != noted_.end()) noted->second.items = items;
  newest_.erase(newest);
  complete(number);
}

void CaptureSteps::complete(std::uint32_t number) {
  const auto noted = noted_.find(number);
  if (noted == noted_.end()) return;
  noted->second.complete = true;
  if (number != 0) write(number - 1);
  write(number);
}

void CaptureSteps::write(std::uint32_t number) {
  const auto step = noted_.find(number);
  const auto next = noted_.find(number + 1);
  if (number + 1 == 0 || step == noted_.end() || next == noted_.end()) return;
  // One that is not complete may still be the end of the step before it.
  if (!step->second.complete || !next->second.complete || !step->second.recorded ||
      next->second.time_ns < step->second.time_ns)
    return;
  const std::int64_t begin = step->second.time_ns;
  const std::int64_t end = next->second.time_ns;
  shared_.extend(begin, end);
  if (shared_.in_window(begin, end)) {
    const TrackId steps = shared_.layout.steps(shared_.process);
    events_.write({number, begin, end, next->second.items}, shared_.table.overflow(steps, rows_.add(begin, end)),
                  steps);
  }
  noted_.erase(step);
  if (!next->second.recorded) noted_.erase(next);  // nothing begins there
}

void CaptureSteps::finish() {
  const std::map<std::uint32_t, std::uint32_t> newest = std::move(newest_);
  newest_.clear();
  for (const auto& [thread, number] : newest) complete(number);
  events_.finish();
}

}  // namespace rangefinder::chrome
