// SPDX-License-Identifier: MIT
//
// A capture and a live file as a program leaves them that was killed, cut off anywhere and damaged anywhere: a prefix
// of what they held or an error, never a crash.
#include "base/checksum.hpp"
#include "base/file.hpp"
#include "capture/capture_reader.hpp"
#include "format/layout.hpp"
#include "session/session_core.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/timeline.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using detail::Record;

namespace {

constexpr std::uint64_t kLastBytes = 64 << 10;
constexpr int kPairsABlock = 800;  // of 5 records each

base::Bytes read_all(const std::string& path) {
  Result<base::Bytes> bytes = base::read_whole_file(path, std::uint64_t{1} << 30);
  REQUIRE(bytes.ok());
  return std::move(*bytes);
}

void write_all(const std::string& path, base::ByteView bytes) {
  std::filesystem::remove(path);
  const base::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  REQUIRE(base::write_at(fd, bytes, 0, path).ok());
}

/// The two files of a recording at a moment, as kill -9 would have left them.
struct Remains {
  base::Bytes capture;
  base::Bytes live;
};

/// `records`: how many values, of 8 bytes that do not pack, are in chunks of the capture; as many again only in the
/// live file.
Remains remains_of_a_recording(std::uint64_t seed, int records) {
  const ScratchFolder folder(true);
  SessionOptions options;
  options.output = folder.file("a.rfcap");
  options.cuda = false;
  options.nvtx = false;
  options.memory_bytes = std::uint64_t{8} << 20;
  options.metadata = {{"fact", "value"}};
  options.flush_period = std::chrono::hours(1);  // nothing is written while the files are read
  auto session = session::SessionCore::start(options, {});
  REQUIRE(session.ok());
  std::mt19937_64 random(seed);
  const auto record = [&](int n) {
    for (int i = 0; i < n; ++i) {
      const ProfileRange outer{std::string_view("name " + std::to_string(random() % 50))};
      const ProfileRange inner{"inner", random()};
    }
  };
  constexpr int kPieces = 10;
  for (int piece = 0; piece < kPieces; ++piece) {
    record(records / (2 * kPieces));
    std::thread([&] { record(records / (2 * kPieces)); }).join();
    if (piece % 5 == 0) (*session)->step();
    REQUIRE((*session)->flush().ok());
  }
  // Only what lies in blocks that are not full stays out of the capture: a block a thread, while the threads live.
  std::promise<void> read;
  const std::shared_future<void> was_read(read.get_future());
  std::vector<std::thread> threads;
  for (int left = records; left > 0; left -= kPairsABlock) {
    std::promise<void> recorded;
    std::future<void> was_recorded = recorded.get_future();
    threads.emplace_back([&record, was_read, left, recorded = std::move(recorded)]() mutable {
      record(std::min(left, kPairsABlock));
      recorded.set_value();
      was_read.wait();
    });
    was_recorded.wait();
  }
  Remains remains{read_all(options.output), read_all(options.output + ".live")};
  read.set_value();
  for (std::thread& thread : threads) thread.join();
  REQUIRE((*session)->stop().ok());
  return remains;
}

/// What a file gives, chunk by chunk: a number for all records up to there.
class Fingerprint final : public capture::CaptureVisitor {
 public:
  std::vector<std::uint64_t> prefixes{0};
  std::uint64_t records = 0;

  void on_host_events(const format::HostEvents& events) override {
    records += events.records.size();
    const std::uint64_t parts[] = {prefixes.back(), events.run.thread, events.run.block_sequence,
                                   events.run.first_record, base::checksum(std::as_bytes(std::span(events.records)))};
    prefixes.push_back(base::checksum(std::as_bytes(std::span(parts))));
  }
};

struct Content {
  bool opened = false;
  std::uint64_t damaged_chunks = 0;
  std::vector<std::uint64_t> prefixes;
  std::uint64_t records = 0;
};

/// All there is to read.
Content read(const std::string& path) {
  Content content;
  Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
  if (!reader) {
    CHECK(reader.error().message().find(path) != std::string::npos);
    return content;
  }
  Fingerprint fingerprint;
  REQUIRE(reader->visit(fingerprint).ok());
  content.opened = true;
  content.damaged_chunks = reader->health().damaged_chunks;
  content.prefixes = std::move(fingerprint.prefixes);
  content.records = fingerprint.records;
  return content;
}

bool is_prefix(const Content& cut, const Content& whole) {
  return cut.prefixes.size() <= whole.prefixes.size() && cut.prefixes.back() == whole.prefixes[cut.prefixes.size() - 1];
}

/// Of the bytes of a file's end one of seven, in each run others, unless tests are exhaustive. No size of a record or a
/// header is a multiple of it, so that within many of them each place is cut at.
std::uint64_t cut_step() { return exhaustive() ? 1 : 7; }

/// Cuts `path` to `longest` bytes, and on to `shortest`, by so many bytes a time.
template <typename Check>
void cut_down(const std::string& path, std::uint64_t longest, std::uint64_t shortest, std::uint64_t step, Check check) {
  for (std::uint64_t size = longest;; size -= step) {
    REQUIRE(::truncate(path.c_str(), static_cast<off_t>(size)) == 0);
    check(size);
    if (size < shortest + step) break;
  }
}

}  // namespace

