// SPDX-License-Identifier: MIT
#include "capture/capture_reader.hpp"

#include "base/file.hpp"
#include "capture/live_builder.hpp"
#include "format/field_packer.hpp"
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/timeline.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

using namespace rangefinder;
using namespace rangefinder::capture;
using namespace rangefinder::testing;
using detail::make_word;
using detail::Record;
using detail::RecordKind;
using format::BlockState;
using format::ChunkKind;

namespace {

void write(const std::string& path, base::ByteView bytes) {
  std::filesystem::remove(path);
  const base::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  REQUIRE(base::write_at(fd, bytes, 0, path).ok());
}

/// A capture of everything, in many chunks.
CaptureBuilder everything() {
  CaptureBuilder capture;
  capture.chunk_rows(5).meta("program", "trainer").meta("rank", "3").h100();
  for (int i = 0; i < 20; ++i) {
    const std::int64_t at = i * 1000;
    capture.on_thread(1, "main").range("step", at, at + 900, "phase").payload(std::uint64_t{7});
    capture.range("inner " + std::to_string(i), at + 10, at + 800);
    capture.launch(at + 20).call("cudaLaunchKernel", at + 15, at + 40).kernel("gemm", at + 100, at + 300);
    capture.launch(at + 50).memcpy(at + 300, at + 350, 4096).launch(at + 60).memset(at + 360, at + 370, 100);
    capture.mark("mark", at + 700)
        .counter("loss", at + 710, 0.5)
        .sync(3, at + 720, at + 730)
        .overhead(1, at + 740, at + 750);
    capture.on_thread(2, "loader").range("load", at, at + 500).start_end("io", at + 1, at + 501);
  }
  return capture.window(0, 30'000).health(16, 4).clock_point(30'000, 0, 50);
}

struct Counter final : CaptureVisitor {
  std::uint64_t host = 0, kernels = 0, memcpys = 0, memsets = 0, calls = 0, syncs = 0, overheads = 0;
  void on_host_events(const format::HostEvents& events) override { host += events.records.size(); }
  void on_kernels(std::span<const format::KernelRow> rows) override { kernels += rows.size(); }
  void on_memcpys(std::span<const format::MemcpyRow> rows) override { memcpys += rows.size(); }
  void on_memsets(std::span<const format::MemsetRow> rows) override { memsets += rows.size(); }
  void on_api_calls(std::span<const format::ApiRow> rows) override { calls += rows.size(); }
  void on_syncs(std::span<const format::SyncRow> rows) override { syncs += rows.size(); }
  void on_overheads(std::span<const format::OverheadRow> rows) override { overheads += rows.size(); }
};

Counter count(CaptureReader& reader) {
  Counter counter;
  REQUIRE(reader.visit(counter).ok());
  return counter;
}

CaptureReader open(const std::string& path) {
  Result<CaptureReader> reader = CaptureReader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message());
  return std::move(*reader);
}

Record record(RecordKind kind, std::uint64_t ticks, std::uint32_t id) { return {ticks, make_word(kind, id)}; }

