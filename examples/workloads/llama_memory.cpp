// SPDX-License-Identifier: MIT
// Where the bytes of training a LLaMA-like decoder are: weights, gradients, the optimizer's state, and what the forward
// pass keeps for the backward pass; with techniques that shrink one of them each. A step fails where what the allocator
// counted is not what the formulas say.
#include "common/checkpoint.hpp"
#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"
#include "common/language_variant.hpp"
#include "common/libtorch_worker.hpp"
#include "common/mixed_precision.hpp"

#include <rangefinder/range.hpp>

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace workloads::llama_memory {

using examples::NamedTensor;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;

struct Techniques {
  bool bfloat16 = false;      // weights and activations; the optimizer keeps a master copy in floats
  bool checkpointed = false;  // layers keep their inputs alone
  bool accumulated = false;   // a batch in parts whose gradients add up
  bool small_state = false;   // means and squares of AdamW in bfloat16
  bool released = false;      // a weight is updated as soon as its gradient is known, which is then freed
};

/// Of a batch whose gradients add up.
constexpr std::int64_t kParts = 4;

struct Shape {
  std::int64_t batch, length, vocabulary, width, heads, inner, layers;
};

Shape shape_of(const std::string& size) {
  return examples::of_size<Shape>(size, {4, 32, 128, 32, 2, 96, 3}, {4, 128, 1024, 256, 4, 704, 4},
                                  {4, 1024, 16384, 1024, 16, 2816, 8});
}

/// Extents of a layer's weights, [out, in], in the order of `Layer`; those of one extent are of norms.
std::vector<std::pair<const char*, std::vector<std::int64_t>>> weights_of_layer(const Shape& shape) {
  const std::int64_t width = shape.width, inner = shape.inner;
  return {{"norm1", {width}},        {"query", {width, width}}, {"key", {width, width}},
          {"value", {width, width}}, {"out", {width, width}},   {"norm2", {width}},
          {"gate", {inner, width}},  {"up", {inner, width}},    {"down", {width, inner}}};
}
constexpr std::size_t kOfLayer = 9;
enum Layer : std::size_t { kNorm1, kQuery, kKey, kValue, kOut, kNorm2, kGate, kUp, kDown };

/// The embedding, layers, the last norm, the head.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> weights_of(const Shape& shape) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> all{{"embedding", {shape.vocabulary, shape.width}}};
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    for (const auto& [name, extents] : weights_of_layer(shape))
      all.emplace_back("layers." + std::to_string(layer) + "." + name, extents);
  }
  all.emplace_back("norm", std::vector<std::int64_t>{shape.width});
  all.emplace_back("head", std::vector<std::int64_t>{shape.vocabulary, shape.width});
  return all;
}

/// The four classes, in bytes.
struct Bytes {
  double weights = 0, gradients = 0, state = 0, activations = 0;
};

/// By formula.
Bytes computed(const Shape& shape, const Techniques& techniques, bool on_device) {
  double parameters = 0, largest = 0;
  for (const auto& [name, extents] : weights_of(shape)) {
    const auto count = static_cast<double>(c10::multiply_integers(extents));
    parameters += count;
    largest = std::max(largest, count);
  }
  constexpr double kFloat = 4, kHalf = 2;
  const double element = techniques.bfloat16 ? kHalf : kFloat;
  Bytes out;
  out.weights = element * parameters;
  // Of gradients that are released there is one at a time.
  out.gradients = element * (techniques.released ? largest : parameters);
  out.state = 2 * (techniques.small_state ? kHalf : kFloat) * parameters;  // means and squares
  if (techniques.bfloat16) out.state += kFloat * parameters;               // the master copy

  const double parts = techniques.accumulated ? static_cast<double>(kParts) : 1;
  const double tokens = examples::elements({shape.batch, shape.length}) / parts;
  const double row = tokens * static_cast<double>(shape.width), inner = tokens * static_cast<double>(shape.inner);
  // A norm keeps its input, that by its root mean square, and the reciprocal of that; its output is what products
  // keep. Attention keeps query, key, value, output, and a float a head: the logarithm of the softmax's sum. The gated
  // network keeps gate, its SiLU, up, and their product.
  const double layer = element * (3 * row + tokens + 4 * row + 3 * row + tokens + 4 * inner) +
                       kFloat * tokens * static_cast<double>(shape.heads);
  // A checkpoint keeps its input, and the state of the host's generator, which is no memory of a device.
  constexpr double kGenerator = 5056;
  const double checkpoint = element * row + (on_device ? 0 : kGenerator);
  const double last_norm = element * (3 * row + tokens);
  const double softmax = kFloat * tokens * static_cast<double>(shape.vocabulary);  // of the loss, in floats
  out.activations =
      static_cast<double>(shape.layers) * (techniques.checkpointed ? checkpoint : layer) + last_norm + softmax;
  return out;
}

