// SPDX-License-Identifier: MIT
// What each change to the training of a residual net brings, against the same baseline: one change at a time, then each
// with those before it. Images of a class share a pattern, under noise: there is something to learn, and each
// row says how much was learned.
#include "common/estimates.hpp"
#include "common/fused_adamw.hpp"
#include "common/mixed_precision.hpp"
#include "common/packages.hpp"
#include "common/resnet.hpp"
#include "common/slow_records.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/graphs/captured_work.hpp"

#include <rangefinder/range.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace workloads::optimization_summary {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Changes {
  bool workers = false, larger_batch = false, fused_optimizer = false, channels_last = false, bfloat16 = false;
  bool checkpointed = false;
  bool graph = false;     // of all but the transfer; wants the fused optimizer, whose state is on the device
  bool compiled = false;  // forward and backward, for a batch at once of floats
};

/// Of the batch of an update, whose gradients add up: what a small memory asks for. A larger batch is all of them.
constexpr std::int64_t kParts = 4;

struct Sizes {
  std::int64_t batches, batch, image;
  std::chrono::microseconds read;  // of an image: about as long as one thread's other work for it
  examples::ResNetOptions model;
};

constexpr std::size_t kWorkers = 4, kBatchesAhead = 8;
constexpr std::int64_t kUnseen = 128;
// Of a block of each of the four stages: nine operators, and AdamW for its six parameters.
constexpr double kLaunchesOfBlocks = 4 * (kParts * examples::training_launches(9) + 6 * examples::kAdamWLaunches);
constexpr double kCheckedSteps = 12;  // of a check; all wait for their images where no thread reads ahead

Sizes sizes_of(const std::string& size) {
  using std::chrono::microseconds;
  return examples::of_size<Sizes>(size, {2, 8, 16, microseconds(200), {.width = 8, .blocks = 1}},
                                  {8, 8, 16, microseconds(2500), {.width = 16}}, {4, 256, 32, microseconds(50), {}});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const examples::ResNetCosts costs = examples::costs_of(sizes.model, sizes.image);
  const auto count = static_cast<double>(sizes.batches * sizes.batch);
  const double image = examples::elements({3, sizes.image, sizes.image});
  const double logits = examples::elements({sizes.batch, sizes.model.classes});
  const auto drawn = static_cast<double>(kUnseen + sizes.model.classes) + count;
  const double reading_s = count * std::chrono::duration<double>(sizes.read).count();
  return {.input_bytes = examples::kFloatBytes * (count * image + costs.parameters) + examples::kIndexBytes * count,
          .output_bytes = examples::kFloatBytes * (logits + 1 + 2 * costs.parameters),
          .flops = costs.training_flops * count,
          .launches = static_cast<double>(sizes.batches * sizes.model.blocks) * kLaunchesOfBlocks,
          .random_numbers = drawn * image + costs.parameters,
          .waiting_s = kCheckedSteps * reading_s,
          .step_waiting_s = reading_s};
}

/// Forward and backward of a batch, compiled.
std::string package_of(const Sizes& sizes, torch::DeviceType device) {
  return examples::package_name("resnet_step", device, torch::kFloat,
                                {{"batch", sizes.batch},
                                 {"image", sizes.image},
                                 {"width", sizes.model.width},
                                 {"blocks", sizes.model.blocks},
                                 {"classes", sizes.model.classes}});
}

/// A step is an epoch: threads that read ahead would otherwise do so while the other variant is timed.
class Training : public examples::TensorVariant {
 public:
  explicit Training(const Changes& changes) : changes_(changes) {}

