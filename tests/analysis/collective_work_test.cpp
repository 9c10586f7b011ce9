// SPDX-License-Identifier: MIT
#include "analysis/collective_work.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"
#include "timeline/collectives.hpp"

using namespace rangefinder;
using namespace rangefinder::testing;
using analysis::collective_works;
using analysis::CollectiveWork;
using analysis::counted_bytes;

namespace {

CollectiveRow called(std::int64_t begin_ns, std::int64_t end_ns) {
  CollectiveRow row;
  row.kind = CollectiveKind::kAllReduce;
  row.thread = ThreadIndex(0);
  row.begin_ns = begin_ns;
  row.end_ns = end_ns;
  return row;
}

}  // namespace

TEST_CASE("work of a collective is that of its kernels, else what its library told, else the call", "[collectives]") {
  TimelineBuilder builder;
  CollectiveTable& table = builder.timeline().collectives;
  table.append(called(0, 20));
  builder.launch(5).on_stream(9).kernel(60, 90, "ncclDevKernel_AllReduce");
  builder.launch(6).on_stream(8).kernel(50, 70, "ncclDevKernel_AllReduce").launch(7).kernel(10, 40, "gemm");
  CollectiveRow told = called(100, 110);
  told.started_ns = 120;
  told.completed_ns = 150;
  table.append(told);
  table.append(called(200, 230));
  CollectiveRow open = called(300, 310);
  open.started_ns = 320;
  table.append(open);
  table.append(called(400, kNoTime));
  Timeline timeline = builder.build();
  timeline::join_collectives(timeline);
  const std::vector<CollectiveWork> works = collective_works(timeline);
  REQUIRE(works.size() == 5);
  CHECK(works[0].begin_ns == 50);
  CHECK(works[0].end_ns == 90);
  CHECK(timeline.streams[works[0].stream].id == 8);
  CHECK(works[0].kernels == 2);
  CHECK(works[0].kernel_sum_ns == 50);
  CHECK(works[1].begin_ns == 120);
  CHECK(works[1].end_ns == 150);
  CHECK(works[1].stream == kNone);
  CHECK(works[2].begin_ns == 200);
  CHECK(works[2].end_ns == 230);
  // It began behind the return of the call, and was not done.
  CHECK(works[3].begin_ns == 320);
  CHECK(works[3].end_ns == kNoTime);
  CHECK(works[4].begin_ns == 400);
  CHECK(works[4].end_ns == kNoTime);
}

TEST_CASE("bytes of a collective need elements, a type, and for some the number of ranks", "[collectives]") {
  Timeline timeline;
  CollectiveRow row = called(0, 1);
  row.kind = CollectiveKind::kAllGather;
  row.elements_in = 100;
  row.dtype = timeline.intern("Half");
  timeline.collectives.append(row);
  row.dtype = timeline.intern("a type of tomorrow");
  timeline.collectives.append(row);
  row.kind = CollectiveKind::kBarrier;
  row.dtype = timeline.intern("Float");
  timeline.collectives.append(row);
  CHECK(counted_bytes(timeline, CollectiveIndex(0), 4) == 800u);
  CHECK_FALSE(counted_bytes(timeline, CollectiveIndex(0), 0).has_value());
  CHECK_FALSE(counted_bytes(timeline, CollectiveIndex(1), 4).has_value());
  CHECK_FALSE(counted_bytes(timeline, CollectiveIndex(2), 4).has_value());
}
