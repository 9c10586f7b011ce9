// SPDX-License-Identifier: MIT
#include "importer/capture/capture_sweep.hpp"

#include "format/host_columns.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::importer {
namespace {

using capture::ChunkEntry;
using detail::Record;
using format::ChunkKind;

constexpr std::uint32_t kLive = 1u << 31;
// A damaged file may name any thread; beyond this its records are not worth a table. The assembler has the same bound.
constexpr std::uint32_t kMaxSweptThreads = 1u << 20;
// Chunks reach over each other by a few buffers. Where all of a file do, order is given up before memory is.
constexpr std::size_t kMaxLoadedRows = std::size_t{1} << 19;
// How far host events run ahead: more than clocks differ, and enough that a step is worth its cost.
constexpr std::int64_t kAheadNs = 4'000'000;

bool is_device_kind(std::uint16_t kind) noexcept {
  switch (static_cast<ChunkKind>(kind)) {
    case ChunkKind::kKernels:
    case ChunkKind::kMemcpys:
    case ChunkKind::kMemsets:
    case ChunkKind::kApiCalls:
    case ChunkKind::kSyncs:
    case ChunkKind::kOverheads:
    case ChunkKind::kGraphLaunches:
    case ChunkKind::kAllocations:
    case ChunkKind::kJits:
      return true;
    default:
      return false;
  }
}

/// Calls `use` with whatever rows a chunk holds.
template <typename Use>
class AnyRows final : public capture::CaptureVisitor {
 public:
  explicit AnyRows(Use use) : use_(use) {}
  void on_kernels(std::span<const format::KernelRow> rows) override { use_(rows); }
  void on_memcpys(std::span<const format::MemcpyRow> rows) override { use_(rows); }
  void on_memsets(std::span<const format::MemsetRow> rows) override { use_(rows); }
  void on_graph_launches(std::span<const format::GraphLaunchRow> rows) override { use_(rows); }
  void on_api_calls(std::span<const format::ApiRow> rows) override { use_(rows); }
  void on_syncs(std::span<const format::SyncRow> rows) override { use_(rows); }
  void on_overheads(std::span<const format::OverheadRow> rows) override { use_(rows); }
  void on_allocations(std::span<const format::AllocationRow> rows) override { use_(rows); }
  void on_jits(std::span<const format::JitRow> rows) override { use_(rows); }

 private:
  Use use_;
};

class HostRows final : public capture::CaptureVisitor {
 public:
  explicit HostRows(format::HostEvents& out) : out_(out) {}
  void on_host_events(const format::HostEvents& events) override { out_ = events; }

 private:
  format::HostEvents& out_;
};

/// Hands host events on as they stand in the file.
class Forward final : public capture::CaptureVisitor {
 public:
  explicit Forward(SweepSink& sink) : sink_(sink) {}
  void on_host_events(const format::HostEvents& events) override { sink_.on_host_events(events); }

 private:
  SweepSink& sink_;
};

std::int64_t end_on_clock(std::int64_t begin_ns, const RowTimes& row) noexcept {
  std::int64_t out = 0;
  const bool impossible = row.end_ns < row.begin_ns || __builtin_sub_overflow(row.end_ns, row.begin_ns, &out) ||
                          __builtin_add_overflow(begin_ns, out, &out);
  return impossible ? begin_ns : out;
}

}  // namespace

bool CaptureSweep::has_device_rows() const noexcept {
  return std::any_of(reader_.chunks().begin(), reader_.chunks().end(),
                     [](const ChunkEntry& entry) { return is_device_kind(entry.header.kind); });
}

void CaptureSweep::visit(std::uint32_t chunk, capture::CaptureVisitor& visitor) {
  const ChunkEntry& entry = reader_.chunks()[chunk];
  reader_.visit_one(entry, visitor);
  visited_bytes_ += sizeof entry.header + entry.header.payload_bytes;
  if (progress_) progress_(std::min(visited_bytes_, reader_.file_bytes()), reader_.file_bytes());
}

