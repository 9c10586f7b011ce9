// SPDX-License-Identifier: MIT
//
// Any bytes as an Nsight export: an error or tables that hold together, never a crash, hang or huge allocation. What is
// read goes through every view, so that an index that points nowhere shows.
#include "fuzz/timeline_checks.hpp"
#include "importer/nsight/nsight_importer.hpp"
#include "report/view.hpp"

#include <cstddef>
#include <cstdint>

using namespace rangefinder;

namespace {

void check(const Timeline& timeline) {
  const RangeTable& ranges = timeline.ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    HOLDS(ranges.begin_ns[i] <= ranges.end_ns[i]);
    HOLDS(ranges.begin_ns[i] >= timeline.begin_ns && ranges.end_ns[i] <= timeline.end_ns);
    HOLDS(ranges.thread[i] < timeline.threads.size() && ranges.end_thread[i] < timeline.threads.size());
  }
  HOLDS(timeline.marks.category.size() == timeline.marks.size());
  for (const ThreadIndex thread : timeline.calls.thread) HOLDS(thread < timeline.threads.size());
  for (const CallIndex call : timeline.launches.call) HOLDS(call < timeline.calls.size());
  const ActivityTable& activities = timeline.activities;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    HOLDS(activities.begin_ns[i] <= activities.end_ns[i]);
    HOLDS(activities.stream[i] < timeline.streams.size());
    const std::uint32_t launch = activities.launch[i];
    HOLDS(launch == kNone || timeline.launches.correlation[launch] == activities.correlation[i]);
    const bool kernel = activities.kind[i] == ActivityKind::kKernel;
    HOLDS(activities.detail[i] < (kernel ? timeline.kernel_details.size() : timeline.copy_details.size()));
  }
  fuzz::check_places(timeline);
  fuzz::check_allocations(timeline);
  fuzz::check_allocator_events(timeline);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  LoadOptions options;
  const Result<Timeline> timeline = importer::nsight::import_nsight_image(bytes, options);
  options.strict = true;
  const Result<Timeline> strict = importer::nsight::import_nsight_image(bytes, options);
  HOLDS(strict.ok() == (timeline.ok() && timeline->health.damaged_chunks == 0));
  if (!timeline) {
    HOLDS(!timeline.error().message().empty() && timeline.error().message().find('\n') == std::string::npos);
    return 0;
  }
  check(*timeline);
  const report::ProjectedTimeline subject(*timeline, {});
  for (const report::View* view : report::views()) {
    const Result<report::Table> table = report::make_table(*view, subject, {});
    if (table) (void)report::to_csv(*table);
  }
  return 0;
}
