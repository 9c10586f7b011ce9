// SPDX-License-Identifier: MIT
//
// Backends that tell of their collectives by themselves, as NCCL's does: with record_param_comms, the macros of
// LibTorch. Their numbers of calls are the ones by which they tell of waiting. Collectives of Gloo are
// rank_job_test.cpp's.
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

#undef CHECK  // LibTorch's, which ends the program
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/torch/collectives.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// No `using namespace rangefinder`: the macros say torch::, which would be two namespaces.
using rangefinder::CollectiveIndex;
using rangefinder::kNoTime;
using rangefinder::ProfileRange;
using rangefinder::Timeline;
using rangefinder::testing::ScratchFolder;
using rangefinder::torch::CollectiveOptions;
using rangefinder::torch::CollectiveRecording;

namespace {

/// As ProcessGroupNCCL.cpp does at the begin of a collective; `inside`: what it does then.
void tell_collective(
    std::int64_t number, bool is_message, std::string name, std::int64_t in, std::int64_t out,
    const std::vector<std::int64_t>& in_splits = {}, const std::function<void()>& inside = [] {}) {
  const std::vector<at::Tensor> inputs, outputs;
  RECORD_PARAM_COMMS_DATA(std::make_tuple(number, is_message),
                          std::make_tuple(std::string("5"), std::string("tensor_parallel")), inputs, outputs, 1,
                          std::move(name), in, out, at::kBFloat16, in_splits, std::vector<std::int64_t>(), 4, 2, 3);
  inside();
}

void tell_wait(std::int64_t number, bool is_message) {
  const std::vector<std::int64_t> none;
  RECORD_PARAM_COMMS(std::make_tuple(number, is_message),
                     std::make_tuple(std::string("5"), std::string("tensor_parallel")), 1, "wait", 0, 0, at::kByte,
                     none, none, 4, 2, 3);
}

Timeline record_told(const CollectiveOptions& options, const std::function<void()>& program) {
  const ScratchFolder folder;
  rangefinder::SessionOptions session_options;
  session_options.output = folder.file("a.rfcap");
  session_options.cuda = false;
  rangefinder::Session session(session_options);
  REQUIRE(session.status().ok());
  {
    const CollectiveRecording recording(options);
    CHECK(recording.state() == "recorded");
    program();
  }
  REQUIRE(session.stop().ok());
  rangefinder::Result<Timeline> timeline = rangefinder::load_timeline(folder.file("a.rfcap"));
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

}  // namespace

TEST_CASE("a backend that tells of its collectives is recorded, with who waits", "[torch]") {
  const Timeline timeline = record_told({}, [] {
    tell_collective(7, false, "all_to_allv", 10, 12, {4, 6});
    tell_collective(7, true, "send", 3, 3);
    tell_wait(7, true);
    tell_wait(8, false);  // of a call that was not recorded
    tell_collective(0, false, "ncclCommInitRank", 0, 0);
    tell_wait(7, false);
  });
  const rangefinder::CollectiveTable& table = timeline.collectives;
  REQUIRE(table.size() == 2);
  const CollectiveIndex first{0}, second{1};
  CHECK(table.kind[first] == rangefinder::CollectiveKind::kAllToAll);
  CHECK(timeline.text(table.name[first]) == "all_to_allv");
  CHECK(table.elements_in[first] == 10);
  CHECK(table.elements_out[first] == 12);
  CHECK(timeline.text(table.dtype[first]) == "BFloat16");
  CHECK(timeline.text(table.in_splits[first]) == "[4, 6]");
  CHECK(timeline.text(table.out_splits[first]).empty());
  REQUIRE(table.group[first] != rangefinder::kNone);
  const rangefinder::ProcessGroupInfo& group = timeline.process_groups[table.group[first]];
  CHECK(group.name == "5");
  CHECK(group.description == "tensor_parallel");
  CHECK(group.size == 3);
  CHECK(group.ranks == std::vector<std::int64_t>{4, 6, 8});
  CHECK(table.kind[second] == rangefinder::CollectiveKind::kSend);
  CHECK(table.group[second] == table.group[first]);
  // The send was waited for before the all-to-all that was called before it.
  REQUIRE(table.wait_begin_ns[first] != kNoTime);
  REQUIRE(table.wait_begin_ns[second] != kNoTime);
  CHECK(table.wait_begin_ns[first] >= table.wait_end_ns[second]);
  CHECK(table.wait_thread[first] == table.thread[first]);
}

TEST_CASE("what a backend tells inside its own call is one collective", "[torch]") {
  const Timeline timeline = record_told({}, [] {
    tell_collective(1, false, "allreduce", 5, 5, {}, [] { tell_collective(1, false, "allreduce", 5, 5); });
  });
  CHECK(timeline.collectives.size() == 1);
}

TEST_CASE("without inputs collectives are recorded as backends tell them", "[torch]") {
  CollectiveOptions options;
  options.inputs = false;
  const Timeline timeline = record_told(options, [] {
    tell_collective(7, false, "_reduce_scatter_base", 8, 4);
    tell_wait(7, false);
  });
  REQUIRE(timeline.collectives.size() == 1);
  CHECK(timeline.collectives.kind[CollectiveIndex(0)] == rangefinder::CollectiveKind::kReduceScatter);
  CHECK(timeline.collectives.number[CollectiveIndex(0)] == -1);
}
