// SPDX-License-Identifier: MIT
#include "analysis/steps.hpp"

#include "analysis/spans.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <random>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

StepAnalysis analyse(const Timeline& timeline, const StepRules& rules = {}) {
  return analyse_steps(timeline, project(timeline, {}), rules);
}

std::int64_t lost(const Goodput& goodput) {
  return goodput.data_ns + goodput.checkpoint_ns + goodput.recompute_ns + goodput.skipped_ns + goodput.warm_up_ns +
         goodput.between_ns;
}

std::int64_t parts_of(const StepFigures& step) {
  std::int64_t sum = step.other_ns;
  for (std::size_t part = 0; part < kStepParts; ++part)
    if (static_cast<StepPart>(part) != StepPart::kRecompute) sum += step.part_ns[part];
  return sum;
}

}  // namespace

TEST_CASE("names tell which part of a step a range is", "[analysis]") {
  const StepRules rules;
  CHECK(rules.part_of("data") == StepPart::kData);
  CHECK(rules.part_of("DataLoader_next") == StepPart::kData);
  CHECK(rules.part_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") == StepPart::kData);
  CHECK(rules.part_of("parquet_reader.next") == StepPart::kData);
  CHECK(rules.part_of("nibabel.get_fdata") == StepPart::kData);
  CHECK(rules.part_of("Corpus::read_shard") == StepPart::kData);
  CHECK(rules.part_of("read_loss") == StepPart::kNone);
  CHECK(rules.part_of("DataParallel.forward") == StepPart::kForward);
  CHECK(rules.part_of("loss.backward") == StepPart::kBackward);
  CHECK(rules.part_of("Optimizer.step#AdamW.step") == StepPart::kOptimizer);
  CHECK(rules.part_of("checkpoint") == StepPart::kCheckpoint);
  CHECK(rules.part_of("recompute block 3") == StepPart::kRecompute);
  CHECK(rules.part_of("overflow") == StepPart::kSkipped);
  CHECK(rules.part_of("step") == StepPart::kNone);
  CHECK(rules.part_of("") == StepPart::kNone);
}

TEST_CASE("what gets a batch is input by any of its usual names, and what uses one is not", "[analysis]") {
  const StepRules rules;
  for (const char* name :
       {"get_batch", "get_train_batch", "next_minibatch", "## next_batch ##", "load_batch_async", "next(data_iter)",
        "read_records", "fetch_next_examples", "prepare_inputs", "wait_for_batch", "sample_batch",
        "train_loader.next()", "[pl][profile][_TrainingEpochLoop].train_dataloader_next", "Data loading",
        "batch-generator", "collate_fn"}) {
    INFO(name);
    CHECK(rules.part_of(name) == StepPart::kData);
  }
  for (const char* name : {"train_batch", "forward_batch", "batch_norm", "get_batch_norm_stats", "get_input_embeddings",
                           "input_layernorm", "sample_token", "data2vec", "load_checkpoint", "loader"}) {
    INFO(name);
    CHECK(rules.part_of(name) != StepPart::kData);
  }
}

TEST_CASE("a program may have names of its own", "[analysis]") {
  StepRules rules;
  REQUIRE(rules.apply("data=my_loader*,*fetch*;forward=fwd").ok());
  CHECK(rules.part_of("my_loader.next") == StepPart::kData);
  CHECK(rules.part_of("prefetching") == StepPart::kData);
  CHECK(rules.part_of("data") == StepPart::kNone);
  CHECK(rules.part_of("FWD") == StepPart::kForward);
  CHECK(rules.part_of("fwd2") == StepPart::kNone);
  CHECK(rules.part_of("backward") == StepPart::kBackward);  // as before
  const Status unknown = rules.apply("forward=f;dta=x");
  CHECK(unknown.error().message().find("did you mean data?") != std::string::npos);
  CHECK(rules.part_of("f") == StepPart::kNone);  // nothing of it holds
  CHECK_FALSE(rules.apply("data=").ok());
  CHECK_FALSE(rules.apply("data").ok());
  CHECK(rules.apply("").ok());
  REQUIRE(rules.apply("data=*a*a*a*a*a*a*a*a*b").ok());
  CHECK(rules.part_of(std::string(20'000, 'a')) == StepPart::kNone);  // and not in a lifetime
}

TEST_CASE("a step is divided by the outermost ranges of known names on its thread", "[analysis]") {
  TimelineBuilder builder;
  builder.step(7, 0, 100, 64).step(8, 100, 200);
  builder.range("step", 0, 100).range("data", 0, 10).range("forward", 10, 40).range("data_augmentation", 20, 30);
  builder.range("backward", 40, 80).range("checkpoint", 50, 60).range("optimizer", 80, 95);
  builder.range("forward", 90, 130);  // overlaps: what began first keeps its time; and goes on in the next step
  builder.on_thread(2).range("data", 0, 200);  // a worker that fills a queue: not waited for
  const StepAnalysis analysis = analyse(builder.build());
  REQUIRE(analysis.steps.size() == 2);
  const StepFigures& first = analysis.steps[0];
  CHECK(first.number == 7);
  CHECK(first.items == 64);
  CHECK(first.part(StepPart::kData) == 10);
  CHECK(first.part(StepPart::kForward) == 35);
  CHECK(first.part(StepPart::kBackward) == 40);
  CHECK(first.part(StepPart::kOptimizer) == 15);
  CHECK(first.part(StepPart::kCheckpoint) == 0);
  CHECK(first.other_ns == 0);
  CHECK(first.device_busy_ns == kNotKnown);
  CHECK(first.peak_bytes == kNotKnown);
  CHECK(analysis.steps[1].part(StepPart::kForward) == 30);
  CHECK(analysis.steps[1].other_ns == 70);
  CHECK(analysis.goodput.data_ns == 10);
  CHECK(analysis.goodput.useful_ns == 190);
  CHECK(analysis.useful_items == 64);
  CHECK(analysis.useful_items_ns == 100);
}

TEST_CASE("without names, autograd's nodes are the backward pass and operators the forward pass", "[analysis]") {
  TimelineBuilder builder;
  builder.step(0, 0, 100);
  builder.range("ProfilerStep#0", 0, 100).of_kind(RangeKind::kOperator);  // as in older traces
  builder.range("aten::linear", 5, 35).of_kind(RangeKind::kOperator);
  builder.range("aten::addmm", 10, 30).of_kind(RangeKind::kOperator);
  builder.range("Optimizer.step#SGD.step", 80, 100).range("aten::add_", 85, 90).of_kind(RangeKind::kOperator);
  builder.on_thread(2).node(40, 60, 1, 1, 10).node(45, 50, 2, 1, 20).gradient_accumulation(65, 70);
  builder.range("aten::mm", 41, 59).of_kind(RangeKind::kOperator);
  const StepAnalysis analysis = analyse(builder.build());
  REQUIRE(analysis.steps.size() == 1);
  CHECK(analysis.steps[0].part(StepPart::kForward) == 30);
  CHECK(analysis.steps[0].part(StepPart::kBackward) == 25);
  CHECK(analysis.steps[0].part(StepPart::kOptimizer) == 20);
  CHECK(analysis.steps[0].other_ns == 25);
}

TEST_CASE("steps on a track of their own are divided by the thread that works", "[analysis]") {
  TimelineBuilder builder;
  builder.on_thread(99).step(0, 0, 100);
  builder.on_thread(2).range("data", 0, 5).range("forward", 10, 30).range("backward", 30, 90);
  builder.on_thread(3).range("data", 0, 100);
  const StepAnalysis analysis = analyse(builder.build());
  REQUIRE(analysis.steps.size() == 1);
  CHECK(analysis.steps[0].part(StepPart::kData) == 5);
  CHECK(analysis.steps[0].part(StepPart::kBackward) == 60);
}

TEST_CASE("the device is busy in a step while any stream is", "[analysis]") {
  TimelineBuilder builder;
  builder.step(0, 0, 100).step(1, 100, 200);
  builder.launch(5).kernel(10, 50).on_stream(8).launch(6).kernel(30, 60).on_device(1).launch(7).kernel(55, 70);
  builder.on_device(0).launch(80).kernel(90, 130);
  const StepAnalysis analysis = analyse(builder.build());
  REQUIRE(analysis.steps.size() == 2);
  CHECK(analysis.steps[0].device_busy_ns == 70);
  CHECK(analysis.steps[0].device_idle_ns() == 30);
  CHECK(analysis.steps[1].device_busy_ns == 30);
}

TEST_CASE("work that was recomputed is lost, and so is what a skipped step did", "[analysis]") {
  TimelineBuilder builder;
  for (int step = 0; step < 3; ++step) builder.step(step, step * 100, step * 100 + 100);
  builder.range("forward", 0, 40).range("aten::mm", 10, 20).of_kind(RangeKind::kOperator).launch(15).kernel(20, 30);
  // The engine's thread: a node, in which a block opens a range and makes nodes anew.
  builder.on_thread(2).node(50, 90, 1, 1, 12).range("block", 52, 70).launch(55).kernel(60, 75);
  builder.node(72, 80, 5, 2, 56).launch(74).kernel(80, 95);
  builder.on_thread(1).range("recompute", 210, 215);
  builder.mark("skipped_step", 150);
  builder.mark("skipped_step", 160).mark("skipped_step", 300);  // twice; after the last
  const Timeline timeline = builder.build();
  const Projection projection = project(timeline, {});
  REQUIRE(std::count(projection.pass.begin(), projection.pass.end(), Pass::kRecompute) == 1);
  const StepAnalysis analysis = analyse_steps(timeline, projection);
  REQUIRE(analysis.steps.size() == 3);
  CHECK(analysis.steps[0].part(StepPart::kRecompute) == 15);
  CHECK(analysis.steps[2].part(StepPart::kRecompute) == 5);
  CHECK(analysis.steps[1].skipped);
  CHECK(analysis.skipped == 1);
  CHECK(analysis.goodput.recompute_ns == 20);
  CHECK(analysis.goodput.skipped_ns == 100);
  CHECK(analysis.goodput.useful_ns == 180);
  CHECK(analysis.goodput.wall_ns == 300);
}

TEST_CASE("the peak of a step is the most that one device held, from before it or in it", "[analysis]") {
  TimelineBuilder builder;
  builder.step(0, 0, 100).step(1, 100, 200).step(2, 200, 300);
  Timeline timeline = builder.build();
  const auto event = [&](std::int64_t time, std::int32_t device, std::int64_t allocated) {
    AllocatorEventTable& memory = timeline.allocator_events;
    memory.append({.time_ns = time, .device = device, .allocated = allocated});
  };
  event(150, 0, 900);
  event(110, 0, 700);  // in order within a thread, not over all
  event(120, 0, 300);
  event(160, 0, 200);
  event(130, 1, 650);
  event(140, -1, 5000);  // the host's
  event(145, 0, -1);     // not known
  const StepAnalysis analysis = analyse(timeline);
  REQUIRE(analysis.steps.size() == 3);
  CHECK(analysis.steps[0].peak_bytes == kNotKnown);
  CHECK(analysis.steps[1].peak_bytes == 900);
  CHECK(analysis.steps[2].peak_bytes == 650);
}

TEST_CASE("warm-up is lost by what it took longer, pauses are not", "[analysis]") {
  TimelineBuilder builder;
  std::int64_t now = 0;
  for (int step = 0; step < 20; ++step) {
    const std::int64_t length = step == 0 ? 1'000 : 100;
    if (step == 10) now += 5'000;  // the schedule left steps out
    builder.step(step < 10 ? step : step + 7, now, now + length);
    now += length + (step == 3 ? 30 : 0);  // between two steps
  }
  const StepAnalysis analysis = analyse(builder.build());
  REQUIRE(analysis.steps.size() == 20);
  CHECK(analysis.warm_up == 1);
  CHECK(analysis.steps[0].warm_up);
  CHECK_FALSE(analysis.steps[1].warm_up);
  CHECK(analysis.goodput.warm_up_ns == 900);
  CHECK(analysis.goodput.between_ns == 30);
  CHECK(analysis.goodput.wall_ns == 2'930);
  CHECK(analysis.goodput.useful_ns == 2'000);
}

TEST_CASE("processes have steps of their own", "[analysis]") {
  TimelineBuilder builder;
  builder.on_process(1).step(0, 0, 100).range("data", 0, 10).launch(5).kernel(20, 40);
  builder.on_process(2).step(0, 50, 250).range("data", 60, 90).mark("overflow", 100);
  const StepAnalysis analysis = analyse(builder.build());
  REQUIRE(analysis.steps.size() == 2);
  CHECK(analysis.steps[0].part(StepPart::kData) == 10);
  CHECK(analysis.steps[0].device_busy_ns == 20);
  CHECK_FALSE(analysis.steps[0].skipped);
  CHECK(analysis.steps[1].part(StepPart::kData) == 30);
  CHECK(analysis.steps[1].device_busy_ns == kNotKnown);
  CHECK(analysis.steps[1].skipped);
  CHECK(analysis.goodput.wall_ns == 300);
}

TEST_CASE("percentiles are by nearest rank", "[analysis]") {
  std::vector<std::int64_t> values{kNotKnown};
  for (std::int64_t i = 200; i >= 1; --i) values.push_back(i);
  const Percentiles of = percentiles_of(values);
  CHECK(of.p50 == 100);
  CHECK(of.p95 == 190);
  CHECK(of.p99 == 198);
  CHECK(percentiles_of({7}).p99 == 7);
  CHECK(percentiles_of({}).p50 == 0);
  CHECK(items_per_second_tenths(4096, 250'000'000) == 163'840);
  CHECK(items_per_second_tenths(0, 10) == 0);
  CHECK(items_per_second_tenths(10, 0) == 0);
  CHECK(items_per_second_tenths(~std::uint64_t{0}, 1) == 9'000'000'000'000'000'000);
}

TEST_CASE("whatever a timeline holds, parts add up to steps and losses to the wall time", "[analysis][property]") {
  std::mt19937_64 random(property_seed("steps"));
  constexpr const char* kSomeNames[] = {"data",       "forward",   "backward",     "optimizer", "step",
                                        "checkpoint", "recompute", "skipped_step", "other"};
  for (int round = 0; round < repeats(400); ++round) {
    CAPTURE(round);
    TimelineBuilder builder;
    const auto time = [&] { return static_cast<std::int64_t>(below(random, 2'000)); };
    for (std::uint64_t i = 1 + below(random, 20); i > 0; --i) {
      const std::int64_t begin = time();
      builder.on_process(1 + static_cast<std::int64_t>(below(random, 2)));
      builder.step(static_cast<std::int64_t>(below(random, 12)), begin, begin + time() / 8);  // they may overlap
    }
    for (std::uint64_t i = below(random, 60); i > 0; --i) {
      const std::int64_t begin = time();
      builder.on_process(1 + static_cast<std::int64_t>(below(random, 2)));
      switch (below(random, 4)) {
        case 0:
          builder.launch(begin).kernel(begin + time() / 50, begin + 1 + time() / 10);
          break;
        case 1:
          builder.gradient_accumulation(begin, begin + time() / 10);
          break;
        default:
          builder.range(kSomeNames[below(random, std::size(kSomeNames))], begin, begin + time() / 6);
          if (below(random, 5) == 0) builder.of_kind(RangeKind::kOperator);
      }
    }
    const Timeline timeline = builder.build();
    const StepAnalysis analysis = analyse(timeline);
    REQUIRE(analysis.steps.size() == timeline.steps.size());
    for (const StepFigures& step : analysis.steps) {
      CHECK(parts_of(step) == step.step_ns());
      CHECK(step.working_ns() >= 0);
      CHECK(step.other_ns >= 0);
      if (step.device_busy_ns != kNotKnown) CHECK((step.device_busy_ns >= 0 && step.device_idle_ns() >= 0));
    }
    CHECK(analysis.goodput.useful_ns >= 0);
    CHECK(analysis.goodput.useful_ns + lost(analysis.goodput) == analysis.goodput.wall_ns);
  }
}

TEST_CASE("times that no clock gives are left out", "[analysis]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  TimelineBuilder builder;
  builder.step(0, least, most).step(1, 10, 5).step(most, 0, 100).step(least, 100, 200);
  builder.range("data", least, most).range("data", 90, most).launch(5).kernel(least, 50).kernel(60, 70);
  const StepAnalysis analysis = analyse(builder.build());
  REQUIRE(analysis.steps.size() == 2);
  CHECK(analysis.steps[0].part(StepPart::kData) == 0);
  CHECK(analysis.steps[0].device_busy_ns == 10);
  CHECK(analysis.goodput.wall_ns == 200);
}

TEST_CASE("spans become disjoint as the slow way has it", "[analysis][property]") {
  std::mt19937_64 random(property_seed("spans"));
  for (int round = 0; round < repeats(500); ++round) {
    const auto make = [&] {
      std::vector<Span> spans;
      for (std::uint64_t i = below(random, 12); i > 0; --i) {
        const auto begin = static_cast<std::int64_t>(below(random, 60));
        spans.push_back(
            {begin, begin + static_cast<std::int64_t>(below(random, 20)), static_cast<std::uint8_t>(below(random, 3))});
      }
      return spans;
    };
    const auto covers = [](const std::vector<Span>& spans, std::int64_t at) {
      return std::count_if(spans.begin(), spans.end(), [&](const Span& s) { return s.begin <= at && at < s.end; });
    };
    const std::vector<Span> spans = make();
    std::vector<Span> disjoint = spans;
    make_disjoint(disjoint);
    std::vector<Span> taken = make();
    make_disjoint(taken);
    const std::vector<Span> left = without(disjoint, taken);
    for (std::int64_t at = 0; at < 90; ++at) {
      CHECK(covers(disjoint, at) == (covers(spans, at) > 0 ? 1 : 0));
      CHECK(covers(left, at) == (covers(disjoint, at) > 0 && covers(taken, at) == 0 ? 1 : 0));
    }
  }
}
