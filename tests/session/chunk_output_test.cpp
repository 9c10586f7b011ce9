// SPDX-License-Identifier: MIT
#include "session/chunk_output.hpp"

#include "format/chunk.hpp"
#include "session/session_fixture.hpp"

#include <fcntl.h>

#include <filesystem>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;
using format::ChunkKind;

namespace {

format::ChunkHeader header_of(ChunkKind kind, std::uint64_t sequence, std::uint64_t first = 0, std::uint64_t last = 0,
                              std::uint64_t subject = 0) {
  format::ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(kind);
  header.sequence = sequence;
  header.first = first;
  header.last = last;
  header.subject = subject;
  header.rows = 10;
  return header;
}

std::unique_ptr<FileOutput> output_to(const std::string& path) {
  Result<std::shared_ptr<OutputFile>> file = claim_output(path, {}, {});
  REQUIRE(file.ok());
  return std::make_unique<FileOutput>(*file);
}

/// Puts a chunk whose payload says which one it is.
Status put(ChunkOutput& output, ChunkKind kind, std::uint64_t first = 0, std::uint64_t last = 0,
           std::uint64_t subject = 0, std::size_t bytes = 100) {
  const format::ChunkHeader header = header_of(kind, output.next_sequence(), first, last, subject);
  base::Bytes chunk;
  format::append_chunk(chunk, header, base::Bytes(bytes, static_cast<std::byte>(header.sequence)));
  return output.put(header, chunk);
}

std::vector<std::uint64_t> read(const ChunkOutput& output, OutputCursor& cursor) {
  std::vector<std::uint64_t> sequences;
  const Status status = output.read_since(cursor, [&](const format::ChunkHeader& header, base::ByteView payload) {
    CHECK(payload.size() == 100);
    CHECK(payload[0] == static_cast<std::byte>(header.sequence));
    sequences.push_back(header.sequence);
    return true;
  });
  CHECK(status.ok());
  return sequences;
}

using Sequences = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a file that was removed or cut under its output is noticed", "[session][fault]") {
  const ScratchFolder folder;
  const std::string path = folder.file("a.rfcap");
  const auto output = output_to(path);
  REQUIRE(put(*output, ChunkKind::kHostEvents).ok());
  CHECK(output->check().ok());
  SECTION("moved, which harms nothing") {
    std::filesystem::rename(path, folder.file("b.rfcap"));
    CHECK(output->check().ok());
  }
  SECTION("removed") {
    std::filesystem::remove(path);
    CHECK(output->check().error().message() == path + ": was removed while it was being recorded");
  }
  SECTION("cut") {
    const std::string before = std::to_string(output->bytes());
    std::filesystem::resize_file(path, 100);
    CHECK(output->check().error().message() ==
          path + ": was cut while it was being recorded, from " + before + " bytes to 100");
  }
}

TEST_CASE("the last events of a file make room for what has to stand at its end", "[session]") {
  const ScratchFolder folder;
  const auto output = output_to(folder.file("a.rfcap"));
  CHECK(output->take_back_events() == std::nullopt);
  REQUIRE(put(*output, ChunkKind::kHostEvents).ok());
  REQUIRE(put(*output, ChunkKind::kHostEvents).ok());
  REQUIRE(put(*output, ChunkKind::kNames).ok());
  REQUIRE(put(*output, ChunkKind::kClock).ok());
  const std::uint64_t before = output->bytes();
  CHECK(output->take_back_events().has_value());
  CHECK(output->bytes() < before);
  CHECK(std::filesystem::file_size(folder.file("a.rfcap")) == output->bytes());
  CHECK(output->take_back_events() == std::nullopt);
  OutputCursor cursor;
  std::vector<ChunkKind> kinds;
  const Status read = output->read_since(cursor, [&](const format::ChunkHeader& header, base::ByteView) {
    kinds.push_back(static_cast<ChunkKind>(header.kind));
    return true;
  });
  CHECK(read.ok());
  CHECK(kinds == std::vector{ChunkKind::kHostEvents, ChunkKind::kNames, ChunkKind::kClock});
}