/// A device's allocator rounds each tensor up, and its kernels pad what they keep.
double tolerance_of(double bytes, bool on_device) { return on_device ? 0.05 * bytes + 1048576 : 0.01 * bytes + 1024; }

double flops_of(const Shape& shape) {
  const auto layers = static_cast<double>(shape.layers);
  const double weights = layers * examples::elements({4 * shape.width + 3 * shape.inner, shape.width}) +
                         examples::elements({shape.vocabulary, shape.width});
  return examples::training_flops(weights, examples::elements({shape.batch, shape.length})) +
         layers * examples::causal_training_flops(shape.batch, shape.length, 2 * static_cast<double>(shape.width));
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Shape shape = shape_of(setup.size);
  double parameters = 0;
  for (const auto& [name, extents] : weights_of(shape))
    parameters += static_cast<double>(c10::multiply_integers(extents));
  const double launches = static_cast<double>(shape.layers) *
                          (kParts * examples::training_launches(35) + examples::kAdamWLaunches * double{kOfLayer});
  bench::Estimate out = examples::language_estimate(shape.batch, shape.length, parameters, flops_of(shape), launches);
  out.random_numbers = examples::elements({shape.batch, shape.length}) + parameters;
  return out;
}

/// AdamW of one weight after another, with state of a chosen type.
class Optimizer {
 public:
  /// `master`: weights are kept in floats, too.
  Optimizer(const std::vector<Tensor>& weights, bool master, torch::ScalarType type) {
    for (const Tensor& weight : weights) {
      const torch::NoGradGuard no_grad;
      if (master) masters_.push_back(weight.to(torch::kFloat, false, /*copy=*/true));
      means_.push_back(torch::zeros(weight.sizes(), weight.options().dtype(type).requires_grad(false)));
      squares_.push_back(torch::zeros_like(means_.back()));
    }
  }
  void begin_step() { ++steps_; }
  void update(std::size_t i, Tensor& weight, const Tensor& gradient) {
    constexpr double kRate = 1e-3, kDecay = 1e-2, kBeta1 = 0.9, kBeta2 = 0.999;
    constexpr double kEpsilon = 1e-3;  // with 1e-8 the rounding of what is nearly nothing decides a full update
    const torch::NoGradGuard no_grad;
    const Tensor of = gradient.to(torch::kFloat);
    const Tensor mean = means_[i].to(torch::kFloat), square = squares_[i].to(torch::kFloat);  // themselves, if floats
    mean.lerp_(of, 1 - kBeta1);
    square.mul_(kBeta2).addcmul_(of, of, 1 - kBeta2);
    if (!mean.is_same(means_[i])) {
      means_[i].copy_(mean);
      squares_[i].copy_(square);
    }
    Tensor target = masters_.empty() ? weight : masters_[i];
    const Tensor root = square.sqrt().div_(std::sqrt(1 - std::pow(kBeta2, steps_))).add_(kEpsilon);
    target.mul_(1 - kRate * kDecay).addcdiv_(mean, root, -kRate / (1 - std::pow(kBeta1, steps_)));
    if (!masters_.empty()) weight.copy_(target);
  }
  const std::vector<Tensor>& means() const { return means_; }
  const std::vector<Tensor>& masters() const { return masters_; }

 private:
  std::vector<Tensor> masters_, means_, squares_;
  double steps_ = 0;
};

class Training : public examples::LanguageVariant {
 public:
  explicit Training(const Techniques& techniques) : techniques_(techniques) {}

  void step() override {
    optimizer_->begin_step();
    measured_.gradients = 0;
    const std::int64_t before = examples::live_bytes(device()), parts = techniques_.accumulated ? kParts : 1;
    const std::int64_t rows = tokens().size(0) / parts;
    Tensor sum = torch::zeros({}, device());
    for (std::int64_t part = 0; part < parts; ++part) {
      Tensor loss;
      {
        const ProfileRange range("forward");
        loss = loss_of(part * rows, rows) / static_cast<double>(parts);
      }
      if (part == 0) measured_.activations = static_cast<double>(examples::live_bytes(device()) - before);
      const ProfileRange range("backward");
      loss.backward();
      sum += loss.detach();
    }
    const auto held = static_cast<double>(examples::live_bytes(device()) - before);
    measured_.gradients = std::max(measured_.gradients, held);
    if (!techniques_.released) {
      const ProfileRange range("optimizer");
      for (std::size_t i = 0; i < weights_.size(); ++i) update(i);
    }
    loss_ = sum;
    compare();
  }

