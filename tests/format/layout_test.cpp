// SPDX-License-Identifier: MIT
//
// The bytes that docs/reference/capture-format.md describes, written down by hand: a capture of today must stay
// readable.
#include "base/checksum.hpp"
#include "format/chunk.hpp"
#include "format/field_packer.hpp"
#include "format/host_events.hpp"
#include "format/rows.hpp"
#include "support/catch.hpp"

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::format;
using rangefinder::detail::make_word;
using rangefinder::detail::Record;
using rangefinder::detail::RecordKind;

namespace {

/// "01 02  03" as bytes; white space is for people.
base::Bytes hex(std::string_view text) {
  base::Bytes out;
  int high = -1;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high >= 0) out.push_back(static_cast<std::byte>(high * 16 + digit));
    high = high >= 0 ? -1 : digit;
  }
  return out;
}

template <typename T>
base::Bytes bytes_of(const T& value) {
  base::Bytes out(sizeof value);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

void append_checksum(base::Bytes& out) { base::append_value(out, base::checksum(out)); }

}  // namespace

TEST_CASE("the file header, byte by byte", "[format]") {
  FileHeader header{};
  for (std::size_t i = 0; i < header.capture_id.size(); ++i) header.capture_id[i] = static_cast<std::uint8_t>(i);
  header.pid = 0x1234;
  header.clock_kind = 1;
  header.ticks_per_second = 2'000'000'000;
  header.start_ticks = 0x0102030405060708;
  header.start_monotonic_ns = 5;
  header.start_realtime_ns = -1;
  header.flags = kFlagSimulated | kFlagRing;
  header.held_since_ticks = 0x0202030405060708;
  base::Bytes want =
      hex("52 46 43 41 50 0d 0a 1a"                          // "RFCAP\r\n\x1a"
          "01 00  00 00  80 00 00 00"                        // version 1.0, 128 bytes
          "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"  // capture id
          "34 12 00 00  01  00 00 00"                        // process id, clock, reserved
          "00 94 35 77 00 00 00 00"                          // ticks per second
          "08 07 06 05 04 03 02 01"                          // ticks at the start
          "05 00 00 00 00 00 00 00"                          // CLOCK_MONOTONIC then
          "ff ff ff ff ff ff ff ff"                          // CLOCK_REALTIME then
          "03 00 00 00 00 00 00 00"                          // flags
          "00 00 00 00 00 00 00 00"                          // no record id
          "08 07 06 05 04 03 02 02"                          // held since
          "0000000000000000 0000000000000000 0000000000000000");
  append_checksum(want);
  CHECK(bytes_of(sealed(header)) == want);
}

TEST_CASE("a chunk, byte by byte", "[format]") {
  base::Compressor compressor;
  ColumnWriter columns(compressor);
  const ThreadRow row{3, 1234, 5};
  pack_rows<ThreadRow>({&row, 1}, columns);
  base::Bytes payload;
  columns.finish(payload);
  const base::Bytes want_payload =
      hex("03 00 00 00 00 00 00 00"                 // three columns
          "01 00  00  00  01 00 00 00 01 00 00 00"  // 1: plain, 1 byte
          "02 00  00  00  02 00 00 00 02 00 00 00"  // 2: plain, 2 bytes
          "03 00  00  00  01 00 00 00 01 00 00 00"  // 3: plain, 1 byte
          "03  d2 09  05");                         // index, thread id 1234 as a varint, name
  CHECK(payload == want_payload);

  ChunkHeader header{};
  header.kind = 3;
  header.sequence = 17;
  header.rows = 1;
  header.subject = 3;
  header.first = 0x10;
  header.last = 0x20;
  base::Bytes chunk;
  append_chunk(chunk, header, payload);
  base::Bytes want =
      hex("52 46 43 4b  03 00  00 00"  // "RFCK", kind, version
          "11 00 00 00 00 00 00 00"    // sequence
          "30 00 00 00  01 00 00 00"   // payload bytes, rows
          "03 00 00 00 00 00 00 00"    // subject
          "10 00 00 00 00 00 00 00"    // first
          "20 00 00 00 00 00 00 00");  // last
  base::append_value(want, base::checksum(want_payload));
  append_checksum(want);
  base::append_bytes(want, want_payload);
  CHECK(want.size() % 8 == 0);
  CHECK(chunk == want);
}

TEST_CASE("host events, bit by bit", "[format]") {
  const std::vector<Record> records{{1000, make_word(RecordKind::kBegin, 1, 2)},
                                    {1004, make_word(RecordKind::kEnd, 1, 2)},
                                    {1012, make_word(RecordKind::kMark, 3)},
                                    {7, make_word(RecordKind::kExtra, 0, 1)},
                                    {1012, make_word(RecordKind::kLaunch, 5, 211)}};
  base::Compressor compressor;
  ColumnWriter columns(compressor);
  HostEventPacker packer;
  CHECK(packer.pack({9, 7, 1, 0}, records, columns) == TickSpan{1000, 1012});
  base::Bytes payload;
  columns.finish(payload);
  CHECK(payload == hex("06 00 00 00 00 00 00 00"
                       "03 00 00 00  04 00 00 00 04 00 00 00"       // symbols
                       "05 00 00 00  01 00 00 00 01 00 00 00"       // values
                       "06 00 00 00  01 00 00 00 01 00 00 00"       // launches
                       "01 00 00 00  04 00 00 00 04 00 00 00"       // head
                       "02 00 00 00  0d 00 00 00 0d 00 00 00"       // words
                       "04 00 00 00  02 00 00 00 02 00 00 00"       // times
                       "01 04 08 0c"                                // word 0 and one end behind it; words 1, 2, 3
                       "0e"                                         // the value
                       "0a"                                         // correlation id 5, as a difference to 0
                       "07  01  00  02"                             // thread id, block, first record, two zero bits
                       "01 02 02  03 00 04  0a 01 05  07 d3 01 00"  // begin, mark, extra, launch
                       "f6 00"));  // 0 | 110 | 11110 | 0: the differences 0, 1, 2, 0 (times 4)
}