  void step() override {
    auto options = torch::data::DataLoaderOptions(static_cast<std::size_t>(sizes_.batch));
    if (changes_.workers) options.workers(kWorkers).max_jobs(kBatchesAhead);
    const auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        examples::SlowRecords(images_, labels_, {.read = sizes_.read})
            .map(examples::CollateRecords(changes_.workers && device().is_cuda())),
        options);
    std::optional<torch::data::Iterator<torch::data::Example<>>> batch;
    for (bool more = next(*loader, batch); more; more = next(*loader, batch)) train((*batch)->data, (*batch)->target);
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(images_.size(0));
    work.flops = examples::costs_of(sizes_.model, sizes_.image).training_flops * work.samples;
    work.flops_type = flops_type();
    return work;
  }

  /// What was learned in all steps, of images that no step has seen.
  std::vector<bench::Metric> metrics() override {
    const torch::NoGradGuard no_grad;
    const torch::Tensor logits = logits_of(unseen_.to(device()).contiguous(format()));
    const torch::Tensor labels = unseen_labels_.to(device());
    const torch::Tensor right = logits.argmax(-1).eq(labels);
    std::vector<bench::Metric> all{{"accuracy", right.to(torch::kFloat).mean().item<float>()},
                                   {"loss_of_unseen", torch::cross_entropy_loss(logits, labels).item<float>()}};
    if (package_) all.push_back({"compile_s", package_->compile_s()});
    return all;
  }

 private:
  /// cuDNN computes convolutions of floats in TF32 by itself.
  std::string flops_type() const {
    if (changes_.bfloat16) return examples::flops_type_of(torch::kBFloat16);
    return device().is_cuda() && at::globalContext().allowTF32CuDNN() ? "tf32" : "fp32";
  }

  template <typename Loader>
  static bool next(Loader& loader, std::optional<torch::data::Iterator<torch::data::Example<>>>& batch) {
    const ProfileRange range("dataloader_next");
    if (batch)
      ++*batch;
    else
      batch.emplace(loader.begin());
    return *batch != loader.end();
  }

  void train(torch::Tensor images, torch::Tensor labels) {
    {
      const ProfileRange range("transfer");  // and a copy in the layout of the weights
      images = images.to(device(), /*non_blocking=*/changes_.workers).contiguous(format());
      labels = labels.to(device(), /*non_blocking=*/changes_.workers);
      if (graph_) {
        captured_images_.copy_(images);
        captured_labels_.copy_(labels);
      }
    }
    if (!graph_) return changes_.compiled ? learn_compiled(images, labels) : learn(images, labels);
    const ProfileRange range("replay");
    graph_->replay();
  }

  void learn(const torch::Tensor& images, const torch::Tensor& labels) {
    net_->zero_grad(/*set_to_none=*/false);
    const std::int64_t parts = changes_.larger_batch ? 1 : kParts, rows = images.size(0) / parts;
    loss_ = torch::zeros({}, device());
    for (std::int64_t part = 0; part < parts; ++part) {
      torch::Tensor loss;
      {
        const ProfileRange range("forward");
        const torch::Tensor logits = logits_of(images.narrow(0, part * rows, rows));
        loss = torch::cross_entropy_loss(logits, labels.narrow(0, part * rows, rows)) / static_cast<double>(parts);
        logits_.narrow(0, part * rows, rows).copy_(logits.detach());
      }
      const ProfileRange range("backward");
      loss.backward();
      loss_ += loss.detach();
    }
    update();
  }

  void learn_compiled(const torch::Tensor& images, const torch::Tensor& labels) {
    std::vector<torch::Tensor> parameters = net_->parameters(), arguments{images, labels};
    for (const torch::Tensor& parameter : parameters) arguments.push_back(parameter.detach());
    {
      const ProfileRange range("package");
      const std::vector<torch::Tensor> out = package_->run(arguments);  // logits, loss, gradients
      logits_.copy_(out.at(0));
      loss_ = out.at(1);
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = out.at(2 + i).contiguous();
    }
    update();
  }

  void update() {
    const ProfileRange range("optimizer");
    if (changes_.fused_optimizer)
      fused_optimizer_->step();
    else
      optimizer_->step();
  }

  torch::MemoryFormat format() const {
    return changes_.channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  }

  torch::Tensor logits_of(const torch::Tensor& images) {
    // A graph keeps the addresses of what it was captured with, and casts that are cached are made once.
    const examples::Autocast precision(device().type(), torch::kBFloat16, changes_.bfloat16, /*cache=*/!changes_.graph);
    return net_->forward(images).to(torch::kFloat);
  }

  void make() override {
    sizes_ = sizes_of(size());
    sizes_.model.checkpointed = changes_.checkpointed;
    net_ = examples::ResNet(sizes_.model);
    net_->to(device());
    for (torch::Tensor& parameter : net_->parameters()) {
      if (parameter.dim() == 4) parameter.set_data(parameter.detach().contiguous(format()));
      parameter.mutable_grad() = torch::zeros_like(parameter);
    }
    // With an epsilon of 1e-8 the rounding of a gradient that is nearly nothing decides the sign of a full update.
    const auto options = torch::optim::AdamWOptions(1e-3).eps(1e-3);
    if (changes_.fused_optimizer) {
      fused_optimizer_.emplace(net_->parameters(), options);
    } else {
      optimizer_.emplace(net_->parameters(), options);
      examples::make_state(*optimizer_);
    }
    const torch::Tensor patterns = torch::randn({sizes_.model.classes, 3, sizes_.image, sizes_.image});
    const auto draw = [&](std::int64_t count) {
      const torch::Tensor labels = torch::randint(patterns.size(0), {count}, torch::kInt64);
      return std::pair(patterns.index_select(0, labels) + torch::randn({count, 3, sizes_.image, sizes_.image}), labels);
    };
    std::tie(images_, labels_) = draw(sizes_.batches * sizes_.batch);
    std::tie(unseen_, unseen_labels_) = draw(kUnseen);
    logits_ = torch::zeros({sizes_.batch, sizes_.model.classes}, device());
    if (changes_.graph) capture();
    if (changes_.compiled)
      package_.emplace(examples::get_packages(size(), device().type(), {package_of(sizes_, device().type())}).front());
  }

  void capture() {
    captured_images_ = images_.narrow(0, 0, sizes_.batch).to(device()).contiguous(format());
    captured_labels_ = labels_.narrow(0, 0, sizes_.batch).to(device());
    std::vector<torch::Tensor> state = net_->parameters(), first;
    for (const torch::Tensor& buffer : net_->buffers()) state.push_back(buffer);
    for (const torch::Tensor& tensor : state) first.push_back(tensor.detach().clone());
    graph_.emplace([this] { learn(captured_images_, captured_labels_); }, pool_.emplace());
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < state.size(); ++i) state[i].copy_(first[i]);
    fused_optimizer_->reset();
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"images", images_}, {"labels", labels_}};
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }
  /// Logits, loss and gradients of the last batch.
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all{{"logits", logits_}, {"loss", loss_}};
    for (NamedTensor& gradient : examples::gradients_of(*net_)) all.push_back(std::move(gradient));
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }

  Changes changes_;
  Sizes sizes_{};
  examples::ResNet net_{nullptr};
  std::optional<torch::optim::AdamW> optimizer_;
  std::optional<examples::FusedAdamW> fused_optimizer_;
  torch::Tensor images_, labels_, unseen_, unseen_labels_, logits_, loss_, captured_images_, captured_labels_;
  std::optional<examples::GraphPool> pool_;
  std::optional<examples::CapturedWork> graph_;
  std::optional<examples::Package> package_;
};