  std::vector<bench::Metric> metrics() override {
    const Bytes formula = computed(shape_, techniques_, device().is_cuda());
    std::vector<bench::Metric> all;
    for (const auto& [name, field] : kClasses) {
      all.push_back({std::string(name) + "_bytes", measured_.*field, bench::MetricKind::kBytes});
      all.push_back({std::string(name) + "_bytes_computed", formula.*field});
    }
    return all;
  }

 private:
  static constexpr std::pair<const char*, double Bytes::*> kClasses[] = {{"weight", &Bytes::weights},
                                                                         {"gradient", &Bytes::gradients},
                                                                         {"state", &Bytes::state},
                                                                         {"activation", &Bytes::activations}};

  /// The update in the backward pass.
  struct Release : torch::autograd::PostAccumulateGradHook {
    Release(Training& owner, std::size_t weight) : training(owner), index(weight) {}
    void operator()(const torch::autograd::Variable&) override {
      double held = 0;
      for (const Tensor& weight : training.weights_)
        if (weight.grad().defined()) held += static_cast<double>(weight.grad().storage().nbytes());
      training.measured_.gradients = std::max(training.measured_.gradients, held);
      training.update(index);
    }
    Training& training;
    std::size_t index;
  };

  void update(std::size_t i) {
    optimizer_->update(i, weights_[i], weights_[i].grad());
    weights_[i].mutable_grad().reset();
  }

  void compare() const {
    const bool cuda = device().is_cuda();
    const Bytes formula = computed(shape_, techniques_, cuda);
    for (const auto& [name, field] : kClasses) {
      const double was = measured_.*field, said = formula.*field;
      if (std::abs(was - said) <= tolerance_of(said, cuda)) continue;
      throw std::runtime_error(std::string(name) + " bytes: the allocator counted " + std::to_string(was) +
                               ", the formula says " + std::to_string(said));
    }
  }

  Tensor loss_of(std::int64_t first, std::int64_t rows) {
    Tensor x = torch::embedding(weights_.front(), tokens().narrow(0, first, rows));
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      const Tensor* const weights = &weights_[1 + static_cast<std::size_t>(i) * kOfLayer];
      const ProfileRange range("layer." + std::to_string(i));
      x = techniques_.checkpointed
              ? examples::checkpoint([this, weights](const Tensor& in) { return layer(in, weights); }, x)
              : layer(x, weights);
    }
    const ProfileRange range("head");
    const std::size_t last = weights_.size() - 2;
    return cross_entropy(
        torch::linear(examples::root_mean_square_norm(x, weights_[last]), weights_[last + 1]).to(torch::kFloat),
        targets().narrow(0, first, rows));
  }

  Tensor layer(const Tensor& x, const Tensor* weights) const {
    const Tensor middle = x + attend(examples::root_mean_square_norm(x, weights[kNorm1]), weights);
    const Tensor normal = examples::root_mean_square_norm(middle, weights[kNorm2]);
    return middle + examples::swiglu(normal, weights[kGate], weights[kUp], weights[kDown]);
  }

  Tensor attend(const Tensor& x, const Tensor* weights) const {
    const auto heads = [&](const Tensor& weight) {
      return torch::linear(x, weight).view({x.size(0), x.size(1), shape_.heads, -1}).transpose(1, 2);
    };
    // Laid out as products give them: kernels of attention give their output likewise, which then needs no copy.
    const auto turned = [&](const Tensor& weight) {
      const Tensor rotated = rotary_.turn(heads(weight)).to(x.scalar_type());
      return rotated.transpose(1, 2).contiguous().transpose(1, 2);
    };
    const Tensor query = turned(weights[kQuery]), key = turned(weights[kKey]);
    const Tensor mixed = at::scaled_dot_product_attention(query, key, heads(weights[kValue]), {}, 0.0,
                                                          /*is_causal=*/true);
    return torch::linear(mixed.transpose(1, 2).reshape(x.sizes()), weights[kOut]);
  }

  double step_flops() const override { return flops_of(shape_); }
  torch::ScalarType products_type() const override { return techniques_.bfloat16 ? torch::kBFloat16 : torch::kFloat; }

  void make() override {
    shape_ = shape_of(size());
    draw_tokens(shape_.batch, shape_.length, shape_.vocabulary);
    rotary_ = examples::Rotary(shape_.length, shape_.width / shape_.heads, device());
    std::vector<Tensor> drawn;
    for (const auto& [name, extents] : weights_of(shape_))
      drawn.push_back((extents.size() == 1 ? torch::ones(extents) : examples::random_weight(extents)).to(device()));
    std::int64_t before = examples::live_bytes(device());
    for (const Tensor& weight : drawn)
      weights_.push_back(weight.to(products_type(), false, /*copy=*/true).requires_grad_());
    measured_.weights = static_cast<double>(examples::live_bytes(device()) - before);
    before = examples::live_bytes(device());
    optimizer_.emplace(drawn, techniques_.bfloat16, techniques_.small_state ? torch::kBFloat16 : torch::kFloat);
    measured_.state = static_cast<double>(examples::live_bytes(device()) - before);
    drawn.clear();
    if (device().is_cuda()) make_workspaces();
    if (!techniques_.released) return;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      torch::autograd::impl::set_post_acc_grad_hooks(weights_[i], std::make_unique<Release>(*this, i));
  }
  /// Of libraries of a device, in the first step of a process: nothing of the model's.
  void make_workspaces() {
    loss_of(0, 1).backward();
    for (Tensor& weight : weights_) weight.mutable_grad().reset();
  }

  const std::vector<Tensor>& exact_weights() const { return techniques_.bfloat16 ? optimizer_->masters() : weights_; }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"tokens", tokens()}, {"targets", targets()}};
    const auto named = weights_of(shape_);
    for (std::size_t i = 0; i < named.size(); ++i) all.push_back({named[i].first, exact_weights()[i]});
    return all;
  }
  /// Gradients that were released are there in the means of the optimizer.
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all{{"loss", loss_}};
    const auto named = weights_of(shape_);
    for (std::size_t i = 0; i < named.size(); ++i) {
      all.push_back({named[i].first, exact_weights()[i]});
      all.push_back({"mean of " + named[i].first, optimizer_->means()[i].to(torch::kFloat)});
    }
    return all;
  }

  Techniques techniques_;
  Shape shape_{};
  examples::Rotary rotary_;
  std::vector<Tensor> weights_;
  std::optional<Optimizer> optimizer_;
  Tensor loss_;
  Bytes measured_;
};

