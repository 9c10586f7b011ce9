// SPDX-License-Identifier: MIT
#include "analysis/pipeline_job.hpp"
#include "support/catch.hpp"
#include "timeline/collectives.hpp"

#include <rangefinder/analysis/pipeline.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

PipelineJob job_of(MessageRecord record, OrderOfWork order, int stages, std::int64_t micro_batches, int steps = 1) {
  PipelineJob job(stages, record);
  job.forward_ns.assign(static_cast<std::size_t>(stages), 100);
  for (int step = 0; step < steps; ++step) job.step(step, ranks_up_to(stages), order, micro_batches);
  return job;
}

PipelineSchedule expected_of(OrderOfWork order, std::int64_t micro_batches) {
  if (order == OrderOfWork::kForwardOnly) return PipelineSchedule::kForwardOnly;
  if (order == OrderOfWork::kSerial || micro_batches == 1) return PipelineSchedule::kNaive;
  return order == OrderOfWork::kGPipe ? PipelineSchedule::kGPipe : PipelineSchedule::kOneForwardOneBackward;
}

}  // namespace

TEST_CASE("pipelines of equal stages wait as long as the textbook says", "[pipeline]") {
  const MessageRecord record = GENERATE(MessageRecord::kHost, MessageRecord::kDevice);
  const OrderOfWork order = GENERATE(OrderOfWork::kSerial, OrderOfWork::kGPipe, OrderOfWork::kOneF1B);
  const int stages = GENERATE(2, 3, 4);
  const int micro_batches = GENERATE(1, 2, 3, 8);
  CAPTURE(static_cast<int>(record), static_cast<int>(order), stages, micro_batches);
  const Pipelines found = job_of(record, order, stages, micro_batches).find();
  CHECK(found.refused.empty());
  REQUIRE(found.pipelines.size() == 1);
  const Pipeline& pipeline = found.pipelines[0];
  CHECK_FALSE(pipeline.order_assumed);
  CHECK(pipeline.common_clock);
  REQUIRE(pipeline.stages.size() == static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    CHECK(pipeline.stages[static_cast<std::size_t>(stage)].rank == stage);
    CHECK(pipeline.stages[static_cast<std::size_t>(stage)].on_device == (record == MessageRecord::kDevice));
  }
  REQUIRE(pipeline.steps.size() == 1);
  const PipelineStep& step = pipeline.steps[0];
  CHECK(step.number == 0);
  CHECK(step.schedule == expected_of(order, micro_batches));
  CHECK(step.micro_batches == micro_batches);
  CHECK(step.imbalance == Approx(1));
  const bool is_serial = order == OrderOfWork::kSerial;
  CHECK(step.flushes == (is_serial ? micro_batches : 1));
  const std::int64_t slots = is_serial ? micro_batches * stages : micro_batches + stages - 1;
  CHECK(step.ideal_bubble_ratio == Approx(1 - static_cast<double>(micro_batches) / static_cast<double>(slots)));
  for (int stage = 0; stage < stages; ++stage) {
    CAPTURE(stage);
    const PipelineStageTimes& times = step.stages[static_cast<std::size_t>(stage)];
    CHECK(times.recorded);
    CHECK(times.busy_ns == 300 * micro_batches);
    CHECK(times.span_ns == 300 * slots);
    CHECK(times.bubble_ns == 300 * (slots - micro_batches));
    CHECK(times.most_kept == (order == OrderOfWork::kSerial  ? 1
                              : order == OrderOfWork::kGPipe ? micro_batches
                                                             : std::min(micro_batches, stages - stage)));
  }
}

TEST_CASE("nothing goes back in inference, and the messages are the direction", "[pipeline]") {
  PipelineJob job(3, MessageRecord::kHost);
  job.forward_ns = {100, 100, 100};
  job.step(0, {2, 1, 0}, OrderOfWork::kForwardOnly, 6);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  CHECK(found.pipelines[0].stages[0].rank == 2);
  const PipelineStep& step = found.pipelines[0].steps[0];
  CHECK(step.schedule == PipelineSchedule::kForwardOnly);
  CHECK(step.micro_batches == 6);
  CHECK(step.ideal_bubble_ratio == Approx(2.0 / 8));
  CHECK(step.stages[0].span_ns == 800);
  CHECK(step.stages[0].bubble_ns == 200);
}

