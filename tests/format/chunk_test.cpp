// SPDX-License-Identifier: MIT
#include "format/chunk.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstring>
#include <random>
#include <string>

using namespace rangefinder;
using namespace rangefinder::format;
using namespace rangefinder::testing;

namespace {

ChunkHeader header_of(std::uint64_t sequence) {
  ChunkHeader header{};
  header.kind = static_cast<std::uint16_t>(ChunkKind::kKernels);
  header.sequence = sequence;
  header.rows = 3;
  header.subject = 4;
  header.first = 5;
  header.last = 6;
  return header;
}

base::Bytes chunk_of(std::uint64_t sequence, std::size_t payload_bytes) {
  base::Bytes out;
  append_chunk(out, header_of(sequence), base::Bytes(payload_bytes, static_cast<std::byte>(sequence)));
  return out;
}

}  // namespace

TEST_CASE("a chunk comes back whole, and the next begins at a multiple of 8", "[format]") {
  for (std::size_t bytes = 0; bytes < 20; ++bytes) {
    base::Bytes file = chunk_of(1, bytes);
    const base::Bytes second = chunk_of(2, 5);
    CHECK(file.size() % 8 == 0);
    const std::size_t next = file.size();
    base::append_bytes(file, second);
    const Result<ChunkView> chunk = read_chunk(file, 0, false);
    REQUIRE(chunk.ok());
    CHECK(chunk->header.sequence == 1);
    CHECK(chunk->header.rows == 3);
    CHECK(chunk->header.subject == 4);
    CHECK(chunk->header.first == 5);
    CHECK(chunk->header.last == 6);
    CHECK(chunk->payload.size() == bytes);
    CHECK(chunk->next_offset == next);
    CHECK(read_chunk(file, next, false)->header.sequence == 2);
  }
}

TEST_CASE("a file that ends in a chunk is told from one that is damaged", "[format]") {
  const base::Bytes whole = chunk_of(1, 100);
  for (std::size_t size = 0; size < sizeof(ChunkHeader) + 100; ++size) {
    const Result<ChunkView> chunk = read_chunk(base::ByteView(whole).first(size), 0, false);
    REQUIRE_FALSE(chunk.ok());
    CHECK(chunk.error().code() == ErrorCode::kIncomplete);
  }
  // Without its padding it is whole.
  CHECK(read_chunk(base::ByteView(whole).first(sizeof(ChunkHeader) + 100), 0, false).ok());
  CHECK(read_chunk(whole, whole.size() + 1, false).error().code() == ErrorCode::kIncomplete);
  CHECK(read_chunk(whole, ~std::uint64_t{0}, false).error().code() == ErrorCode::kIncomplete);
}

TEST_CASE("a flipped bit anywhere in header or payload is noticed", "[format]") {
  const base::Bytes whole = chunk_of(1, 101);
  const std::size_t checked = sizeof(ChunkHeader) + 101;
  for (std::size_t bit = 0; bit < checked * 8; ++bit) {
    base::Bytes damaged = whole;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const Result<ChunkView> chunk = read_chunk(damaged, 0, false);
    REQUIRE_FALSE(chunk.ok());
    CHECK(chunk.error().code() == ErrorCode::kUnreadable);
    CHECK(chunk.error().message().starts_with("byte 0: "));
    CHECK(read_chunk(damaged, 0, true).ok() == (bit / 8 >= sizeof(ChunkHeader)));
  }
}

TEST_CASE("a chunk that claims more than a writer makes is refused", "[format]") {
  base::Bytes file;
  append_chunk(file, header_of(1), base::Bytes(std::size_t{kMaxPayloadBytes} + 8));
  CHECK(read_chunk(file, 0, true).error().message() == "byte 0: chunk claims too many bytes");
}

TEST_CASE("the next whole chunk is found behind damage", "[format][property]") {
  std::mt19937_64 random(property_seed("find_chunk"));
  for (int round = 0; round < 300; ++round) {
    base::Bytes file;
    for (std::uint64_t n = random() % 5 * 8; n > 0; --n) file.push_back(static_cast<std::byte>(random()));
    // Something that looks like a chunk and is none.
    if (round % 2 == 0) {
      base::append_value(file, kChunkMagic);
      base::append_value(file, std::uint32_t{0});
    }
    const std::uint64_t first = file.size();
    base::append_bytes(file, chunk_of(1, random() % 50));
    const std::uint64_t second = file.size();
    base::append_bytes(file, chunk_of(2, random() % 50));
    const auto found = [&](std::uint64_t from, std::uint64_t until) {
      return find_chunk(base::ByteView(file).first(until).subspan(from), from, file.size());
    };
    CHECK(found(0, file.size()) == first);
    CHECK(found(first, file.size()) == first);
    CHECK(found(first + 8, file.size()) == second);
    CHECK(found(0, first + sizeof(ChunkHeader)) == first);  // its payload is behind the part
    CHECK(found(0, first + sizeof(ChunkHeader) - 1) == first);
    CHECK(found(first + 8, second + 8) >= second - 56);  // what the next part begins with
    CHECK(found(second + 8, file.size()) > file.size() - sizeof(ChunkHeader));
    CHECK(found(file.size(), file.size()) == file.size());
  }
}

TEST_CASE("a file header is checked before it is believed", "[format]") {
  FileHeader header{};
  header.pid = 42;
  header.ticks_per_second = 1'000'000'000;
  header = sealed(header);
  const auto bytes_of = [](const FileHeader& h) {
    base::Bytes out(sizeof h);
    std::memcpy(out.data(), &h, sizeof h);
    return out;
  };
  REQUIRE(read_file_header(bytes_of(header)).ok());
  CHECK(read_file_header(bytes_of(header))->pid == 42);
  for (std::size_t size = 0; size < sizeof header; ++size)
    CHECK(read_file_header(base::ByteView(bytes_of(header)).first(size)).error().code() == ErrorCode::kUnreadable);
  for (std::size_t at = 0; at < sizeof header; ++at) {
    base::Bytes damaged = bytes_of(header);
    damaged[at] ^= std::byte{0x40};
    CHECK_FALSE(read_file_header(damaged).ok());
  }
  SECTION("a newer minor version is read, a newer major version is not") {
    FileHeader newer = header;
    newer.minor = kMinorVersion + 1;
    CHECK_FALSE(read_file_header(bytes_of(newer)).ok());  // not sealed as such
    newer = header;
    newer.major = kMajorVersion + 1;
    const Error error = read_file_header(bytes_of(newer)).error();
    CHECK(error.code() == ErrorCode::kUnsupported);
    CHECK(error.message().find("use a newer rangefinder") != std::string::npos);
  }
}
