// SPDX-License-Identifier: MIT
#include "timeline/collectives.hpp"

#include "support/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using timeline::collective_kind;
using timeline::collective_kind_of_kernel;
using timeline::element_bytes;

TEST_CASE("libraries have many names for one kind of collective", "[timeline]") {
  using Kind = CollectiveKind;
  const std::pair<const char*, Kind> names[] = {
      {"allreduce", Kind::kAllReduce},
      {"allreduce_coalesced", Kind::kAllReduce},
      {"nccl:all_reduce", Kind::kAllReduce},
      {"c10d::allreduce_", Kind::kAllReduce},
      {"AllReduce", Kind::kAllReduce},
      {"_allgather_base", Kind::kAllGather},
      {"nccl:_all_gather_base", Kind::kAllGather},
      {"all_gather_into_tensor_coalesced", Kind::kAllGather},
      {"_reduce_scatter_base", Kind::kReduceScatter},
      {"reduce_scatter_tensor_coalesced", Kind::kReduceScatter},
      {"ReduceScatter", Kind::kReduceScatter},
      {"c10d::alltoall_base_", Kind::kAllToAll},
      {"all_to_allv", Kind::kAllToAll},
      {"broadcast", Kind::kBroadcast},
      {"Reduce", Kind::kReduce},
      {"gather", Kind::kGather},
      {"scatter", Kind::kScatter},
      {"nccl:send 0->1", Kind::kSend},
      {"nccl:recv 1<-0", Kind::kReceive},
      {"Recv", Kind::kReceive},
      {"c10d::barrier", Kind::kBarrier},
      {"wait", Kind::kOther},
      {"", Kind::kOther},
      {"nccl:", Kind::kOther},
  };
  for (const auto& [name, kind] : names) {
    CAPTURE(name);
    CHECK(collective_kind(name) == kind);
  }
}

