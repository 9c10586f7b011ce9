// SPDX-License-Identifier: MIT
#include "summary/step_times.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::summary {

void StepTimes::begin(std::uint32_t number, std::int64_t time_ns, bool recorded) {
  last_finished_ns_ = -1;
  if (last_.recorded && number == last_.number + 1) {
    last_finished_ns_ = time_ns - last_.time_ns;
    step_ns_ += last_finished_ns_;
    if (newest_.size() < Summary::kStepsOfPercentiles)
      newest_.push_back(last_finished_ns_);
    else
      newest_[steps_ % Summary::kStepsOfPercentiles] = last_finished_ns_;
    ++steps_;
  }
  last_ = {number, time_ns, recorded};
}

void StepTimes::add_items(std::uint64_t items) {
  if (last_finished_ns_ < 0) return;  // of a step that was not recorded
  items_ += items;
  items_ns_ += last_finished_ns_;
}

void StepTimes::write(Summary& summary) const {
  summary.steps = steps_;
  summary.step_ns = step_ns_;
  summary.items = items_;
  summary.items_ns = items_ns_;
  if (newest_.empty()) return;
  std::vector<std::int64_t> times = newest_;
  const auto at = [&](std::size_t percent) {  // by nearest rank
    const auto place = times.begin() + static_cast<std::ptrdiff_t>((times.size() * percent + 99) / 100 - 1);
    std::nth_element(times.begin(), place, times.end());
    return *place;
  };
  summary.step_p50_ns = at(50);
  summary.step_p95_ns = at(95);
  summary.step_p99_ns = at(99);
}

}  // namespace rangefinder::summary
