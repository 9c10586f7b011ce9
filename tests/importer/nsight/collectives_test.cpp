// SPDX-License-Identifier: MIT
#include "importer/nsight/collectives.hpp"

#include "importer/nsight/nsight_file.hpp"
#include "importer/nsight/nsight_importer.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/analysis/collectives.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::has_note;
using rangefinder::testing::NsightFile;

namespace {

// As NCCL numbers its layouts, from 2^24 on.
constexpr std::int64_t kLayouts = 1 << 24;
enum Layout : std::int64_t { kInitRank = 0, kAllGather = 4, kAllReduce = 5, kReduceScatter = 7, kSend = 9 };

/// Bytes of a number, in hexadecimal digits.
std::string hex(std::int64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(value >> (8 * i) & 0xFF));
    out += digits;
  }
  return out;
}

/// A payload as an export holds it: header, then numbers of 4 or 8 bytes.
std::string payload(std::int64_t layout, std::initializer_list<std::pair<std::int64_t, int>> numbers) {
  std::string body;
  for (const auto& [value, bytes] : numbers) body += hex(value, bytes);
  return hex(1, 8) + hex(kLayouts + layout, 8) + hex(static_cast<std::int64_t>(body.size() / 2), 8) + hex(32, 8) + body;
}

/// An export with the layouts that NCCL 2.27 registers.
class NcclFile : public NsightFile {
 public:
  NcclFile() {
    run("CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER "
        "NOT "
        "NULL, flags INTEGER, type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER)");
    const auto layout = [&](std::int64_t id, std::initializer_list<std::pair<const char*, int>> fields,
                            int second = 8) {
      int offset = 0, index = 0;
      for (const auto& [name, type] : fields) {
        // Nsight writes no offset where it is 0.
        run("INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, type, name, offset) VALUES (1, " +
            std::to_string(kLayouts + id) + ", " + std::to_string(index) + ", " + std::to_string(type) + ", '" + name +
            "', " + (offset == 0 ? "NULL" : std::to_string(offset)) + ")");
        offset += index++ == 0 ? 8 : second;
      }
    };
    layout(kInitRank, {{"NCCL communicator ID", 18}, {"No. of ranks", 5}, {"Rank", 5}, {"CUDA device", 5}}, 4);
    for (const Layout two : {kAllGather, kReduceScatter})
      layout(two, {{"NCCL communicator ID", 18}, {"Message size [bytes]", 22}});
    layout(kAllReduce, {{"NCCL communicator ID", 18}, {"Message size [bytes]", 22}, {"Reduction operation", 16777240}});
    layout(kSend, {{"NCCL communicator ID", 18}, {"Message size [bytes]", 22}, {"Peer rank", 5}});
    run("INSERT INTO NVTX_EVENTS (start, eventType, globalTid, domainId, text) VALUES (0, 75, " +
        std::to_string(kGlobalPid | 1000) + ", 1, 'NCCL')");
  }
  /// A range of NCCL's domain. `blob`: hexadecimal digits; empty: none.
  NcclFile& call(std::string_view name, std::int64_t begin, std::int64_t end, const std::string& blob = {},
                 int tid = 1000) {
    run("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, domainId, textId, binaryData) VALUES (" +
        std::to_string(begin) + ", " + std::to_string(end) + ", 59, " + std::to_string(kGlobalPid | tid) + ", 1, " +
        std::to_string(string(name)) + ", " + (blob.empty() ? "NULL" : "X'" + blob + "'") + ")");
    return *this;
  }
  NcclFile& init(std::int64_t communicator, int ranks, int rank, std::int64_t begin, int tid = 1000) {
    return call("ncclCommInitRankConfig", begin, begin + 1,
                payload(kInitRank, {{communicator, 8}, {ranks, 4}, {rank, 4}, {0, 4}, {0, 4}}), tid);
  }
  NcclFile& all_reduce(std::int64_t communicator, std::int64_t bytes, std::int64_t begin, std::int64_t end,
                       int tid = 1000) {
    return call("ncclAllReduce", begin, end, payload(kAllReduce, {{communicator, 8}, {bytes, 8}, {0, 4}, {0, 4}}), tid);
  }
};

constexpr const char* kAllReduceKernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

std::string word(const Timeline& timeline, StringId id) { return std::string(timeline.text(id)); }

}  // namespace