TEST_CASE("kernels of NCCL and RCCL are known by name, and most tell their kind", "[timeline]") {
  using Kind = CollectiveKind;
  CHECK(timeline::is_collective_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
  CHECK(timeline::is_collective_kernel("rcclGenericKernel<1, false>(ncclDevComm*)"));
  CHECK(timeline::is_collective_kernel("void RCCL_AllReduce()"));
  CHECK_FALSE(timeline::is_collective_kernel("ampere_sgemm_128x64_tn"));
  CHECK_FALSE(timeline::is_collective_kernel(""));
  CHECK(collective_kind_of_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)") == Kind::kAllReduce);
  CHECK(collective_kind_of_kernel("ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*)") == Kind::kReduceScatter);
  CHECK(collective_kind_of_kernel("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)") == Kind::kBroadcast);
  CHECK(collective_kind_of_kernel("ncclDevKernel_Reduce_Sum_f32_RING_LL(...)") == Kind::kReduce);
  // An all-to-all, a gather or a pair: the name does not say.
  CHECK(collective_kind_of_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)") == Kind::kOther);
  CHECK(collective_kind_of_kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)") == Kind::kOther);
  CHECK(collective_kind_of_kernel("ncclDevKernel_Generic(...)") == Kind::kOther);
  CHECK(collective_kind_of_kernel("nccl") == Kind::kOther);
}

TEST_CASE("sizes of elements by the names of PyTorch, C++ and NCCL", "[timeline]") {
  const std::pair<const char*, std::uint64_t> types[] = {
      {"Float", 4},
      {"float", 4},
      {"ncclFloat32", 4},
      {"Half", 2},
      {"c10::Half", 2},
      {"BFloat16", 2},
      {"Long", 8},
      {"long int", 8},
      {"Int", 4},
      {"int", 4},
      {"Byte", 1},
      {"Bool", 1},
      {"Double", 8},
      {"unsigned char", 1},
      {"ncclInt8", 1},
      {"ncclUint64", 8},
      {"Float8_e4m3fn", 1},
      {"ncclBfloat16", 2},
      {"TensorList", 0},
      {"Scalar", 0},
      {"", 0},
      {"a type that has a name of more than thirty-two letters", 0},
  };
  for (const auto& [name, bytes] : types) {
    CAPTURE(name);
    CHECK(element_bytes(name) == bytes);
  }
}

TEST_CASE("a kernel belongs to the outermost call that launched it", "[timeline]") {
  Timeline timeline;
  timeline.processes.resize(1);
  timeline.threads.resize(2);
  timeline.devices.resize(1);
  timeline.streams.resize(1);
  const auto call = [&](ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns, CollectiveKind kind) {
    CollectiveRow row;
    row.kind = kind;
    row.thread = thread;
    row.begin_ns = begin_ns;
    row.end_ns = end_ns;
    timeline.collectives.append(row);
  };
  const auto kernel = [&](ThreadIndex thread, std::int64_t launch_ns, const char* name) {
    LaunchRow launch;
    launch.thread = thread;
    launch.time_ns = launch_ns;
    ActivityRow activity;
    activity.name = timeline.intern(name);
    activity.launch = timeline.launches.append(launch);
    activity.begin_ns = launch_ns + 1000;
    activity.end_ns = launch_ns + 2000;
    timeline.activities.append(activity);
  };
  const char* const kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)";
  // Not in order; the send is inside of the all-to-all.
  call(ThreadIndex(0), 500, 600, CollectiveKind::kAllToAll);
  call(ThreadIndex(0), 100, 200, CollectiveKind::kAllReduce);
  call(ThreadIndex(0), 510, 520, CollectiveKind::kSend);
  call(ThreadIndex(1), 100, 200, CollectiveKind::kBroadcast);
  kernel(ThreadIndex(0), 100, kAllReduce);
  kernel(ThreadIndex(0), 199, "gemm");  // launched in the call, and none of NCCL's
  kernel(ThreadIndex(1), 150, "ncclDevKernel_Broadcast_RING_LL(...)");
  kernel(ThreadIndex(0), 515, "ncclDevKernel_SendRecv(...)");
  kernel(ThreadIndex(0), 595, "ncclDevKernel_SendRecv(...)");
  kernel(ThreadIndex(0), 200, kAllReduce);  // the call is over
  timeline::join_collectives(timeline);

  const CollectiveTable& table = timeline.collectives;
  const auto& of = timeline.activities.collective;
  REQUIRE(table.size() == 5);
  CHECK(table.kind[of[0]] == CollectiveKind::kAllReduce);
  CHECK(table.begin_ns[of[0]] == 100);
  CHECK(of[1] == kNone);
  CHECK(table.kind[of[2]] == CollectiveKind::kBroadcast);
  CHECK(table.kind[of[3]] == CollectiveKind::kAllToAll);
  CHECK(of[4] == of[3]);
  // A row of its own, of which the kernel tells the kind.
  CHECK(table.thread[of[5]] == kNone);
  CHECK(table.kind[of[5]] == CollectiveKind::kAllReduce);
  CHECK(timeline.text(table.name[of[5]]) == kAllReduce);
  SECTION("the end of a call counts as inside where ranges are closed") {
    Timeline closed;
    closed.range_end = RangeEnd::kClosed;
    closed.processes.resize(1);
    closed.threads.resize(1);
    closed.devices.resize(1);
    closed.streams.resize(1);
    CollectiveRow row;
    row.kind = CollectiveKind::kAllReduce;
    row.thread = ThreadIndex(0);
    row.begin_ns = 100;
    row.end_ns = 200;
    closed.collectives.append(row);
    LaunchRow launch;
    launch.time_ns = 200;
    ActivityRow activity;
    activity.name = closed.intern(kAllReduce);
    activity.launch = closed.launches.append(launch);
    closed.activities.append(activity);
    timeline::join_collectives(closed);
    CHECK(closed.activities.collective[0] == CollectiveIndex(0));
  }
}

TEST_CASE("what NCCL tells of a call of c10d becomes a part of that call", "[timeline]") {
  Timeline timeline;
  timeline.processes.resize(1);
  timeline.threads.resize(2);
  const auto call = [&](CollectiveSource source, std::uint32_t thread, std::int64_t begin_ns, std::int64_t end_ns,
                        CollectiveKind kind) {
    CollectiveRow row;
    row.source = source;
    row.kind = kind;
    row.thread = ThreadIndex(thread);
    row.begin_ns = begin_ns;
    row.end_ns = end_ns;
    if (source == CollectiveSource::kNccl) {
      row.algorithm = timeline.intern("RING");
      row.channels = 8;
      row.started_ns = begin_ns + 1000;
      row.completed_ns = end_ns + 2000;
    }
    timeline.collectives.append(row);
  };
  call(CollectiveSource::kC10d, 0, 100, 200, CollectiveKind::kAllReduce);
  call(CollectiveSource::kNccl, 0, 110, 120, CollectiveKind::kAllReduce);
  call(CollectiveSource::kC10d, 0, 300, 400, CollectiveKind::kAllToAll);
  call(CollectiveSource::kNccl, 0, 310, 320, CollectiveKind::kSend);
  call(CollectiveSource::kNccl, 0, 330, 340, CollectiveKind::kReceive);
  call(CollectiveSource::kNccl, 0, 500, 520, CollectiveKind::kBroadcast);  // of the program itself
  call(CollectiveSource::kNccl, 1, 110, 120, CollectiveKind::kAllReduce);  // another thread's
  timeline::join_collectives(timeline);
  const CollectiveTable& table = timeline.collectives;
  REQUIRE(table.size() == 4);
  CHECK(table.kind[0] == CollectiveKind::kAllReduce);
  CHECK(timeline.text(table.algorithm[0]) == "RING");
  CHECK(table.channels[0] == 8);
  CHECK(table.started_ns[0] == 1110);
  CHECK(table.completed_ns[0] == 2120);
  CHECK(table.thread[1] == ThreadIndex(1));
  CHECK(table.kind[2] == CollectiveKind::kAllToAll);
  CHECK(table.algorithm[2] == StringId::kEmpty);
  CHECK(table.started_ns[2] == 1310);
  CHECK(table.completed_ns[2] == 2340);
  CHECK(table.kind[3] == CollectiveKind::kBroadcast);
}

