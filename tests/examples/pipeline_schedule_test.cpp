// SPDX-License-Identifier: MIT
#include "common/pipeline_schedule.hpp"

#include "support/catch.hpp"

#include <stdexcept>
#include <vector>

using examples::bubble_ratio;
using examples::ideal_bubble_ratio;
using examples::pipeline_operations;
using examples::PipelineOperation;
using examples::PipelineSchedule;
using examples::StageTimes;

namespace {

/// All operations of one length.
std::vector<StageTimes> stages(PipelineSchedule schedule, std::int64_t count, std::int64_t micro_batches) {
  std::vector<StageTimes> all;
  for (std::int64_t stage = 0; stage < count; ++stage) {
    StageTimes mine{pipeline_operations(schedule, stage, count, micro_batches), {}};
    for (const PipelineOperation& operation : mine.operations) mine.ns.push_back(operation.forward ? 10 : 20);
    all.push_back(mine);
  }
  return all;
}

}  // namespace

TEST_CASE("1F1B goes back as soon as the stages after it have", "[examples]") {
  using Operations = std::vector<PipelineOperation>;
  CHECK(pipeline_operations(PipelineSchedule::kOneForwardOneBackward, 1, 3, 3) ==
        Operations{{true, 0}, {true, 1}, {false, 0}, {true, 2}, {false, 1}, {false, 2}});
  CHECK(pipeline_operations(PipelineSchedule::kOneForwardOneBackward, 2, 3, 2) ==
        Operations{{true, 0}, {false, 0}, {true, 1}, {false, 1}});
  CHECK(pipeline_operations(PipelineSchedule::kGPipe, 1, 3, 2) ==
        Operations{{true, 0}, {true, 1}, {false, 0}, {false, 1}});
  // Fewer micro-batches than stages after it.
  CHECK(pipeline_operations(PipelineSchedule::kOneForwardOneBackward, 0, 4, 2) ==
        Operations{{true, 0}, {true, 1}, {false, 0}, {false, 1}});
}

TEST_CASE("operations of one length wait as long as the formula says", "[examples]") {
  for (std::int64_t count = 1; count <= 6; ++count) {
    CHECK(bubble_ratio(stages(PipelineSchedule::kNaive, count, 1)) == Approx(ideal_bubble_ratio(count, 1)));
    for (std::int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches)
      for (const PipelineSchedule schedule : {PipelineSchedule::kGPipe, PipelineSchedule::kOneForwardOneBackward})
        CHECK(bubble_ratio(stages(schedule, count, micro_batches)) == Approx(ideal_bubble_ratio(count, micro_batches)));
  }
}

TEST_CASE("a slow stage makes the others wait", "[examples]") {
  std::vector<StageTimes> slow = stages(PipelineSchedule::kGPipe, 3, 4);
  for (std::int64_t& ns : slow[1].ns) ns *= 3;
  CHECK(bubble_ratio(slow) > 0.4);
}

TEST_CASE("stages that wait for each other are an error", "[examples]") {
  StageTimes first{{{false, 0}, {true, 0}}, {1, 1}}, second{{{true, 0}, {false, 0}}, {1, 1}};
  CHECK_THROWS_AS(bubble_ratio({first, second}), std::invalid_argument);
  CHECK(bubble_ratio({}) == 0);
}