std::int64_t CaptureSweep::first_time(std::uint32_t chunk) {
  const format::ChunkHeader& header = reader_.chunks()[chunk].header;
  if (header.first != 0) return reader_.monotonic_of_realtime(static_cast<std::int64_t>(header.first));
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  AnyRows earliest([&](auto rows) {
    for (const auto& row : rows) first = std::min(first, reader_.monotonic_of_realtime(times_of(row).begin_ns));
  });
  reader_.visit_one(reader_.chunks()[chunk], earliest);
  return first;
}

void CaptureSweep::find_host_chunk(std::uint32_t thread, std::uint32_t source, std::uint64_t first_ticks) {
  if (thread >= kMaxSweptThreads) {
    strays_.push_back(source);
    return;
  }
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  if (threads_[thread].sources.empty()) due_.push({first_ticks, thread});
  threads_[thread].sources.push_back(source);
}

void CaptureSweep::find_chunks() {
  const auto& chunks = reader_.chunks();
  for (std::uint32_t i = 0; i < chunks.size(); ++i) {
    const format::ChunkHeader& header = chunks[i].header;
    if (is_device_kind(header.kind)) pending_.push_back({first_time(i), i});
    if (static_cast<ChunkKind>(header.kind) == ChunkKind::kHostEvents)
      find_host_chunk(static_cast<std::uint32_t>(std::min<std::uint64_t>(header.subject, kMaxSweptThreads)), i,
                      header.first);
  }
  const auto& live = reader_.live_events();
  for (std::uint32_t i = 0; i < live.size(); ++i) {
    const auto first = std::find_if(live[i].records.begin(), live[i].records.end(), format::has_time);
    find_host_chunk(live[i].run.thread, kLive + i, first == live[i].records.end() ? 0 : first->ticks);
  }
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const Pending& a, const Pending& b) { return a.begin_ns < b.begin_ns; });
}

