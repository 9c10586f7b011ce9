// SPDX-License-Identifier: MIT
#include "analysis/pipeline_chains.hpp"
#include "analysis/pipeline_messages.hpp"
#include "analysis/pipeline_times.hpp"

#include <rangefinder/analysis/pipeline.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace rangefinder {
namespace {

using analysis::PipelineChain;
using analysis::PipelineMessage;
using analysis::PipelineMessages;
using analysis::PipelineProcessTimes;
using analysis::PipelineStepTime;

/// What the messages of a stage say of a step.
struct StageOrder {
  bool recorded = false;
  std::int64_t ahead = 0;  ///< micro-batches that have gone forward and not back, now
  std::int64_t most = 0;   ///< of them, at any time
  std::int64_t forward = 0, since_empty = 0, flushes = 0, largest_flush = 0;
  std::int64_t to_next = 0, from_previous = 0;  ///< messages forward

  void add(bool goes_forward) {
    if (goes_forward) {
      ++forward;
      largest_flush = std::max(largest_flush, ++since_empty);
      most = std::max(most, ++ahead);
    } else if (ahead > 0 && --ahead == 0) {
      ++flushes;
      since_empty = 0;
    }
  }
  void finish() { flushes += since_empty > 0 ? 1 : 0; }
};

/// Of a stage, by step.
using StageOrders = std::map<std::int64_t, StageOrder>;

/// Of the first stage what it sends tells when a micro-batch has gone forward, of the last one what it receives; of all
/// but the first what they send tells when it has gone back. What a stage sends is the better witness: it follows from
/// its work, where a message may arrive early.
StageOrders orders_of(const std::vector<PipelineMessage>& messages, const PipelineChain& chain, std::size_t stage) {
  const std::size_t last = chain.ranks.size() - 1;
  StageOrders orders;
  for (const PipelineMessage& message : messages) {
    const bool with_next = stage < last && message.peer == chain.ranks[stage + 1];
    const bool with_previous = stage > 0 && message.peer == chain.ranks[stage - 1];
    if (!chain.has(message) || with_next == with_previous) continue;
    StageOrder& order = orders[message.step];
    order.recorded = true;
    order.to_next += with_next && message.is_send ? 1 : 0;
    order.from_previous += with_previous && !message.is_send ? 1 : 0;
    if (with_next && (message.is_send || stage == 0)) order.add(message.is_send);
    if (with_previous && message.is_send) order.add(false);
    if (with_previous && !message.is_send && stage == last) order.add(true);
  }
  for (auto& [number, order] : orders) order.finish();
  return orders;
}

/// `stages`: what each did in a step; those without a recording say nothing. `first`: the first one with a recording.
PipelineSchedule schedule_of(const std::vector<StageOrder>& stages, std::size_t first, bool goes_back,
                             std::int64_t micro_batches) {
  if (micro_batches == 0) return PipelineSchedule::kOther;
  if (!goes_back) return PipelineSchedule::kForwardOnly;
  const auto count = static_cast<std::int64_t>(stages.size());
  const std::int64_t whole = stages[first].largest_flush;
  bool is_naive = true, is_gpipe = true, is_1f1b = true;
  std::int64_t at = 0;
  for (const StageOrder& stage : stages) {
    const std::int64_t of_1f1b = std::min(whole, count - at++);
    if (!stage.recorded) continue;
    is_naive = is_naive && stage.most <= 1;
    is_gpipe = is_gpipe && stage.most >= whole;
    is_1f1b = is_1f1b && stage.most <= of_1f1b;
  }
  // The last stage keeps one in 1F1B, too.
  if (is_naive && first + 1 == stages.size() && micro_batches > 1) return PipelineSchedule::kOther;
  if (is_naive) return PipelineSchedule::kNaive;
  if (is_gpipe == is_1f1b) return PipelineSchedule::kOther;
  return is_gpipe ? PipelineSchedule::kGPipe : PipelineSchedule::kOneForwardOneBackward;
}

class PipelineBuilder {
 public:
  PipelineBuilder(const Timeline& timeline, const PipelineMessages& messages,
                  const std::vector<PipelineProcessTimes>& times)
      : timeline_(timeline), messages_(messages), times_(times) {
    for (ProcessIndex process{0}; process < messages.by_process.size(); ++process)
      if (!messages.by_process[process].empty())
        process_of_.try_emplace(messages.by_process[process].front().rank, process);
  }

