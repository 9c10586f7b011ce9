// SPDX-License-Identifier: MIT
#include "base/number.hpp"
#include "capture/capture_reader.hpp"

#include <algorithm>
#include <map>

// What is small in a capture and read when it is opened: names, threads, devices, clock points, losses, metadata.
namespace rangefinder::capture {
namespace {

using format::ChunkKind;

// The recorder gives out fewer; a file that claims more would only make us allocate.
constexpr std::uint32_t kMaxCategoryId = 1u << 16;
constexpr std::uint32_t kMaxHealthNumber = 1u << 10;
constexpr std::size_t kMaxFacts = 4096;

/// Grows `list` to hold `id`; false when the id is not believable.
template <typename T>
bool make_room(std::vector<T>& list, std::uint32_t id, std::uint32_t limit) {
  if (id >= limit) return false;
  if (id >= list.size()) list.resize(id + 1);
  return true;
}

}  // namespace

/// Takes the chunk's rows off what the file may still claim.
bool CaptureReader::within_budget(const format::ChunkView& chunk) noexcept {
  constexpr std::uint64_t kMaxRowBytes = 256;
  const std::uint64_t cost = std::uint64_t{chunk.header.rows} * kMaxRowBytes;
  if (cost > budget_) return false;
  budget_ -= cost;
  return true;
}

void CaptureReader::take(const format::ChunkView& chunk) {
  const auto kind = static_cast<ChunkKind>(chunk.header.kind);
  const auto bad = [&](const Error& error) {
    damaged(chunk.offset, chunk.next_offset, "chunk " + std::to_string(chunk.header.sequence) + ": " + error.message());
  };
  const auto rows_into = [&]<typename Row>(std::vector<Row>& out) {
    Result<std::vector<Row>> rows = format::unpack_rows<Row>(chunk.payload, chunk.header.rows, columns_);
    if (!rows) return bad(rows.error());
    out.insert(out.end(), rows->begin(), rows->end());
  };
  switch (kind) {
    case ChunkKind::kThreads:
      return rows_into(threads_);
    case ChunkKind::kDevices:
      return rows_into(devices_);
    case ChunkKind::kContexts:
      return rows_into(contexts_);
    case ChunkKind::kStreams:
      return rows_into(streams_);
    case ChunkKind::kWindows:
      return rows_into(windows_);
    case ChunkKind::kHealth: {
      std::vector<format::HealthRow> rows;
      rows_into(rows);
      for (const auto& row : rows) {
        if (row.number < kMaxHealthNumber) recorded_health_[row.number] = row.count;
      }
      return;
    }
    case ChunkKind::kClock: {
      std::vector<format::ClockRow> rows;
      rows_into(rows);
      for (const auto& row : rows)
        clock_points_.push_back({row.ticks, row.monotonic_ns, row.realtime_ns, row.width_ns});
      return;
    }
    case ChunkKind::kNames:
    case ChunkKind::kMeta: {
      Result<std::vector<format::TextRow>> rows = format::unpack_text(chunk.payload, chunk.header.rows, columns_);
      if (!rows) return bad(rows.error());
      for (const auto& row : *rows) budget_ -= std::min<std::uint64_t>(budget_, row.key.size() + row.text.size());
      for (auto& row : *rows) {
        if (kind == ChunkKind::kMeta)
          take_fact(row.key, row.text);
        else if (row.id != 0)
          names_.set(row.id, std::move(row.text));
      }
      return;
    }
    default:
      return;
  }
}

void CaptureReader::take_fact(std::string& key, std::string& value) {
  for (const auto& [prefix, texts] : {std::pair<std::string_view, std::vector<std::string>*>{"category:", &categories_},
                                      {"domain:", &domains_},
                                      {"colour:", &colours_}}) {
    if (!key.starts_with(prefix)) continue;
    const auto id = base::number_in<std::uint32_t>(std::string_view(key).substr(prefix.size()));
    if (!id || !make_room(*texts, *id, kMaxCategoryId)) break;  // a fact of the program that begins alike
    (*texts)[*id] = std::move(value);
    return;
  }
  const auto known =
      std::find_if(metadata_.begin(), metadata_.end(), [&](const auto& entry) { return entry.first == key; });
  if (known != metadata_.end())
    known->second = std::move(value);
  else if (metadata_.size() < kMaxFacts)
    metadata_.emplace_back(std::move(key), std::move(value));
}

void CaptureReader::finish_small() {
  for (const auto& [number, count] : recorded_health_) {
    if (health_.add(number, count) || count == 0) continue;
    note(0, 0,
         "health counter " + std::to_string(number) + " is " + std::to_string(count) +
             "; only a newer version of rangefinder knows what it counts");
  }
  // A thread is written again when the program gives it a name.
  std::map<std::uint32_t, std::size_t> row_of;
  std::vector<format::ThreadRow> threads;
  for (const format::ThreadRow& row : std::exchange(threads_, {})) {
    const auto [known, is_new] = row_of.try_emplace(row.index, threads.size());
    if (is_new)
      threads.push_back(row);
    else
      threads[known->second] = row;
  }
  threads_ = std::move(threads);
  // A window is written when it opens and again when it closes: the later row has both ends. Of what a flight recorder
  // no longer holds there is no window.
  std::map<std::uint32_t, format::WindowRow> windows;
  for (const format::WindowRow& row : windows_) windows[row.number] = row;
  windows_.clear();
  for (auto& [number, row] : windows) {
    if (row.end_ticks != 0 && row.end_ticks <= header_.held_since_ticks) continue;
    row.begin_ticks = std::max(row.begin_ticks, header_.held_since_ticks);
    windows_.push_back(row);
  }
  clock_points_.push_back({header_.start_ticks, header_.start_monotonic_ns, header_.start_realtime_ns, 0});
  clock_ = std::make_unique<clock::ClockTable>(clock_points_, header_.ticks_per_second);
}

std::string_view CaptureReader::metadata(std::string_view key) const noexcept {
  for (const auto& [name, value] : metadata_) {
    if (name == key) return value;
  }
  return {};
}

bool CaptureReader::simulated() const noexcept {
  return (header_.flags & format::kFlagSimulated) != 0 || metadata("simulated") == "yes";
}

std::string CaptureReader::name_or_placeholder(format::NameId id) const {
  if (id == 0) return "(unnamed)";
  return has_name(id) ? std::string(name(id)) : "<lost name #" + std::to_string(id) + ">";
}

}  // namespace rangefinder::capture