TEST_CASE("stages are in the order of the messages, not of the ranks", "[pipeline]") {
  const MessageRecord record = GENERATE(MessageRecord::kHost, MessageRecord::kDevice, MessageRecord::kCoalesced);
  const OrderOfWork order = GENERATE(OrderOfWork::kSerial, OrderOfWork::kGPipe, OrderOfWork::kOneF1B);
  CAPTURE(static_cast<int>(record), static_cast<int>(order));
  PipelineJob job(4, record);
  job.forward_ns = {100, 100, 100, 100};
  for (int step = 0; step < 3; ++step) job.step(step, {3, 1, 0, 2}, order, 4);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  const Pipeline& pipeline = found.pipelines[0];
  CHECK_FALSE(pipeline.order_assumed);
  std::vector<std::int64_t> ranks;
  for (const PipelineStage& stage : pipeline.stages) ranks.push_back(stage.rank);
  CHECK(ranks == std::vector<std::int64_t>{3, 1, 0, 2});
  REQUIRE(pipeline.steps.size() == 3);
  for (const PipelineStep& step : pipeline.steps) CHECK(step.schedule == expected_of(order, 4));
}

TEST_CASE("a message that is posted before another one leaves arrives after it", "[pipeline]") {
  // Rank 1 is the first stage. It asks for the gradient before it sends what the gradient comes from.
  const MessageRecord record = GENERATE(MessageRecord::kHost, MessageRecord::kCoalesced);
  PipelineJob job(2, record);
  if (record == MessageRecord::kCoalesced) job.work(1, 0, 100);
  job.message(0, 1, CollectiveKind::kReceive, 0, 100);
  if (record == MessageRecord::kCoalesced) job.work(0, 100, 200);
  job.message(0, 1, CollectiveKind::kSend, 200, 200);
  job.message(1, 0, CollectiveKind::kReceive, 90, 200);
  job.message(1, 0, CollectiveKind::kSend, 100, 100);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  CHECK_FALSE(found.pipelines[0].order_assumed);
  CHECK(found.pipelines[0].stages[0].rank == 1);
  CHECK(found.pipelines[0].steps[0].schedule == PipelineSchedule::kNaive);
}

TEST_CASE("steps of a stage follow each other, and their spans are those of the job", "[pipeline]") {
  const MessageRecord record = GENERATE(MessageRecord::kHost, MessageRecord::kDevice);
  CAPTURE(static_cast<int>(record));
  // The last stage is done with a step before the first one, and then waits in the next.
  const Pipelines found = job_of(record, OrderOfWork::kGPipe, 3, 4, 5).find();
  REQUIRE(found.pipelines.size() == 1);
  REQUIRE(found.pipelines[0].steps.size() == 5);
  for (std::size_t stage = 0; stage < 3; ++stage) {
    std::int64_t span = 0, busy = 0;
    for (const PipelineStep& step : found.pipelines[0].steps) {
      span += step.stages[stage].span_ns;
      busy += step.stages[stage].busy_ns;
    }
    CHECK(busy == 5 * 4 * 300);
    CHECK(span == 5 * 6 * 300);
  }
}

TEST_CASE("a stage that is done early waits for the others behind its step", "[pipeline]") {
  PipelineJob job(3, MessageRecord::kHost);
  job.forward_ns = {100, 100, 100};
  for (int step = 0; step < 3; ++step) {
    job.step(step, ranks_up_to(3), OrderOfWork::kGPipe, 4);
    job.barrier();
  }
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  REQUIRE(found.pipelines[0].steps.size() == 3);
  for (const PipelineStep& step : found.pipelines[0].steps)
    for (const PipelineStageTimes& stage : step.stages) {
      CHECK(stage.span_ns == 6 * 300);
      CHECK(stage.busy_ns == 4 * 300);
    }
}

TEST_CASE("a stage that starts late waits from when the first one began", "[pipeline]") {
  PipelineJob job(2, MessageRecord::kHost);
  job.forward_ns = {100, 100};
  job.start_late(1, 50);
  job.step(0, ranks_up_to(2), OrderOfWork::kGPipe, 4);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  for (const PipelineStageTimes& stage : found.pipelines[0].steps[0].stages) {
    CHECK(stage.span_ns == 5 * 300);
    CHECK(stage.bubble_ns == 300);
  }
}

TEST_CASE("a stage that works longer is named", "[pipeline]") {
  const MessageRecord record = GENERATE(MessageRecord::kHost, MessageRecord::kDevice);
  PipelineJob job(3, record);
  job.forward_ns = {100, 200, 90};
  job.step(7, ranks_up_to(3), OrderOfWork::kOneF1B, 4);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  const PipelineStep& step = found.pipelines[0].steps[0];
  CHECK(step.number == 7);
  CHECK(step.slowest == 1);
  CHECK(step.imbalance == Approx(200.0 / 130));
  CHECK(step.stages[0].busy_ns == 1200);
  CHECK(step.stages[1].busy_ns == 2400);
  CHECK(step.stages[2].busy_ns == 1080);
  CHECK(step.stages[0].span_ns == step.stages[2].span_ns);
  CHECK(step.schedule == PipelineSchedule::kOneForwardOneBackward);
}

