// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "importer/nsight/nsight_file.hpp"
#include "support/catch.hpp"
#include "support/child_memory.hpp"
#include "support/resident_memory.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"
#include "support/shrinking_file.hpp"
#include "support/timeline_columns.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

using namespace rangefinder;
using importer::nsight::import_nsight;
using importer::nsight::import_nsight_image;
using rangefinder::testing::has_note;
using rangefinder::testing::NsightFile;
using rangefinder::testing::read_while_it_shrinks;
using rangefinder::testing::ScratchFolder;
using rangefinder::testing::TemporaryFile;

namespace {

// Enough rows for several pages a table.
void fill(NsightFile& file, int rows = 200) {
  file.run("BEGIN");
  for (int i = 0; i < rows; ++i) {
    file.range("range " + std::to_string(i), i * 100, i * 100 + 90);
    file.launch("kernel" + std::to_string(i % 7), i * 100 + 10, i * 100 + 20, i * 100 + 30, i * 100 + 60, i + 1);
  }
  file.run("COMMIT");
}

// A reader that believes every column would use these as indices.
void check_consistent(const Timeline& timeline) {
  const RangeTable& ranges = timeline.ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    REQUIRE(ranges.thread[i] < timeline.threads.size());
    REQUIRE(ranges.end_thread[i] < timeline.threads.size());
    REQUIRE(ranges.begin_ns[i] <= ranges.end_ns[i]);
  }
  const ActivityTable& activities = timeline.activities;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    REQUIRE(activities.begin_ns[i] <= activities.end_ns[i]);
    REQUIRE(activities.stream[i] < timeline.streams.size());
    REQUIRE((activities.launch[i] == kNone || activities.launch[i] < timeline.launches.size()));
    const std::size_t details =
        activities.kind[i] == ActivityKind::kKernel ? timeline.kernel_details.size() : timeline.copy_details.size();
    REQUIRE(activities.detail[i] < details);
  }
}

}  // namespace

TEST_CASE("what is no database gets one line with the reason", "[importer_nsight]") {
  const auto message_for = [](base::ByteView content) {
    const TemporaryFile file("input.sqlite", content);
    const auto timeline = import_nsight(file.path(), {});
    REQUIRE_FALSE(timeline);
    CHECK(timeline.error().code() == ErrorCode::kUnreadable);
    CHECK(timeline.error().message().find(file.path()) == 0);
    CHECK(timeline.error().message().find('\n') == std::string::npos);
    return timeline.error().message();
  };
  SECTION("text") {
    CHECK(message_for(base::as_bytes(std::string(5000, 'x'))).find("not an SQLite database") != std::string::npos);
  }
  SECTION("encrypted: the magic with noise behind it") {
    std::mt19937_64 random(rangefinder::testing::property_seed("noise"));
    std::string noise(16384, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    std::memcpy(noise.data(), "SQLite format 3", 16);
    message_for(base::as_bytes(noise));
  }
  SECTION("the first page alone") {
    base::Bytes image = NsightFile().image();
    image.resize(100);
    message_for(image);
  }
}

TEST_CASE("an empty file is no export", "[importer_nsight]") {
  const TemporaryFile file("empty.sqlite", {});
  const auto timeline = import_nsight(file.path(), {});
  REQUIRE_FALSE(timeline);
  CHECK(timeline.error().code() == ErrorCode::kUnreadable);
}

TEST_CASE("a view or virtual table in place of a table is not read, and named", "[importer_nsight]") {
  NsightFile file;
  file.launch("k", 1, 2, 3, 4, 1).run("DROP TABLE NVTX_EVENTS");
  SECTION("view") {
    file.run(
        "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) "
        "SELECT start, start + 1 AS end, 59 AS eventType FROM n");
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(timeline->ranges.size() == 0);
    CHECK(has_note(*timeline, "NVTX_EVENTS is a view, not a table: not read"));
  }
  SECTION("virtual table") {
    file.run("CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(start, end, eventType)");
    CHECK(has_note(*file.import(), "NVTX_EVENTS is a virtual table, not a table: not read"));
  }
}

TEST_CASE("triggers and indexes of the file change nothing", "[importer_nsight]") {
  NsightFile file;
  fill(file, 3);
  file.run("CREATE TRIGGER t AFTER INSERT ON NVTX_EVENTS BEGIN DELETE FROM NVTX_EVENTS; END");
  file.run("CREATE INDEX backwards ON NVTX_EVENTS (start DESC, end, eventType, globalTid, text)");
  file.run("CREATE INDEX partial ON NVTX_EVENTS (start) WHERE abs(start) > 50");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->ranges.source_row == std::vector<std::int64_t>{1, 2, 3});
  CHECK(timeline->health.complete());
}

