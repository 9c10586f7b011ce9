// SPDX-License-Identifier: MIT
// What each change to the training of a residual net brings, against the same baseline: one change at a time, then all
// that make it faster. Images of a class share a pattern, under noise: there is something to learn.
#include "common/fused_adamw.hpp"
#include "common/mixed_precision.hpp"
#include "common/resnet.hpp"
#include "common/tensor_side.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>

namespace {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Changes {
  bool channels_last = false, bfloat16 = false, fused_optimizer = false, checkpointed = false;
};

struct Sizes {
  std::int64_t batch, image;
  examples::ResNetOptions model;
};

class Training : public examples::TensorSide {
 public:
  explicit Training(const Changes& changes) : changes_(changes) {}

  void step() override {
    net_->zero_grad(/*set_to_none=*/false);
    torch::Tensor images;
    {
      const ProfileRange range("data");
      images = images_.contiguous(format());  // a copy in the layout of the weights, or nothing
    }
    {
      const ProfileRange range("forward");
      logits_ = logits_of(images);
      loss_ = torch::cross_entropy_loss(logits_, labels_);
    }
    {
      const ProfileRange range("backward");
      loss_.backward();
    }
    const ProfileRange range("optimizer");
    if (changes_.fused_optimizer)
      fused_optimizer_->step();
    else
      optimizer_->step();
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(images_.size(0));
    return work;
  }

  /// On images that no step has seen.
  std::vector<bench::Metric> metrics() override {
    const torch::NoGradGuard no_grad;
    const auto [images, labels] = draw(128);
    const torch::Tensor right = logits_of(images.contiguous(format())).argmax(-1).eq(labels);
    return {{"accuracy", right.to(torch::kFloat).mean().item<float>(), bench::MetricKind::kFact}};
  }

 private:
  torch::MemoryFormat format() const {
    return changes_.channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  }

  torch::Tensor logits_of(const torch::Tensor& images) {
    const examples::Autocast precision(device().type(), torch::kBFloat16, changes_.bfloat16);
    return net_->forward(images).to(torch::kFloat);
  }

  std::pair<torch::Tensor, torch::Tensor> draw(std::int64_t count) const {
    const torch::Tensor labels = torch::randint(patterns_.size(0), {count}, torch::kInt64).to(device());
    const torch::Tensor noise = torch::randn({count, 3, patterns_.size(2), patterns_.size(3)}).to(device());
    return {patterns_.index_select(0, labels) + noise, labels};
  }

  void make() override {
    auto sizes = of_size<Sizes>({8, 16, {.width = 8, .blocks = 1}}, {16, 32, {.width = 32}}, {256, 32, {}});
    sizes.model.checkpointed = changes_.checkpointed;
    net_ = examples::ResNet(sizes.model);
    net_->to(device());
    for (torch::Tensor& parameter : net_->parameters()) {
      if (parameter.dim() == 4) parameter.set_data(parameter.detach().contiguous(format()));
      parameter.mutable_grad() = torch::zeros_like(parameter);
    }
    // With an epsilon of 1e-8 the rounding of a gradient that is nearly nothing decides the sign of a full update.
    const auto options = torch::optim::AdamWOptions(1e-3).eps(1e-3);
    if (changes_.fused_optimizer)
      fused_optimizer_.emplace(net_->parameters(), options);
    else
      optimizer_.emplace(net_->parameters(), options);
    patterns_ = torch::randn({sizes.model.classes, 3, sizes.image, sizes.image}).to(device());
    std::tie(images_, labels_) = draw(sizes.batch);
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"images", images_}, {"labels", labels_}};
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all{{"logits", logits_}, {"loss", loss_}};
    for (NamedTensor& gradient : examples::gradients_of(*net_)) all.push_back(std::move(gradient));
    for (NamedTensor& weight : examples::parameters_of(*net_)) all.push_back(std::move(weight));
    return all;
  }

  Changes changes_;
  examples::ResNet net_{nullptr};
  std::optional<torch::optim::AdamW> optimizer_;
  std::optional<examples::FusedAdamW> fused_optimizer_;
  torch::Tensor patterns_, images_, labels_, logits_, loss_;
};

// Of whole tensors: AdamW's first updates are nearly of one size, however small and inexact the gradient.
constexpr bench::Tolerance kFloat{.frobenius = 1e-2}, kBFloat16{.frobenius = 2e-1};

/// A row of the table: what it brings is shown, and differs from machine to machine; nothing is promised.
bool add_row(const std::string& name, const std::string& purpose, const Changes& changes) {
  bench::Pair pair;
  pair.name = "optimization_summary" + name;
  pair.purpose = "residual net: float32, NCHW, AdamW of LibTorch; " + purpose;
  pair.devices = {"cpu", "cuda"};
  const bench::Tolerance tolerance = changes.bfloat16 ? kBFloat16 : kFloat;
  pair.baseline = {[] { return std::make_unique<Training>(Changes{}); }, tolerance, tolerance};
  pair.optimized = {[changes] { return std::make_unique<Training>(changes); }, tolerance, tolerance};
  pair.iterations = 10;
  pair.warmup = 2;
  pair.informational = true;
  if (changes.checkpointed) {
    pair.goal = bench::Goal::kMemory;
    pair.memory_above_setup = true;
  }
  return bench::add_pair(pair);
}

[[maybe_unused]] const bool kAdded =
    add_row("_channels_last", "channels last", {.channels_last = true}) &&
    add_row("_bf16", "autocast to bfloat16", {.bfloat16 = true}) &&
    add_row("_fused_optimizer", "fused AdamW", {.fused_optimizer = true}) &&
    add_row("_checkpointing", "blocks checkpointed", {.checkpointed = true}) &&
    add_row("", "channels last, fused AdamW", {.channels_last = true, .fused_optimizer = true});

}  // namespace