TEST_CASE("each chain of a job is a pipeline of its own", "[pipeline]") {
  PipelineJob job(4, MessageRecord::kHost);
  job.forward_ns = {100, 100};
  job.step(0, {0, 2}, OrderOfWork::kGPipe, 3);
  job.step(0, {1, 3}, OrderOfWork::kOneF1B, 5);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 2);
  CHECK(found.pipelines[0].stages[1].rank == 2);
  CHECK(found.pipelines[0].steps[0].schedule == PipelineSchedule::kGPipe);
  CHECK(found.pipelines[0].steps[0].micro_batches == 3);
  CHECK(found.pipelines[1].stages[0].rank == 1);
  CHECK(found.pipelines[1].steps[0].schedule == PipelineSchedule::kOneForwardOneBackward);
  CHECK(found.pipelines[1].steps[0].micro_batches == 5);
}

TEST_CASE("a rank without a recording is a stage without figures", "[pipeline]") {
  const int lost = GENERATE(0, 1, 2);
  CAPTURE(lost);
  PipelineJob job(3, MessageRecord::kHost);
  job.forward_ns = {100, 100, 100};
  job.lost = {lost};
  job.step(0, ranks_up_to(3), OrderOfWork::kOneF1B, 6);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  const Pipeline& pipeline = found.pipelines[0];
  REQUIRE(pipeline.stages.size() == 3);
  const PipelineStep& step = pipeline.steps[0];
  CHECK(step.micro_batches == 6);
  CHECK(step.schedule == PipelineSchedule::kOneForwardOneBackward);
  CHECK(step.ideal_bubble_ratio == Approx(2.0 / 8));
  for (int stage = 0; stage < 3; ++stage) {
    const auto i = static_cast<std::size_t>(stage);
    CHECK(pipeline.stages[i].rank == stage);
    CHECK((pipeline.stages[i].process == kNone) == (stage == lost));
    CHECK(step.stages[i].recorded == (stage != lost));
    CHECK(step.stages[i].busy_ns == (stage == lost ? 0 : 1800));
  }
}

TEST_CASE("the last stage alone does not tell 1F1B from one after the other", "[pipeline]") {
  PipelineJob job(2, MessageRecord::kHost);
  job.forward_ns = {100, 100};
  job.lost = {0};
  job.step(0, ranks_up_to(2), OrderOfWork::kOneF1B, 6);
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  CHECK(found.pipelines[0].steps[0].schedule == PipelineSchedule::kOther);
  CHECK(found.pipelines[0].steps[0].flushes == 1);
}

TEST_CASE("without steps all of the recordings count as one", "[pipeline]") {
  PipelineJob job(3, MessageRecord::kHost);
  job.with_steps = false;
  job.forward_ns = {100, 100, 100};
  // What a stage does before its first message and behind its last one is known by ranges alone.
  for (int step = 0; step < 4; ++step) job.step(step, ranks_up_to(3), OrderOfWork::kOneF1B, 4);
  for (int rank = 0; rank < 3; ++rank) {
    RangeRow range;
    range.name = job.timeline.intern("training");
    range.thread = range.end_thread = ThreadIndex(rank);
    range.begin_ns = 0;
    range.end_ns = 4 * 6 * 300;
    job.timeline.ranges.append(range);
  }
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  REQUIRE(found.pipelines[0].steps.size() == 1);
  const PipelineStep& step = found.pipelines[0].steps[0];
  CHECK_FALSE(step.number.has_value());
  CHECK(step.micro_batches == 16);
  CHECK(step.flushes == 4);
  CHECK(step.schedule == PipelineSchedule::kOneForwardOneBackward);
  CHECK(step.ideal_bubble_ratio == Approx(2.0 / 6));
}

TEST_CASE("ranks that send in a ring are no pipeline", "[pipeline]") {
  PipelineJob job(3, MessageRecord::kHost);
  for (int rank = 0; rank < 3; ++rank) {
    job.message(rank, (rank + 1) % 3, CollectiveKind::kSend, 0, 0);
    job.message(rank, (rank + 2) % 3, CollectiveKind::kReceive, 0, 10);
  }
  const Pipelines found = job.find();
  CHECK(found.pipelines.empty());
  REQUIRE(found.refused.size() == 1);
  CHECK(found.refused[0].ranks == std::vector<std::int64_t>{0, 1, 2});
  CHECK(found.refused[0].reason.find("ring") != std::string::npos);
}