TEST_CASE("texts, byte by byte", "[format]") {
  base::Compressor compressor;
  ColumnWriter columns(compressor);
  pack_text(std::vector<TextRow>{{7, "", "ab"}, {9, "", ""}}, columns);
  base::Bytes payload;
  columns.finish(payload);
  CHECK(payload == hex("03 00 00 00 00 00 00 00"
                       "01 00 00 00  02 00 00 00 02 00 00 00"
                       "03 00 00 00  02 00 00 00 02 00 00 00"  // column 2, key sizes, is all zeros
                       "04 00 00 00  02 00 00 00 02 00 00 00"
                       "0e 04   02 00   61 62"));
}

TEST_CASE("the live file's structures, offset by offset", "[format]") {
  CHECK(offsetof(LiveHeader, magic) == 0);
  CHECK(offsetof(LiveHeader, version) == 8);
  CHECK(offsetof(LiveHeader, header_bytes) == 12);
  CHECK(offsetof(LiveHeader, capture_id) == 16);
  CHECK(offsetof(LiveHeader, file_bytes) == 32);
  CHECK(offsetof(LiveHeader, names_offset) == 40);
  CHECK(offsetof(LiveHeader, names_bytes) == 48);
  CHECK(offsetof(LiveHeader, blocks_offset) == 56);
  CHECK(offsetof(LiveHeader, block_bytes) == 64);
  CHECK(offsetof(LiveHeader, block_count) == 68);
  CHECK(offsetof(LiveHeader, file_header) == 72);
  CHECK(offsetof(LiveHeader, checksum) == 200);
  CHECK(offsetof(LiveHeader, names_used) == 208);
  CHECK(offsetof(LiveHeader, health) == 216);
  CHECK(sizeof(LiveHeader) == 728);
  CHECK(std::string_view(kLiveMagic.data(), kLiveMagic.size()) == "RFLIVE\r\n");
  CHECK(offsetof(BlockHeader, used) == 0);
  CHECK(offsetof(BlockHeader, state) == 4);
  CHECK(offsetof(BlockHeader, sequence) == 8);
  CHECK(offsetof(BlockHeader, thread) == 16);
  CHECK(offsetof(BlockHeader, tid) == 20);
  CHECK(offsetof(BlockHeader, drained) == 24);
  CHECK(offsetof(BlockHeader, thread_name) == 32);
  CHECK(offsetof(BlockHeader, dropped_ranges) == 48);
  CHECK(sizeof(BlockHeader) == 64);
  CHECK(rangefinder::detail::kBlockBytes == 65536);
  CHECK(offsetof(Record, ticks) == 0);
  CHECK(offsetof(Record, word) == 8);
  CHECK(make_word(RecordKind::kLaunch, 0x11223344, 0x55667788) == 0x1122334466778807);
}

namespace {

/// The rows of the tables of the page, by the chunk kind in the heading above: "| 1 | delta | i64 |".
std::map<int, std::vector<std::string>> tables_of_the_page() {
  std::ifstream page(CAPTURE_FORMAT_PAGE);
  std::map<int, std::vector<std::string>> tables;
  int kind = -1;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#"))
      kind = line.starts_with("### ") && std::isdigit(static_cast<unsigned char>(line[4])) != 0
                 ? std::atoi(line.c_str() + 4)
                 : -1;
    if (kind < 0 || !line.starts_with("| ") || std::isdigit(static_cast<unsigned char>(line[2])) == 0) continue;
    std::istringstream cells(line);
    std::string bar, column, coding, type;
    cells >> bar >> column >> bar >> coding >> bar >> type;
    tables[kind].push_back(column + " " + coding + " " + type);
  }
  return tables;
}

template <typename Row>
std::vector<std::string> fields_of() {
  std::vector<std::string> fields;
  for (const Field& field : Row::kFields) {
    const char* coding = field.coding == Coding::kPlain ? "plain" : field.coding == Coding::kDelta ? "delta" : "begin";
    fields.push_back(std::to_string(field.column) + " " + coding + " " + (field.is_signed ? "i" : "u") +
                     std::to_string(field.bytes * 8));
  }
  return fields;
}

}  // namespace

TEST_CASE("the page's tables of columns are those of the code", "[format]") {
  const auto tables = tables_of_the_page();
  REQUIRE(tables.size() >= 13);
  const auto check = [&]<typename Row>() {
    INFO("kind " << static_cast<int>(Row::kKind));
    const auto found = tables.find(static_cast<int>(Row::kKind));
    REQUIRE(found != tables.end());
    CHECK(found->second == fields_of<Row>());
  };
  check.operator()<KernelRow>();
  check.operator()<MemcpyRow>();
  check.operator()<MemsetRow>();
  check.operator()<ApiRow>();
  check.operator()<SyncRow>();
  check.operator()<OverheadRow>();
  check.operator()<DeviceRow>();
  check.operator()<ContextRow>();
  check.operator()<StreamRow>();
  check.operator()<ClockRow>();
  check.operator()<WindowRow>();
  check.operator()<HealthRow>();
  check.operator()<ThreadRow>();
  check.operator()<GraphNodeRow>();
  check.operator()<DeviceSampleRow>();
  check.operator()<RangeMetricRow>();
  check.operator()<MetricSampleRow>();
  check.operator()<GraphLaunchRow>();
  check.operator()<AllocationRow>();
  check.operator()<JitRow>();
}
