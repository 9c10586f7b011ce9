// SPDX-License-Identifier: MIT
//
// Any bytes as a torch.profiler trace: an error or tables that hold together, never a crash, hang or huge allocation.
#include "fuzz/timeline_checks.hpp"
#include "importer/kineto/event.hpp"
#include "importer/kineto/kineto_importer.hpp"
#include "importer/kineto/scan.hpp"

#include <rangefinder/projection.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace rangefinder;

namespace {

void check_ranges(const Timeline& timeline) {
  const RangeTable& ranges = timeline.ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    HOLDS(ranges.begin_ns[i] <= ranges.end_ns[i]);
    HOLDS(ranges.begin_ns[i] >= timeline.begin_ns && ranges.end_ns[i] <= timeline.end_ns);
    HOLDS(ranges.thread[i] < timeline.threads.size());
    HOLDS(static_cast<std::uint32_t>(ranges.name[i]) < timeline.string_count());
    HOLDS(static_cast<std::uint32_t>(ranges.category[i]) < timeline.string_count());
  }
}

void check_calls(const Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    HOLDS(calls.begin_ns[i] <= calls.end_ns[i]);
    HOLDS(calls.thread[i] < timeline.threads.size());
  }
}

void check_activities(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  const LaunchTable& launches = timeline.launches;
  HOLDS(std::is_sorted(launches.time_ns.begin(), launches.time_ns.end()));
  for (std::size_t i = 0; i < launches.size(); ++i) {
    HOLDS(launches.call[i] < timeline.calls.size());
    HOLDS(launches.process[i] < timeline.processes.size());
  }
  for (std::size_t i = 0; i < activities.size(); ++i) {
    HOLDS(activities.begin_ns[i] <= activities.end_ns[i]);
    HOLDS(activities.stream[i] < timeline.streams.size());
    const bool launched = activities.launch[i] != kNone;
    HOLDS(!launched || launches.correlation[activities.launch[i]] == activities.correlation[i]);
    const std::size_t details =
        activities.kind[i] == ActivityKind::kKernel ? timeline.kernel_details.size() : timeline.copy_details.size();
    HOLDS(activities.detail[i] == kNone || activities.detail[i] < details);
  }
}

void check_nodes(const Timeline& timeline) {
  const AutogradNodeTable& nodes = timeline.autograd_nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    HOLDS(nodes.thread[i] < timeline.threads.size());
    HOLDS(nodes.begin_ns[i] <= nodes.end_ns[i]);
    HOLDS((nodes.forward_thread[i] == kNone) == (nodes.forward_ns[i] == kNoTime));
    HOLDS(nodes.forward_thread[i] == kNone ||
          (nodes.forward_thread[i] < timeline.threads.size() && nodes.sequence[i] >= 0));
    HOLDS(nodes.forward_thread[i] == kNone || nodes.forward_ns[i] < nodes.begin_ns[i]);
  }
  const Projection projection = project(timeline, {Attribution::kForward, true, false});
  HOLDS(projection.account.total.gpu_ops == timeline.activities.size());
  HOLDS(projection.pass.empty() == (nodes.size() == 0 || timeline.launches.size() == 0));
}

void check(const Timeline& timeline) {
  check_ranges(timeline);
  check_calls(timeline);
  check_activities(timeline);
  check_nodes(timeline);
  fuzz::check_places(timeline);
  fuzz::check_allocator_events(timeline);
  HOLDS(timeline.counters.number.size() == timeline.counters.size());
  HOLDS(timeline.marks.time_ns.size() == timeline.marks.size());
}

/// The event reader alone, on a block of exactly the size that it may read; and once more with all that it has learnt
/// from the first reading and from an event as torch writes it.
void read_alone(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || data[0] != '{') return;
  std::vector<char> text(data, data + size);
  text.resize(size + importer::kineto::kPadding, '\0');
  text.shrink_to_fit();
  importer::kineto::Cursor first{text.data(), text.data() + size, ""};
  importer::kineto::Event event;
  const importer::kineto::Scan scan = importer::kineto::EventReader().read(first, event);
  HOLDS(first.at <= first.end);
  HOLDS(scan != importer::kineto::Scan::kMore || first.at == text.data());

  static constexpr std::string_view kUsual =
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 1, \"args\": "
      "{\"External id\": 1, \"correlation\": 2, \"grid\": [1, 1, 1]}}";
  std::string usual(kUsual);
  usual.append(importer::kineto::kPadding, '\0');
  importer::kineto::EventReader experienced;
  importer::kineto::Event other;
  importer::kineto::Cursor cursor{usual.data(), usual.data() + kUsual.size(), ""};
  HOLDS(experienced.read(cursor, other) == importer::kineto::Scan::kOk);
  for (int round = 0; round < 2; ++round) {
    importer::kineto::Cursor again{text.data(), text.data() + size, ""};
    HOLDS(experienced.read(again, other) == scan);
    HOLDS(again.at == first.at);
    if (scan != importer::kineto::Scan::kOk) continue;
    HOLDS(other.json == event.json && other.members == event.members);
    HOLDS(other.phase == event.phase && other.category.bytes == event.category.bytes);
    HOLDS(other.name.bytes == event.name.bytes && other.arguments.present == event.arguments.present);
    HOLDS(other.time.state == event.time.state && other.thread.form == event.thread.form);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  LoadOptions options;
  options.keep_arguments = true;
  options.max_unpacked_bytes = std::uint64_t{64} << 20;
  importer::kineto::ImportDetails details;
  details.keep_gpu_annotations = true;
  const Result<Timeline> timeline = importer::kineto::import_kineto(bytes, "input", options, details);
  if (timeline) {
    check(*timeline);
    HOLDS(importer::kineto::looks_like_kineto(bytes));
  } else {
    HOLDS(timeline.error().message().find('\n') == std::string::npos);
  }

  // Strictly, what is whole is taken alike and what is not is refused.
  options.strict = true;
  const Result<Timeline> strict = importer::kineto::import_kineto(bytes, "input", options, details);
  HOLDS(strict.ok() == (timeline.ok() && timeline->health.damaged_chunks == 0));
  if (strict) HOLDS(strict->ranges.begin_ns == timeline->ranges.begin_ns);

  read_alone(data, size);
  return 0;
}