TEST_CASE("rows whose values make no sense are set aside and counted", "[importer_nsight]") {
  NsightFile file(NsightFile::Tables::kNone);
  file.run("CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, text)");
  file.run(
      "INSERT INTO NVTX_EVENTS VALUES ('noon', 5, 59, 1, 'text start'), (NULL, 5, 59, 1, 'no start'),"
      "(9, 5, 59, 1, 'backwards'), (9223372036854775807, 9223372036854775807, 59, 1, 'never'),"
      "(1, x'00', 59, 1, 'blob end'), (1, 5, NULL, 1, 'no type'), (1.5, 5, 59, 1, 'fraction'),"
      "(2.0, 5.0, 59.0, 1.0, 'whole doubles'), (1, 5, 59, 'me', 'no thread'), (1, 5, 59, 1, 7), (1, 5, 59, 1, x'66')");
  const auto timeline = file.import();
  REQUIRE(timeline);
  check_consistent(*timeline);
  std::vector<std::string> names;
  for (const StringId name : timeline->ranges.name) names.emplace_back(timeline->text(name));
  CHECK(names == std::vector<std::string>{"blob end", "whole doubles", "no thread", "7", "f"});
  CHECK(timeline->ranges.begin_ns[1] == 2);
  CHECK(timeline->ranges.flags[0] == kUnfinished);
  CHECK(timeline->ranges.flags[2] == kOwnerless);
  CHECK(has_note(*timeline, "NVTX_EVENTS: 6 rows set aside; row 1: no start"));
  CHECK(has_note(*timeline, "values of the wrong type, read as absent"));
}

TEST_CASE("activities that end before they start are counted", "[importer_nsight]") {
  NsightFile file;
  file.launch("k", 1, 2, 30, 20, 1).launch("k", 1, 2, 3, 4, 2);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->activities.size() == 1);
  CHECK(timeline->health.invalid_activities == 1);
  CHECK(has_note(*timeline, "CUPTI_ACTIVITY_KIND_KERNEL: 1 row set aside; row 1: it ends before it begins"));
}

TEST_CASE("names that the file does not hold are counted once each", "[importer_nsight]") {
  NsightFile file;
  file.launch("a", 1, 2, 3, 4, 1).launch("a", 5, 6, 7, 8, 2);
  file.run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 4711");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->health.lost_names == 1);
  CHECK(timeline->text(timeline->activities.name[0]) == "(string 4711 missing)");
}

TEST_CASE("a name of a megabyte is kept, one past the limit ends its table", "[importer_nsight]") {
  NsightFile file;
  file.range("first", 1, 2).range(std::string(1 << 20, 'n'), 3, 4);
  SECTION("megabyte") {
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(timeline->text(timeline->ranges.name[1]).size() == 1 << 20);
    CHECK(timeline->health.complete());
  }
  SECTION("17 megabytes") {
    file.range(std::string(17 << 20, 'n'), 5, 6).range("after", 7, 8);
    const auto timeline = file.import();
    REQUIRE(timeline);
    CHECK(timeline->ranges.size() == 2);
    CHECK(timeline->health.damaged_chunks >= 1);
    CHECK(has_note(*timeline, "NVTX_EVENTS: damaged after 2 rows (string or blob too big)"));
  }
}