void CaptureSweep::load(std::uint32_t chunk) {
  Loaded loaded;
  AnyRows take([&](auto rows) {
    using Row = std::remove_const_t<typename decltype(rows)::element_type>;
    loaded.rows = std::vector<Row>(rows.begin(), rows.end());
    loaded.order.reserve(rows.size());
    std::size_t segment = 0;
    for (std::uint32_t i = 0; i < rows.size(); ++i)
      loaded.order.emplace_back(reader_.clock().monotonic_of_realtime(times_of(rows[i]).begin_ns, segment), i);
  });
  visit(chunk, take);
  if (loaded.order.empty()) return;
  if (!std::is_sorted(loaded.order.begin(), loaded.order.end())) std::sort(loaded.order.begin(), loaded.order.end());
  loaded_rows_ += loaded.order.size();
  std::uint32_t index = static_cast<std::uint32_t>(loaded_.size());
  if (free_.empty()) {
    loaded_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  next_rows_.push({loaded.order.front().first, index});
  loaded_[index] = std::move(loaded);
}

void CaptureSweep::load_until(std::int64_t time_ns) {
  while (next_pending_ < pending_.size() && pending_[next_pending_].begin_ns <= time_ns &&
         loaded_rows_ < kMaxLoadedRows)
    load(pending_[next_pending_++].chunk);
}

std::uint64_t CaptureSweep::ticks_at(std::int64_t time_ns) const noexcept {
  // The last ticks that are not later.
  std::uint64_t low = 0;
  std::uint64_t high = std::numeric_limits<std::uint64_t>::max();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2 + 1;
    if (reader_.monotonic_of_ticks(middle) <= time_ns)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

bool CaptureSweep::load_host(HostThread& thread) {
  if (thread.next == thread.sources.size()) return false;
  const std::uint32_t source = thread.sources[thread.next++];
  thread.at = 0;
  thread.events.records.clear();
  if ((source & kLive) != 0) {
    thread.events = reader_.live_events()[source - kLive];
  } else {
    HostRows rows(thread.events);
    visit(source, rows);
  }
  return true;
}

std::uint64_t CaptureSweep::due_of(const HostThread& thread) const {
  const auto& records = thread.events.records;
  for (std::size_t i = thread.at; i < records.size(); ++i) {
    if (format::has_time(records[i])) return records[i].ticks;
  }
  if (thread.at < records.size() || thread.next == thread.sources.size()) return 0;
  const std::uint32_t source = thread.sources[thread.next];
  return (source & kLive) != 0 ? 0 : reader_.chunks()[source].header.first;
}

void CaptureSweep::feed_host(SweepSink& sink, std::uint64_t until_ticks) {
  while (!due_.empty() && due_.top().first <= until_ticks) {
    HostThread& thread = threads_[due_.top().second];
    const std::uint32_t index = due_.top().second;
    due_.pop();
    if (thread.at == thread.events.records.size() && !load_host(thread)) continue;
    bool is_whole = true;  // values follow what they belong to
    do {
      is_whole = feed_thread(sink, thread, until_ticks);
    } while (!is_whole && load_host(thread));
    const bool more = thread.at < thread.events.records.size() || thread.next < thread.sources.size();
    if (more)
      due_.push({due_of(thread), index});
    else
      thread.events = {};
  }
}

/// False: all records of the chunk were fed, and the values of the last one may stand in the next chunk.
bool CaptureSweep::feed_thread(SweepSink& sink, HostThread& thread, std::uint64_t until_ticks) {
  const auto& records = thread.events.records;
  const std::size_t first = thread.at;
  std::size_t end = first;
  while (end < records.size() && (!format::has_time(records[end]) || records[end].ticks <= until_ticks)) ++end;
  thread.at = end;
  if (end == first) return true;
  if (first == 0 && end == records.size()) {
    sink.on_host_events(thread.events);
  } else {
    format::HostRun run = thread.events.run;
    run.first_record += static_cast<std::uint32_t>(first);  // else records would seem to be missing
    const auto at = [&](std::size_t i) { return records.begin() + static_cast<std::ptrdiff_t>(i); };
    sink.on_host_events({run, {at(first), at(end)}});
  }
  return end != records.size();
}

void CaptureSweep::deliver(SweepSink& sink, Loaded& loaded) {
  const auto [begin_ns, row] = loaded.order[loaded.at++];
  late_rows_ += begin_ns < newest_ns_ ? 1 : 0;
  newest_ns_ = std::max(newest_ns_, begin_ns);
  std::visit([&, begin = begin_ns, index = row](
                 const auto& rows) { sink.on_row(&rows[index], begin, end_on_clock(begin, times_of(rows[index]))); },
             loaded.rows);
  if (loaded.at != loaded.order.size()) return;
  loaded_rows_ -= loaded.order.size();
  loaded = {};
}

void CaptureSweep::run(SweepSink& sink, const Progress& progress) {
  progress_ = progress;
  if (!has_device_rows()) {
    Forward forward(sink);
    for (std::uint32_t i = 0; i < reader_.chunks().size(); ++i) {
      if (static_cast<ChunkKind>(reader_.chunks()[i].header.kind) == ChunkKind::kHostEvents) visit(i, forward);
    }
    for (const format::HostEvents& events : reader_.live_events()) sink.on_host_events(events);
    return;
  }
  find_chunks();
  std::int64_t host_ns = std::numeric_limits<std::int64_t>::min();
  const std::int64_t slack = reader_.clock().error_bound_ns();
  for (;;) {
    if (next_rows_.empty()) {
      if (next_pending_ == pending_.size()) break;
      load(pending_[next_pending_++].chunk);
      continue;
    }
    load_until(next_rows_.top().first);
    const auto [begin_ns, index] = next_rows_.top();
    next_rows_.pop();
    if (begin_ns + slack >= host_ns) {
      host_ns = begin_ns + slack + kAheadNs;
      feed_host(sink, ticks_at(host_ns));
      sink.on_time(host_ns, std::max(begin_ns, newest_ns_));
    }
    Loaded& loaded = loaded_[index];
    deliver(sink, loaded);
    if (loaded.order.empty())
      free_.push_back(index);
    else
      next_rows_.push({loaded.order[loaded.at].first, index});
  }
  feed_host(sink, std::numeric_limits<std::uint64_t>::max());
  // Of impossible threads: the assembler counts them.
  Forward forward(sink);
  for (const std::uint32_t source : strays_) {
    if ((source & kLive) != 0)
      sink.on_host_events(reader_.live_events()[source - kLive]);
    else
      visit(source, forward);
  }
}

}  // namespace rangefinder::importer
