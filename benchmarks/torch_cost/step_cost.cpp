// SPDX-License-Identifier: MIT
#include "common/byte_corpus.hpp"
#include "common/kineto.hpp"
#include "common/transformer.hpp"
#include "parts.hpp"
#include "recording.hpp"
#include "workloads/graphs/captured_work.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/timeline.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace bench {
namespace {

using rangefinder::GraphTracing;
using rangefinder::ProfileRange;

struct Size {
  examples::TransformerOptions model;
  std::int64_t batch;
  c10::DeviceType device;
};
constexpr Size kCpu{{256, 96, 3, 4, 64}, 8, c10::kCPU};
constexpr Size kGpu{{256, 768, 12, 12, 512}, 16, c10::kCUDA};
/// Smaller, for a graph keeps memory of its own beside what the steps before it took, and all cases live at once.
constexpr Size kReplayed{{256, 768, 12, 12, 256}, 8, c10::kCUDA};

/// The training example's step at its size for CPUs, or one that keeps a GPU busy, marked as it is there.
class Training {
 public:
  explicit Training(const Size& size)
      : size_(size), corpus_(BENCH_CORPUS, size.model.sequence_length, 42), model_(size.model) {
    model_->to(size.device);
    optimizer_ = std::make_unique<::torch::optim::AdamW>(model_->parameters(), ::torch::optim::AdamWOptions(3e-3));
  }
  void step() {
    const ProfileRange step("step");
    ::torch::Tensor tokens, next;
    {
      const ProfileRange range("data");
      std::tie(tokens, next) = corpus_.batch(size_.batch);
      tokens = tokens.to(size_.device, /*non_blocking=*/true);
      next = next.to(size_.device, /*non_blocking=*/true);
    }
    compute(tokens, next);
  }
  /// All of a step but its data, as one graph. The optimizer's count of steps is in it as it was, which changes what it
  /// computes and not what that takes.
  void capture() {
    std::tie(tokens_, next_) = corpus_.batch(size_.batch);
    tokens_ = tokens_.to(size_.device);
    next_ = next_.to(size_.device);
    pool_.emplace();
    captured_.emplace([this] { compute(tokens_, next_); }, *pool_);
  }
  void replay() {
    const ProfileRange step("step");
    {
      const ProfileRange range("data");
      const auto [tokens, next] = corpus_.batch(size_.batch);
      tokens_.copy_(tokens, /*non_blocking=*/true);
      next_.copy_(next, /*non_blocking=*/true);
    }
    const ProfileRange range("replay");
    captured_->replay();
  }

 private:
  void compute(const ::torch::Tensor& tokens, const ::torch::Tensor& next) {
    ::torch::Tensor loss;
    {
      const ProfileRange range("forward");
      const ::torch::Tensor logits = model_(tokens);
      const ProfileRange inner("loss");
      loss = ::torch::nn::functional::cross_entropy(logits.view({-1, size_.model.vocabulary}), next.view({-1}));
    }
    {
      const ProfileRange range("backward");
      optimizer_->zero_grad();
      loss.backward();
    }
    const ProfileRange range("optimizer");
    optimizer_->step();
  }

  Size size_;
  examples::ByteCorpus corpus_;
  examples::Transformer model_;
  std::unique_ptr<::torch::optim::AdamW> optimizer_;
  // What a graph reads, and the graph.
  ::torch::Tensor tokens_, next_;
  std::optional<examples::GraphPool> pool_;
  std::optional<examples::CapturedWork> captured_;
};

std::unique_ptr<Training> training;

void warm_up(const Size& size = kCpu) {
  // One thread: those of a pool spin while they wait, and that is CPU time too.
  at::set_num_threads(1);
  ::torch::manual_seed(42);
  training = std::make_unique<Training>(size);
  for (int i = 0; i < 3; ++i) training->step();
}

Case steps(const char* name, const char* what, void (*recorder)()) {
  Case made;
  made.name = name;
  made.what = what;
  made.run = [](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) training->step();
  };
  made.set_up = [recorder] {
    warm_up();
    if (recorder != nullptr) recorder();
  };
  made.between = Recording::flush;
  return made;
}

std::uint64_t count_in(const std::string& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::uint64_t count = 0;
  for (std::size_t at = whole.find(text); at != std::string::npos; at = whole.find(text, at + 1)) ++count;
  return count;
}

/// Steps on a GPU until it is done, recorded from before CUDA is used.
Case gpu_steps(const char* name, const char* what, std::function<void()> recorder, const Size& size, bool replayed) {
  Case made = steps(name, what, nullptr);
  made.set_up = [recorder, &size, replayed] {
    recorder();
    warm_up(size);
    if (replayed) training->capture();
  };
  made.run = [replayed](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) replayed ? training->replay() : training->step();
    ::torch::cuda::synchronize();
  };
  return made;
}

Case gpu_steps_of_ours(const char* name, const Recorded& recorded, const Size& size, bool replayed) {
  Case made = gpu_steps(
      name, "rangefinder", [recorded] { Recording::start(recorded); }, size, replayed);
  made.finish = Recording::stop;
  return made;
}