// Of whole tensors: AdamW's first updates are nearly of one size, however small and inexact the gradient.
constexpr bench::Tolerance kFloat{.frobenius = 1e-2}, kBFloat16{.frobenius = 2e-1};

/// A row of the table.
struct RowOfChanges {
  std::string name;  ///< behind optimization_summary
  std::string purpose;
  Changes changes;
  std::string builds_on{};     ///< the row to which it adds one change
  bool against_large = false;  ///< its baseline has a batch at once
};

std::string skip(const Changes& changes, const bench::Setup& setup) {
  if (changes.graph) return examples::skip_without_graphs(setup);
  // Where each product is made of operators on floats, a step takes ten times as long.
  const bool slow = changes.bfloat16 && setup.device == "cpu" && !examples::has_bfloat16_products();
  if (slow && setup.size != "smoke") return "needs_avx512_bf16";
  if (!changes.compiled) return "";
  const torch::DeviceType device = setup.device == "cuda" ? torch::kCUDA : torch::kCPU;
  return examples::skip_without_packages(device, {package_of(sizes_of(setup.size), device)});
}

/// What it brings is shown, and differs from machine to machine; nothing is promised.
bool add_row(const RowOfChanges& row) {
  const Changes &changes = row.changes, against{.larger_batch = row.against_large};
  bench::Benchmark benchmark;
  benchmark.name = "optimization_summary" + row.name;
  benchmark.series = row.against_large ? "optimization_summary_larger_batch" : "optimization_summary";
  benchmark.builds_on = row.builds_on;
  benchmark.estimate = estimate;
  benchmark.purpose = "residual net: float32, NCHW, AdamW of LibTorch; " + row.purpose;
  benchmark.devices = changes.graph ? std::vector<std::string>{"cuda"} : std::vector<std::string>{"cpu", "cuda"};
  benchmark.skip = [changes](const bench::Setup& setup) { return skip(changes, setup); };
  const bench::Tolerance tolerance = changes.bfloat16 ? kBFloat16 : kFloat;
  benchmark.baseline = {[against] { return std::make_unique<Training>(against); }, tolerance, tolerance};
  benchmark.optimized = {[changes] { return std::make_unique<Training>(changes); }, tolerance, tolerance};
  benchmark.iterations = 10;
  benchmark.warmup = 2;
  benchmark.informational = true;
  if (changes.workers) {
    benchmark.goal = bench::Goal::kThroughput;  // what is gained is waiting, which is no CPU time
  } else if (changes.checkpointed || against.larger_batch > changes.larger_batch) {
    benchmark.goal = bench::Goal::kMemory;
    benchmark.memory_above_setup = true;
  }
  return bench::add_benchmark(benchmark);
}