TEST_CASE("two ranks that exchange are no pipeline", "[pipeline]") {
  PipelineJob job(2, MessageRecord::kHost);
  for (int rank = 0; rank < 2; ++rank) {
    job.message(rank, 1 - rank, CollectiveKind::kSend, 0, 0);
    job.message(rank, 1 - rank, CollectiveKind::kReceive, 0, 10);
  }
  const Pipelines found = job.find();
  CHECK(found.pipelines.empty());
  REQUIRE(found.refused.size() == 1);
  CHECK(found.refused[0].reason.find("exchange") != std::string::npos);
}

TEST_CASE("a ring of another group does not hide the pipeline", "[pipeline]") {
  PipelineJob job(3, MessageRecord::kHost);
  job.forward_ns = {100, 100, 100};
  job.step(0, ranks_up_to(3), OrderOfWork::kGPipe, 4);
  ProcessGroupInfo ring = job.timeline.process_groups[0];
  ring.name = "context";
  const ProcessGroupIndex group = timeline::add_process_group(job.timeline, ring);
  for (int rank = 0; rank < 3; ++rank) {
    CollectiveRow row;
    row.kind = CollectiveKind::kSend;
    row.process = ProcessIndex(rank);
    row.thread = ThreadIndex(rank);
    row.group = group;
    row.peer = (rank + 1) % 3;
    row.begin_ns = row.end_ns = row.completed_ns = 50;
    job.timeline.collectives.append(row);
  }
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  CHECK(found.pipelines[0].steps[0].schedule == PipelineSchedule::kGPipe);
  CHECK(found.pipelines[0].steps[0].micro_batches == 4);
  CHECK(found.refused.size() == 1);
}

TEST_CASE("a receive that was posted early is waited for only at its end", "[pipeline]") {
  // Rank 1 posts at 0, works until 500, and waits from then on for what comes at 600.
  PipelineJob job(2, MessageRecord::kHost);
  job.message(0, 1, CollectiveKind::kSend, 600, 600);
  job.message(1, 0, CollectiveKind::kReceive, 0, 600);
  RangeRow range;
  range.name = job.timeline.intern("prepare");
  range.thread = range.end_thread = ThreadIndex(1);
  range.begin_ns = 10;
  range.end_ns = 500;
  job.timeline.ranges.append(range);
  for (int rank = 0; rank < 2; ++rank) {
    StepRow row;
    row.thread = ThreadIndex(rank);
    row.end_ns = 1000;
    job.timeline.steps.append(row);
  }
  SECTION("known by what the thread did before") {}
  SECTION("known by the wait itself") {
    CollectiveTable& table = job.timeline.collectives;
    CollectiveRow row = table.row(1);
    row.wait_thread = ThreadIndex(1);
    row.wait_begin_ns = 500;
    row.wait_end_ns = 600;
    table.set(1, row);
    job.timeline.ranges.cut_to(0);
  }
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  CHECK(found.pipelines[0].steps[0].stages[1].busy_ns == 900);
  CHECK(found.pipelines[0].steps[0].stages[1].span_ns == 1000);
}

TEST_CASE("hosts whose clocks cannot be compared keep their own spans", "[pipeline]") {
  PipelineJob job(2, MessageRecord::kHost);
  job.forward_ns = {100, 100};
  job.step(0, ranks_up_to(2), OrderOfWork::kGPipe, 2);
  job.timeline.hosts.resize(2);
  job.timeline.hosts[0].error_ns = 0;
  job.timeline.processes[1].clock = 1;
  const Pipelines found = job.find();
  REQUIRE(found.pipelines.size() == 1);
  CHECK_FALSE(found.pipelines[0].common_clock);
  CHECK(found.pipelines[0].steps[0].stages[0].span_ns == 900);
  CHECK(found.pipelines[0].steps[0].stages[1].span_ns == 700);  // done before the first stage is
}

TEST_CASE("ranks that are not known cannot be put in order", "[pipeline]") {
  PipelineJob job(2, MessageRecord::kHost);
  job.forward_ns = {100, 100};
  job.step(0, ranks_up_to(2), OrderOfWork::kGPipe, 2);
  job.timeline.processes[1].rank = -1;
  const Pipelines found = job.find();
  REQUIRE(found.refused.size() == 1);
  INFO(found.refused[0].reason);
  CHECK(found.refused[0].reason.find("4 sends and receives") != std::string::npos);
  CHECK(PipelineJob(2, MessageRecord::kHost).find().pipelines.empty());
}
