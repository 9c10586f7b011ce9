// SPDX-License-Identifier: MIT
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

namespace rangefinder::html {
namespace {

constexpr std::uint32_t kNoNumber = 0xFFFFFFFFu;
constexpr std::size_t kMostWindows = 10'000;
constexpr std::string_view kNoRange = "(no range)";
constexpr std::string_view kMergedName = "(short slices, merged)";

std::string step_name(const Timeline& timeline, std::uint32_t row) {
  return "step " + std::to_string(timeline.steps.number[row]);
}

std::string_view sync_name(const Timeline& timeline, std::uint32_t row) noexcept {
  switch (timeline.syncs.type[row]) {
    case 1:
      return "wait for event";
    case 2:
      return "stream waits for event";
    case 3:
      return "wait for stream";
    case 4:
      return "wait for context";
    default:
      return "wait";
  }
}

/// The range that owns an activity; kNone: none.
RangeIndex owner_of(const PageInput& input, std::uint32_t activity) noexcept {
  const std::vector<std::uint32_t>& owner = input.projection().owner;
  if (activity >= owner.size() || owner[activity] >= input.timeline.ranges.size()) return kNone;
  return RangeIndex(owner[activity]);
}

const char* word_of(TrackKind kind) noexcept {
  switch (kind) {
    case TrackKind::kThread:
      return "thread";
    case TrackKind::kProjected:
      return "projected";
    case TrackKind::kStream:
      return "stream";
  }
  return "thread";
}

/// Of kParts equal parts of the timeline, the share in which something was on depth 0; base64 of a byte each.
std::string overview_of(const Timeline& timeline, const Track& track) {
  constexpr std::size_t kParts = 512;
  const std::int64_t length = std::max<std::int64_t>(1, since(timeline.begin_ns, timeline.end_ns));
  std::array<double, kParts> busy{};
  const auto part_of = [&](std::int64_t at) { return static_cast<double>(at) * kParts / static_cast<double>(length); };
  const std::size_t top = track.depths.empty() ? 0 : track.depths.front();
  for (std::size_t i = 0; i < top; ++i) {
    const double begin = part_of(since(timeline.begin_ns, track.slices[i].begin_ns));
    const double end = part_of(since(timeline.begin_ns, track.slices[i].end_ns));
    for (auto part = static_cast<std::size_t>(begin); part < kParts && static_cast<double>(part) < end; ++part)
      busy[part] += std::min(end, static_cast<double>(part + 1)) - std::max(begin, static_cast<double>(part));
  }
  std::string bytes;
  for (const double share : busy) bytes += static_cast<char>(static_cast<int>(std::min(1.0, share) * 255));
  return base64(bytes);
}

std::string overview_of(const Timeline& timeline, const CounterTrack& track) {
  constexpr std::size_t kParts = 512;
  const std::int64_t length = std::max<std::int64_t>(1, since(timeline.begin_ns, timeline.end_ns) + 1);
  // Beyond this no program counts; what is no number has no place in a picture.
  const auto is_shown = [](double value) { return std::abs(value) < 1e300; };
  double least = 1e300, greatest = -1e300;
  for (const auto& [time_ns, value] : track.samples) {
    if (!is_shown(value)) continue;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  if (!(greatest > least)) return base64(std::string(kParts, '\0'));
  std::array<std::pair<double, std::uint32_t>, kParts> sums{};
  for (const auto& [time_ns, value] : track.samples) {
    if (!is_shown(value)) continue;
    const double at = static_cast<double>(since(timeline.begin_ns, time_ns)) * kParts / static_cast<double>(length);
    auto& [sum, count] = sums[std::min(kParts - 1, static_cast<std::size_t>(at))];
    sum += value;
    ++count;
  }
  std::string bytes;
  double level = 0;  // a part without a sample has the level of the one before
  for (const auto& [sum, count] : sums) {
    if (count != 0) level = (sum / count - least) / (greatest - least);
    bytes += static_cast<char>(static_cast<int>(std::clamp(level, 0.0, 1.0) * 255));
  }
  return base64(bytes);
}

class Encoder {
 public:
  Encoder(const PageInput& input, PageOutput& output)
      : input_(input),
        timeline_(input.timeline),
        output_(output),
        call_(input.timeline.calls.size(), kNoNumber),
        range_(input.timeline.ranges.size(), kNoNumber) {}

  /// Gives every slice its number.
  void number(std::vector<Track>& tracks) {
    std::uint64_t next = 0;
    for (Track& track : tracks) {
      track.first_slice = next;
      for (const Slice& slice : track.slices) {
        const auto number = static_cast<std::uint32_t>(std::min<std::uint64_t>(next++, kNoNumber));
        if (slice.merged != 0) continue;
        if (slice.source == SliceSource::kCall) call_[slice.row] = number;
        if (slice.source == SliceSource::kRange) range_[slice.row] = number;
      }
    }
    output_.slices = next;
  }

  std::string encode(const Track& track) {
    std::string json = std::string("{\"kind\":\"") + word_of(track.kind) + "\",\"group\":" + json_of(track.group) +
                       ",\"label\":" + json_of(track.label) + ",\"slices\":" + std::to_string(track.slices.size()) +
                       ",\"first_slice\":" + std::to_string(track.first_slice) + ",\"depths\":[";
    for (std::size_t depth = 0; depth < track.depths.size(); ++depth)
      json += (depth == 0 ? "" : ",") + std::to_string(track.depths[depth]);
    details_.clear();
    const std::string table = table_of(track);
    return json + "],\"table\":" + table + ",\"overview\":\"" + overview_of(timeline_, track) + "\"" + details_ + "}";
  }

  std::string encode(const CounterTrack& counter) {
    TableData table;
    const std::size_t time = table.add("time_ns", "delta"), value = table.add("value", "f64");
    for (const auto& [time_ns, number] : counter.samples) {
      table.delta(time, since(timeline_.begin_ns, time_ns));
      table.f64(value, number);
      table.next_row();
    }
    return "{\"kind\":\"counter\",\"group\":" + json_of(counter.group) + ",\"label\":" + json_of(counter.label) +
           ",\"unit\":" + json_of(counter.unit) + ",\"table\":" + table.json(output_.blocks) + ",\"overview\":\"" +
           overview_of(timeline_, counter) + "\"}";
  }

 private:
  std::string table_of(const Track& track) {
    TableData table;
    add_times_and_names(track, table);
    const bool plain = std::all_of(track.slices.begin(), track.slices.end(), [&](const Slice& slice) {
      return slice.category == (track.kind == TrackKind::kStream ? Category::kComputation : Category::kRange);
    });
    if (!plain) {
      const std::size_t category = table.add("category", "u8");
      for (const Slice& slice : track.slices) table.u8(category, static_cast<std::uint8_t>(slice.category));
    }
    add_causes(track, table);
    add_details(track, table);
    return table.json(output_.blocks);
  }

  void add_times_and_names(const Track& track, TableData& table) {
    const std::size_t gap = table.add("gap_ns", "varint"), duration = table.add("duration_ns", "varint");
    const std::size_t name = table.add("name", "varint");
    std::int64_t last_end = 0;
    std::uint16_t depth = 0;
    for (const Slice& slice : track.slices) {
      if (slice.depth != depth) last_end = 0;
      depth = slice.depth;
      const std::int64_t begin = since(timeline_.begin_ns, slice.begin_ns);
      const std::int64_t end = std::max(begin, since(timeline_.begin_ns, slice.end_ns));
      table.varint(gap, begin - last_end);
      table.varint(duration, end - begin);
      table.varint(name, name_of(slice));
      table.next_row();
      last_end = end;
    }
  }

  std::uint64_t name_of(const Slice& slice) const {
    if (slice.merged != 0) return output_.names.index(kMergedName);
    if (slice.source == SliceSource::kStep) return output_.names.index(step_name(timeline_, slice.row));
    if (slice.source == SliceSource::kSync) return output_.names.index(sync_name(timeline_, slice.row));
    return output_.names.index(slice.name);
  }

  /// The number of the slice that launched or caused this one, plus 1; 0: none is known.
  std::int64_t cause_of(const Slice& slice) const {
    const auto number = [](std::uint32_t known) { return known == kNoNumber ? 0 : std::int64_t{known} + 1; };
    if (slice.merged != 0) return 0;
    if (slice.source == SliceSource::kProjected) return number(range_[slice.row]);
    if (slice.source != SliceSource::kActivity) return 0;
    const LaunchIndex launch = timeline_.activities.launch[slice.row];
    if (launch == kNone) return 0;
    const CallIndex call = timeline_.launches.call[launch];
    if (call != kNone && call_[call] != kNoNumber) return number(call_[call]);
    const RangeIndex range =
        timeline_.launches.range[launch] != kNone ? timeline_.launches.range[launch] : owner_of(input_, slice.row);
    return range == kNone ? 0 : number(range_[range]);
  }

  void add_causes(const Track& track, TableData& table) {
    if (track.kind == TrackKind::kThread) return;
    const std::size_t cause = table.add("cause", "delta");
    for (const Slice& slice : track.slices) table.delta(cause, cause_of(slice));
  }

  void say_detail(const char* column, const char* label, const char* unit) {
    details_ += details_.empty() ? ",\"details\":[{" : ",{";
    details_.append("\"column\":\"").append(column).append("\",\"label\":\"").append(label);
    details_.append("\",\"unit\":\"").append(unit).append("\"}");
  }

  void add_details(const Track& track, TableData& table) {
    if (track.kind == TrackKind::kStream) add_device_details(track, table);
    const auto is_merged = [](const Slice& slice) { return slice.merged != 0; };
    if (std::any_of(track.slices.begin(), track.slices.end(), is_merged)) {
      const std::size_t merged = table.add("merged", "varint"), mostly = table.add("mostly", "varint");
      for (const Slice& slice : track.slices) {
        table.varint(merged, std::uint64_t{slice.merged});
        table.varint(mostly, mostly_of(slice));
      }
      say_detail("merged", "Slices merged into it", "");
      say_detail("mostly", "Most of its time", "name");
    }
    if (!details_.empty()) details_ += "]";
  }

  std::uint64_t mostly_of(const Slice& slice) const {
    Slice itself = slice;
    itself.merged = 0;
    return name_of(itself);
  }

  void add_device_details(const Track& track, TableData& table) {
    const ActivityTable& activities = timeline_.activities;
    const auto is_activity = [](const Slice& slice) {
      return slice.source == SliceSource::kActivity && slice.merged == 0;
    };
    if (std::none_of(track.slices.begin(), track.slices.end(), is_activity)) return;
    const std::size_t range = table.add("range", "varint"), delay = table.add("delay_ns", "varint");
    const std::size_t bytes = table.add("bytes", "varint");
    for (const Slice& slice : track.slices) {
      const RangeIndex owner = is_activity(slice) ? owner_of(input_, slice.row) : RangeIndex(kNone);
      table.varint(range,
                   owner == kNone ? output_.names.index(kNoRange) : output_.names.index(timeline_.ranges.name[owner]));
      const LaunchIndex launch = is_activity(slice) ? activities.launch[slice.row] : LaunchIndex(kNone);
      table.varint(delay, launch == kNone ? std::int64_t{0}
                                          : since(timeline_.launches.time_ns[launch], activities.begin_ns[slice.row]));
      table.varint(bytes, is_activity(slice) ? std::uint64_t{activities.bytes[slice.row]} : std::uint64_t{0});
    }
    say_detail("range", "Range", "name");
    say_detail("delay_ns", "From launch to begin", "ns");
    say_detail("bytes", "Bytes", "B");
  }

  const PageInput& input_;
  const Timeline& timeline_;
  PageOutput& output_;
  std::vector<std::uint32_t> call_, range_;  // the number of the slice of each row
  std::string details_;
};

std::string windows_of(const Timeline& timeline) {
  if (timeline.windows.empty() || timeline.windows.size() > kMostWindows) return {};
  std::string json;
  for (const Window& window : timeline.windows)
    json += (json.empty() ? "[" : ",[") + std::to_string(since(timeline.begin_ns, window.begin_ns)) + "," +
            std::to_string(since(timeline.begin_ns, window.end_ns)) + "]";
  return ",\"windows\":[" + json + "]";
}

}  // namespace

void count_names(const PageInput& input, const std::vector<Track>& tracks, Names& names) {
  names.count(kNoRange);
  for (const Track& track : tracks) {
    for (const Slice& slice : track.slices) {
      if (slice.merged != 0) names.count(kMergedName);
      if (slice.source == SliceSource::kStep)
        names.count(step_name(input.timeline, slice.row));
      else if (slice.source == SliceSource::kSync)
        names.count(sync_name(input.timeline, slice.row));
      else
        names.count(slice.name);
    }
  }
  for (std::uint32_t activity = 0; activity < input.timeline.activities.size(); ++activity)
    if (const RangeIndex owner = owner_of(input, activity); owner != kNone)
      names.count(input.timeline.ranges.name[owner]);
}

std::string timeline_section(const PageInput& input, std::vector<Track>& tracks,
                             const std::vector<CounterTrack>& counters, PageOutput& output) {
  Encoder encoder(input, output);
  encoder.number(tracks);
  if (tracks.empty() && counters.empty()) {
    output.absent["timeline"] = "The recording holds no ranges, no calls and no device activity.";
    return {};
  }
  std::string json;
  const auto add = [&](const std::string& track) { json += (json.empty() ? "" : ",") + track; };
  std::vector<bool> written(counters.size());
  const auto add_counters_of = [&](const std::string& group) {
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (written[i] || counters[i].group != group) continue;
      add(encoder.encode(counters[i]));
      written[i] = true;
    }
  };
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    add(encoder.encode(tracks[i]));
    tracks[i].slices = {};
    if (i + 1 == tracks.size() || tracks[i + 1].group != tracks[i].group) add_counters_of(tracks[i].group);
  }
  for (const CounterTrack& counter : counters) add_counters_of(counter.group);
  return "{\"tracks\":[" + json + "]" + windows_of(input.timeline) + "}";
}

}  // namespace rangefinder::html