  Pipeline build(const PipelineChain& chain) {
    Pipeline pipeline;
    pipeline.order_assumed = chain.order_assumed;
    std::vector<StageOrders> orders;
    std::set<std::int64_t> numbers;
    for (const std::int64_t rank : chain.ranks) {
      const auto found = process_of_.find(rank);
      PipelineStage stage;
      stage.rank = rank;
      if (found != process_of_.end()) {
        stage.process = found->second;
        stage.on_device = times_[found->second].on_device;
        orders.push_back(orders_of(messages_.by_process[found->second], chain, orders.size()));
      } else {
        orders.emplace_back();
      }
      for (const auto& [number, order] : orders.back()) numbers.insert(number);
      pipeline.stages.push_back(stage);
    }
    pipeline.common_clock = has_common_clock(pipeline.stages);
    for (const std::int64_t number : numbers) pipeline.steps.push_back(step_of(pipeline, chain, orders, number));
    return pipeline;
  }

 private:
  bool has_common_clock(const std::vector<PipelineStage>& stages) const {
    std::set<std::uint32_t> clocks;
    for (const PipelineStage& stage : stages)
      if (stage.process != kNone) clocks.insert(timeline_.processes[stage.process].clock);
    return clocks.size() < 2 || std::all_of(clocks.begin(), clocks.end(), [&](std::uint32_t clock) {
             return clock < timeline_.hosts.size() && timeline_.hosts[clock].error_ns != kNoTime;
           });
  }

  PipelineStep step_of(const Pipeline& pipeline, const PipelineChain& chain, const std::vector<StageOrders>& all,
                       std::int64_t number) const {
    PipelineStep step;
    if (!timeline_.steps.empty()) step.number = number;
    std::vector<StageOrder> orders;
    const auto count = static_cast<double>(chain.ranks.size());
    for (const StageOrders& of_stage : all) {
      const auto found = of_stage.find(number);
      orders.push_back(found == of_stage.end() ? StageOrder{} : found->second);
      step.micro_batches = std::max({step.micro_batches, orders.back().to_next, orders.back().from_previous});
    }
    std::size_t first = 0;
    while (!orders[first].recorded) ++first;  // one has messages, or the step would not be
    step.schedule = schedule_of(orders, first, chain.goes_back, step.micro_batches);
    // On the last stage the pipeline seems to run empty after each micro-batch in any schedule.
    step.flushes = step.schedule == PipelineSchedule::kOther && first + 1 == orders.size() ? 1 : orders[first].flushes;
    const auto micro_batches = static_cast<double>(step.micro_batches);
    const double idle = static_cast<double>(step.flushes) * (count - 1);
    if (micro_batches > 0) step.ideal_bubble_ratio = idle / (micro_batches + idle);
    add_times(pipeline, number, step);
    for (std::size_t stage = 0; stage < orders.size(); ++stage) step.stages[stage].most_kept = orders[stage].most;
    return step;
  }

  const PipelineStepTime* time_of(const PipelineStage& stage, std::int64_t number) const {
    if (stage.process == kNone) return nullptr;
    const std::vector<PipelineStepTime>& steps = times_[stage.process].steps;
    const auto found = std::lower_bound(steps.begin(), steps.end(), number,
                                        [](const PipelineStepTime& step, std::int64_t n) { return step.number < n; });
    return found == steps.end() || found->number != number ? nullptr : &*found;
  }

  struct Extent {
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max(), end_ns = kNoTime;
  };
  /// From the first begin to the last end of all stages.
  Extent extent_of(const Pipeline& pipeline, std::int64_t number) const {
    Extent extent;
    for (const PipelineStage& stage : pipeline.stages) {
      const PipelineStepTime* const time = time_of(stage, number);
      if (time == nullptr) continue;
      extent.begin_ns = std::min(extent.begin_ns, time->begin_ns);
      extent.end_ns = std::max(extent.end_ns, time->end_ns);
    }
    return extent;
  }

