// SPDX-License-Identifier: MIT
#include "importer/kineto/collectives.hpp"

#include "support/shared_data.hpp"
#include "trace_text.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::shared_file;
using rangefinder::testing::trace_of;

namespace {

std::string slice(const std::string& category, const std::string& name, int tid, int begin, int end,
                  const std::string& arguments) {
  return "{\"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name +
         "\", \"pid\": 1, \"tid\": " + std::to_string(tid) + ", \"ts\": " + std::to_string(begin) +
         ", \"dur\": " + std::to_string(end - begin) + ", \"args\": {" + arguments + "}}";
}

std::string launch(int tid, int at, int correlation) {
  return slice("cuda_runtime", "cudaLaunchKernel", tid, at, at + 2,
               "\"cbid\": 211, \"correlation\": " + std::to_string(correlation));
}

std::string kernel(const std::string& name, int begin, int end, int correlation, const std::string& more = {}) {
  return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" + name +
         "\", \"pid\": 0, \"tid\": 7, \"ts\": " + std::to_string(begin) + ", \"dur\": " + std::to_string(end - begin) +
         ", \"args\": {\"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": " + std::to_string(correlation) +
         more + "}}";
}

Loaded load_all(const std::vector<std::string>& events) {
  std::string text;
  for (const std::string& event : events) text += (text.empty() ? "" : ",\n") + event;
  return load(trace_of(text));
}

constexpr const char* kParameters =
    "\"External id\": 12, \"Collective name\": \"_allgather_base\", \"dtype\": \"BFloat16\", \"In msg nelems\": 100, "
    "\"Out msg nelems\": 400, \"Group size\": 4, \"In split size\": \"[]\", \"Out split size\": \"[]\", "
    "\"Process Group Name\": \"7\", \"Process Group Description\": \"tensor parallel\", "
    "\"Process Group Ranks\": \"[4, 5, 6, 7]\", \"Seq\": 31, \"Rank\": 5";

}  // namespace

