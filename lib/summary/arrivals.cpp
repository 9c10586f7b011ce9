// SPDX-License-Identifier: MIT
#include "summary/arrivals.hpp"

#include "format/host_columns.hpp"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

namespace rangefinder::summary {
namespace {

using format::ChunkKind;

// Where clocks or threads do not come on, memory is worth more than order.
constexpr std::size_t kMaxHeld = std::size_t{1} << 17;

}  // namespace

template <typename Row>
bool Arrivals::add(std::vector<Row>& to, const format::ChunkHeader& header, base::ByteView payload) {
  const Result<std::vector<Row>> rows = format::unpack_rows<Row>(payload, header.rows, columns_);
  if (!rows.ok()) return false;
  to.insert(to.end(), rows->begin(), rows->end());
  return true;
}

template <typename Row>
bool Arrivals::add_activities(std::vector<Row>& to, const format::ChunkHeader& header, base::ByteView payload) {
  if (!add(to, header, payload)) return false;
  fresh_activities_ += header.rows;
  return true;
}

bool Arrivals::is_of_device(const format::ChunkHeader& header) noexcept {
  switch (static_cast<ChunkKind>(header.kind)) {
    case ChunkKind::kKernels:
    case ChunkKind::kMemcpys:
    case ChunkKind::kMemsets:
    case ChunkKind::kGraphLaunches:
      return true;
    default:
      return false;
  }
}

bool Arrivals::add_events(const format::ChunkHeader& header, base::ByteView payload) {
  Result<format::HostEvents> events = format::unpack_host_events(payload, header, columns_);
  if (!events.ok()) return false;
  fresh_events_ += events->records.size();
  const auto last = std::find_if(events->records.rbegin(), events->records.rend(), format::has_time);
  if (last != events->records.rend()) came_to_[events->run.thread] = {last->ticks, true};
  events_.push_back(std::move(*events));
  return true;
}

bool Arrivals::take(const format::ChunkHeader& header, base::ByteView payload) {
  switch (static_cast<ChunkKind>(header.kind)) {
    case ChunkKind::kHostEvents:
      return add_events(header, payload);
    case ChunkKind::kClock: {
      std::vector<format::ClockRow> points;
      const bool is_whole = add(points, header, payload);
      facts_.add(points);
      return is_whole;
    }
    case ChunkKind::kThreads:
      return add(threads_, header, payload);
    case ChunkKind::kGraphNodes:
      return add(graph_nodes_, header, payload);
    case ChunkKind::kKernels:
      return add_activities(kernels_, header, payload);
    case ChunkKind::kMemcpys:
      return add_activities(memcpys_, header, payload);
    case ChunkKind::kMemsets:
      return add_activities(memsets_, header, payload);
    case ChunkKind::kGraphLaunches:
      return add_activities(graph_launches_, header, payload);
    default:
      return true;
  }
}

std::uint64_t Arrivals::all_came_by() {
  // It has ended, or does next to nothing.
  if (held_events_ > kMaxHeld) std::erase_if(came_to_, [](const auto& entry) { return !entry.second.is_fresh; });
  std::uint64_t ticks = kAll;
  for (const auto& [thread, came] : came_to_) ticks = std::min(ticks, came.ticks);
  return ticks;
}

void Arrivals::deliver_events(LiveLoader& loader, std::uint64_t ticks) {
  std::vector<format::HostEvents> later;
  std::unordered_set<std::uint32_t> waiting;  // threads of which something waits
  held_events_ = 0;
  for (format::HostEvents& events : events_) {
    auto& records = events.records;
    auto end = records.begin();
    if (!waiting.contains(events.run.thread))
      end = std::find_if(records.begin(), records.end(), [&](const detail::Record& record) {
        return format::has_time(record) && record.ticks > ticks;
      });
    if (end == records.end()) {
      loader.on_host_events(events);
      continue;
    }
    waiting.insert(events.run.thread);
    if (end != records.begin()) {
      format::HostEvents rest{events.run, {end, records.end()}};
      rest.run.first_record += static_cast<std::uint32_t>(end - records.begin());  // else records would seem missing
      records.erase(end, records.end());
      loader.on_host_events(events);
      events = std::move(rest);
    }
    held_events_ += events.records.size();
    later.push_back(std::move(events));
  }
  events_ = std::move(later);
}

std::int64_t Arrivals::deliver_host(LiveLoader& loader, std::uint64_t ticks) {
  facts_.refresh_clock();
  const bool is_all = ticks == kAll || held_events_ > 2 * kMaxHeld;
  ticks = is_all ? kAll : std::min(ticks, facts_.known_to_ticks());
  const std::int64_t time_ns = facts_.clock().monotonic_of_ticks(is_all ? facts_.known_to_ticks() : ticks);
  // What began by then was launched by then, as far as the two clocks agree.
  until_ns_ = is_all ? std::numeric_limits<std::int64_t>::max() : time_ns - facts_.clock().error_bound_ns();
  loader.on_threads(std::exchange(threads_, {}));
  loader.on_graph_nodes(std::exchange(graph_nodes_, {}));
  deliver_events(loader, ticks);
  for (auto& [thread, came] : came_to_) came.is_fresh = false;
  fresh_events_ = 0;
  return time_ns;
}

bool Arrivals::is_later(const format::ChunkHeader& header) const noexcept {
  return header.first != 0 && facts_.clock().monotonic_of_realtime(static_cast<std::int64_t>(header.first)) > until_ns_;
}

template <typename Row, typename Use>
void Arrivals::deliver_rows(std::vector<Row>& rows, Use use) {
  const auto later = std::stable_partition(rows.begin(), rows.end(), [&](const Row& row) {
    const std::int64_t begin_ns = facts_.clock().monotonic_of_realtime(row.begin_ns);
    if (begin_ns > until_ns_) return false;
    newest_activity_ns_ = std::max(newest_activity_ns_, begin_ns);
    return true;
  });
  use(std::span<const Row>(rows.data(), static_cast<std::size_t>(later - rows.begin())));
  rows.erase(rows.begin(), later);
}

void Arrivals::deliver_device(LiveLoader& loader) {
  deliver_rows(kernels_, [&](auto rows) { loader.on_kernels(rows); });
  deliver_rows(memcpys_, [&](auto rows) { loader.on_memcpys(rows); });
  deliver_rows(memsets_, [&](auto rows) { loader.on_memsets(rows); });
  deliver_rows(graph_launches_, [&](auto rows) { loader.on_graph_launches(rows); });
  fresh_activities_ = 0;
}

}  // namespace rangefinder::summary