/// One block with a range of name 101 and one that is open.
LiveBuilder small_live(const format::FileHeader& header) {
  LiveBuilder live;
  live.header = header;
  live.names = {{101, "recovered"}, {102, ""}, {103, std::string(300, 'n')}};
  LiveBuilder::Block block;
  block.thread = 9;
  block.tid = 99;
  block.name = "worker";
  block.records = {record(RecordKind::kBegin, 2'000'000'000, 101), record(RecordKind::kEnd, 2'000'000'100, 101),
                   record(RecordKind::kBegin, 2'000'000'200, 103)};
  live.blocks.push_back(block);
  return live;
}

format::FileHeader header_in(const base::Bytes& capture) {
  format::FileHeader header;
  std::memcpy(&header, capture.data(), sizeof header);
  return header;
}

}  // namespace

TEST_CASE("a capture's facts are there as soon as it is open", "[capture]") {
  const ScratchFolder folder;
  everything().write(folder.file("a.rfcap"));
  CaptureReader reader = open(folder.file("a.rfcap"));
  CHECK(reader.ended_cleanly());
  CHECK(reader.findings().empty());
  CHECK(reader.metadata("program") == "trainer");
  CHECK(reader.metadata("nothing").empty());
  CHECK(reader.threads().size() == 2);
  CHECK(reader.devices().size() == 1);
  CHECK(reader.windows().size() == 1);
  CHECK(reader.health().cupti_dropped == 4);
  CHECK(reader.clock().error_bound_ns() >= 25);
  const Counter counter = count(reader);
  CHECK(counter.kernels == 20);
  CHECK(counter.memcpys == 20);
  CHECK(counter.memsets == 20);
  CHECK(counter.calls == 20);
  CHECK(counter.syncs == 20);
  CHECK(counter.overheads == 20);
  CHECK(counter.host > 20 * 13);
  CHECK(reader.unpacked_bytes() >= counter.host * sizeof(Record) + 20 * sizeof(format::KernelRow));
  // Again, and one by one: the same.
  CHECK(count(reader).host == counter.host);
  Counter one_by_one;
  for (std::size_t i = reader.chunks().size(); i-- > 0;) reader.visit_one(reader.chunks()[i], one_by_one);
  CHECK(one_by_one.host == counter.host);
  CHECK(one_by_one.kernels == counter.kernels);
}

TEST_CASE("only numbers of categories name categories", "[capture]") {
  const ScratchFolder folder;
  const char* const others[] = {"category:4294967297", "category:99999999999999999999999",
                                "category:1x",         "category:",
                                "category: 1",         "category:-1",
                                "domain:65536",        "colour:red"};
  CaptureBuilder capture = everything();
  capture.meta("category:65535", "io").meta("domain:65535", "net").meta("colour:65535", "#102030");
  for (const char* key : others) capture.meta(key, key);
  capture.write(folder.file("a.rfcap"));
  const CaptureReader reader = open(folder.file("a.rfcap"));
  CHECK(reader.category(0).empty());
  CHECK(reader.category(65535) == "io");
  CHECK(reader.domain(0).empty());
  CHECK(reader.domain(65535) == "net");
  CHECK(reader.colour(0).empty());
  CHECK(reader.colour(65535) == "#102030");
  for (const char* key : others) {
    INFO(key);
    CHECK(reader.metadata(key) == key);
  }
}

TEST_CASE("what is no capture is refused with the reason", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  const auto error_of = [&](base::ByteView bytes) {
    write(path, bytes);
    const Result<CaptureReader> reader = CaptureReader::open(path);
    REQUIRE_FALSE(reader.ok());
    CHECK(reader.error().message().starts_with(path));
    return reader.error();
  };
  CHECK(CaptureReader::open(folder.file("none")).error().code() == ErrorCode::kNotFound);
  CHECK_FALSE(CaptureReader::open(folder.path()).ok());
  CHECK(error_of({}).message().find("the file is empty") != std::string::npos);
  CHECK(error_of(base::as_bytes("RFCAP")).code() == ErrorCode::kUnreadable);
  CHECK(error_of(base::Bytes(1000)).code() == ErrorCode::kUnreadable);
  base::Bytes newer = everything().build();
  newer[8] = std::byte{2};
  CHECK(error_of(newer).code() == ErrorCode::kUnsupported);
}

TEST_CASE("one damaged chunk is counted, and all others are read", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  const base::Bytes whole = everything().build();
  write(path, whole);
  CaptureReader undamaged = open(path);
  const Counter all = count(undamaged);
  for (const ChunkEntry& entry : undamaged.chunks()) {
    if (static_cast<ChunkKind>(entry.header.kind) == ChunkKind::kEnd) continue;
    base::Bytes damaged = whole;
    SECTION("the payload of chunk " + std::to_string(entry.header.sequence)) {
      damaged[entry.offset + sizeof(format::ChunkHeader) + entry.header.payload_bytes / 2] ^= std::byte{1};
    }
    SECTION("the header of chunk " + std::to_string(entry.header.sequence)) {
      damaged[entry.offset + 20] ^= std::byte{1};
    }
    if (damaged == whole) continue;
    write(path, damaged);
    CaptureReader reader = open(path);
    const Counter counter = count(reader);
    CHECK(reader.health().damaged_chunks == 1);
    CHECK(reader.health().damaged_bytes >= entry.header.payload_bytes);
    CHECK(reader.findings().size() == 1);
    CHECK(reader.findings()[0].offset == entry.offset);
    CHECK(reader.ended_cleanly());
    const auto kind = static_cast<ChunkKind>(entry.header.kind);
    CHECK(counter.host == all.host - (kind == ChunkKind::kHostEvents ? entry.header.rows : 0));
    CHECK(counter.kernels == all.kernels - (kind == ChunkKind::kKernels ? entry.header.rows : 0));
    (void)count(reader);
    CHECK(reader.health().damaged_chunks == 1);  // however often it is met
  }
}

TEST_CASE("a health counter of a newer version is told, not lost", "[capture]") {
  const ScratchFolder folder;
  everything().health(1000, 3).health(1001, 0).write(folder.file("a.rfcap"));
  const CaptureReader reader = open(folder.file("a.rfcap"));
  REQUIRE(reader.findings().size() == 1);
  CHECK(reader.findings()[0].text ==
        "health counter 1000 is 3; only a newer version of rangefinder knows what it counts");
}

TEST_CASE("garbage between chunks is skipped and counted", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  base::Bytes file = everything().build();
  const std::size_t whole = file.size();
  file.insert(file.begin() + sizeof(format::FileHeader), 100, std::byte{'g'});
  file.resize(file.size() + 4);  // so that the rest stands at multiples of 8 again
  std::move_backward(file.begin() + sizeof(format::FileHeader) + 100, file.end() - 4, file.end());
  write(path, file);
  CaptureReader reader = open(path);
  CHECK(reader.health().damaged_chunks == 1);
  CHECK(reader.health().damaged_bytes == 104);
  CHECK(count(reader).kernels == 20);
  CHECK(file.size() == whole + 104);
}

TEST_CASE("chunks of a newer version, and of kinds that are not known, are passed over", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  base::Bytes file = CaptureBuilder().range("step", 0, 10).unfinished().build();
  format::ChunkHeader header{};
  header.kind = 200;
  header.rows = 7;
  format::append_chunk(file, header, base::as_bytes("something new"));
  header.kind = static_cast<std::uint16_t>(ChunkKind::kKernels);
  header.version = format::kChunkVersion + 1;
  format::append_chunk(file, header, base::as_bytes("another layout"));
  header.version = 0;
  header.rows = 0;
  header.kind = static_cast<std::uint16_t>(ChunkKind::kEnd);
  format::append_chunk(file, header, {});
  write(path, file);
  CaptureReader reader = open(path);
  CHECK(reader.health().damaged_chunks == 0);
  CHECK(reader.ended_cleanly());
  CHECK(count(reader).host == 2);
  CHECK(count(reader).kernels == 0);
  REQUIRE(reader.findings().size() == 1);
  CHECK(reader.findings()[0].text.find("of a newer version; not read") != std::string::npos);
  const Result<CaptureInfo> info = inspect_capture(path, true);
  REQUIRE(info.ok());
  CHECK(std::any_of(info->content.begin(), info->content.end(),
                    [](const CaptureContent& c) { return c.kind == "of a newer version" && c.rows == 7; }));
}

TEST_CASE("a small file cannot claim names and facts without end", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  base::Bytes file = CaptureBuilder().range("step", 0, 10).unfinished().build();
  // 65,536 rows of zeros take a few bytes each time.
  base::Compressor compressor;
  format::ColumnWriter columns(compressor);
  const std::vector<format::ThreadRow> rows(format::kMaxRows, format::ThreadRow{1, 1, 1});
  format::pack_rows<format::ThreadRow>(rows, columns);
  base::Bytes payload;
  columns.finish(payload);
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(ChunkKind::kThreads);
  header.rows = format::kMaxRows;
  for (int i = 0; i < 100; ++i) format::append_chunk(file, header, payload);
  write(path, file);
  CaptureReader reader = open(path);
  CHECK(reader.threads().size() < 20 * format::kMaxRows);
  CHECK(reader.health().damaged_chunks > 50);
  CHECK(reader.findings().size() <= CaptureReader::kMaxFindings);
  CHECK(count(reader).host == 2);
}

// ---- live files ------------------------------------------------------------------------------------------------

TEST_CASE("a capture whose program died is read together with its live file", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  const base::Bytes capture = CaptureBuilder().range("in the capture", 0, 10).unfinished().build();
  write(path, capture);
  LiveBuilder live = small_live(header_in(capture));
  live.health = {{1, 5}, {17, 2}};
  live.blocks[0].dropped_ranges = 3;
  write(path + ".live", live.build());
  const Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline.ok());
  REQUIRE(timeline->ranges.size() == 3);
  CHECK(timeline->text(timeline->ranges.name[1]) == "recovered");
  CHECK(timeline->ranges.end_ns[1] - timeline->ranges.begin_ns[1] == 100);
  CHECK(timeline->text(timeline->ranges.name[2]) == std::string(300, 'n'));
  CHECK(timeline->ranges.flags[2] == kUnfinished);
  CHECK(timeline->threads[timeline->ranges.thread[1]].name == "worker");
  CHECK(timeline->threads[timeline->ranges.thread[1]].tid == 99);
  CHECK(timeline->health.recovered_records == 3);
  CHECK(timeline->health.dropped_ranges == 8);
  CHECK(timeline->health.cupti_refused_buffers == 2);
  CHECK(timeline->health.damaged_chunks == 0);

  SECTION("and repaired with it") {
    const Result<std::uint64_t> records = repair_capture(path, folder.file("b.rfcap"), false);
    REQUIRE(records.ok());
    CHECK(*records == 5);
    const Result<Timeline> repaired = load_timeline(folder.file("b.rfcap"));
    REQUIRE(repaired.ok());
    CHECK(repaired->ranges.begin_ns == timeline->ranges.begin_ns);
    CHECK(repaired->ranges.end_ns == timeline->ranges.end_ns);
    CHECK(repaired->threads.size() == timeline->threads.size());
    CHECK(repaired->health.dropped_ranges == 8);
    CHECK(repaired->health.recovered_records == 3);
    CHECK(inspect_capture(folder.file("b.rfcap"), true)->ended_cleanly);
    CHECK(repair_capture(path, folder.file("b.rfcap"), false).error().code() == ErrorCode::kExists);
    CHECK(repair_capture(path, folder.file("b.rfcap"), true).ok());
  }
  SECTION("without it, it is missed by name") {
    format::FileHeader header = header_in(capture);
    header.flags |= format::kFlagLive;
    header = format::sealed(header);
    auto flagged = capture;
    std::memcpy(flagged.data(), &header, sizeof header);
    write(path, flagged);
    REQUIRE(std::filesystem::remove(path + ".live"));
    const Result<Timeline> cut = load_timeline(path);
    REQUIRE(cut.ok());
    CHECK(cut->health.missing_live_files == 1);
    CHECK_FALSE(cut->health.complete());
    CHECK(std::count_if(cut->notes.begin(), cut->notes.end(), [](const std::string& note) {
            return note.find("the live file a.rfcap.live is missing") != std::string::npos;
          }) == 1);
    const Result<CaptureInfo> info = inspect_capture(path, true);
    REQUIRE(info.ok());
    REQUIRE(info->findings.size() == 1);
    CHECK(info->findings[0].text.find("a.rfcap.live: missing; ") != std::string::npos);
  }
  SECTION("alone it is read, too") {
    const Result<Timeline> alone = load_timeline(path + ".live");
    REQUIRE(alone.ok());
    CHECK(alone->ranges.size() == 2);
  }
  SECTION("one of another recording is not") {
    LiveBuilder other = live;
    other.header.capture_id[3] ^= 1;
    write(path + ".live", other.build());
    const Result<CaptureInfo> info = inspect_capture(path, true);
    REQUIRE(info.ok());
    CHECK(info->health.recovered_records == 0);
    REQUIRE(info->findings.size() == 1);
    CHECK(info->findings[0].text.find("belongs to another recording; not read") != std::string::npos);
  }
  SECTION("a capture that ended by itself needs none") {
    write(path, CaptureBuilder().range("whole", 0, 10).build());
    CHECK(load_timeline(path)->ranges.size() == 1);
  }
}