void eager_step(int rounds) {
  Options options;
  options.rounds = rounds;
  options.per_round = 4;
  options.floor = "no session";
  const std::vector<Row> rows =
      measure({gpu_steps(
                   options.floor.c_str(), "floor", [] {}, kGpu, false),
               gpu_steps_of_ours("kernels by callback", {.cuda = true}, kGpu, false),
               gpu_steps_of_ours("kernels and API calls", {.cuda = true, .cuda_api = true}, kGpu, false),
               gpu_steps_of_ours("operators, kernels and API calls",
                                 {.operators = true, .cuda = true, .cuda_api = true}, kGpu, false),
               gpu_steps("operators, kernels and API calls", "Kineto", start_kineto_with_cuda, kGpu, false)},
              options);
  print(rows, options);
  print_ratio("kernels by callback, a step to one without a session", 1.02, rows[1]);
  print_added_ratio("operators, kernels and API calls: what ours adds to what Kineto adds", 1, rows[3], rows[4]);
}

void replayed_step(int rounds) {
  Options options;
  options.rounds = rounds;
  options.per_round = 8;
  options.floor = "no session";
  std::printf("\nA step that is replayed as one CUDA graph\n");
  const std::vector<Row> rows =
      measure({gpu_steps(
                   options.floor.c_str(), "floor", [] {}, kReplayed, true),
               gpu_steps_of_ours("whole graphs", {.cuda = true, .graphs = GraphTracing::kWhole}, kReplayed, true),
               gpu_steps_of_ours("nodes, then whole graphs", {.cuda = true, .graphs = GraphTracing::kAutomatic},
                                 kReplayed, true),
               gpu_steps_of_ours("nodes", {.cuda = true}, kReplayed, true)},
              options);
  print(rows, options);
  print_ratio("whole graphs, a replayed step to one without a session", 1.005, rows[1]);
}

void print_size(const char* name, std::uint64_t bytes, std::uint64_t operators) {
  std::printf("| %s | %llu | %llu | %.1f |\n", name, static_cast<unsigned long long>(operators),
              static_cast<unsigned long long>(bytes), static_cast<double>(bytes) / static_cast<double>(operators));
}

}  // namespace

void step_cost(int rounds) {
  Options options;
  options.rounds = rounds;
  options.processes = 5;
  options.per_round = 4;
  options.clock = Clock::kProcess;
  options.floor = "no session";
  std::vector<Case> cases;
  cases.push_back(steps("no session", "floor", nullptr));
  cases.push_back(steps("ranges + nodes + operators", "rangefinder", [] { Recording::start({.operators = true}); }));
  cases.back().finish = Recording::stop;
  cases.push_back(steps("operators", "Kineto, CPU", start_kineto));
  print(measure(cases, options), options);

  // Half a percent is less than two processes differ by: the same one, recording every other block of steps.
  options.floor = "the same, off";
  options.rounds = 3 * rounds;
  cases = {steps("ranges + nodes", "rangefinder", [] { Recording::start({.turns = true}); }),
           steps("ranges + nodes + memory", "rangefinder", [] { Recording::start({.memory = true, .turns = true}); })};
  for (Case& what : cases) {
    what.turn = Recording::turn;
    what.between = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };  // until all is drained
    what.finish = Recording::stop;
  }
  const std::vector<Row> rows = alternate(cases, options);
  print(rows, options);
  for (const Row& row : rows) print_ratio(row.name + ", CPU time of a step to the same, off", 1.005, row);
}

void gpu_step_cost(int rounds) {
  // LibTorch is not asked: a child of fork cannot use the driver of its parent.
  if (::access("/dev/nvidiactl", F_OK) != 0) {
    std::printf("\nSKIPPED: a step on a GPU: no NVIDIA device on this machine\n");
    return;
  }
  eager_step(rounds);
  if (examples::graphs_built())
    replayed_step(rounds);
  else
    std::printf("\nSKIPPED: a replayed step: built without a CUDA toolkit\n");
}

void operator_size(int) {
  warm_up();
  const std::string json = folder() + "/kineto.json";
  Recording::start({.operators = true});
  start_kineto();
  for (int i = 0; i < 50; ++i) training->step();
  save_kineto(json);
  const std::string capture = Recording::keep();
  const auto timeline = rangefinder::load_timeline(capture);
  if (!timeline.ok()) {
    std::printf("\nsize: %s\n", timeline.error().message().c_str());
    return;
  }
  std::uint64_t ours = 0;
  for (const rangefinder::RangeKind kind : timeline->ranges.kind)
    ours += kind == rangefinder::RangeKind::kOperator ? 1 : 0;
  const std::uint64_t theirs = count_in(json, "\"cat\": \"cpu_op\"");
  if (ours == 0 || theirs == 0) {
    std::printf("\nsize: no operators, %llu and %llu\n", static_cast<unsigned long long>(ours),
                static_cast<unsigned long long>(theirs));
    return;
  }
  const std::uint64_t our_bytes = std::filesystem::file_size(capture), their_bytes = std::filesystem::file_size(json);
  std::printf("\n50 training steps, recorded by both at once\n\n| file | operators | bytes | bytes an operator |\n");
  std::printf("|---|---:|---:|---:|\n");
  print_size("capture", our_bytes, ours);
  print_size("Kineto's Chrome JSON", their_bytes, theirs);
  print_target("bytes an operator, ours to Kineto's", 0.2,
               static_cast<double>(our_bytes) / static_cast<double>(ours) /
                   (static_cast<double>(their_bytes) / static_cast<double>(theirs)));
  ::unlink(json.c_str());
  ::unlink(capture.c_str());
}

}  // namespace bench
