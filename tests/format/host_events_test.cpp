// SPDX-License-Identifier: MIT
#include "format/host_events.hpp"

#include "format/bit_stream.hpp"
#include "format/chunk.hpp"
#include "format/host_columns.hpp"
#include "format/time_coder.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::format;
using namespace rangefinder::testing;
using detail::make_word;
using detail::Record;
using detail::RecordKind;

namespace {

struct Packed {
  ChunkHeader header{};
  base::Bytes payload;
};

Packed pack(const HostRun& run, const std::vector<Record>& records, HostEventPacker& packer) {
  static base::Compressor compressor;
  ColumnWriter columns(compressor);
  Packed packed;
  packed.header.kind = static_cast<std::uint16_t>(ChunkKind::kHostEvents);
  packed.header.rows = static_cast<std::uint32_t>(records.size());
  packed.header.subject = run.thread;
  const TickSpan span = packer.pack(run, records, columns);
  CHECK(span == tick_span(records));
  packed.header.first = span.first;
  packed.header.last = span.second;
  columns.finish(packed.payload);
  return packed;
}

void check_round_trip(const HostRun& run, const std::vector<Record>& records, HostEventPacker& packer) {
  const Packed packed = pack(run, records, packer);
  ColumnReader columns;
  const Result<HostEvents> back = unpack_host_events(packed.payload, packed.header, columns);
  INFO(records.size() << " records: " << (back.ok() ? std::string() : back.error().message()));
  REQUIRE(back.ok());
  CHECK(back->run.thread == run.thread);
  CHECK(back->run.tid == run.tid);
  CHECK(back->run.block_sequence == run.block_sequence);
  CHECK(back->run.first_record == run.first_record);
  REQUIRE(back->records.size() == records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (back->records[i].word == records[i].word && back->records[i].ticks == records[i].ticks) continue;
    FAIL("record " << i << " of " << records.size() << ": word " << std::hex << records[i].word << " ticks "
                   << records[i].ticks << " came back as " << back->records[i].word << ", " << back->records[i].ticks);
  }
}

/// Any word, as a recorder would make it and as it never would.
std::uint64_t any_word(std::mt19937_64& random) {
  const auto id = static_cast<std::uint32_t>(any_size(random, 32));
  const auto aux = static_cast<std::uint32_t>(any_size(random, 24));
  return make_word(static_cast<RecordKind>(random() % 16 == 0 ? random() % 256 : random() % 15), id, aux);
}

/// A thread as threads are: nested ranges of few names, and now and then something else.
std::vector<Record> lifelike(std::mt19937_64& random, std::size_t count) {
  std::vector<Record> records;
  std::vector<std::uint64_t> open;
  std::uint64_t ticks = random() >> 20;
  std::uint32_t correlation = 0;
  const std::uint64_t zeros = random() % 8;  // clocks of coarse ticks
  const auto put = [&](std::uint64_t word) {
    ticks += any_size(random, 12) << zeros;
    if (random() % 1000 == 0) ticks += random() >> 30;  // a stall
    records.push_back({ticks, word});
  };
  while (records.size() < count) {
    switch (random() % 9) {
      case 0:
        put(make_word(RecordKind::kMark, static_cast<std::uint32_t>(random() % 5)));
        break;
      case 1:
        put(make_word(RecordKind::kLaunch, correlation += static_cast<std::uint32_t>(random() % 3), 211));
        break;
      case 2:
        put(make_word(RecordKind::kCounter, 9));
        records.push_back({random(), make_word(RecordKind::kExtra, 0, 1 + static_cast<std::uint32_t>(random() % 4))});
        break;
      case 3:
      case 4:
      case 5: {
        const auto name = static_cast<std::uint32_t>(1 + random() % 20);
        open.push_back(make_word(RecordKind::kEnd, name, name % 3));
        put(make_word(RecordKind::kBegin, name, name % 3));
        break;
      }
      case 6:
        put(random() % 64 << 17 | random() % 2 << 8 | make_word(RecordKind::kHostBlock, 0));
        break;
      default:
        // Mostly the innermost; now and then another, or one that was never opened.
        if (random() % 50 == 0) put(make_word(RecordKind::kEnd, static_cast<std::uint32_t>(random() % 30)));
        for (std::uint64_t n = random() % 8; n > 0 && !open.empty(); --n) {
          put(open.back() | (random() % 4 == 0 ? std::uint64_t{detail::kTookOneNumber} << 8 : 0));
          open.pop_back();
        }
    }
  }
  records.resize(count);
  return records;
}

}  // namespace