  // A stage that is done early waits in its next step, or behind this one until all are done; one that starts late
  // waits in this step, or before it from when the first one began. No time counts twice.
  std::int64_t end_of(const Pipeline& pipeline, const PipelineStage& stage, const PipelineStepTime& time) const {
    if (!pipeline.common_clock) return time.end_ns;
    const std::int64_t all_done_ns = extent_of(pipeline, time.number).end_ns;
    const PipelineStepTime* const next = time_of(stage, time.number + 1);
    return next == nullptr ? all_done_ns : std::max(time.end_ns, std::min(next->begin_ns, all_done_ns));
  }
  std::int64_t begin_of(const Pipeline& pipeline, const PipelineStage& stage, const PipelineStepTime& time) const {
    if (!pipeline.common_clock) return time.begin_ns;
    const std::int64_t first_ns = extent_of(pipeline, time.number).begin_ns;
    const PipelineStepTime* const before = time_of(stage, time.number - 1);
    return before == nullptr ? first_ns : std::min(time.begin_ns, std::max(end_of(pipeline, stage, *before), first_ns));
  }

  void add_times(const Pipeline& pipeline, std::int64_t number, PipelineStep& step) const {
    double sum_ns = 0;
    std::int64_t most_ns = 0;
    std::uint32_t recorded = 0;
    for (std::uint32_t i = 0; i < pipeline.stages.size(); ++i) {
      PipelineStageTimes& out = step.stages.emplace_back();
      const PipelineStage& stage = pipeline.stages[i];
      const PipelineStepTime* const time = time_of(stage, number);
      if (time == nullptr) continue;
      out.recorded = true;
      out.span_ns = end_of(pipeline, stage, *time) - begin_of(pipeline, stage, *time);
      out.busy_ns = time->busy_ns;
      out.bubble_ns = out.span_ns - out.busy_ns;
      ++recorded;
      sum_ns += static_cast<double>(out.busy_ns);
      if (step.slowest == kNone || out.busy_ns > most_ns) step.slowest = i;
      most_ns = std::max(most_ns, out.busy_ns);
    }
    if (sum_ns > 0) step.imbalance = static_cast<double>(most_ns) * static_cast<double>(recorded) / sum_ns;
  }

  const Timeline& timeline_;
  const PipelineMessages& messages_;
  const std::vector<PipelineProcessTimes>& times_;
  std::map<std::int64_t, ProcessIndex> process_of_;  // by rank
};

}  // namespace

Pipelines find_pipelines(const Timeline& timeline) {
  Pipelines found;
  const analysis::PipelineWindows windows = analysis::pipeline_windows(timeline);
  const PipelineMessages messages = analysis::pipeline_messages(timeline, windows);
  if (messages.unknown != 0)
    found.refused.push_back({{},
                             "of " + std::to_string(messages.unknown) +
                                 " sends and receives it is not known between which ranks they are"});
  const std::vector<PipelineChain> chains = analysis::pipeline_chains(messages, found.refused);
  if (chains.empty()) return found;
  const std::vector<PipelineProcessTimes> times = analysis::pipeline_times(timeline, windows, messages);
  PipelineBuilder builder(timeline, messages, times);
  for (const PipelineChain& chain : chains) found.pipelines.push_back(builder.build(chain));
  return found;
}

const char* to_string(PipelineSchedule schedule) noexcept {
  switch (schedule) {
    case PipelineSchedule::kForwardOnly:
      return "forward only";
    case PipelineSchedule::kNaive:
      return "naive";
    case PipelineSchedule::kGPipe:
      return "GPipe";
    case PipelineSchedule::kOneForwardOneBackward:
      return "1F1B";
    case PipelineSchedule::kOther:
      return "other";
  }
  return "";
}

}  // namespace rangefinder
