// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"
#include "analysis/memory_owners.hpp"
#include "exporter/html/encode.hpp"
#include "exporter/html/sections.hpp"

#include <rangefinder/detail/wrapping.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace rangefinder::html {
namespace {

using analysis::PlaceMemory;

constexpr std::size_t kMostSeries = 12;  // with the rest
constexpr std::size_t kMostMemoryRows = 4000;

struct Block {
  std::uint32_t owner;
  std::int64_t bytes;
};

std::int64_t size_of(std::uint64_t bytes) noexcept {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, kMostSigned));
}

/// The blocks that are there, event by event.
class Live {
 public:
  explicit Live(const AllocatorEventTable& events) : events_(events) {}

  /// `change(owner, bytes)` for what the event adds or takes away.
  template <typename Change>
  void take(std::uint32_t row, std::uint32_t owner, Change change) {
    const MemoryAction action = events_.action[row];
    if (action != MemoryAction::kAllocate && action != MemoryAction::kFree) return;
    const auto found = blocks_.find(events_.address[row]);
    if (found != blocks_.end()) {  // freed, or its free is not in the data
      change(found->second.owner, -found->second.bytes);
      blocks_.erase(found);
    }
    if (action != MemoryAction::kAllocate) return;
    const std::int64_t bytes = size_of(events_.bytes[row]);
    blocks_.try_emplace(events_.address[row], Block{owner, bytes});
    change(owner, bytes);
  }

 private:
  const AllocatorEventTable& events_;
  std::unordered_map<std::uint64_t, Block> blocks_;
};

class MemorySection {
 public:
  MemorySection(const PageInput& input, PageOutput& output, const PlaceMemory& place)
      : timeline_(input.timeline), output_(output), place_(place) {}

  std::string json() {
    find_owners();
    choose_series();
    has_reserved_ = std::any_of(place_.rows.begin(), place_.rows.end(),
                                [&](std::uint32_t row) { return timeline_.allocator_events.reserved[row] >= 0; });
    const std::vector<std::size_t> moments = moments_kept();
    return "{\"series\":" + series_json() + further_members() + ",\"table\":" + table_of(moments) + "}";
  }

 private:
  /// The name of the innermost range of each event, as a small number.
  void find_owners() {
    const analysis::RangeNesting nesting(timeline_);
    const analysis::NestedRanges& nested = nesting.of(RangeKind::kAnnotation, place_.place.process);
    std::map<StringId, std::uint32_t> numbers;
    for (const RangeIndex range : analysis::owners_of(timeline_, nested, place_.rows)) {
      const StringId name = range == kNone ? StringId::kEmpty : timeline_.ranges.name[range];
      const auto [found, added] = numbers.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
      if (added) names_.push_back(name);
      owner_.push_back(found->second);
    }
  }

