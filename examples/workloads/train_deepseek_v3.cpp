// SPDX-License-Identifier: MIT
// Small blocks as in DeepSeek-V3: attention whose keys and values come from one narrow latent, and a mixture of experts
// with a shared one, chosen by sigmoid scores and balanced by a bias. Each expert looks for the tokens that chose it,
// and a host waits to be told how many; and choices are sorted by expert, so that the tokens of each are a slice of one
// grouped product for all experts.
#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"
#include "common/fused_adamw.hpp"
#include "common/language_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::train_deepseek_v3 {

using examples::NamedTensor;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;

constexpr std::int64_t kChosen = 2;  // experts of a token
constexpr double kBalanceRate = 1e-3;

struct Shape {
  std::int64_t batch, length, vocabulary, width, heads, latent, turned, inner, experts, layers;
};

Shape shape_of(const std::string& size) {
  return examples::of_size<Shape>(size, {2, 16, 64, 32, 2, 16, 8, 32, 4, 2}, {8, 64, 512, 128, 4, 32, 16, 256, 8, 4},
                                  {8, 1024, 8192, 512, 8, 128, 32, 512, 32, 4});
}

double parameter_count(const Shape& shape) {
  const auto [batch, length, vocabulary, width, heads, latent, turned, inner, experts, layers] = shape;
  const double norms = static_cast<double>(2 * width + latent);
  const double attention = examples::elements({width + heads * turned + latent + turned + 2 * latent + width, width});
  const double mixture = examples::elements({experts + 3 * inner + 3 * experts * inner, width});
  return examples::elements({2 * vocabulary + 1, width}) + static_cast<double>(layers) * (norms + attention + mixture);
}

double flops_of(const Shape& shape) {
  const auto [batch, length, vocabulary, width, heads, latent, turned, inner, experts, count] = shape;
  const auto layers = static_cast<double>(count);
  const double attention = examples::elements({width + heads * turned + latent + turned + 2 * latent + width, width});
  const double mixture = examples::elements({experts + 3 * inner * (1 + kChosen), width});
  const auto lengths = static_cast<double>(2 * width + heads * turned);  // of queries and values, over all heads
  return examples::training_flops(layers * (attention + mixture) + examples::elements({vocabulary, width}),
                                  examples::elements({batch, length})) +
         layers * examples::causal_training_flops(batch, length, lengths);
}

/// Both variants: experts work on the tokens that chose them.
bench::Estimate estimate(const bench::Setup& setup) {
  const Shape shape = shape_of(setup.size);
  // Of a layer: attention, norms, and fourteen for each expert.
  const double launches =
      examples::training_launches(50 + 14 * static_cast<double>(shape.experts)) * static_cast<double>(shape.layers);
  bench::Estimate out =
      examples::language_estimate(shape.batch, shape.length, parameter_count(shape), flops_of(shape), launches);
  out.output_bytes += examples::kFloatBytes * examples::elements({shape.layers, shape.experts});  // the balance
  return out;
}

/// Experts of a device compute in what its grouped products take, in both variants.
torch::ScalarType type_of_experts(const Tensor& tokens) {
  return tokens.is_cuda() ? torch::kBFloat16 : tokens.scalar_type();
}

/// Weights of all experts, and of each; these are taken apart at once, and their gradients come together at once, too.
struct Experts {
  Experts(const Tensor& all_gates, const Tensor& all_ups, const Tensor& all_downs, torch::ScalarType type)
      : gates(all_gates.to(type)), ups(all_ups.to(type)), downs(all_downs.to(type)) {}
  Tensor gates, ups, downs;
  std::vector<Tensor> each_gate = gates.unbind(0), each_up = ups.unbind(0), each_down = downs.unbind(0);

  Tensor run(std::int64_t index, const Tensor& tokens) const {
    const auto i = static_cast<std::size_t>(index);
    return examples::swiglu(tokens, each_gate[i], each_up[i], each_down[i]);
  }
  /// Rows sorted by expert. `ends`: of each expert's rows, on the device: the host is not told.
  Tensor run_all(const Tensor& sorted, const Tensor& ends) const {
    const auto product = [&ends](const Tensor& rows, const Tensor& weights) {
      return at::_grouped_mm(rows, weights.transpose(1, 2), ends);
    };
    return product(torch::silu(product(sorted, gates)) * product(sorted, ups), downs);
  }
};

