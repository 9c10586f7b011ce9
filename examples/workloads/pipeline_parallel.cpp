// SPDX-License-Identifier: MIT
// A net whose layers are spread over the ranks, in stages. With the whole batch going through at once, so that one
// stage works and the others wait; in micro-batches, first all forward, then all back (GPipe); and with each stage
// going back as soon as it can (1F1B), which keeps fewer activations.
#include "common/estimates.hpp"
#include "common/pipeline_schedule.hpp"
#include "common/rank_variant.hpp"
#include "common/residual_blocks.hpp"

#include <rangefinder/range.hpp>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace workloads::pipeline_parallel {

using examples::Communication;
using examples::PipelineOperation;
using examples::PipelineSchedule;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr double kLearningRate = 0.01;

struct Sizes {
  std::int64_t micro_batches;
  std::int64_t rows;    ///< of a micro-batch
  std::int64_t layers;  ///< 2, 3, 4 and 6 ranks divide them
  std::int64_t width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {8, 8, 12, 32}, {8, 128, 12, 128}, {16, 512, 12, 1024});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const std::int64_t rows = sizes.micro_batches * sizes.rows;
  const auto weights = static_cast<double>(sizes.layers * examples::block_elements(sizes.width));
  const auto data = static_cast<double>(2 * rows * sizes.width);
  return {.input_bytes = 4 * (weights + data),
          .output_bytes = 4 * (2 * weights + 1),
          .flops = examples::block_training_flops(sizes.layers / setup.ranks, sizes.width, rows),
          .launches = examples::training_launches(5.0 * static_cast<double>(sizes.layers * sizes.micro_batches)),
          .random_numbers = weights + data};
}

std::int64_t thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// The batch, and all weights as they were drawn; a stage trains its layers.
class Training : public examples::RankVariant {
 public:
  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(rows_.size(0)) / static_cast<double>(ranks());
    work.flops = examples::block_training_flops(sizes_.layers / ranks(), sizes_.width, rows_.size(0));
    work.flops_type = "fp32";
    return work;
  }

 protected:
  void make() override {
    sizes_ = sizes_of(size());
    const std::int64_t rows = sizes_.micro_batches * sizes_.rows, mine = sizes_.layers / ranks();
    rows_ = torch::randn({rows, sizes_.width}).to(device());
    targets_ = torch::randn({rows, sizes_.width}).to(device());
    for (std::int64_t layer = 0; layer < sizes_.layers; ++layer) {
      first_.push_back(examples::draw_block(sizes_.width, device()));
      if (layer / mine != rank()) continue;
      examples::BlockWeights weights;
      for (const torch::Tensor& weight : first_.back()) {
        parameters_.push_back(weight.clone().requires_grad_());
        parameters_.back().mutable_grad() = torch::zeros_like(weight);
        weights.push_back(parameters_.back());
      }
      blocks_.push_back(std::move(weights));
    }
  }
  std::vector<examples::NamedTensor> given() override {
    std::vector<examples::NamedTensor> all{{"rows", rows_}, {"targets", targets_}};
    for (std::size_t layer = 0; layer < first_.size(); ++layer)
      for (const torch::Tensor& weight : first_[layer])
        all.push_back({"weight " + std::to_string(all.size() - 2), weight});
    return all;
  }
  std::vector<examples::NamedTensor> results() override {
    std::vector<torch::Tensor> weights, gradients;
    for (const torch::Tensor& parameter : parameters_) {
      weights.push_back(parameter.detach().flatten());
      gradients.push_back(parameter.grad().flatten());
    }
    return {{"loss", summed(loss_)},
            {"gradients", gathered(torch::cat(gradients))},
            {"weights", gathered(torch::cat(weights))}};
  }

  torch::Tensor forward(torch::Tensor x) const {
    static const rangefinder::RangeName kForward{"forward"};
    const ProfileRange range{kForward};
    for (const examples::BlockWeights& block : blocks_) x = examples::block_forward(x, block);
    return x;
  }
  void zero_gradients() {
    for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().zero_();
    loss_ = torch::zeros({}, rows_.options());
  }
  void update() {
    static const rangefinder::RangeName kOptimizer{"optimizer"};
    const ProfileRange range{kOptimizer};
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters_) parameter.sub_(parameter.grad(), kLearningRate);
  }

  Sizes sizes_{};
  torch::Tensor rows_, targets_, loss_;
  std::vector<torch::Tensor> parameters_;  // of this rank's stage

 private:
  std::vector<examples::BlockWeights> first_, blocks_;
};