  /// The owners that ever held the most, greatest first; all others are the rest.
  void choose_series() {
    std::vector<std::int64_t> held(names_.size()), most(names_.size());
    Live live(timeline_.allocator_events);
    for (std::size_t i = 0; i < place_.rows.size(); ++i)
      live.take(place_.rows[i], owner_[i], [&](std::uint32_t owner, std::int64_t bytes) {
        held[owner] = detail::plus(held[owner], bytes);
        most[owner] = std::max(most[owner], held[owner]);
      });
    std::vector<std::uint32_t> order;
    for (std::uint32_t owner = 0; owner < names_.size(); ++owner)
      if (names_[owner] != StringId::kEmpty && most[owner] > 0) order.push_back(owner);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return most[a] > most[b]; });
    if (order.size() > kMostSeries - 1) order.resize(kMostSeries - 1);
    series_ = std::move(order);
    series_of_.assign(names_.size(), series_.size());
    for (std::size_t at = 0; at < series_.size(); ++at) series_of_[series_[at]] = at;
  }

  /// Of each part of the time, the event after which the most was allocated.
  std::vector<std::size_t> moments_kept() const {
    std::vector<std::size_t> kept;
    const std::size_t events = place_.rows.size();
    if (events == 0) return kept;
    const std::int64_t first_ns = timeline_.allocator_events.time_ns[place_.rows.front()];
    const std::int64_t length =
        std::max<std::int64_t>(1, since(first_ns, timeline_.allocator_events.time_ns[place_.rows.back()]) + 1);
    std::size_t part = kMostMemoryRows;  // none yet
    for (std::size_t i = 0; i < events; ++i) {
      const double at = static_cast<double>(since(first_ns, timeline_.allocator_events.time_ns[place_.rows[i]]));
      const auto here =
          std::min(kMostMemoryRows - 1, static_cast<std::size_t>(at * kMostMemoryRows / static_cast<double>(length)));
      if (here != part)
        kept.push_back(i);
      else if (place_.level[i] > place_.level[kept.back()])
        kept.back() = i;
      part = here;
    }
    return kept;
  }

  std::string series_json() const {
    std::string json;
    for (std::size_t at = 0; at <= series_.size(); ++at) {
      const std::string label = at == series_.size() ? "all else" : std::string(timeline_.text(names_[series_[at]]));
      json += (json.empty() ? "{\"column\":\"held_" : ",{\"column\":\"held_") + std::to_string(at) +
              "\",\"label\":" + json_of(label) + "}";
    }
    return "[" + json + "]";
  }

  std::string further_members() const {
    std::string json = ",\"device\":" + json_of(place_.place.device < 0
                                                    ? process_label(timeline_, place_.place.process) + ", host memory"
                                                    : "device " + std::to_string(place_.place.device) + ", " +
                                                          process_label(timeline_, place_.place.process));
    for (const DeviceInfo& device : timeline_.devices)
      if (device.process == place_.place.process && static_cast<std::int64_t>(device.id) == place_.place.device &&
          device.memory_bytes != 0) {
        json += ",\"limit_bytes\":" + std::to_string(std::min(device.memory_bytes, kMostUnsigned));
        break;
      }
    if (has_reserved_) json += ",\"reserved\":\"reserved_bytes\"";
    if (place_.peak < place_.rows.size())
      json += ",\"peak\":{\"time_ns\":" +
              std::to_string(since(timeline_.begin_ns, timeline_.allocator_events.time_ns[place_.rows[place_.peak]])) +
              ",\"bytes\":" + std::to_string(since(0, place_.peak_bytes)) + "}";
    return json;
  }

  std::string table_of(const std::vector<std::size_t>& moments) {
    TableData table;
    const std::size_t time = table.add("time_ns", "delta");
    std::vector<std::size_t> columns;
    for (std::size_t at = 0; at <= series_.size(); ++at)
      columns.push_back(table.add("held_" + std::to_string(at), "varint"));
    const std::size_t reserved = has_reserved_ ? table.add("reserved_bytes", "varint") : 0;
    std::vector<std::int64_t> held(series_.size() + 1);
    Live live(timeline_.allocator_events);
    std::int64_t reserved_bytes = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < place_.rows.size() && next < moments.size(); ++i) {
      const std::uint32_t row = place_.rows[i];
      live.take(row, owner_[i], [&](std::uint32_t owner, std::int64_t bytes) {
        std::int64_t& of_series = held[series_of_[owner]];
        of_series = detail::plus(of_series, bytes);
      });
      if (timeline_.allocator_events.reserved[row] >= 0) reserved_bytes = timeline_.allocator_events.reserved[row];
      if (i != moments[next]) continue;
      ++next;
      table.delta(time, since(timeline_.begin_ns, timeline_.allocator_events.time_ns[row]));
      std::int64_t named = 0;
      for (std::size_t at = 0; at < series_.size(); ++at) {
        table.varint(columns[at], held[at]);
        named = detail::plus(named, held[at]);
      }
      // What the allocator says is allocated, blocks from before the recording too.
      table.varint(columns.back(), since(named, place_.level[i]));
      if (has_reserved_) table.varint(reserved, reserved_bytes);
      table.next_row();
    }
    return table.json(output_.blocks);
  }

  const Timeline& timeline_;
  PageOutput& output_;
  const PlaceMemory& place_;
  std::vector<StringId> names_;
  std::vector<std::uint32_t> owner_;    // of each event, a row of names_
  std::vector<std::uint32_t> series_;   // rows of names_
  std::vector<std::size_t> series_of_;  // of each of names_
  bool has_reserved_ = false;
};

}  // namespace

std::string memory_section(const PageInput& input, PageOutput& output) {
  const std::vector<PlaceMemory> places = analysis::memory_of_places(input.timeline);
  const auto least = [](const PlaceMemory& a, const PlaceMemory& b) {
    // Of a device, where one has memory.
    return std::pair(a.place.device >= 0, a.peak_bytes) < std::pair(b.place.device >= 0, b.peak_bytes);
  };
  const auto most = std::max_element(places.begin(), places.end(), least);
  if (most == places.end()) {
    output.absent["memory"] =
        "Allocations were not recorded: use MemoryRecording of the torch component, or profile_memory of "
        "torch.profiler.";
    return {};
  }
  return MemorySection(input, output, *most).json();
}

}  // namespace rangefinder::html