TEST_CASE("what was put is read once, by whoever follows", "[session]") {
  const ScratchFolder folder;
  std::unique_ptr<ChunkOutput> output;
  SECTION("from a file") { output = output_to(folder.file("a.rfcap")); }
  SECTION("from a flight recorder") {
    output = std::make_unique<RingOutput>(format::FileHeader{}, RingLimits{1 << 20, 0});
  }
  OutputCursor cursor;
  CHECK(read(*output, cursor).empty());
  REQUIRE(put(*output, ChunkKind::kNames).ok());
  REQUIRE(put(*output, ChunkKind::kHostEvents).ok());
  CHECK(read(*output, cursor) == Sequences{0, 1});
  CHECK(read(*output, cursor).empty());
  REQUIRE(put(*output, ChunkKind::kClock).ok());
  CHECK(read(*output, cursor) == Sequences{2});
  OutputCursor late;
  CHECK(read(*output, late) == Sequences{0, 1, 2});
  // Reading ends where the reader wants, and goes on there.
  OutputCursor part;
  Sequences seen;
  CHECK(output
            ->read_since(part,
                         [&](const format::ChunkHeader& header, base::ByteView) {
                           if (header.sequence == 1) return false;
                           seen.push_back(header.sequence);
                           return true;
                         })
            .ok());
  CHECK(seen == Sequences{0});
  CHECK(read(*output, part) == Sequences{1, 2});
}

TEST_CASE("a file that somebody damages is noticed by who follows it", "[session]") {
  const ScratchFolder folder;
  const auto made = output_to(folder.file("a.rfcap"));
  FileOutput& output = *made;
  REQUIRE(put(output, ChunkKind::kNames).ok());
  REQUIRE(put(output, ChunkKind::kNames).ok());
  SECTION("cut") { std::filesystem::resize_file(folder.file("a.rfcap"), output.bytes() - 50); }
  SECTION("overwritten") {
    const base::Fd fd(::open(folder.file("a.rfcap").c_str(), O_WRONLY));
    REQUIRE(base::write_at(fd, base::as_bytes("damage"), output.bytes() - 50, "a").ok());
  }
  OutputCursor cursor;
  Sequences seen;
  const Status status = output.read_since(cursor, [&](const auto& header, auto) {
    seen.push_back(header.sequence);
    return true;
  });
  CHECK_FALSE(status.ok());
  CHECK(seen == Sequences{0});
}

TEST_CASE("a flight recorder gives up the oldest events and keeps what all events need", "[session]") {
  RingOutput ring(format::FileHeader{}, RingLimits{2000, 0});
  const auto events = [&](std::uint64_t ticks) {
    REQUIRE(put(ring, ChunkKind::kHostEvents, ticks, ticks + 9, 1).ok());
  };
  REQUIRE(put(ring, ChunkKind::kNames).ok());
  REQUIRE(put(ring, ChunkKind::kThreads, 0, 0, 1).ok());
  for (std::uint64_t i = 0; i < 100; ++i) {
    REQUIRE(put(ring, ChunkKind::kClock, i * 10, i * 10).ok());
    events(i * 10);
    REQUIRE(put(ring, ChunkKind::kHealth).ok());
  }
  CHECK(ring.overwritten() > 800);
  CHECK(ring.overwritten() % 10 == 0);
  const std::uint64_t kept = 100 - ring.overwritten() / 10;
  OutputCursor cursor;
  const Sequences sequences = read(ring, cursor);
  CHECK(std::is_sorted(sequences.begin(), sequences.end()));
  CHECK(sequences[0] == 0);  // the names
  CHECK(sequences[1] == 1);  // the thread
  // Its events, a clock point each and one before them, the last health, the names, the thread.
  CHECK(sequences.size() <= 2 * kept + 1 + 1 + 2);
  CHECK(sequences.size() >= 2 * kept + 1 + 2);
  CHECK(ring.bytes() < 10'000);

  const ScratchFolder folder;
  const auto file = claim_output(folder.file("a.rfcap"), {}, {}, FirstBytes::kNone);
  REQUIRE(ring.snapshot().write((*file)->fd(), folder.file("a.rfcap")).ok());
  CHECK(load_timeline(folder.file("a.rfcap")).ok());
}