/// One change at a time. What saves activations, and what is compiled for a whole batch, against one.
bool add_changes() {
  return add_row({"_workers", "four threads read ahead", {.workers = true}}) &&
         add_row({"_larger_batch", "a batch at once, not in four parts", {.larger_batch = true}}) &&
         add_row({"_fused_optimizer", "fused AdamW", {.fused_optimizer = true}}) &&
         add_row({"_channels_last", "channels last", {.channels_last = true}}) &&
         add_row({"_bf16", "autocast to bfloat16", {.bfloat16 = true}}) &&
         add_row({"_graph", "a CUDA graph of a step with fused AdamW", {.fused_optimizer = true, .graph = true}}) &&
         add_row({"_accumulation", "a batch at once; gradients of four parts of it", {}, "", true}) &&
         add_row({"_checkpointing",
                  "a batch at once; blocks checkpointed",
                  {.larger_batch = true, .checkpointed = true},
                  "",
                  true}) &&
         add_row({"_compiled",
                  "a batch at once; forward and backward compiled",
                  {.larger_batch = true, .compiled = true},
                  "",
                  true});
}

/// Each with those before it.
bool add_sums() {
  Changes changes;
  changes.workers = changes.larger_batch = true;
  bool added = add_row({"_two", "threads, larger batches", changes, "optimization_summary_workers"});
  changes.fused_optimizer = true;
  added = added && add_row({"", "threads, larger batches, fused AdamW", changes, "optimization_summary_two"});
  Changes compiled = changes;
  compiled.compiled = true;
  added = added && add_row({"_four_compiled", "threads, larger batches, fused AdamW, compiled", compiled,
                            "optimization_summary"});
  changes.channels_last = true;
  added = added &&
          add_row({"_four", "threads, larger batches, fused AdamW, channels last", changes, "optimization_summary"});
  changes.bfloat16 = true;
  added = added && add_row({"_five", "threads, larger batches, fused AdamW, channels last, bfloat16", changes,
                            "optimization_summary_four"});
  Changes captured = changes;
  captured.graph = true;
  added = added && add_row({"_six", "threads, larger batches, fused AdamW, channels last, bfloat16, a graph", captured,
                            "optimization_summary_five"});
  changes.checkpointed = true;
  return added && add_row({"_all", "all of the changes but the graph", changes, "optimization_summary_five"});
}

bool add_all() {
  examples::add_smoke_packages(
      [](torch::DeviceType device) { return std::vector<std::string>{package_of(sizes_of("smoke"), device)}; });
  return add_changes() && add_sums();
}

[[maybe_unused]] const bool kAdded = add_all();

}  // namespace workloads::optimization_summary