TEST_CASE("a capture cut at any byte of its last 64 KiB gives what came before", "[fault]") {
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  const base::Bytes bytes = remains_of_a_recording(1, 4000).capture;
  REQUIRE(bytes.size() > kLastBytes / 2);
  write_all(path, bytes);
  const Content whole = read(path);
  REQUIRE(whole.records >= 8000);
  REQUIRE(whole.damaged_chunks == 0);
  std::vector<std::vector<std::uint64_t>> chunks;  // what each gives
  {
    Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
    REQUIRE(reader.ok());
    for (const capture::ChunkEntry& entry : reader->chunks()) {
      Fingerprint fingerprint;
      reader->visit_one(entry, fingerprint);
      chunks.push_back(fingerprint.prefixes);
    }
  }
  std::uint64_t wrong = 0, opened = 0, last = whole.records;
  const auto check_all = [&] {
    const Content cut = read(path);
    wrong += is_prefix(cut, whole) && cut.records <= last && cut.damaged_chunks <= 1 ? 0 : 1;
    last = cut.records;
  };
  const std::uint64_t longest = bytes.size() - 1 - property_seed("cut capture") % cut_step();
  const std::uint64_t shortest = bytes.size() > kLastBytes ? bytes.size() - kLastBytes : 0;
  cut_down(path, longest, shortest, cut_step(), [&](std::uint64_t size) {
    Result<capture::CaptureReader> cut = capture::CaptureReader::open(path);
    if (!cut) {
      wrong += size >= sizeof(format::FileHeader) ? 1 : 0;
      return;
    }
    ++opened;
    // The chunks before the cut are the same bytes as ever: all of them are read now and then only.
    const std::size_t count = cut->chunks().size();
    wrong += count <= chunks.size() && cut->health().damaged_chunks <= 1 && !cut->ended_cleanly() ? 0 : 1;
    for (std::size_t i = count < 2 ? 0 : count - 2; i < std::min(count, chunks.size()); ++i) {
      Fingerprint fingerprint;
      cut->visit_one(cut->chunks()[i], fingerprint);
      wrong += fingerprint.prefixes == chunks[i] ? 0 : 1;
    }
    if (size % 97 == 0) check_all();
  });
  CHECK(wrong == 0);
  CHECK(opened > 0);
  CHECK(last < whole.records);
}

TEST_CASE("a live file cut at any byte of its last 64 KiB in use gives whole records", "[fault]") {
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap.live");
  const base::Bytes live = remains_of_a_recording(2, 4000).live;
  write_all(path, live);
  const std::uint64_t records = read(path).records;
  // The end of what was used.
  format::LiveHeader header;
  std::memcpy(static_cast<void*>(&header), live.data(), sizeof header);
  std::uint64_t used = header.blocks_offset;
  do {
    used += header.block_bytes;
    REQUIRE(used < live.size());
    write_all(path, base::ByteView(live).first(used));
  } while (read(path).records < records);
  const Content whole = read(path);
  REQUIRE(whole.records >= 5 * 4000);
  std::uint64_t wrong = 0, last = whole.records;
  const auto check = [&](std::uint64_t size) {
    const Content cut = read(path);
    if (!cut.opened) {
      wrong += size >= header.blocks_offset ? 1 : 0;
      return;
    }
    wrong += cut.damaged_chunks == 0 && cut.records <= last ? 0 : 1;
    last = cut.records;
  };
  cut_down(path, used - 1 - property_seed("cut live file") % cut_step(), used - kLastBytes, cut_step(), check);
  CHECK(wrong == 0);
  CHECK(last < whole.records);
  // And through its header and the names.
  cut_down(path, header.names_offset + 2000, 0, 1, check);
  CHECK(wrong == 0);
}

