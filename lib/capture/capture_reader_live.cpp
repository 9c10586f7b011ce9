// SPDX-License-Identifier: MIT
#include "capture/capture_reader.hpp"
#include "capture/live_file.hpp"

#include <algorithm>
#include <map>
#include <set>

// What the live file beside a capture adds to it.
namespace rangefinder::capture {

using format::ChunkKind;

/// True when there is a live file of this recording.
bool CaptureReader::find_live() {
  const std::string path = path_ + ".live";
  if (!base::exists(path)) return false;
  Result<base::InputFile> file = base::InputFile::open(path);
  Result<LiveContent> live = file.ok() ? read_live_file(*file) : Result<LiveContent>(file.error());
  if (!live) {
    note(0, 0, live.error().message());
    return false;
  }
  if (live->header.capture_id != header_.capture_id) {
    note(0, 0, path + ": belongs to another recording; not read");
    return false;
  }
  drop_what_the_capture_holds(*live);
  take_live(std::move(*live));
  return true;
}

/// Where the live file could not be made, the fact "crash_safe" says so.
void CaptureReader::note_missing_live() {
  if ((header_.flags & format::kFlagLive) == 0 || !metadata("crash_safe").empty()) return;
  health_.missing_live_files = 1;
  note(0, 0,
       path_ +
           ".live: missing; it held the newest records of each thread, how many is not known. Put it beside the "
           "capture again");
}

std::string CaptureReader::end_note() const {
  if (clean_) return {};
  const std::string name(base::file_name(path_));
  const std::string begin = "the program ended without stopping the session; ";
  if (health_.missing_live_files != 0)
    return begin + "the live file " + name +
           ".live is missing, and with it the newest records of each thread, how many is not known";
  if (!name.ends_with(".live") && base::exists(path_ + ".live"))
    return begin + "everything recorded until then is here and in " + name +
           ".live; 'rangefinder check --repair' makes one file of both";
  return begin + "everything written until then is here";
}

void CaptureReader::drop_what_the_capture_holds(LiveContent& live) {
  // `drained` says what of a block had reached the capture, except for a chunk that was written a moment before the
  // end. One thread writes chunks, so it is among the last ones.
  constexpr int kLast = 4;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> held;  // thread, block -> records
  int seen = 0;
  for (auto chunk = chunks_.rbegin(); chunk != chunks_.rend() && seen < kLast; ++chunk) {
    if (static_cast<ChunkKind>(chunk->header.kind) != ChunkKind::kHostEvents) continue;
    ++seen;
    Result<format::ChunkView> view = read(*chunk);
    if (!view) continue;
    Result<format::HostEvents> events = format::unpack_host_events(view->payload, view->header, columns_);
    if (!events) continue;
    auto& records = held[{events->run.thread, events->run.block_sequence}];
    records = std::max<std::uint64_t>(records, std::uint64_t{events->run.first_record} + events->records.size());
  }
  for (format::HostEvents& events : live.events) {
    const auto found = held.find({events.run.thread, events.run.block_sequence});
    if (found == held.end() || found->second <= events.run.first_record) continue;
    const std::uint64_t extra = std::min<std::uint64_t>(found->second - events.run.first_record, events.records.size());
    events.records.erase(events.records.begin(), events.records.begin() + static_cast<std::ptrdiff_t>(extra));
    events.run.first_record += static_cast<std::uint32_t>(extra);
  }
  std::erase_if(live.events, [](const format::HostEvents& events) { return events.records.empty(); });
}

void CaptureReader::take_live(LiveContent live) {
  for (auto& [id, text] : live.names) {
    if (id != 0 && !has_name(id)) names_.set(id, std::move(text));
  }
  // What had been counted when the program died is at least what the last health chunk says.
  for (const auto& [number, count] : live.health) recorded_health_[number] = std::max(recorded_health_[number], count);
  for (const format::HostEvents& events : live.events) health_.recovered_records += events.records.size();
  for (const std::uint64_t offset : live.damaged_blocks) {
    health_.damaged_chunks += 1;
    health_.damaged_bytes += detail::kBlockBytes;
    note(offset, detail::kBlockBytes,
         "live file, byte " + std::to_string(offset) + ": a block claims what it cannot hold");
  }
  std::set<std::uint32_t> known;
  for (const auto& row : threads_) known.insert(row.index);
  format::NameId own_name = kFirstOwnName;
  for (auto& thread : live.threads) {
    if (!known.insert(thread.index).second) continue;
    names_.set(own_name, std::move(thread.name));
    threads_.push_back({thread.index, thread.tid, own_name++});
  }
  live_ = std::move(live.events);
}

}  // namespace rangefinder::capture