TEST_CASE("what the capture holds of a block is not taken from the live file again", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  base::Bytes capture = CaptureBuilder().unfinished().build();
  LiveBuilder live;
  live.header = header_in(capture);
  live.names = {{1, "range"}};
  LiveBuilder::Block block;
  block.thread = 4;
  block.sequence = 7;
  for (std::uint64_t i = 0; i < 20; ++i)
    block.records.push_back(record(i % 2 == 0 ? RecordKind::kBegin : RecordKind::kEnd, 2'000'000'000 + i, 1));
  live.blocks.push_back(block);
  const auto put = [&](std::uint32_t from, std::uint32_t to) {
    base::Compressor compressor;
    format::ColumnWriter columns(compressor);
    format::HostEventPacker packer;
    format::ChunkHeader header{};
    header.kind = static_cast<std::uint16_t>(ChunkKind::kHostEvents);
    header.rows = to - from;
    header.subject = block.thread;
    std::tie(header.first, header.last) = packer.pack({block.thread, 1, block.sequence, from},
                                                      std::span(block.records).subspan(from, to - from), columns);
    base::Bytes payload;
    columns.finish(payload);
    format::append_chunk(capture, header, payload);
  };
  // The chunk was written, and then the program died, before it could note that in the block.
  SECTION("all of it") { put(0, 20); }
  SECTION("in pieces") {
    put(0, 6);
    live.blocks[0].drained_records = 6;
    put(6, 13);
  }
  SECTION("noted") {
    put(0, 13);
    live.blocks[0].drained_records = 13;
  }
  SECTION("nothing") {}
  SECTION("a block that is free again") {
    put(0, 20);
    live.blocks[0].state = BlockState::kFree;
  }
  write(path, capture);
  write(path + ".live", live.build());
  const Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline.ok());
  CHECK(timeline->ranges.size() == 10);
  CHECK(timeline->health.unmatched_ends == 0);
  CHECK(timeline->health.unfinished_ranges == 0);
}

TEST_CASE("a last chunk that was cut off is damage only where no live file holds it", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  base::Bytes capture = CaptureBuilder().range("range", 0, 10).unfinished().build();
  const format::FileHeader header = header_in(capture);
  format::ChunkHeader chunk{};
  base::Bytes last;
  SECTION("host events") { chunk.kind = static_cast<std::uint16_t>(ChunkKind::kHostEvents); }
  SECTION("kernels, which are in no live file") { chunk.kind = static_cast<std::uint16_t>(ChunkKind::kKernels); }
  format::append_chunk(last, chunk, base::Bytes(100));
  last.resize(last.size() / 2);
  base::append_bytes(capture, last);
  write(path, capture);
  CHECK(open(path).health().damaged_chunks == 1);
  write(path + ".live", small_live(header).build());
  const bool host = chunk.kind == static_cast<std::uint16_t>(ChunkKind::kHostEvents);
  CHECK(open(path).health().damaged_chunks == (host ? 0 : 1));
  CHECK(open(path).findings().size() == 1);
}

TEST_CASE("blocks that claim what they cannot hold are counted", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap.live");
  LiveBuilder live = small_live({});
  const LiveBuilder::Block good = live.blocks[0];
  for (const std::int64_t used :
       {std::int64_t{1}, std::int64_t{63}, std::int64_t{65}, std::int64_t{65537}, std::int64_t{0xFFFFFFFF}}) {
    LiveBuilder::Block bad = good;
    bad.used = used;
    live.blocks.push_back(bad);
  }
  LiveBuilder::Block empty = good;
  empty.used = 0;  // just being opened
  live.blocks.push_back(empty);
  live.blocks.push_back(good);
  live.blocks.back().sequence = 1;
  write(path, live.build());
  CaptureReader reader = open(path);
  CHECK(reader.health().damaged_chunks == 5);
  CHECK(reader.health().recovered_records == 6);
  CHECK(count(reader).host == 6);
  CHECK_FALSE(reader.ended_cleanly());
}

TEST_CASE("the free blocks of a flight recorder's live file are read, too", "[capture]") {
  const ScratchFolder folder;
  LiveBuilder live = small_live({});
  live.blocks[0].state = BlockState::kFree;
  write(folder.file("a.live"), live.build());
  CHECK(open(folder.file("a.live")).live_events().empty());
  live.header.flags = format::kFlagRing;
  write(folder.file("a.live"), live.build());
  CHECK(open(folder.file("a.live")).live_events().size() == 1);
}

TEST_CASE("a live file's header is checked", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.live");
  const base::Bytes whole = small_live({}).build();
  constexpr std::size_t kChecked = offsetof(format::LiveHeader, names_used);
  for (std::size_t at = 8; at < kChecked; ++at) {
    base::Bytes damaged = whole;
    damaged[at] ^= std::byte{0x80};
    write(path, damaged);
    CHECK_FALSE(CaptureReader::open(path).ok());
  }
}

// ---- whole files -----------------------------------------------------------------------------------------------

TEST_CASE("repairing a whole capture changes nothing that is read of it", "[capture]") {
  const ScratchFolder folder;
  everything().write(folder.file("a.rfcap"));
  REQUIRE(repair_capture(folder.file("a.rfcap"), folder.file("b.rfcap"), false).ok());
  const Result<Timeline> before = load_timeline(folder.file("a.rfcap"));
  const Result<Timeline> after = load_timeline(folder.file("b.rfcap"));
  REQUIRE((before.ok() && after.ok()));
  CHECK(before->ranges.begin_ns == after->ranges.begin_ns);
  CHECK(before->activities.end_ns == after->activities.end_ns);
  REQUIRE(before->launches.size() == after->launches.size());
  for (LaunchIndex launch{0}; launch < before->launches.size(); ++launch)
    CHECK(before->launches.range[launch] == after->launches.range[launch]);
  CHECK(before->metadata == after->metadata);
  CHECK(before->health.cupti_dropped == after->health.cupti_dropped);
  CHECK(before->threads.size() == after->threads.size());
}

TEST_CASE("bytes flipped anywhere are counted or an error", "[capture][property]") {
  std::mt19937_64 random(property_seed("flipped bytes"));
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  const base::Bytes whole = everything().build();
  write(path, whole);
  CaptureReader undamaged = open(path);
  const Counter all = count(undamaged);
  for (int round = 0; round < 1500; ++round) {
    base::Bytes damaged = whole;
    for (std::uint64_t n = 1 + any_size(random, 4); n > 0; --n)
      damaged[random() % damaged.size()] ^= static_cast<std::byte>(1 + random() % 255);
    write(path, damaged);
    Result<CaptureReader> reader = CaptureReader::open(path);
    if (!reader) continue;  // the file's header
    const Counter counter = count(*reader);
    const bool same = counter.host == all.host && counter.kernels == all.kernels && counter.calls == all.calls;
    CHECK((same || reader->health().damaged_chunks > 0));
    CHECK((counter.host <= all.host && counter.kernels <= all.kernels && counter.calls <= all.calls));
    (void)load_timeline(path);
    (void)inspect_capture(path, true);
  }
}

TEST_CASE("chunks whose checksums are right and whose contents are not are an error or other rows",
          "[capture][property]") {
  std::mt19937_64 random(property_seed("well-sealed nonsense"));
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.rfcap");
  const base::Bytes whole = everything().build();
  write(path, whole);
  const std::vector<ChunkEntry> chunks = open(path).chunks();
  for (int round = 0; round < 1500; ++round) {
    base::Bytes file(whole.begin(), whole.begin() + sizeof(format::FileHeader));
    for (const ChunkEntry& entry : chunks) {
      const auto first = whole.begin() + static_cast<std::ptrdiff_t>(entry.offset + sizeof(format::ChunkHeader));
      base::Bytes payload(first, first + entry.header.payload_bytes);
      format::ChunkHeader header = entry.header;
      if (random() % 8 == 0 && !payload.empty()) {
        for (std::uint64_t n = 1 + random() % 4; n > 0; --n)
          payload[random() % payload.size()] ^= static_cast<std::byte>(1 + random() % 255);
      }
      switch (random() % 40) {
        case 0:
          header.rows = static_cast<std::uint32_t>(any_size(random, 32));
          break;
        case 1:
          header.kind = static_cast<std::uint16_t>(random() % 20);
          break;
        case 2:
          header.subject = any_size(random);
          break;
        case 3:
          header.first = any_size(random);
          break;
        default:
          break;
      }
      format::append_chunk(file, header, payload);
    }
    write(path, file);
    Result<CaptureReader> reader = CaptureReader::open(path);
    REQUIRE(reader.ok());
    (void)count(*reader);
    const Result<Timeline> timeline = load_timeline(path);
    if (!timeline) CHECK(timeline.error().message().find('\n') == std::string::npos);
    if (round % 20 == 0) (void)repair_capture(path, folder.file("b.rfcap"), true);
  }
}

TEST_CASE("a capture that becomes shorter while it is read says so, and is not called damaged", "[capture]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  const base::Bytes whole = everything().build();
  write(path, whole);
  Result<CaptureReader> reader = CaptureReader::open(path);
  REQUIRE(reader.ok());
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(whole.size() / 2)) == 0);
  Counter seen;
  const Status status = reader->visit(seen);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kUnreadable);
  const std::string expected = path + ": became shorter while it was being read, from " + std::to_string(whole.size()) +
                               " to " + std::to_string(whole.size() / 2) + " bytes";
  CHECK(status.error().message().find(expected) == 0);
  CHECK(reader->health().damaged_chunks == 0);
  CHECK_FALSE(reader->file_status().ok());
}