/// Of whole tensors; on a device sums have no fixed order.
constexpr bench::Tolerance kFloat{.frobenius = 1e-3}, kBFloat16{.frobenius = 5e-2};

/// `least_ratio`: of peak bytes at size cpu, which are the same wherever LibTorch is; 0: informational.
bool add_row(const std::string& name, const std::string& purpose, const Techniques& techniques, double least_ratio) {
  bench::Benchmark benchmark;
  benchmark.name = "llama_memory" + name;
  benchmark.series = "llama_memory";
  benchmark.purpose = "LLaMA-like decoder in float32, AdamW, a batch at once; " + purpose;
  benchmark.estimate = estimate;
  benchmark.goal = bench::Goal::kMemory;
  benchmark.devices = {"cpu", "cuda"};
  const bench::Tolerance tolerance = techniques.bfloat16 || techniques.small_state ? kBFloat16 : kFloat;
  benchmark.baseline = {[] { return std::make_unique<Training>(Techniques{}); }, tolerance, tolerance};
  benchmark.optimized = {[techniques] { return std::make_unique<Training>(techniques); }, tolerance, tolerance};
  benchmark.skip = [techniques](const bench::Setup& setup) -> std::string {
    // Where each product is made of operators on floats, a step takes ten times as long.
    const bool slow = techniques.bfloat16 && setup.device == "cpu" && !examples::has_bfloat16_products();
    return slow && setup.size != "smoke" ? "needs_avx512_bf16" : "";
  };
  benchmark.check_steps = 2;
  benchmark.check_size = "cpu";  // at size gpu weights and means take a gigabyte
  benchmark.iterations = 10;
  benchmark.warmup = 2;
  benchmark.time_bound = 1.8;  // of checkpoints a third, of converting state the rest
  benchmark.least_ratio_cpu = least_ratio;
  benchmark.informational = least_ratio == 0;
  return bench::add_benchmark(benchmark);
}

bool add_rows() {
  return add_row("_bf16", "weights in bfloat16, a master copy in floats", {.bfloat16 = true}, 0) &&
         add_row("_checkpointing", "layers checkpointed", {.checkpointed = true}, 1.3) &&
         add_row("_accumulation", "gradients of four parts add up", {.accumulated = true}, 1.25) &&
         add_row("_small_state", "AdamW's state in bfloat16", {.small_state = true}, 1.15) &&
         add_row("_release", "weights updated in the backward pass, gradients released", {.released = true}, 0) &&
         add_row("", "layers checkpointed, state in bfloat16, gradients released",
                 {.checkpointed = true, .small_state = true, .released = true}, 1.9) &&
         add_row("_all", "the same with weights in bfloat16",
                 {.bfloat16 = true, .checkpointed = true, .small_state = true, .released = true}, 0) &&
         add_row("_all_accumulated", "the same with four parts, whose gradients cannot be released",
                 {.bfloat16 = true, .checkpointed = true, .accumulated = true, .small_state = true}, 0);
}

[[maybe_unused]] const bool kAdded = add_rows();

}  // namespace workloads::llama_memory