TEST_CASE("three slices in each other are one collective, and its kernel belongs to it", "[kineto]") {
  const Loaded trace = load_all({
      slice("cpu_op", "c10d::_allgather_base_", 10, 0, 100, "\"External id\": 11, \"Input Dims\": [[400], [100], []]"),
      slice("cpu_op", "record_param_comms", 10, 10, 90, kParameters),
      slice("user_annotation", "nccl:_all_gather_base", 10, 20, 80, "\"External id\": 13"),
      launch(10, 50, 77),
      kernel("ncclDevKernel_AllGather_RING_LL(...)", 200, 300, 77),
  });
  const CollectiveTable& table = trace.timeline.collectives;
  REQUIRE(table.size() == 1);
  CHECK(table.kind[0] == CollectiveKind::kAllGather);
  CHECK(trace.text(table.name[0]) == "_allgather_base");
  CHECK(table.number[0] == 31);
  CHECK(table.elements_in[0] == 100);
  CHECK(table.elements_out[0] == 400);
  CHECK(trace.text(table.dtype[0]) == "BFloat16");
  CHECK(table.peer[0] == -1);
  CHECK(table.in_splits[0] == StringId::kEmpty);
  CHECK(table.begin_ns[0] == 0);
  CHECK(table.end_ns[0] == 100'000);
  CHECK(table.thread[0] != kNone);
  REQUIRE(table.group[0] != kNone);
  const ProcessGroupInfo& group = trace.timeline.process_groups[table.group[0]];
  CHECK(group.name == "7");
  CHECK(group.description == "tensor parallel");
  CHECK(group.ranks == std::vector<std::int64_t>{4, 5, 6, 7});
  CHECK(group.size == 4);
  CHECK(trace.timeline.activities.collective[0] == CollectiveIndex(0));
}

TEST_CASE("traces of torch before 2.2 tell kind and size by what is around", "[kineto]") {
  const Loaded trace = load_all({
      // A wait: it tells nothing.
      slice("cpu_op", "record_param_comms", 10, 0, 5, "\"Input Dims\": [[], [], []], \"Input type\": [\"Scalar\"]"),
      slice("cpu_op", "c10d::alltoall_base_", 10, 10, 100,
            "\"Input Dims\": [[768], [3392], [], []], \"Input type\": [\"int\", \"int\", \"\", \"\"]"),
      slice("cpu_op", "record_param_comms", 10, 12, 98, "\"Input Dims\": [[3392], [], []], \"Input type\": [\"int\"]"),
      slice("cpu_op", "nccl:all_to_all", 10, 14, 96, "\"Input Dims\": [[3392]], \"Input type\": [\"int\"]"),
      // No dispatcher's operator, and tensors in a list.
      slice("cpu_op", "record_param_comms", 11, 10, 60, ""),
      slice("user_annotation", "nccl:all_reduce", 11, 12, 58,
            "\"Input Dims\": [[[8, 4], [16]]], \"Input type\": [\"TensorList\"]"),
  });
  const CollectiveTable& table = trace.timeline.collectives;
  REQUIRE(table.size() == 2);
  const bool first_is_a2a = table.kind[0] == CollectiveKind::kAllToAll;
  const std::size_t a2a = first_is_a2a ? 0 : 1, reduce = first_is_a2a ? 1 : 0;
  CHECK(table.kind[a2a] == CollectiveKind::kAllToAll);
  CHECK(table.elements_in[a2a] == 3392);
  CHECK(table.elements_out[a2a] == 768);
  CHECK(trace.text(table.dtype[a2a]) == "int");
  CHECK(table.group[a2a] == kNone);
  CHECK(table.number[a2a] == -1);
  CHECK(table.kind[reduce] == CollectiveKind::kAllReduce);
  CHECK(table.elements_in[reduce] == 48);
  CHECK(table.dtype[reduce] == StringId::kEmpty);
}

TEST_CASE("a kernel whose call is not in the trace tells as much as it has", "[kineto]") {
  const Loaded trace = load_all({
      kernel("ncclDevKernel_Generic(...)", 100, 200, 5,
             ", \"Collective name\": \"reduce_scatter\", \"dtype\": \"Half\", \"In msg nelems\": 64, "
             "\"Out msg nelems\": 16, \"Group size\": 4, \"Process Group Name\": \"0\", "
             "\"Process Group Ranks\": \"[0, 1, ..., 3]\", \"Global rank start\": 8, \"Global rank stride\": 2"),
      kernel("ncclDevKernel_AllReduce_Sum_f32_TREE_LL(...)", 300, 400, 6),
  });
  const CollectiveTable& table = trace.timeline.collectives;
  REQUIRE(table.size() == 2);
  CHECK(table.kind[0] == CollectiveKind::kReduceScatter);
  CHECK(table.thread[0] == kNone);
  CHECK(table.begin_ns[0] == kNoTime);
  CHECK(table.elements_in[0] == 64);
  CHECK(trace.timeline.process_groups[table.group[0]].ranks == std::vector<std::int64_t>{8, 10, 12, 14});
  CHECK(table.kind[1] == CollectiveKind::kAllReduce);
  CHECK(table.elements_in[1] == -1);
  CHECK(trace.timeline.activities.collective[1] == CollectiveIndex(1));
}

TEST_CASE("sends, receives and unequal parts are told", "[kineto]") {
  const auto parameters = [](const std::string& name, const std::string& more) {
    return "\"Collective name\": \"" + name + "\", \"dtype\": \"Float\", \"In msg nelems\": 8, \"Out msg nelems\": 8" +
           more;
  };
  const Loaded trace = load_all({
      slice("cpu_op", "record_param_comms", 10, 0, 10, parameters("send", ", \"Src Rank\": 0, \"Dst Rank\": 3")),
      slice("cpu_op", "record_param_comms", 10, 20, 30, parameters("recv", ", \"Src Rank\": 2, \"Dst Rank\": 0")),
      slice("cpu_op", "record_param_comms", 10, 40, 50,
            parameters("all_to_allv", ", \"In split size\": \"[5, 3]\", \"Out split size\": \"[6, 2]\"")),
      slice("cpu_op", "record_param_comms", 10, 60, 70, parameters("wait", "")),
  });
  const CollectiveTable& table = trace.timeline.collectives;
  REQUIRE(table.size() == 3);
  CHECK(table.kind[0] == CollectiveKind::kSend);
  CHECK(table.peer[0] == 3);
  CHECK(table.kind[1] == CollectiveKind::kReceive);
  CHECK(table.peer[1] == 2);
  CHECK(trace.text(table.in_splits[2]) == "[5, 3]");
  CHECK(trace.text(table.out_splits[2]) == "[6, 2]");
}

TEST_CASE("Gloo works on threads of its own, in the order of the calls", "[kineto]") {
  const auto call = [](const std::string& name, int begin, const std::string& dimensions) {
    return slice("cpu_op", "c10d::" + name, 10, begin, begin + 10,
                 "\"Input Dims\": " + dimensions + ", \"Input type\": [\"float\", \"float\"]");
  };
  const auto work = [](const std::string& name, int tid, int begin, int end) {
    return slice("cpu_op", "gloo:" + name, tid, begin, end, "\"Input Dims\": [[1000]], \"Input type\": [\"float\"]");
  };
  const Loaded trace = load_all({
      work("all_reduce", 21, 0, 5),  // called before the recording
      call("allreduce_", 10, "[[[1000]], [], []]"),
      work("all_reduce", 20, 15, 60),
      call("_reduce_scatter_base_", 30, "[[1000], [3000], []]"),
      work("all_reduce", 21, 70, 90),
      call("barrier", 100, "[[1]]"),
  });
  const CollectiveTable& table = trace.timeline.collectives;
  REQUIRE(table.size() == 3);
  CHECK(table.started_ns[0] == 15'000);
  CHECK(table.completed_ns[0] == 60'000);
  CHECK(table.elements_in[0] == 1000);
  CHECK(table.kind[1] == CollectiveKind::kReduceScatter);
  CHECK(table.elements_in[1] == 3000);
  CHECK(table.elements_out[1] == 1000);
  CHECK(table.started_ns[1] == 70'000);
  CHECK(table.started_ns[2] == kNoTime);
}

TEST_CASE("collectives of real traces are those that NCCL ran", "[kineto][data]") {
  struct Expected {
    const char* file;
    std::map<CollectiveKind, int> kinds;
    bool has_group;
  };
  const Expected traces[] = {
      {"data/kineto/nccl_a100_rank0of2.json.gz",
       {{CollectiveKind::kAllReduce, 15}, {CollectiveKind::kBroadcast, 6}},
       true},
      {"data/kineto/param_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json.gz",
       {{CollectiveKind::kAllReduce, 3}, {CollectiveKind::kAllToAll, 5}},
       false},
      {"data/kineto/diff_control_a100_rank3of8.json.gz",
       {{CollectiveKind::kAllReduce, 18}, {CollectiveKind::kAllToAll, 42}},
       false},
      {"data/kineto/cpu_only_rank34.json.gz", {{CollectiveKind::kAllReduce, 10}}, false},
  };
  std::size_t read = 0;
  for (const Expected& expected : traces) {
    CAPTURE(expected.file);
    const std::string path = shared_file(expected.file);
    if (path.empty()) continue;
    ++read;
    const Result<Timeline> timeline = load_timeline(path);
    REQUIRE(timeline);
    const CollectiveTable& table = timeline->collectives;
    std::map<CollectiveKind, int> kinds;
    for (CollectiveIndex row{0}; row < table.size(); ++row) {
      ++kinds[table.kind[row]];
      CHECK(table.elements_in[row] > 0);
      CHECK((table.group[row] != kNone) == expected.has_group);
      CHECK(table.thread[row] != kNone);
    }
    CHECK(kinds == expected.kinds);
    // Each kernel of NCCL belongs to one call, and no call has two.
    std::map<CollectiveIndex, int> kernels;
    for (ActivityIndex row{0}; row < timeline->activities.size(); ++row)
      if (timeline->activities.collective[row] != kNone) ++kernels[timeline->activities.collective[row]];
    for (const auto& [row, count] : kernels) CHECK(count == 1);
    if (std::string(expected.file).find("cpu_only") == std::string::npos) CHECK(kernels.size() == table.size());
  }
  if (read == 0) std::cout << "skipped: no collection of real traces beside the source tree\n";
}