TEST_CASE("a call of NCCL is a collective with its communicator, elements and kernel", "[importer_nsight]") {
  NcclFile file;
  file.init(0xABCD, 4, 2, 10);
  file.all_reduce(0xABCD, 4096, 100, 200);
  file.launch(kAllReduceKernel, 120, 130, 300, 500, 1);
  const auto timeline = file.import();
  REQUIRE(timeline);
  const CollectiveTable& table = timeline->collectives;
  REQUIRE(table.size() == 1);
  CHECK(table.kind[0] == CollectiveKind::kAllReduce);
  CHECK(table.source[0] == CollectiveSource::kNccl);
  CHECK(word(*timeline, table.name[0]) == "ncclAllReduce");
  CHECK(table.elements_in[0] == 1024);
  CHECK(table.elements_out[0] == 1024);
  CHECK(word(*timeline, table.dtype[0]) == "ncclFloat32");
  CHECK(table.number[0] == 0);
  CHECK(table.begin_ns[0] == 100);
  CHECK(table.end_ns[0] == 200);
  CHECK(timeline->threads[table.thread[0]].tid == 1000);
  REQUIRE(table.group[0] != kNone);
  const ProcessGroupInfo& group = timeline->process_groups[table.group[0]];
  CHECK(group.source == CollectiveSource::kNccl);
  CHECK(group.name == "000000000000abcd");
  CHECK(group.size == 4);
  REQUIRE(timeline->activities.size() == 1);
  CHECK(timeline->activities.collective[0] == CollectiveIndex(0));
  CHECK_FALSE(has_note(*timeline, "not read"));
  const MatchedCollectives matched = match_collectives(*timeline);
  REQUIRE(matched.collectives.size() == 1);
  CHECK(matched.collectives[0].bytes == 4096);
  CHECK(matched.collectives[0].latency_ns == 200);
  CHECK(matched.collectives[0].ranks == 4);
}

TEST_CASE("NCCL tells the size of a part, which elements of the whole follow from", "[importer_nsight]") {
  NcclFile file;
  file.init(7, 4, 0, 1);
  const auto two = [](Layout layout) { return payload(layout, {{7, 8}, {100, 8}}); };
  const auto peer = [](std::int64_t rank) { return payload(kSend, {{7, 8}, {100, 8}, {rank, 4}, {0, 4}}); };
  file.call("ncclAllGather", 10, 20, two(kAllGather)).call("ncclReduceScatter", 30, 40, two(kReduceScatter));
  file.call("ncclSend", 50, 60, peer(3)).call("ncclRecv", 70, 80, peer(1));
  const auto timeline = file.import();
  REQUIRE(timeline);
  const CollectiveTable& table = timeline->collectives;
  REQUIRE(table.size() == 4);
  const struct {
    CollectiveKind kind;
    std::int64_t in, out, number;
    std::int32_t peer;
  } expected[] = {{CollectiveKind::kAllGather, 100, 400, 0, -1},
                  {CollectiveKind::kReduceScatter, 400, 100, 1, -1},
                  {CollectiveKind::kSend, 100, -1, -1, 3},
                  {CollectiveKind::kReceive, -1, 100, -1, 1}};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(table.kind[i] == expected[i].kind);
    CHECK(table.elements_in[i] == expected[i].in);
    CHECK(table.elements_out[i] == expected[i].out);
    CHECK(table.number[i] == expected[i].number);
    CHECK(table.peer[i] == expected[i].peer);
    CHECK(word(*timeline, table.dtype[i]) == "Byte");  // of which type they are, nothing tells
  }
}

TEST_CASE("payloads are read as bytes and as hexadecimal digits", "[importer_nsight]") {
  NcclFile file;
  file.all_reduce(5, 800, 10, 20);
  file.run("UPDATE NVTX_EVENTS SET binaryData = hex(binaryData) WHERE binaryData IS NOT NULL");
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->collectives.size() == 1);
  CHECK(timeline->collectives.elements_in[0] == 800);
}

TEST_CASE("without the begin of a communicator its calls have no numbers", "[importer_nsight]") {
  NcclFile file;
  file.all_reduce(5, 800, 10, 20);
  file.all_reduce(5, 800, 30, 40);
  SECTION("it was before the recording") {}
  SECTION("a thread calls for two ranks") { file.init(5, 2, 0, 1).init(5, 2, 1, 3); }
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->collectives.size() == 2);
  CHECK(timeline->collectives.number[0] == -1);
  CHECK(timeline->collectives.number[1] == -1);
  CHECK(timeline->collectives.group[0] != kNone);
}

TEST_CASE("each rank of a process counts its own calls", "[importer_nsight]") {
  NcclFile file;
  file.init(5, 2, 0, 1, 1000).init(5, 2, 1, 1, 1001);
  for (const int tid : {1000, 1001}) file.all_reduce(5, 8, 10, 20, tid).all_reduce(5, 8, 30, 40, tid);
  const auto timeline = file.import();
  REQUIRE(timeline);
  const CollectiveTable& table = timeline->collectives;
  REQUIRE(table.size() == 4);
  for (CollectiveIndex row{0}; row < 4; ++row) CHECK(table.number[row] == (table.begin_ns[row] == 10 ? 0 : 1));
}

