// SPDX-License-Identifier: MIT
//
// Any bytes as a capture, and as the live file beside one: an error or tables that hold together, never a crash, hang
// or huge allocation. Checksums would keep a fuzzer out, so that every input is read twice: as it is, and with all of
// them put right.
//
// An input may hold both files: from the first 8-byte boundary with the live file's magic on, it is the live file,
// which goes on with zeros to the end of its first block.
#include "base/bytes.hpp"
#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "format/chunk.hpp"
#include "fuzz/timeline_checks.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace rangefinder;

namespace {

/// A folder in memory, this process's own.
const std::string& folder() {
  static const std::string path = [] {
    std::string made = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/capture-fuzz-XXXXXX" : "/tmp/capture-fuzz-XXXXXX";
    HOLDS(::mkdtemp(made.data()) != nullptr);
    static std::string to_remove = made;
    std::atexit([] {
      for (const char* name : {"/a.rfcap", "/a.rfcap.live", "/b.rfcap"}) ::unlink((to_remove + name).c_str());
      ::rmdir(to_remove.c_str());
    });
    return made;
  }();
  return path;
}

void write(const std::string& path, base::ByteView bytes) {
  const base::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
  HOLDS(fd.valid() && base::write_at(fd, bytes, 0, path).ok());
}

template <typename T>
void load(const base::Bytes& bytes, std::size_t at, T& value) {
  std::memcpy(static_cast<void*>(&value), bytes.data() + at, sizeof value);
}
template <typename T>
void store(base::Bytes& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, static_cast<const void*>(&value), sizeof value);
}

struct Input {
  base::Bytes capture;
  base::Bytes live;
};

Input split(base::ByteView bytes) {
  std::size_t at = 0;
  const auto is_live = [&](std::size_t from) {
    return std::memcmp(bytes.data() + from, format::kLiveMagic.data(), format::kLiveMagic.size()) == 0;
  };
  while (at + sizeof(format::LiveHeader) <= bytes.size() && !is_live(at)) at += 8;
  if (at + sizeof(format::LiveHeader) > bytes.size()) at = bytes.size();
  Input input{{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)},
              {bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end()}};
  if (!input.live.empty()) {
    format::LiveHeader header;
    load(input.live, 0, header);
    constexpr std::uint64_t kMax = std::uint64_t{1} << 20;
    input.live.resize(
        std::max<std::size_t>(input.live.size(), std::min(header.blocks_offset, kMax) + detail::kBlockBytes));
  }
  return input;
}

/// With every checksum as it should be, so that what is behind them is looked at.
Input sealed(Input input) {
  if (input.capture.size() >= sizeof(format::FileHeader)) {
    format::FileHeader file_header;
    load(input.capture, 0, file_header);
    store(input.capture, 0, format::sealed(file_header));
    const base::Bytes old = std::move(input.capture);
    input.capture.assign(old.begin(), old.begin() + sizeof(format::FileHeader));
    for (std::size_t at = sizeof(format::FileHeader); at + sizeof(format::ChunkHeader) <= old.size();) {
      format::ChunkHeader header;
      load(old, at, header);
      const std::size_t payload_at = at + sizeof header;
      const std::size_t bytes = std::min<std::size_t>(header.payload_bytes, old.size() - payload_at);
      format::append_chunk(input.capture, header, base::ByteView(old).subspan(payload_at, bytes));
      at = format::padded(payload_at + bytes);
    }
  }
  if (!input.live.empty()) {
    format::LiveHeader header;
    load(input.live, 0, header);
    header.header_bytes = format::kLiveHeaderBytes;
    header.block_bytes = detail::kBlockBytes;
    if (input.capture.size() >= sizeof(format::FileHeader))
      load(input.capture, offsetof(format::FileHeader, capture_id), header.capture_id);
    header.file_header.capture_id = header.capture_id;
    header.checksum = format::live_header_checksum(header);
    store(input.live, 0, header);
  }
  return input;
}

void check(const Timeline& timeline) {
  const RangeTable& ranges = timeline.ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    HOLDS(ranges.begin_ns[i] <= ranges.end_ns[i]);
    HOLDS(ranges.thread[i] < timeline.threads.size() && ranges.end_thread[i] < timeline.threads.size());
    HOLDS(static_cast<std::uint32_t>(ranges.name[i]) < timeline.string_count());
  }
  for (const ThreadIndex thread : timeline.marks.thread) HOLDS(thread < timeline.threads.size());
  for (const ThreadIndex thread : timeline.counters.thread) HOLDS(thread < timeline.threads.size());
  for (const ThreadIndex thread : timeline.calls.thread) HOLDS(thread < timeline.threads.size());
  for (std::size_t i = 0; i < timeline.calls.size(); ++i) HOLDS(timeline.calls.begin_ns[i] <= timeline.calls.end_ns[i]);
  const LaunchTable& launches = timeline.launches;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    HOLDS(launches.range[i] == kNone || launches.range[i] < ranges.size());
    HOLDS(launches.call[i] == kNone || launches.call[i] < timeline.calls.size());
  }
  const ActivityTable& activities = timeline.activities;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    HOLDS(activities.begin_ns[i] <= activities.end_ns[i]);
    HOLDS(activities.stream[i] < timeline.streams.size());
    const std::uint32_t launch = activities.launch[i];
    HOLDS(launch == kNone || launches.correlation[launch] == activities.correlation[i]);
    const bool kernel = activities.kind[i] == ActivityKind::kKernel;
    const bool graph = activities.kind[i] == ActivityKind::kGraph;
    HOLDS(graph ? activities.detail[i] == kNone
                : activities.detail[i] < (kernel ? timeline.kernel_details.size() : timeline.copy_details.size()));
  }
  for (const Attachment& attachment : timeline.attachments) {
    HOLDS(attachment.row < (attachment.target == Attachment::Target::kMark ? timeline.marks.size() : ranges.size()));
    HOLDS(attachment.type != Attachment::Type::kText || attachment.bits < timeline.string_count());
  }
  fuzz::check_places(timeline);
  fuzz::check_allocations(timeline);
  fuzz::check_allocator_events(timeline);
  fuzz::check_graph_nodes(timeline);
}

void check_error(const Error& error) {
  HOLDS(!error.message().empty() && error.message().find('\n') == std::string::npos);
}

void read(const Input& input) {
  const std::string path = folder() + "/a.rfcap";
  ::unlink((path + ".live").c_str());
  if (!input.live.empty()) write(path + ".live", input.live);
  write(path, input.capture);
  for (const std::string& file : {path, path + ".live"}) {
    LoadOptions options;
    options.max_unpacked_bytes = std::uint64_t{64} << 20;
    Result<Timeline> timeline = load_timeline(file, options);
    if (timeline) {
      check(*timeline);
      if (split_graph_launches(*timeline) != 0) check(*timeline);
      const Projection projection = project(*timeline, {});
      HOLDS(projection.account.total.gpu_ops == timeline->activities.size());
    } else {
      check_error(timeline.error());
    }
    const Result<CaptureInfo> info = inspect_capture(file, true);
    if (!info) check_error(info.error());
    HOLDS(info.ok() || !timeline.ok());
    const Result<std::uint64_t> repaired = repair_capture(file, folder() + "/b.rfcap", true);
    HOLDS(repaired.ok() == info.ok());
    if (!repaired) continue;
    const Result<CaptureInfo> whole = inspect_capture(folder() + "/b.rfcap", false);
    HOLDS(whole.ok() && whole->ended_cleanly);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input = split({reinterpret_cast<const std::byte*>(data), size});
  read(input);
  read(sealed(input));
  return 0;
}