class Alone : public Training {
  void run() override {
    zero_gradients();
    const torch::Tensor loss = torch::mse_loss(forward(rows_), targets_);
    loss.backward();
    update();
    loss_ = loss.detach();
  }
  examples::Traffic expected_traffic() override { return {}; }
};

class Stage : public Training {
 public:
  explicit Stage(PipelineSchedule schedule) : schedule_(schedule) {}

 private:
  using Clock = std::chrono::steady_clock;

  struct MicroBatch {
    torch::Tensor in, out;  ///< of this stage; with all activations between
  };

  std::int64_t micro_batches() const { return schedule_ == PipelineSchedule::kNaive ? 1 : sizes_.micro_batches; }
  bool first() const { return rank() == 0; }
  bool last() const { return rank() + 1 == ranks(); }

  void make() override {
    Training::make();
    operations_ = examples::pipeline_operations(schedule_, rank(), ranks(), micro_batches());
  }

  void run() override {
    const auto begin = Clock::now();
    zero_gradients();
    kept_.assign(static_cast<std::size_t>(micro_batches()), {});
    cpu_ns_.clear();
    working_ns_ = 0;
    most_kept_ = 0;
    torch::Tensor arrived = exchange(nullptr, {}, &operations_.front());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const auto work_begin = Clock::now();
      const std::int64_t cpu_begin_ns = thread_cpu_ns();
      torch::Tensor leaves = compute(operations_[i], std::move(arrived));
      if (i + 1 == operations_.size()) update();
      cpu_ns_.push_back(thread_cpu_ns() - cpu_begin_ns);
      working_ns_ += std::chrono::nanoseconds(Clock::now() - work_begin).count();
      arrived = exchange(&operations_[i], leaves, i + 1 < operations_.size() ? &operations_[i + 1] : nullptr);
    }
    for (examples::Pending& pending : sending_) pending.wait();
    sending_.clear();
    step_ns_ = std::chrono::nanoseconds(Clock::now() - begin).count();
  }

  /// Sends on what an operation came to, and waits for what the next one needs. Both at once: NCCL would wait for ever
  /// where two stages send to each other and neither receives.
  torch::Tensor exchange(const PipelineOperation* done, const torch::Tensor& leaves, const PipelineOperation* next) {
    const auto neighbour = [this](bool later) { return static_cast<int>(rank()) + (later ? 1 : -1); };
    std::vector<examples::Message> sends, receives;
    if (done != nullptr && leaves.defined())
      sends.push_back({leaves, neighbour(done->forward), static_cast<int>(done->micro_batch)});
    torch::Tensor arrives;
    if (next != nullptr && !(next->forward ? first() : last())) {
      arrives = torch::empty({rows_.size(0) / micro_batches(), sizes_.width}, rows_.options());
      receives.push_back({arrives, neighbour(!next->forward), static_cast<int>(next->micro_batch)});
    }
    if (sends.empty() && receives.empty()) return arrives;
    std::vector<examples::Pending> pending = group().exchange(sends, receives);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (i < receives.size())
        pending[i].wait();
      else
        sending_.push_back(std::move(pending[i]));
    }
    return arrives;
  }

  /// What goes to the next stage, or back to the one before; undefined at the ends.
  torch::Tensor compute(const PipelineOperation& operation, torch::Tensor arrived) {
    MicroBatch& mine = kept_[static_cast<std::size_t>(operation.micro_batch)];
    const std::int64_t rows = rows_.size(0) / micro_batches(), begin = operation.micro_batch * rows;
    if (operation.forward) {
      mine.in = first() ? rows_.narrow(0, begin, rows) : arrived.requires_grad_();
      mine.out = forward(mine.in);
      const auto kept =
          std::count_if(kept_.begin(), kept_.end(), [](const MicroBatch& one) { return one.out.defined(); });
      most_kept_ = std::max<std::int64_t>(most_kept_, kept);
      if (!last()) return mine.out.detach();
      mine.out = torch::mse_loss(mine.out, targets_.narrow(0, begin, rows)) / static_cast<double>(micro_batches());
      loss_ += mine.out.detach();
      return {};
    }
    static const rangefinder::RangeName kBackward{"backward"};
    const ProfileRange range{kBackward};
    mine.out.backward(arrived);
    const torch::Tensor leaves = first() ? torch::Tensor() : mine.in.grad();
    mine = {};
    return leaves;
  }

  examples::Traffic expected_traffic() override {
    const std::int64_t directions = (last() ? 0 : 1) + (first() ? 0 : 1);
    examples::Traffic expected;
    expected[Communication::kSend] = {directions * micro_batches(), directions * 4 * rows_.numel()};
    return expected;
  }

  std::vector<bench::Metric> more_metrics() override {
    const std::int64_t expected = schedule_ == PipelineSchedule::kOneForwardOneBackward
                                      ? std::min(micro_batches(), ranks() - rank())
                                      : micro_batches();
    TORCH_CHECK(most_kept_ == expected, "stage ", rank(), " kept ", most_kept_, " micro-batches, not ", expected);
    std::vector<bench::Metric> all{{"most_micro_batches_kept", static_cast<double>(most_kept_),
                                    bench::MetricKind::kCount, bench::OverRanks::kMost},
                                   {"ideal_bubble_ratio", examples::ideal_bubble_ratio(ranks(), micro_batches())}};
    if (device().is_cuda()) return all;  // the host does not know when a device works
    // Times of all stages: each of them then lays out the same schedule.
    std::vector<examples::StageTimes> stages;
    const torch::Tensor times = gathered(torch::tensor(cpu_ns_, torch::kInt64).unsqueeze(0));
    for (std::int64_t stage = 0; stage < ranks(); ++stage) {
      const torch::Tensor row = times[stage].contiguous();
      const auto* ns = row.data_ptr<std::int64_t>();
      stages.push_back(
          {examples::pipeline_operations(schedule_, stage, ranks(), micro_batches()), {ns, ns + row.numel()}});
    }
    // Waiting of each stage, and the mean of all.
    const double waiting = 1 - static_cast<double>(working_ns_) / static_cast<double>(step_ns_);
    all.push_back(
        {"bubble_ratio", waiting / static_cast<double>(ranks()), bench::MetricKind::kFact, bench::OverRanks::kSum});
    all.push_back({"bubble_ratio_of_cpu_time", examples::bubble_ratio(stages)});
    return all;
  }

  PipelineSchedule schedule_;
  std::vector<PipelineOperation> operations_;
  std::vector<MicroBatch> kept_;
  std::vector<examples::Pending> sending_;
  std::vector<std::int64_t> cpu_ns_;  // of each operation of the last step
  std::int64_t working_ns_ = 0, step_ns_ = 0, most_kept_ = 0;
};