TEST_CASE("names keep every byte", "[importer_nsight]") {
  NsightFile file;
  file.range("x", 1, 2).run("UPDATE NVTX_EVENTS SET text = CAST(x'6100FF1B62' AS TEXT)");
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->text(timeline->ranges.name[0]) == std::string_view("a\0\xFF\x1B"
                                                                     "b",
                                                                     5));
}

TEST_CASE("changes that a writer left beside the file are named", "[importer_nsight]") {
  NsightFile content;
  const TemporaryFile file("x.sqlite", content.image());
  CHECK_FALSE(has_note(*import_nsight(file.path(), {}), "-wal"));
  std::FILE* wal = std::fopen((file.path() + "-wal").c_str(), "w");
  REQUIRE(wal != nullptr);
  std::fputs("frames", wal);
  std::fclose(wal);
  CHECK(has_note(*import_nsight(file.path(), {}), "-wal holds changes that are not in the file"));
}

TEST_CASE("more rows than the memory limit allows are refused before they are read", "[importer_nsight]") {
  NsightFile file;
  fill(file, 100);
  LoadOptions options;
  options.max_unpacked_bytes = 10'000;
  const auto timeline = file.import(options);
  REQUIRE_FALSE(timeline);
  CHECK(timeline.error().code() == ErrorCode::kUnreadable);
}

TEST_CASE("an export that needs more memory than allowed is refused within that memory", "[importer_nsight]") {
  constexpr std::int64_t kMiB = 1 << 20;
  NsightFile file;
  file.run("BEGIN");
  for (int i = 0; i < 200'000; ++i) file.range("range", i * 100, i * 100 + 90);
  file.run("COMMIT");
  const base::Bytes image = file.image();
  const auto run = rangefinder::testing::run_in_child([&] {
    LoadOptions options;
    options.max_memory_bytes = 16 * kMiB;
    const auto timeline = import_nsight_image(image, options);
    return !timeline && timeline.error().code() == ErrorCode::kTooLarge ? 0 : 1;
  });
  CHECK(run.code == 0);
  if (rangefinder::testing::resident_memory_counts()) CHECK(run.growth_bytes < 40 * kMiB);
  CHECK(import_nsight_image(image, {}));
}

TEST_CASE("a tree whose pages point at each other ends", "[importer_nsight][fault]") {
  NsightFile file(NsightFile::Tables::kNone);
  file.run(
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, "
      "globalTid INTEGER, text TEXT)");
  file.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
      "INSERT INTO NVTX_EVENTS SELECT i, i + 1, 59, 1, 'r' FROM n");
  base::Bytes image = file.image();
  // All children of the table's root, and of the pages below it, become the first of them.
  constexpr std::size_t kPage = 512;
  int redirected = 0;
  for (std::size_t page = 1; page * kPage < image.size(); ++page) {
    const auto byte = [&](std::size_t at) -> std::byte& { return image[page * kPage + at]; };
    if (byte(0) != std::byte{5}) continue;  // interior page of a table
    const auto cells = static_cast<std::size_t>(byte(3)) << 8 | static_cast<std::size_t>(byte(4));
    const auto offset_of = [&](std::size_t cell) {
      return static_cast<std::size_t>(byte(12 + 2 * cell)) << 8 | static_cast<std::size_t>(byte(13 + 2 * cell));
    };
    REQUIRE(cells < kPage / 6);
    for (std::size_t cell = 1; cell < cells; ++cell, ++redirected) {
      REQUIRE(offset_of(cell) < kPage - 4);
      std::copy_n(&byte(offset_of(0)), 4, &byte(offset_of(cell)));
    }
  }
  REQUIRE(redirected > 10);
  const auto timeline = import_nsight_image(image, {});
  REQUIRE(timeline);
  check_consistent(*timeline);
  CHECK(timeline->ranges.size() <= image.size() / 4);
  CHECK(timeline->health.damaged_chunks >= 1);
}