class BlockImpl : public torch::nn::Module {
 public:
  BlockImpl(const Shape& shape, bool sorted, const examples::Rotary& rotary)
      : shape_(shape), sorted_(sorted), rotary_(rotary) {
    const std::int64_t width = shape.width, inner = shape.inner, experts = shape.experts;
    const auto add = [this](const char* name, at::IntArrayRef sizes) {
      return register_parameter(name, examples::random_weight(sizes));
    };
    norm1_ = register_parameter("norm1", torch::ones({width}));
    norm2_ = register_parameter("norm2", torch::ones({width}));
    latent_norm_ = register_parameter("latent_norm", torch::ones({shape.latent}));
    query_ = add("query", {width + shape.heads * shape.turned, width});
    compress_ = add("compress", {shape.latent + shape.turned, width});
    expand_ = add("expand", {2 * width, shape.latent});
    out_ = add("out", {width, width});
    router_ = add("router", {experts, width});
    shared_gate_ = add("shared_gate", {inner, width});
    shared_up_ = add("shared_up", {inner, width});
    shared_down_ = add("shared_down", {width, inner});
    gates_ = add("gates", {experts, inner, width});
    ups_ = add("ups", {experts, inner, width});
    downs_ = add("downs", {experts, width, inner});
    balance_ = register_buffer("balance", torch::zeros({experts}));
  }

  Tensor forward(Tensor x) {
    {
      const ProfileRange range("attention");
      x = x + attend(examples::root_mean_square_norm(x, norm1_));
    }
    const ProfileRange range("experts");
    const Tensor tokens = examples::root_mean_square_norm(x, norm2_).flatten(0, 1);
    const Tensor mixed = examples::swiglu(tokens, shared_gate_, shared_up_, shared_down_) + mix(tokens);
    return x + mixed.view_as(x);
  }

  /// After a step: experts that too many tokens chose are chosen a little less.
  void balance() {
    const torch::NoGradGuard no_grad;
    balance_.add_((load_.mean() - load_).sign(), kBalanceRate);
  }

 private:
  /// Heads share the turned part of the key, which holds the position; what else keys and values hold is in the latent.
  Tensor attend(const Tensor& x) const {
    const std::int64_t batch = x.size(0), length = x.size(1), heads = shape_.heads, size = shape_.width / heads;
    const auto query = torch::linear(x, query_)
                           .view({batch, length, heads, -1})
                           .transpose(1, 2)
                           .split_with_sizes({size, shape_.turned}, -1);
    const auto narrow = torch::linear(x, compress_).split_with_sizes({shape_.latent, shape_.turned}, -1);
    const auto wide = torch::linear(examples::root_mean_square_norm(narrow[0], latent_norm_), expand_)
                          .view({batch, length, heads, 2 * size})
                          .transpose(1, 2)
                          .chunk(2, -1);
    const Tensor position = rotary_.turn(narrow[1]).unsqueeze(1).expand({batch, heads, length, shape_.turned});
    const Tensor mixed = at::scaled_dot_product_attention(torch::cat({query[0], rotary_.turn(query[1])}, -1),
                                                          torch::cat({wide[0], position}, -1), wide[1], {}, 0.0,
                                                          /*is_causal=*/true);
    return torch::linear(mixed.transpose(1, 2).reshape(x.sizes()), out_);
  }

  Tensor mix(const Tensor& tokens) {
    const Tensor scores = torch::sigmoid(torch::linear(tokens, router_));
    // The bias decides who is chosen, and not how much it counts.
    const Tensor chosen = std::get<1>((scores.detach() + balance_).topk(kChosen, -1));
    Tensor weights = scores.gather(-1, chosen);
    weights = weights / weights.sum(-1, /*keepdim=*/true);
    load_ =
        torch::zeros_like(balance_).index_add(0, chosen.flatten(), torch::ones({chosen.numel()}, balance_.options()));
    const Experts experts(gates_, ups_, downs_, type_of_experts(tokens));
    return sorted_ ? mix_sorted(experts, tokens, chosen, weights) : mix_looped(experts, tokens, chosen, weights);
  }

  /// How many tokens an expert finds decides the shape of what follows: the host waits for each expert.
  Tensor mix_looped(const Experts& experts, const Tensor& tokens, const Tensor& chosen, const Tensor& weights) const {
    const Tensor given = tokens.to(type_of_experts(tokens));
    Tensor sum = torch::zeros_like(tokens);
    for (std::int64_t i = 0; i < shape_.experts; ++i) {
      const std::vector<Tensor> found = torch::where(chosen == i);
      const Tensor out = experts.run(i, given.index_select(0, found[0])).to(tokens.scalar_type());
      sum.index_add_(0, found[0], out * weights.index({found[0], found[1]}).unsqueeze(-1));
    }
    return sum;
  }

