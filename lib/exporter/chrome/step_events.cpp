// SPDX-License-Identifier: MIT
#include "exporter/chrome/step_events.hpp"

#include "analysis/steps.hpp"
#include "exporter/chrome/head_cache.hpp"
#include "exporter/chrome/markers.hpp"
#include "projection/figures.hpp"

#include <algorithm>

namespace rangefinder::chrome {

void StepEvents::write(const StepFacts& step, TrackId track, TrackId steps) {
  scratch_.clear();
  append_head(scratch_, 'X', to_string(Category::kAnnotation), "ProfilerStep#" + std::to_string(step.number));
  writer_.open_slice(scratch_, table_.ids(track), step.begin_ns, step.end_ns);
  if (step.items != 0) writer_.argument("\"items\":", step.items);
  writer_.close();
  const std::int64_t tenths =
      analysis::items_per_second_tenths(step.items, projection::Interval(step.begin_ns, step.end_ns).length());
  if (tenths == 0) return;
  // A viewer draws a value until the next one: where no step follows at once, nothing was done.
  const auto [rate, first] = rate_ends_ns_.try_emplace(steps, step.end_ns);
  if (!first && rate->second < step.begin_ns) write_rate(steps, rate->second, 0);
  rate->second = step.end_ns;
  // Of a step that is cut the part that is there has its rate.
  if (step.end_ns > options_.begin_ns) write_rate(steps, std::max(step.begin_ns, options_.begin_ns), tenths);
}

void StepEvents::finish() {
  for (const auto& [steps, end_ns] : rate_ends_ns_) write_rate(steps, end_ns, 0);
  rate_ends_ns_.clear();
}

void StepEvents::write_rate(TrackId steps, std::int64_t time_ns, std::int64_t tenths) {
  if (!options_.counters || time_ns < options_.begin_ns || time_ns >= options_.end_ns) return;
  write_counter(writer_, table_.ids(steps), time_ns,
                {"items/s", tenths % 10 == 0, tenths / 10, static_cast<double>(tenths) / 10});
}

}  // namespace rangefinder::chrome