TEST_CASE("a file cut short says how much of it is there", "[importer_nsight][fault]") {
  NsightFile file;
  fill(file);
  const base::Bytes image = file.image();
  for (std::size_t size = 0; size < image.size(); size += size < 200 ? 1 : 337) {
    CAPTURE(size);
    const auto timeline = import_nsight_image(base::ByteView(image).first(size), {});
    REQUIRE_FALSE(timeline);
    CHECK(timeline.error().code() == ErrorCode::kUnreadable);
    if (size >= 100) CHECK(timeline.error().message().find("cut off: ") == 0);
  }
}

TEST_CASE("a page that is lost costs rows, and is counted", "[importer_nsight][fault]") {
  NsightFile file;
  fill(file);
  const base::Bytes image = file.image();
  constexpr std::size_t kPage = 512;
  const std::size_t whole = import_nsight_image(image, {})->ranges.size();
  std::size_t partial = 0;
  for (std::size_t page = 1; page * kPage < image.size(); ++page) {
    CAPTURE(page);
    base::Bytes damaged = image;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(page * kPage), kPage, std::byte{0xFF});
    const auto timeline = import_nsight_image(damaged, {});
    if (!timeline) continue;  // a page of the schema
    check_consistent(*timeline);
    if (timeline->ranges.size() == whole) continue;
    ++partial;
    CHECK_FALSE(timeline->health.complete());
    LoadOptions strict;
    strict.strict = true;
    const auto refused = import_nsight_image(damaged, strict);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kIncomplete);
  }
  CHECK(partial > 10);
}

TEST_CASE("any bytes changed give a consistent timeline or an error", "[importer_nsight][property]") {
  NsightFile file;
  fill(file, 60);
  const base::Bytes image = file.image();
  const std::uint64_t seed = GENERATE(from_range(rangefinder::testing::property_seeds("damaged SQLite", 4)));
  INFO("RANGEFINDER_SEED=" << seed);
  std::mt19937_64 random(seed);
  int readable = 0;
  for (int round = 0; round < 150; ++round) {
    base::Bytes damaged = image;
    const std::size_t changes = 1 + random() % 30;
    for (std::size_t i = 0; i < changes; ++i) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const auto timeline = import_nsight_image(damaged, {});
    if (!timeline) continue;
    check_consistent(*timeline);
    ++readable;
  }
  CHECK(readable > 0);
}

TEST_CASE("an export that shrinks while it is read does not end the reader", "[importer_nsight][fault]") {
  const ScratchFolder folder(true);
  const std::string path = folder.file("a.sqlite");
  NsightFile file;
  fill(file, 3'000);
  read_while_it_shrinks(path, file.image(), 50, [&] {
    const auto timeline = import_nsight(path, {});
    return timeline.ok() || timeline.error().message().find(path) != std::string::npos;
  });
}

TEST_CASE("an export that became shorter says so", "[importer_nsight]") {
  const ScratchFolder folder(true);
  NsightFile file;
  fill(file, 3'000);
  struct Cut {
    std::string path;
    bool done = false;
  } cut{folder.file("a.sqlite")};
  const base::Bytes image = file.image();
  const base::Fd fd(::open(cut.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(base::write_at(fd, image, 0, cut.path).ok());
  LoadOptions options;
  options.progress = [](void* user, std::uint64_t, std::uint64_t) {
    static_cast<Cut*>(user)->done = ::truncate(static_cast<Cut*>(user)->path.c_str(), 8'192) == 0;
  };
  options.progress_user = &cut;
  const auto timeline = import_nsight(cut.path, options);
  REQUIRE(cut.done);
  REQUIRE_FALSE(timeline);
  CHECK(timeline.error().message() == cut.path + ": became shorter while it was being read, from " +
                                          std::to_string(image.size()) +
                                          " to 8192 bytes; read it again when it is whole");
}