namespace {

/// A process with calls of c10d and NCCL's plugin, and kernels, on one thread.
class NcclProgram {
 public:
  NcclProgram() {
    timeline.processes.resize(1);
    timeline.threads.resize(1);
    timeline.devices.resize(1);
    timeline.streams.resize(1);
  }
  void call(CollectiveSource source, CollectiveKind kind, std::int64_t begin_ns, std::int64_t elements = -1,
            std::int32_t peer = -1) {
    CollectiveRow row;
    row.source = source;
    row.kind = kind;
    row.thread = ThreadIndex(0);
    row.begin_ns = begin_ns;
    row.end_ns = begin_ns + 10;
    row.elements_in = kind != CollectiveKind::kReceive || source == CollectiveSource::kNccl ? elements : -1;
    row.elements_out = kind != CollectiveKind::kSend || source == CollectiveSource::kNccl ? elements : -1;
    row.peer = peer;
    row.dtype = timeline.intern(source == CollectiveSource::kNccl ? "ncclFloat32" : "Float");
    if (source == CollectiveSource::kNccl) row.algorithm = timeline.intern("RING"), row.channels = peer;
    timeline.collectives.append(row);
  }
  /// With `captured_ns`, or `is_of_graph`: one of a graph that is replayed at `launch_ns`.
  void kernel(std::int64_t launch_ns, const char* name, std::int64_t captured_ns = kNoTime, bool is_of_graph = false) {
    const auto launch = [&](std::int64_t time_ns) {
      LaunchRow row;
      row.thread = ThreadIndex(0);
      row.time_ns = time_ns;
      return timeline.launches.append(row);
    };
    ActivityRow activity;
    activity.name = timeline.intern(name);
    activity.launch = launch(launch_ns);
    if (captured_ns != kNoTime) activity.captured = launch(captured_ns);
    if (captured_ns != kNoTime || is_of_graph) activity.graph = activity.graph_node = 1;
    activity.begin_ns = launch_ns + 1000;
    activity.end_ns = launch_ns + 2000;
    timeline.activities.append(activity);
  }
  CollectiveIndex of(std::uint32_t kernel) const { return timeline.activities.collective[ActivityIndex(kernel)]; }

  Timeline timeline;
};

constexpr CollectiveSource kC10d = CollectiveSource::kC10d, kNccl = CollectiveSource::kNccl;

}  // namespace

TEST_CASE("calls of c10d that NCCL runs at the end of a group are one row each", "[timeline]") {
  NcclProgram program;
  program.call(kC10d, CollectiveKind::kSend, 100, 8, 1);
  program.call(kC10d, CollectiveKind::kReceive, 120, 8, 1);
  program.call(kC10d, CollectiveKind::kSend, 140, 8, 3);
  program.call(kC10d, CollectiveKind::kReceive, 160, 8, 3);
  program.kernel(195, "ncclDevKernel_SendRecv(...)");
  // NCCL has an order of its own.
  program.call(kNccl, CollectiveKind::kReceive, 200, 8, 3);
  program.call(kNccl, CollectiveKind::kSend, 220, 8, 3);
  program.call(kNccl, CollectiveKind::kReceive, 240, 8, 1);
  program.call(kNccl, CollectiveKind::kSend, 260, 8, 1);
  program.kernel(275, "ncclDevKernel_SendRecv(...)");
  program.call(kNccl, CollectiveKind::kSend, 280, 8, 1);  // of the program itself: c10d called none more
  program.call(kC10d, CollectiveKind::kSend, 300, 8, 1);
  program.call(kC10d, CollectiveKind::kSend, 320, 32, 1);
  program.call(kNccl, CollectiveKind::kSend, 340, 64, 1);  // another size
  program.call(kC10d, CollectiveKind::kSend, 360, 16, 1);
  program.call(kNccl, CollectiveKind::kSend, 380, 8, 1);  // the call at 300 was of an earlier group
  timeline::join_collectives(program.timeline);
  const CollectiveTable& table = program.timeline.collectives;
  std::vector<std::pair<CollectiveSource, std::int64_t>> rows;
  for (CollectiveIndex row{0}; row < table.size(); ++row) rows.emplace_back(table.source[row], table.begin_ns[row]);
  CHECK(rows == std::vector<std::pair<CollectiveSource, std::int64_t>>{{kC10d, 100},
                                                                       {kC10d, 120},
                                                                       {kC10d, 140},
                                                                       {kC10d, 160},
                                                                       {kNccl, 280},
                                                                       {kC10d, 300},
                                                                       {kC10d, 320},
                                                                       {kNccl, 340},
                                                                       {kC10d, 360},
                                                                       {kNccl, 380}});
  for (std::uint32_t row = 0; row < 4; ++row) {
    CHECK(program.timeline.text(table.algorithm[CollectiveIndex(row)]) == "RING");
    CHECK(table.channels[CollectiveIndex(row)] == (row < 2 ? 1 : 3));
  }
  REQUIRE(program.of(0) != kNone);
  CHECK(table.begin_ns[program.of(0)] == 160);  // what NCCL told first
  REQUIRE(program.of(1) != kNone);
  CHECK(table.begin_ns[program.of(1)] == 280);
}