TEST_CASE("a thread's records come back as they were", "[format][property]") {
  std::mt19937_64 random(property_seed("host events"));
  HostEventPacker packer;  // one for all: it keeps its memory
  for (int round = 0; round < 400; ++round) {
    const std::size_t count = any_size(random, round % 20 == 0 ? 16 : 11);
    const HostRun run{static_cast<std::uint32_t>(random() % 1000), static_cast<std::uint32_t>(random()),
                      any_size(random), static_cast<std::uint32_t>(any_size(random, 32))};
    check_round_trip(run, lifelike(random, count), packer);
  }
}

TEST_CASE("any records at all come back as they were", "[format][property]") {
  std::mt19937_64 random(property_seed("any records"));
  HostEventPacker packer;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::uint64_t> words(1 + any_size(random, 6));
    for (std::uint64_t& word : words) word = any_word(random);
    std::vector<Record> records(any_size(random, round % 20 == 0 ? 16 : 10));
    for (Record& record : records)
      record = {any_size(random), random() % 8 == 0 ? any_word(random) : words[random() % words.size()]};
    check_round_trip({}, records, packer);
  }
}

TEST_CASE("records of zeros come back", "[format]") {
  HostEventPacker packer;
  check_round_trip({}, std::vector<Record>(6), packer);
}

TEST_CASE("the longest run, of nothing but different words, comes back", "[format]") {
  HostEventPacker packer;
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < kMaxRows; ++i)
    records.push_back({std::uint64_t{i} * 0x9E3779B97F4A7C15u, make_word(RecordKind::kBegin, i, i)});
  check_round_trip({1, 2, 3, 4}, records, packer);
  CHECK(packer.words().size() == kMaxRows);
  // The same, ended innermost first: one symbol holds all ends.
  records.resize(kMaxRows / 2);
  for (std::uint32_t i = kMaxRows / 2; i-- > 0;) records.push_back({i, make_word(RecordKind::kEnd, i, i)});
  check_round_trip({}, records, packer);
}

TEST_CASE("what has no time does not count as one", "[format]") {
  HostEventPacker packer;
  const Record value{1, make_word(RecordKind::kExtra, 0, 1)};
  const Record sequence{2, make_word(RecordKind::kSequence, 0)};
  const Record facts{~std::uint64_t{0}, make_word(RecordKind::kOperator, 7, 1)};
  const Record size{4096, make_word(RecordKind::kHostBlockFact, 0, 255)};
  CHECK(tick_span(std::vector<Record>{}) == TickSpan{0, 0});
  CHECK(tick_span(std::vector<Record>{value, sequence, facts, size}) == TickSpan{0, 0});
  CHECK(tick_span(std::vector<Record>{
            value, {100, make_word(RecordKind::kMark, 1)}, {50, make_word(RecordKind::kMark, 1)}, sequence}) ==
        TickSpan{100, 100});
  check_round_trip({}, {}, packer);
  check_round_trip({}, {value, sequence, facts, size}, packer);
  check_round_trip({}, {size, {7, 0xFFFF'FFFF'FFFF'FF11u}, {8, 0x8000'0000'0000'0011u}}, packer);
  check_round_trip({}, {{5, make_word(RecordKind::kBegin, 1)}, facts, {9, make_word(RecordKind::kEnd, 1)}, facts},
                   packer);
  check_round_trip({}, {value, {100, make_word(RecordKind::kMark, 1)}, {50, make_word(RecordKind::kMark, 1)}, sequence},
                   packer);
}

TEST_CASE("an end that says more than its begin closes the range too", "[format]") {
  HostEventPacker packer;
  constexpr std::uint32_t kTook = detail::kTookOneNumber;
  const Record outer{1, make_word(RecordKind::kBegin, 1)}, inner{2, make_word(RecordKind::kBegin, 2)};
  const Record inner_ends{3, make_word(RecordKind::kEnd, 2, kTook)}, outer_ends{4, make_word(RecordKind::kEnd, 1)};
  check_round_trip({}, {outer, inner, inner_ends, outer_ends}, packer);
  CHECK(packer.words().size() == 3);  // the outer one's end is known from its begin
  check_round_trip({}, {outer, inner_ends, outer_ends, inner_ends, inner, inner_ends, inner_ends}, packer);
}

TEST_CASE("blocks of the host, none like another, leave the dictionary alone", "[format]") {
  HostEventPacker packer;
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < 1000; ++i)
    records.push_back({i, i << 17 | 3 << 9 | make_word(RecordKind::kHostBlock, 0)});
  check_round_trip({1, 2, 3, 4}, records, packer);
  CHECK(packer.words().size() == 1);
}