bool add_rows() {
  constexpr PipelineSchedule kNaive = PipelineSchedule::kNaive, kGPipe = PipelineSchedule::kGPipe,
                             kOneF1B = PipelineSchedule::kOneForwardOneBackward;
  bench::Benchmark gpipe = examples::training_benchmark<Stage, Alone>(
      "pipeline_parallel_gpipe", "a batch at once; micro-batches, all forward and then all back", kNaive, kGPipe,
      estimate);
  bench::Benchmark one = examples::training_benchmark<Stage, Alone>(
      "pipeline_parallel", "a batch at once; micro-batches, back as soon as possible (1F1B)", kNaive, kOneF1B,
      estimate);
  bench::Benchmark memory = examples::training_benchmark<Stage, Alone>(
      "pipeline_parallel_memory", "micro-batches: all forward and then all back; back as soon as possible (1F1B)",
      kGPipe, kOneF1B, estimate);
  gpipe.series = one.series = "pipeline_parallel";
  one.builds_on = gpipe.name;
  memory.goal = bench::Goal::kMemory;
  memory.memory_above_setup = true;
  memory.time_bound = 2;
  memory.least_ratio_cpu = 1.5;
  return bench::add_benchmark(std::move(gpipe)) && bench::add_benchmark(std::move(one)) &&
         bench::add_benchmark(std::move(memory));
}

[[maybe_unused]] const bool kAdded = add_rows();

}  // namespace workloads::pipeline_parallel