TEST_CASE("kernels of grouped calls are launched by the end of the group", "[importer_nsight]") {
  NcclFile file;
  const auto peer = [](std::int64_t rank) { return payload(kSend, {{7, 8}, {100, 8}, {rank, 4}, {0, 4}}); };
  file.call("ncclGroupStart", 10, 11).call("ncclSend", 12, 13, peer(1)).call("ncclRecv", 14, 15, peer(1));
  file.call("ncclGroupEnd", 16, 40).launch("ncclDevKernel_SendRecv", 20, 25, 100, 200, 1);
  const auto timeline = file.import();
  REQUIRE(timeline);
  const CollectiveTable& table = timeline->collectives;
  REQUIRE(table.size() == 2);
  CHECK(table.kind[0] == CollectiveKind::kSend);
  CHECK(table.kind[1] == CollectiveKind::kReceive);
  CHECK(table.end_ns[0] == 40);
  CHECK(table.end_ns[1] == 40);
  CHECK(timeline->activities.collective[0] == CollectiveIndex(0));
}

TEST_CASE("a kernel without a call in the export is a collective of its own", "[importer_nsight]") {
  NsightFile file;
  file.launch("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", 10, 20, 100, 200, 1).launch("gemm", 30, 40, 200, 300, 2);
  const auto timeline = file.import();
  REQUIRE(timeline);
  REQUIRE(timeline->collectives.size() == 1);
  CHECK(timeline->collectives.kind[0] == CollectiveKind::kReduceScatter);
  CHECK(timeline->collectives.thread[0] == kNone);
  CHECK(timeline->activities.collective[0] == CollectiveIndex(0));
  CHECK(timeline->activities.collective[1] == kNone);
}

TEST_CASE("calls without payloads have kind and time", "[importer_nsight]") {
  NcclFile file;
  file.call("ncclAllReduce", 10, 20).call("ncclCommInitRank", 1, 2).call("ncclGroupStart", 5, 6);
  file.launch(kAllReduceKernel, 12, 14, 30, 40, 1);
  const auto timeline = file.import();
  REQUIRE(timeline);
  const CollectiveTable& table = timeline->collectives;
  REQUIRE(table.size() == 1);
  CHECK(table.kind[0] == CollectiveKind::kAllReduce);
  CHECK(table.group[0] == kNone);
  CHECK(table.elements_in[0] == -1);
  CHECK(table.dtype[0] == StringId::kEmpty);
}

TEST_CASE("ranges of a program with names like NCCL's are none of its calls", "[importer_nsight]") {
  NsightFile file;
  file.range("ncclAllReduce", 10, 20).range("nccl:all_reduce", 30, 40);
  const auto timeline = file.import();
  REQUIRE(timeline);
  CHECK(timeline->collectives.empty());
  CHECK(timeline->ranges.size() == 2);
}

TEST_CASE("payloads that are not understood are noted, and damage nothing", "[importer_nsight]") {
  NcclFile file;
  const std::string good = payload(kAllReduce, {{5, 8}, {800, 8}, {0, 4}, {0, 4}});
  for (std::size_t digits = 2; digits < good.size(); digits += 2)
    file.call("ncclAllReduce", static_cast<std::int64_t>(digits), static_cast<std::int64_t>(digits) + 1,
              good.substr(0, digits));
  file.call("ncclAllReduce", 1000, 1001, hex(1, 8) + hex(kLayouts + 99, 8) + hex(8, 8) + hex(32, 8) + hex(5, 8));
  file.call("ncclAllReduce", 1002, 1003, hex(1, 8) + hex(kLayouts + kAllReduce, 8) + hex(-1, 8) + hex(-1, 8));
  file.call("ncclAllReduce", 1004, 1005,
            hex(1, 8) + hex(kLayouts + kAllReduce, 8) + hex(8, 8) + hex(32, 8) + hex(5, 8));
  file.call("ncclAllReduce", 1006, 1007, payload(kAllReduce, {{5, 8}, {-1, 8}, {0, 4}, {0, 4}}));
  const auto timeline = file.import();
  REQUIRE(timeline);
  const CollectiveTable& table = timeline->collectives;
  REQUIRE(table.size() == good.size() / 2 - 1 + 4);
  for (CollectiveIndex row{0}; row < table.size(); ++row) CHECK(table.elements_in[row] == -1);
  CHECK(std::count_if(table.group.begin(), table.group.end(), [](auto group) { return group != kNone; }) == 2);
  CHECK(has_note(*timeline, "payloads of JSON or binary form, not read"));
}

TEST_CASE("a real capture without calls of NCCL has no collectives", "[importer_nsight][data]") {
  // In the second that was kept two processes with communicators of NCCL registered its layouts and called nothing.
  const std::string path = rangefinder::testing::shared_file("data/nsys/h100_2gpu_1s/h100_2gpu_1s.sqlite");
  if (path.empty()) RANGEFINDER_SKIP("data/nsys is not here");
  const auto timeline = importer::nsight::import_nsight(path, {});
  REQUIRE(timeline);
  CHECK(timeline->collectives.empty());
  CHECK(timeline->process_groups.empty());
  CHECK(timeline->health.complete());
  CHECK_FALSE(has_note(*timeline, "NVTX_PAYLOAD_SCHEMA_ENTRIES"));
}
