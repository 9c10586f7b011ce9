// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"
#include "analysis/memory_owners.hpp"
#include "base/text.hpp"
#include "exporter/chrome/byte_sink.hpp"
#include "exporter/memory_viz/pickle.hpp"

#include <rangefinder/exporters.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

// Keys as torch.cuda.memory._snapshot() has them in LibTorch 2.11 (torch/csrc/cuda/memory_snapshot.cpp).
namespace rangefinder {
namespace {

using analysis::NestedRanges;
using analysis::PlaceMemory;
using memory_viz::Pickle;

constexpr std::size_t kMaxFrames = 64;

/// The ranges around each event, innermost first: what the viewer takes for a stack of calls.
class Frames {
 public:
  Frames(const Timeline& timeline, Pickle& out)
      : timeline_(timeline), nesting_(timeline), out_(out), parent_(timeline.ranges.size(), kNone) {}

  /// Before events of that place are written.
  void enter(const PlaceMemory& place) {
    annotations_ = owners(place, RangeKind::kAnnotation);
    operators_ = owners(place, RangeKind::kOperator);
  }

  /// Of the event at that position of the place.
  void write(std::size_t at) {
    const std::pair key(operators_[at], annotations_[at]);
    const auto [found, added] = written_.try_emplace(key, static_cast<std::uint32_t>(written_.size()));
    if (!added) return out_.again(found->second);
    out_.open_list();
    std::size_t count = 0;
    for (RangeIndex range : {key.first, key.second}) {
      for (; range != kNone && count < kMaxFrames; range = parent_[range], ++count) frame(range);
    }
    out_.close_list();
    out_.remember(found->second);
  }

 private:
  std::vector<RangeIndex> owners(const PlaceMemory& place, RangeKind kind) {
    const NestedRanges& nested = nesting_.of(kind, place.place.process);
    for (std::size_t i = 0; i < nested.order.size(); ++i) parent_[nested.order[i]] = nested.parent[i];
    return analysis::owners_of(timeline_, nested, place.rows);
  }
  void frame(RangeIndex range) {
    const RangeTable& ranges = timeline_.ranges;
    out_.open_dictionary();
    out_.text("name");
    // Python takes UTF-8 only.
    out_.text(base::printable(timeline_.text(ranges.name[range])));
    out_.text("filename");
    out_.text(ranges.kind[range] == RangeKind::kOperator ? "operator" : "range");
    out_.text("line");
    out_.number(0);
    out_.close_dictionary();
  }

  const Timeline& timeline_;
  analysis::RangeNesting nesting_;
  Pickle& out_;
  std::vector<RangeIndex> parent_;  // of each range, among those of its kind
  std::vector<RangeIndex> annotations_, operators_;
  std::map<std::pair<RangeIndex, RangeIndex>, std::uint32_t> written_;
};

const char* word_of(MemoryAction action) noexcept {
  switch (action) {
    case MemoryAction::kAllocate:
      return "alloc";
    case MemoryAction::kFree:
      return "free_completed";
    case MemoryAction::kSegmentAllocate:
      return "segment_alloc";
    case MemoryAction::kSegmentFree:
      return "segment_free";
    case MemoryAction::kSegmentMap:
      return "segment_map";
    case MemoryAction::kSegmentUnmap:
      return "segment_unmap";
    case MemoryAction::kOutOfMemory:
      return "oom";
  }
  return "";
}

/// Writes the members that name the pool, as the allocator numbers it.
void write_pool(Pickle& out, std::string_view key, std::uint64_t pool) {
  constexpr std::uint64_t kOfProgram = std::uint64_t{1} << 63;
  const bool of_program = (pool & kOfProgram) != 0;
  out.text(key);
  out.pair(of_program ? 0 : pool, of_program ? pool & ~kOfProgram : 0);
}

class SnapshotWriter {
 public:
  SnapshotWriter(const Timeline& timeline, SnapshotMoment at)
      : timeline_(timeline), at_(at), places_(analysis::memory_of_places(timeline)), frames_(timeline, out_) {}

  std::string write() && {
    out_.open_dictionary();
    out_.text("segments");
    out_.open_list();
    for (std::size_t device = 0; device < places_.size(); ++device) write_blocks(places_[device], device);
    out_.close_list();
    out_.text("device_traces");
    out_.open_list();
    for (const PlaceMemory& place : places_) write_events(place);
    out_.close_list();
    out_.text("allocator_settings");
    out_.open_dictionary();
    out_.close_dictionary();
    out_.text("external_annotations");
    out_.open_list();
    out_.close_list();
    out_.close_dictionary();
    return std::move(out_).finish();
  }

 private:
  void member(std::string_view key, std::uint64_t value) {
    out_.text(key);
    out_.number(value);
  }