TEST_CASE("a block of the host takes two bytes, and eight more where its place had another block",
          "[format][property]") {
  HostEventPacker packer;
  std::mt19937_64 random(property_seed("blocks of the host"));
  constexpr std::uint64_t kFreed = std::uint64_t{1} << detail::kHostFreedBit;
  std::vector<std::uint64_t> words;
  for (int i = 0; i < 300; ++i) words.push_back((random() >> 20 << 9 | make_word(RecordKind::kHostBlock, 0)) & ~kFreed);
  std::vector<Record> records;
  std::map<std::size_t, std::uint64_t> places;
  std::size_t bytes = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t word = words[random() % words.size()];
    records.push_back({i, random() % 2 == 0 ? word : word | kFreed});
    std::uint64_t& last = places[RecentBlocks::place_of(word >> kKindBits)];
    bytes += last == word ? 2 : 10;
    last = word;
  }
  check_round_trip({1, 2, 3, 4}, records, packer);
  ColumnReader columns;
  const Packed packed = pack({1, 2, 3, 4}, records, packer);
  REQUIRE(columns.open(packed.payload).ok());
  CHECK(columns.column(kHostBlocks, 1 << 20)->size() == bytes);
  CHECK(bytes < 20'000 * 4);
}

TEST_CASE("ranges that look alike take a few bytes each", "[format]") {
  HostEventPacker packer;
  std::vector<Record> records;
  std::uint64_t ticks = 0;
  for (int i = 0; i < 10'000; ++i) {
    records.push_back({ticks += 100 + static_cast<std::uint64_t>(i % 7), make_word(RecordKind::kBegin, 1)});
    records.push_back({ticks += 900 + static_cast<std::uint64_t>(i % 5), make_word(RecordKind::kEnd, 1)});
  }
  CHECK(pack({}, records, packer).payload.size() < 10'000 * 2);
}

TEST_CASE("host events damaged anywhere are other records or an error", "[format][property]") {
  std::mt19937_64 random(property_seed("damaged host events"));
  HostEventPacker packer;
  ColumnReader columns;
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Packed packed = pack({1, 2, 3, 4}, lifelike(random, 1 + any_size(random, 8)), packer);
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n)
      packed.payload[random() % packed.payload.size()] ^= static_cast<std::byte>(1 + random() % 255);
    if (round % 4 == 0) packed.header.rows = static_cast<std::uint32_t>(any_size(random, 32));
    if (round % 4 == 1) packed.payload.resize(random() % packed.payload.size());
    const Result<HostEvents> back = unpack_host_events(packed.payload, packed.header, columns);
    if (back.ok())
      CHECK(back->records.size() == packed.header.rows);
    else
      CHECK_FALSE(back.error().message().empty());
    refused += back.ok() ? 0 : 1;
  }
  CHECK(refused > 1000);
}

// ---- the codes underneath --------------------------------------------------------------------------------------

TEST_CASE("bits come back in the order in which they were put", "[format][property]") {
  std::mt19937_64 random(property_seed("bits"));
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<std::uint64_t, unsigned>> pieces(any_size(random, 9));
    std::size_t bits = 0;
    for (auto& [value, count] : pieces) {
      count = static_cast<unsigned>(1 + random() % 64);
      value = count == 64 ? random() : random() & ((std::uint64_t{1} << count) - 1);
      bits += count;
    }
    base::Bytes memory(bits / 8 + 1 + 8);
    BitWriter writer(memory.data());
    for (const auto& [value, count] : pieces)
      count <= BitWriter::kMaxAtOnce ? writer.put(value, count) : writer.put_wide(value, count);
    const auto size = static_cast<std::size_t>(writer.finish() - memory.data());
    CHECK(size == (bits + 7) / 8);
    memory.resize(size);
    BitReader reader(memory);
    bool same = true;
    for (const auto& [value, count] : pieces)
      same = same && (count <= BitWriter::kMaxAtOnce ? reader.get(count) : reader.get_wide(count)) == value;
    CHECK(same);
    CHECK(reader.at_end());
    reader.skip(8);
    CHECK_FALSE(reader.ok());
    CHECK(reader.get(32) == 0);
  }
}

TEST_CASE("writer and reader of times learn alike", "[format][property]") {
  std::mt19937_64 random(property_seed("times"));
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint64_t> times(any_size(random, 11));
    for (std::uint64_t& time : times) {
      switch (random() % 4) {
        case 0:
          time = any_size(random);
          break;  // anything
        case 1:
          time = ~any_size(random, 20) + 1;
          break;  // backwards
        default:
          time = 1000 + random() % 50;
      }
    }
    base::Bytes memory((times.size() * kMaxCodeBits + 7) / 8 + sizeof(std::uint64_t));
    BitWriter writer(memory.data());
    TimeModel model;
    for (const std::uint64_t time : times) put_time(writer, model, time);
    memory.resize(static_cast<std::size_t>(writer.finish() - memory.data()));
    BitReader reader(memory);
    TimeModel other;
    bool same = true;
    for (const std::uint64_t time : times) same = same && get_time(reader, other) == time;
    CHECK(same);
    CHECK(reader.at_end());
  }
}