TEST_CASE("a capture cut anywhere beside its live file, and the other way round, never gives a record twice",
          "[fault]") {
  const Remains remains = remains_of_a_recording(3, 2000);
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  write_all(path, remains.capture);
  write_all(path + ".live", remains.live);
  std::unordered_set<std::uint64_t> values;
  const auto all_of = [&] {
    values.clear();
    struct Values final : capture::CaptureVisitor {
      explicit Values(std::unordered_set<std::uint64_t>& into) : out(into) {}
      void on_host_events(const format::HostEvents& events) override {
        for (const Record& record : events.records) {
          if (detail::word_kind(record.word) != detail::RecordKind::kExtra) continue;
          ++seen;
          out.insert(record.ticks);
        }
      }
      std::unordered_set<std::uint64_t>& out;
      std::uint64_t seen = 0;
    } visitor(values);
    Result<capture::CaptureReader> reader = capture::CaptureReader::open(path);
    if (!reader) return true;
    REQUIRE(reader->visit(visitor).ok());
    return visitor.seen == values.size();
  };
  REQUIRE(all_of());
  REQUIRE(values.size() == 4000);
  std::mt19937_64 random(property_seed("cut beside the live file"));
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < repeats(400); ++i) sizes.push_back(random() % remains.capture.size());
  std::sort(sizes.rbegin(), sizes.rend());
  for (const std::uint64_t size : sizes) {
    REQUIRE(::truncate(path.c_str(), static_cast<off_t>(size)) == 0);
    INFO(size);
    CHECK(all_of());
  }
  write_all(path, remains.capture);
  sizes.clear();
  for (int i = 0; i < repeats(400); ++i) sizes.push_back(random() % remains.live.size());
  std::sort(sizes.rbegin(), sizes.rend());
  for (const std::uint64_t size : sizes) {
    REQUIRE(::truncate((path + ".live").c_str(), static_cast<off_t>(size)) == 0);
    INFO(size);
    CHECK(all_of());
    CHECK(values.size() >= 2000);  // what the capture holds
  }
}

TEST_CASE("damage anywhere in a capture is counted or refused, and what is whole is still read", "[fault]") {
  std::mt19937_64 random(property_seed("damaged capture"));
  const base::Bytes whole = remains_of_a_recording(4, 1500).capture;
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  write_all(path, whole);
  const Content undamaged = read(path);
  const std::unordered_set<std::uint64_t> known(undamaged.prefixes.begin(), undamaged.prefixes.end());
  std::uint64_t unnoticed = 0, refused = 0;
  const base::Fd fd(::open(path.c_str(), O_WRONLY));
  for (int i = 0; i < repeats(1500); ++i) {
    // Some of it in the file's header, a small part of the whole: the only damage for which a capture is refused.
    const std::uint64_t at = random() % (i % 25 == 0 ? sizeof(format::FileHeader) : whole.size());
    const std::size_t count = std::min<std::size_t>(1 + any_size(random, 7), whole.size() - at);
    base::Bytes damage(whole.begin() + static_cast<std::ptrdiff_t>(at),
                       whole.begin() + static_cast<std::ptrdiff_t>(at + count));
    for (std::byte& byte : damage) byte ^= static_cast<std::byte>(1 + random() % 255);
    REQUIRE(base::write_at(fd, damage, at, path).ok());
    const Content content = read(path);
    if (!content.opened) {
      ++refused;
    } else {
      // The damage may have hit padding, which nothing reads; everything else is under a checksum.
      if (content.damaged_chunks == 0) unnoticed += content.prefixes == undamaged.prefixes ? 0 : 1;
      CHECK(content.records <= undamaged.records);
      CHECK((content.damaged_chunks <= 40));
    }
    if (i % 4 == 0) {
      const Result<Timeline> timeline = load_timeline(path);
      CHECK(timeline.ok() == content.opened);
    }
    REQUIRE(base::write_at(fd, {whole.data() + at, count}, at, path).ok());
  }
  CHECK(unnoticed == 0);
  CHECK(refused > 0);
}

TEST_CASE("any bytes in a live file's blocks are read as records or set aside", "[fault]") {
  std::mt19937_64 random(property_seed("damaged live file"));
  const Remains remains = remains_of_a_recording(5, 3000);
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  write_all(path, remains.capture);
  write_all(path + ".live", remains.live);
  format::LiveHeader header;
  std::memcpy(static_cast<void*>(&header), remains.live.data(), sizeof header);
  const std::uint64_t used = header.blocks_offset + 4 * std::uint64_t{header.block_bytes};
  const base::Fd fd(::open((path + ".live").c_str(), O_WRONLY));
  for (int i = 0; i < repeats(400); ++i) {
    // In the names, in block headers, in records: wherever there is no checksum.
    std::uint64_t at = 0;
    switch (random() % 4) {
      case 0:
        at = sizeof(format::LiveHeader) - sizeof header.health + random() % 512;
        break;
      case 1:
        at = header.names_offset + random() % 4096;
        break;
      case 2:
        at = header.blocks_offset + random() % 4 * header.block_bytes + random() % 64;
        break;
      default:
        at = header.blocks_offset + random() % (used - header.blocks_offset);
    }
    base::Bytes damage(1 + any_size(random, 6));
    for (std::byte& byte : damage) byte = static_cast<std::byte>(random());
    at = std::min<std::uint64_t>(at, remains.live.size() - damage.size());
    REQUIRE(base::write_at(fd, damage, at, path).ok());
    const Result<Timeline> timeline = load_timeline(path);
    REQUIRE(timeline.ok());
    CHECK(timeline->ranges.size() > 0);
    (void)load_timeline(path + ".live");
    if (i % 8 == 0) REQUIRE(base::write_at(fd, {remains.live.data(), used}, 0, path).ok());
  }
}