  /// How many of the place's events there were up to the moment.
  std::size_t events_of(const PlaceMemory& place) const noexcept {
    return at_ == SnapshotMoment::kPeak ? place.events_to_peak() : place.rows.size();
  }

  /// Blocks that are there at that moment, each a segment of its own: what lies around them is not known of every
  /// input.
  void write_blocks(const PlaceMemory& place, std::size_t device) {
    frames_.enter(place);
    const AllocatorEventTable& memory = timeline_.allocator_events;
    std::map<std::uint64_t, std::size_t> live;  // position, by address
    const std::size_t events = events_of(place);
    for (std::size_t i = 0; i < events; ++i) {
      const std::uint32_t row = place.rows[i];
      if (memory.action[row] == MemoryAction::kAllocate) live.insert_or_assign(memory.address[row], i);
      if (memory.action[row] == MemoryAction::kFree) live.erase(memory.address[row]);
    }
    for (const auto& [address, at] : live) write_block(place.rows[at], at, device);
  }

  void write_block(std::uint32_t row, std::size_t at, std::size_t device) {
    const AllocatorEventTable& memory = timeline_.allocator_events;
    const std::uint64_t bytes = memory.bytes[row];
    out_.open_dictionary();
    member("device", device);
    member("address", memory.address[row]);
    for (const std::string_view key : {"total_size", "allocated_size", "active_size", "requested_size"})
      member(key, bytes);
    member("stream", memory.stream[row]);
    out_.text("segment_type");
    out_.text("large");
    write_pool(out_, "segment_pool_id", memory.pool[row]);
    out_.text("is_expandable");
    out_.boolean(false);
    out_.text("frames");
    frames_.write(at);
    out_.text("blocks");
    out_.open_list();
    out_.open_dictionary();
    member("address", memory.address[row]);
    member("size", bytes);
    member("requested_size", bytes);
    out_.text("state");
    out_.text("active_allocated");
    out_.text("frames");
    frames_.write(at);
    out_.close_dictionary();
    out_.close_list();
    out_.close_dictionary();
  }

  void write_events(const PlaceMemory& place) {
    frames_.enter(place);
    out_.open_list();
    const std::size_t events = events_of(place);
    for (std::size_t i = 0; i < events; ++i) {
      const std::uint32_t row = place.rows[i];
      // The viewer wants a free to be asked for before it is completed.
      if (timeline_.allocator_events.action[row] == MemoryAction::kFree) write_event(place, i, "free_requested");
      write_event(place, i, word_of(timeline_.allocator_events.action[row]));
    }
    out_.close_list();
  }

  void write_event(const PlaceMemory& place, std::size_t at, std::string_view action) {
    const AllocatorEventTable& memory = timeline_.allocator_events;
    const std::uint32_t row = place.rows[at];
    out_.open_dictionary();
    out_.text("action");
    out_.text(action);
    member(memory.action[row] == MemoryAction::kOutOfMemory ? "device_free" : "addr", memory.address[row]);
    member("size", memory.bytes[row]);
    member("stream", memory.stream[row]);
    const std::uint64_t since = static_cast<std::uint64_t>(memory.time_ns[row]) -
                                static_cast<std::uint64_t>(memory.time_ns[place.rows.front()]);
    member("time_us", since / 1000);
    write_pool(out_, "pool_id", memory.pool[row]);
    out_.text("frames");
    frames_.write(at);
    out_.close_dictionary();
  }

  const Timeline& timeline_;
  SnapshotMoment at_;
  Pickle out_;
  std::vector<PlaceMemory> places_;
  Frames frames_;
};

}  // namespace

Status export_memory_snapshot(const Timeline& timeline, const std::string& output,
                              const MemorySnapshotOptions& options) {
  if (timeline.allocator_events.size() == 0) {
    return Error(ErrorCode::kNotFound,
                 "export: the input holds no allocations (rangefinder::torch::MemoryRecording, profile_memory)");
  }
  Result<std::unique_ptr<chrome::ByteSink>> sink = chrome::open_output(output, options.replace);
  if (!sink) return std::move(sink).error().with_context("export");
  Status status = (*sink)->write(SnapshotWriter(timeline, options.at).write());
  if (status.ok()) status = (*sink)->finish();
  return status.ok() ? status : Status(std::move(status).error().with_context("export"));
}

Status export_memory_snapshot(const std::string& input, const std::string& output,
                              const MemorySnapshotOptions& options) {
  LoadOptions load;
  load.max_memory_bytes = options.max_memory_bytes;
  Result<Timeline> timeline = load_timeline(input, load);
  if (!timeline) return std::move(timeline).error().with_context("export");
  return export_memory_snapshot(*timeline, output, options);
}

}  // namespace rangefinder