TEST_CASE("a call of c10d that never returned holds what NCCL told in it", "[timeline]") {
  NcclProgram program;
  program.call(kC10d, CollectiveKind::kAllToAll, 100, 8);
  program.timeline.collectives.set(CollectiveIndex(0), [&] {
    CollectiveRow row = program.timeline.collectives.row(CollectiveIndex(0));
    row.end_ns = kNoTime;
    return row;
  }());
  program.call(kNccl, CollectiveKind::kSend, 150, 4, 1);
  program.call(kNccl, CollectiveKind::kReceive, 170, 4, 1);
  timeline::join_collectives(program.timeline);
  REQUIRE(program.timeline.collectives.size() == 1);
  CHECK(program.timeline.collectives.source[0] == kC10d);
}

TEST_CASE("a kernel that NCCL launched outside a call belongs to what its plugin told next", "[timeline]") {
  const char *const kReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", *const kSends =
                                                                                  "ncclDevKernel_SendRecv(...)";
  NcclProgram program;
  program.kernel(90, kReduce);  // nothing was told of it: told of was the next
  program.kernel(100, kReduce);
  program.call(kNccl, CollectiveKind::kAllReduce, 110, 8);
  program.kernel(130, kSends);
  program.call(kNccl, CollectiveKind::kReceive, 140, 8, 1);
  program.call(kNccl, CollectiveKind::kSend, 160, 8, 1);
  program.kernel(200, kReduce);  // and here it told of another kind
  program.call(kNccl, CollectiveKind::kBroadcast, 210, 8, 0);
  program.kernel(300, kReduce, 205);  // of a graph: captured where no all-reduce was told
  program.kernel(310, kReduce, 245);
  program.call(kNccl, CollectiveKind::kAllReduce, 250, 8);
  program.call(kNccl, CollectiveKind::kAllReduce, 330, 8);  // neither kernel's: they are replayed
  program.kernel(320, kReduce, kNoTime, true);
  timeline::join_collectives(program.timeline);
  const CollectiveTable& table = program.timeline.collectives;
  const auto begin_of = [&](std::uint32_t kernel) { return table.begin_ns[program.of(kernel)]; };
  CHECK(begin_of(0) == kNoTime);
  CHECK(begin_of(1) == 110);
  CHECK(begin_of(2) == 140);
  CHECK(begin_of(3) == kNoTime);
  CHECK(begin_of(4) == kNoTime);
  CHECK(program.timeline.text(table.algorithm[program.of(4)]).empty());
  // A row of its own, with what was told when it was captured.
  CHECK(begin_of(5) == kNoTime);
  CHECK(program.timeline.text(table.algorithm[program.of(5)]) == "RING");
  CHECK(begin_of(6) == kNoTime);
  CHECK(program.timeline.text(table.algorithm[program.of(6)]).empty());
  CHECK(table.size() == 6 + 5);
}

TEST_CASE("groups of one name are one where their members are the same", "[timeline]") {
  Timeline timeline;
  ProcessGroupInfo group;
  group.name = "1";
  group.ranks = {0, 1};
  group.size = 2;
  const ProcessGroupIndex first = timeline::add_process_group(timeline, group);
  CHECK(timeline::add_process_group(timeline, group) == first);
  group.ranks = {2, 3};
  CHECK(timeline::add_process_group(timeline, group) != first);
  CHECK(timeline.process_groups.size() == 2);
}
