// SPDX-License-Identifier: MIT
#include "exporter/chrome/device_window.hpp"

#include "exporter/chrome/activity_arguments.hpp"
#include "exporter/chrome/clean_json.hpp"
#include "exporter/chrome/collective_arguments.hpp"
#include "exporter/chrome/span_owners.hpp"
#include "projection/account.hpp"
#include "projection/split_graph_launches.hpp"

#include <utility>

namespace rangefinder::chrome {
namespace {

template <typename T>
std::size_t bytes_in(const std::vector<T>& values) noexcept {
  return values.capacity() * sizeof(T);
}

/// The range that was open at the activity's own launch; kNone: none.
RangeIndex launching_range(const Timeline& window, const Projection& projection, ActivityIndex row) {
  const LaunchIndex launch = window.activities.launch[row];
  if (launch == kNone) return kNone;
  RangeIndex range = window.launches.range[launch];
  if (range == kNone && projection.place_of(window, row) == launch) range = RangeIndex(projection.owner[row]);
  return range < window.ranges.size() ? range : RangeIndex(kNone);
}

/// Of captured work: the ranges where it was captured, where no slices show them.
std::string ranges_not_written(const Timeline& window, const Projection& projection, ActivityIndex row) {
  const LaunchIndex captured = window.activities.captured[row];
  const RangeTable& ranges = window.ranges;
  RangeIndex range = projection.place_of(window, row) == captured ? RangeIndex(projection.owner[row])
                                                                  : window.launches.range[captured];
  if (range >= ranges.size() || (ranges.flags[range] & kBeforeRecording) == 0) return {};
  std::vector<RangeIndex> path;
  for (; range != kNone; range = projection.parent[range]) path.push_back(range);
  std::string out;
  for (std::size_t i = path.size(); i-- > 0;) {
    out += out.empty() ? '[' : ',';
    append_quoted(out, window.text(ranges.name[path[i]]));
  }
  return out + ']';
}

}  // namespace

const DeviceWindow::Captured* DeviceWindow::captured_of(ActivityIndex row) const noexcept {
  const auto found =
      std::lower_bound(captured.begin(), captured.end(), row,
                       [](const Captured& each, ActivityIndex wanted) { return each.activity < wanted; });
  return found != captured.end() && found->activity == row ? &*found : nullptr;
}

std::string_view DeviceWindow::collective_of(ActivityIndex row) const noexcept {
  const auto found =
      std::lower_bound(collectives.begin(), collectives.end(), row,
                       [](const Collective& each, ActivityIndex wanted) { return each.activity < wanted; });
  return found != collectives.end() && found->activity == row ? std::string_view(found->arguments) : std::string_view();
}

std::size_t DeviceWindow::bytes() const noexcept {
  return sizeof *this + static_cast<std::size_t>(activities.memory_bytes()) + bytes_in(kernel_details) +
         bytes_in(copy_details) + bytes_in(places) + bytes_in(captured) + bytes_in(collectives) + bytes_in(keys) +
         bytes_in(parent) + bytes_in(depth) + bytes_in(figures) + bytes_in(heads) + bytes_in(passes) +
         bytes_in(kept.earlier);
}

std::string_view DeviceWindows::head(const Timeline& window, Category category, StringId name) {
  const auto number = static_cast<std::uint32_t>(name);
  const std::string_view known = heads_.find(category, number);
  return known.empty() ? heads_.put(category, number, window.text(name)) : known;
}

void DeviceWindows::take_streams(const Timeline& window, DeviceWindow& out) {
  for (; streams_ < window.streams.size(); ++streams_) {
    const StreamInfo& stream = window.streams[StreamIndex(streams_)];
    out.new_streams.push_back({window.devices[stream.device].id, stream.context, stream.id});
  }
}

DeviceWindow DeviceWindows::take(const importer::CaptureWindows& windows, Timeline& window) {
  DeviceWindow out;
  out.kept = windows.kept();
  take_streams(window, out);
  const ProjectionOptions by{options_.attribution, true, false};
  projection::split_graph_launches_of_window(window, windows.activity_rows(), by);
  Projection projection = project(window, by);
  projection::add_account(account_, projection.account);
  out.has_passes = projection.attribution == Attribution::kForward;
  out.is_apart = window.autograd_nodes.size() != 0 || !projection.place.empty();
  const bool inclusive = options_.inclusive_ranges;
  const bool any_ranges = inclusive || options_.exclusive_ranges;
  const SpanOwners owners(window, projection, by);
  out.places.reserve(window.activities.size());
  for (ActivityIndex row{0}; row < window.activities.size(); ++row) {
    const Category category = category_of(window.activities.kind[row]);
    const RangeIndex innermost = inclusive ? owners.innermost(row) : any_ranges ? owners.owner(row) : RangeIndex(kNone);
    const RangeIndex launching = launching_range(window, projection, row);
    out.places.push_back({head(window, category, window.activities.name[row]),
                          launching == kNone ? -1 : static_cast<std::int64_t>(windows.key_of(launching)), innermost});
    if (const LaunchIndex captured = window.activities.captured[row]; captured < window.launches.size())
      out.captured.push_back({row, static_cast<std::uint32_t>(window.threads[window.launches.thread[captured]].tid),
                              window.launches.time_ns[captured], ranges_not_written(window, projection, row)});
    if (const CollectiveIndex collective = window.activities.collective[row]; collective != kNone)
      out.collectives.push_back({row, collective_arguments(window, collective)});
  }
  if (any_ranges) {
    analysis::StreamPassTimes passes = analysis::pass_times_of_streams(window, projection);
    out.passes = std::move(inclusive ? passes.inclusive : passes.exclusive);
    out.figures = std::move(inclusive ? projection.inclusive_streams : projection.exclusive_streams);
    out.heads.reserve(out.figures.size());
    for (const StreamFigures& figures : out.figures)
      out.heads.push_back(head(window, Category::kGpuAnnotation, window.ranges.name[figures.range]));
    const std::size_t ranges = window.ranges.size();
    out.keys.assign(windows.keys().begin(), windows.keys().end());
    out.first_new = windows.carried_rows();
    out.behind_new = windows.range_rows();
    out.parent.assign(owners.parents().begin(), owners.parents().end());
    out.depth.assign(owners.depths().begin(), owners.depths().end());
    if (!owners.all_nest()) {
      out.beside.reserve(ranges);
      for (RangeIndex range{0}; range < ranges; ++range) out.beside.push_back(!owners.nests(range));
    }
  }
  out.activities = std::move(window.activities);
  window.activities.cut_to(0);
  out.kernel_details = std::exchange(window.kernel_details, {});
  out.copy_details = std::exchange(window.copy_details, {});
  // Of the next window about as many come.
  window.activities.reserve(out.activities.size());
  window.kernel_details.reserve(out.kernel_details.size());
  return out;
}

}  // namespace rangefinder::chrome