  /// Choices sorted by expert: each expert's tokens are a slice.
  Tensor mix_sorted(const Experts& experts, const Tensor& tokens, const Tensor& chosen, const Tensor& weights) const {
    const Tensor order = chosen.flatten().argsort(/*stable=*/true, 0, /*descending=*/false);
    const Tensor rows = order.floor_divide(kChosen);
    const Tensor gathered = tokens.to(type_of_experts(tokens)).index_select(0, rows);
    const Tensor out = experts.run_all(gathered, load_.cumsum(0).to(torch::kInt)).to(tokens.scalar_type());
    const Tensor weighted = out * weights.flatten().index_select(0, order).unsqueeze(-1);
    return torch::zeros_like(tokens).index_add(0, rows, weighted);
  }

  Shape shape_;
  bool sorted_;
  const examples::Rotary& rotary_;
  Tensor norm1_, norm2_, latent_norm_, query_, compress_, expand_, out_, router_, shared_gate_, shared_up_,
      shared_down_, gates_, ups_, downs_, balance_, load_;
};
TORCH_MODULE(Block);

class ModelImpl : public torch::nn::Module {
 public:
  ModelImpl(const Shape& shape, bool sorted, torch::Device device) : rotary_(shape.length, shape.turned, device) {
    embedding_ = register_parameter("embedding", examples::random_weight({shape.vocabulary, shape.width}));
    for (std::int64_t i = 0; i < shape.layers; ++i)
      blocks_.push_back(register_module("block" + std::to_string(i), Block(shape, sorted, rotary_)));
    norm_ = register_parameter("norm", torch::ones({shape.width}));
    head_ = register_parameter("head", examples::random_weight({shape.vocabulary, shape.width}));
  }

  Tensor forward(const Tensor& tokens) {
    Tensor x = torch::embedding(embedding_, tokens);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const ProfileRange range("layer." + std::to_string(i));
      x = blocks_[i]->forward(x);
    }
    const ProfileRange range("head");
    return torch::linear(examples::root_mean_square_norm(x, norm_), head_);
  }

  void balance() {
    for (Block& block : blocks_) block->balance();
  }

 private:
  examples::Rotary rotary_;
  Tensor embedding_, norm_, head_;
  std::vector<Block> blocks_;
};
TORCH_MODULE(Model);

class Training : public examples::LanguageVariant {
 public:
  explicit Training(bool sorted) : sorted_(sorted) {}

  void step() override {
    model_->zero_grad(/*set_to_none=*/false);
    Tensor loss;
    {
      const ProfileRange range("forward");
      loss = cross_entropy(model_->forward(tokens()), targets());
    }
    {
      const ProfileRange range("backward");
      loss.backward();
    }
    const ProfileRange range("optimizer");
    optimizer_->step();
    model_->balance();
    set_loss(loss);
  }

 private:
  double step_flops() const override { return flops_of(shape_of(size())); }
  void make() override {
    const Shape shape = shape_of(size());
    draw_tokens(shape.batch, shape.length, shape.vocabulary);
    model_ = Model(shape, sorted_, device());
    adopt(model_.ptr());
    optimizer_.emplace(model_->parameters());
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all = LanguageVariant::results();
    for (const auto& buffer : model_->named_buffers()) all.push_back({buffer.key(), buffer.value()});
    return all;
  }

  bool sorted_;
  Model model_{nullptr};
  std::optional<examples::FusedAdamW> optimizer_;
};

bench::Benchmark train_deepseek_v3() {
  bench::Benchmark benchmark;
  benchmark.name = "train_deepseek_v3";
  benchmark.estimate = estimate;
  benchmark.purpose = "mixture of experts, each finds its tokens; tokens sorted by expert, grouped products";
  benchmark.devices = {"cpu", "cuda"};
  // Whole tensors: where a gradient is nearly nothing, its rounding decides AdamW's first update.
  constexpr bench::Tolerance kCpu{.frobenius = 1e-3}, kCuda{.frobenius = 1e-2};
  benchmark.baseline = {[] { return std::make_unique<Training>(false); }, kCpu, kCuda};
  benchmark.optimized = {[] { return std::make_unique<Training>(true); }, kCpu, kCuda};
  benchmark.iterations = 10;
  benchmark.check_size = "cpu";  // at size gpu weights and gradients take gigabytes
  benchmark.warmup = 2;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(train_deepseek_v3());

}  // namespace workloads::train_deepseek_v3
