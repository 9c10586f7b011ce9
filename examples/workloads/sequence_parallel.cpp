// SPDX-License-Identifier: MIT
// Blocks whose products are spread over the ranks (tensor parallel): with activations between them on every rank and an
// all-reduce of each block's result; and with each rank keeping its part of the sequence there (sequence parallel): a
// reduce-scatter after the block, an all-gather before the next.
#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"
#include "common/rank_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace workloads::sequence_parallel {

using examples::Communication;
using examples::ProcessGroup;
using rangefinder::ProfileRange;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;
namespace bench = rangefinder::bench;

/// Tokens and the hidden width are divided by 2, 3, 4, 6 and 8 ranks.
struct Sizes {
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t hidden;
  std::int64_t layers;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {48, 32, 96, 2}, {768, 128, 288, 4}, {8208, 2048, 4128, 4});
}

double weight_elements(const Sizes& sizes) {
  return static_cast<double>(sizes.layers) *
         (examples::elements({2 * sizes.width, sizes.hidden}) + static_cast<double>(3 * sizes.width + sizes.hidden));
}

double training_flops(const Sizes& sizes) {
  return examples::training_flops(examples::elements({sizes.layers, 2, sizes.width, sizes.hidden}),
                                  static_cast<double>(sizes.tokens));
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double tokens = examples::elements({sizes.tokens, sizes.width});
  bench::Estimate all =
      examples::estimate_of_elements(2 * tokens + weight_elements(sizes), 1 + tokens + weight_elements(sizes),
                                     examples::kFloatBytes, training_flops(sizes) / setup.ranks);
  all.launches = examples::training_launches(8.0 * static_cast<double>(sizes.layers));
  return all;
}

/// A layer's weights, or a rank's part of them: of the wide product the rows, of the narrow one the columns.
struct Layer {
  torch::Tensor norm, norm_bias;  ///< [width]
  torch::Tensor up, up_bias;      ///< [hidden, width], [hidden]
  torch::Tensor down, down_bias;  ///< [width, hidden], [width]
};

/// In a graph of autograd there are only numbers; the process group outlives it.
at::IValue kept(ProcessGroup& group) { return reinterpret_cast<std::int64_t>(&group); }
ProcessGroup& group_of(AutogradContext* context) {
  return *reinterpret_cast<ProcessGroup*>(context->saved_data["group"].toInt());
}
torch::Tensor rows_like(const torch::Tensor& x, std::int64_t rows) {
  return torch::empty({rows, x.size(1)}, x.options().requires_grad(false));
}

/// Goes into products of all ranks, each of which gives a part of its gradient.
struct ToAll : torch::autograd::Function<ToAll> {
  static Variable forward(AutogradContext* context, const Variable& x, ProcessGroup* group) {
    context->saved_data["group"] = kept(*group);
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor sum = gradients[0].clone(at::MemoryFormat::Contiguous);
    group_of(context).all_reduce(sum).wait();
    return {sum, Variable()};
  }
};

/// The sum of what all ranks have, on each; each needs its gradient as it is.
struct SumOnAll : torch::autograd::Function<SumOnAll> {
  static Variable forward(AutogradContext*, const Variable& x, ProcessGroup* group) {
    torch::Tensor sum = x.detach().clone();
    group->all_reduce(sum).wait();
    return sum;
  }
  static variable_list backward(AutogradContext*, variable_list gradients) { return {gradients[0], Variable()}; }
};

/// The sum of what all ranks have, each its rows of it.
struct SumInParts : torch::autograd::Function<SumInParts> {
  static Variable forward(AutogradContext* context, const Variable& x, ProcessGroup* group) {
    context->saved_data["group"] = kept(*group);
    torch::Tensor part = rows_like(x, x.size(0) / group->size());
    group->reduce_scatter(part, x.contiguous()).wait();
    return part;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    ProcessGroup& group = group_of(context);
    const torch::Tensor whole = rows_like(gradients[0], gradients[0].size(0) * group.size());
    group.all_gather(whole, gradients[0].contiguous()).wait();
    return {whole, Variable()};
  }
};

/// The rows of all ranks times this rank's part of a weight. Only the rank's own rows are kept for the backward pass,
/// which gathers the others again: behind the product that needs none of them.
struct GatheredProduct : torch::autograd::Function<GatheredProduct> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, const Variable& bias,
                          ProcessGroup* group) {
    context->saved_data["group"] = kept(*group);
    context->save_for_backward({x, weight});
    const torch::Tensor rows = rows_like(x, x.size(0) * group->size());
    group->all_gather(rows, x.contiguous()).wait();
    return torch::linear(rows, weight, bias);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    ProcessGroup& group = group_of(context);
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &gradient = gradients[0];
    const torch::Tensor rows = rows_like(x, x.size(0) * group.size()), of_part = rows_like(x, x.size(0));
    examples::Pending gathering = group.all_gather(rows, x.contiguous());
    const torch::Tensor of_rows = torch::matmul(gradient, saved[1]);
    examples::Pending reducing = group.reduce_scatter(of_part, of_rows);
    gathering.wait();
    const torch::Tensor of_weight = torch::matmul(gradient.t(), rows), of_bias = gradient.sum(0);
    reducing.wait();
    return {of_part, of_weight, of_bias, Variable()};
  }
};

class Training : public examples::RankVariant {
 public:
  bench::Work work() override {
    bench::Work work;
    work.tokens = static_cast<double>(sizes_.tokens) / static_cast<double>(ranks());
    work.flops = training_flops(sizes_) / static_cast<double>(ranks());
    work.flops_type = "fp32";
    return work;
  }

 protected:
  /// x + down(gelu(up(norm(x)))), x as this variant spreads it over the ranks.
  virtual torch::Tensor block(const torch::Tensor& x, const Layer& layer) = 0;
  /// What this rank has of tokens, activations and outputs.
  virtual torch::Tensor part_of(const torch::Tensor& tokens) const { return tokens; }
  virtual torch::Tensor whole_of(const torch::Tensor& part) { return part; }
  /// After the backward pass.
  virtual void add_up_gradients() {}

  static torch::Tensor norm(const torch::Tensor& x, const Layer& layer) {
    static const rangefinder::RangeName kNorm{"norm"};
    const ProfileRange range{kNorm};
    return torch::layer_norm(x, {x.size(-1)}, layer.norm, layer.norm_bias);
  }
  std::int64_t token_bytes() const { return 4 * sizes_.tokens * sizes_.width; }

  Sizes sizes_{};
  std::vector<Layer> layers_;
  torch::Tensor out_, loss_;

 private:
  void make() final {
    sizes_ = sizes_of(size());
    tokens_ = torch::randn({sizes_.tokens, sizes_.width}).to(device());
    targets_ = torch::randn({sizes_.tokens, sizes_.width}).to(device());
    for (std::int64_t i = 0; i < sizes_.layers; ++i) {
      const auto vector = [this](std::int64_t length, double mean) {
        return (mean + 0.1 * torch::randn({length})).to(device());
      };
      const Layer whole{vector(sizes_.width, 1),
                        vector(sizes_.width, 0),
                        examples::random_weight({sizes_.hidden, sizes_.width}).to(device()),
                        vector(sizes_.hidden, 0),
                        examples::random_weight({sizes_.width, sizes_.hidden}).to(device()),
                        vector(sizes_.width, 0)};
      whole_.push_back(whole);
      Layer mine = whole;
      mine.up = my_part(whole.up).contiguous();
      mine.up_bias = my_part(whole.up_bias).contiguous();
      mine.down = my_part(whole.down, 1).contiguous();
      for (torch::Tensor* weight : {&mine.norm, &mine.norm_bias, &mine.up, &mine.up_bias, &mine.down, &mine.down_bias})
        *weight = weight->detach().requires_grad_();
      layers_.push_back(std::move(mine));
    }
  }

  void run() final {
    for (Layer& layer : layers_)
      for (torch::Tensor* weight :
           {&layer.norm, &layer.norm_bias, &layer.up, &layer.up_bias, &layer.down, &layer.down_bias})
        weight->mutable_grad().reset();
    torch::Tensor loss;
    {
      static const rangefinder::RangeName kForward{"forward"};
      const ProfileRange range{kForward};
      torch::Tensor x = part_of(tokens_);
      for (const Layer& layer : layers_) x = block(x, layer);
      // The mean over all tokens, as a sum over those that are here.
      loss = (x - part_of(targets_)).square().sum() / static_cast<double>(sizes_.tokens);
      out_ = x.detach();
    }
    static const rangefinder::RangeName kBackward{"backward"};
    const ProfileRange range{kBackward};
    loss.backward();
    add_up_gradients();
    loss_ = loss.detach();
  }

  std::vector<examples::NamedTensor> given() override {
    std::vector<examples::NamedTensor> all{{"tokens", tokens_}, {"targets", targets_}};
    for (const Layer& layer : whole_) name(all, layer);
    return all;
  }
  std::vector<examples::NamedTensor> results() override {
    std::vector<examples::NamedTensor> all{{"output", whole_of(out_)}, {"loss", whole_loss()}};
    for (const Layer& layer : layers_) {
      const auto columns = [this](const torch::Tensor& part) { return gathered(part.t().contiguous()).t(); };
      name(all, {layer.norm.grad(), layer.norm_bias.grad(), gathered(layer.up.grad()), gathered(layer.up_bias.grad()),
                 columns(layer.down.grad()), layer.down_bias.grad()});
    }
    return all;
  }
  virtual torch::Tensor whole_loss() { return loss_; }

  static void name(std::vector<examples::NamedTensor>& all, const Layer& layer) {
    const std::string number = " " + std::to_string(all.size());
    all.push_back({"norm" + number, layer.norm});
    all.push_back({"norm's bias" + number, layer.norm_bias});
    all.push_back({"up" + number, layer.up});
    all.push_back({"up's bias" + number, layer.up_bias});
    all.push_back({"down" + number, layer.down});
    all.push_back({"down's bias" + number, layer.down_bias});
  }

  torch::Tensor tokens_, targets_;
  std::vector<Layer> whole_;
};

class Alone : public Training {
  torch::Tensor block(const torch::Tensor& x, const Layer& layer) override {
    const torch::Tensor hidden = torch::gelu(torch::linear(norm(x, layer), layer.up, layer.up_bias));
    return x + torch::linear(hidden, layer.down, layer.down_bias);
  }
  examples::Traffic expected_traffic() override { return {}; }
};

class TensorParallel : public Training {
  torch::Tensor block(const torch::Tensor& x, const Layer& layer) override {
    const torch::Tensor normed = ToAll::apply(norm(x, layer), &group());
    torch::Tensor partial;
    {
      static const rangefinder::RangeName kProducts{"products"};
      const ProfileRange range{kProducts};
      partial = torch::linear(torch::gelu(torch::linear(normed, layer.up, layer.up_bias)), layer.down);
    }
    // The bias is added once, not on each rank.
    return x + (SumOnAll::apply(partial, &group()) + layer.down_bias);
  }
  examples::Traffic expected_traffic() override {
    examples::Traffic expected;
    expected[Communication::kAllReduce] = {2 * sizes_.layers, 2 * sizes_.layers * token_bytes()};
    return expected;
  }
};

class SequenceParallel : public Training {
  torch::Tensor block(const torch::Tensor& x, const Layer& layer) override {
    const torch::Tensor normed = norm(x, layer);
    torch::Tensor partial;
    {
      static const rangefinder::RangeName kProducts{"products"};
      const ProfileRange range{kProducts};
      const torch::Tensor up = GatheredProduct::apply(normed, layer.up, layer.up_bias, &group());
      partial = torch::linear(torch::gelu(up), layer.down);
    }
    return x + (SumInParts::apply(partial, &group()) + layer.down_bias);
  }
  torch::Tensor part_of(const torch::Tensor& tokens) const override { return my_part(tokens); }
  torch::Tensor whole_of(const torch::Tensor& part) override { return gathered(part); }
  torch::Tensor whole_loss() override { return summed(loss_); }

  /// Norms and the last bias saw this rank's tokens alone.
  void add_up_gradients() override {
    std::vector<torch::Tensor> gradients, flat;
    for (Layer& layer : layers_)
      for (const torch::Tensor* weight : {&layer.norm, &layer.norm_bias, &layer.down_bias})
        gradients.push_back(weight->grad());
    for (const torch::Tensor& gradient : gradients) flat.push_back(gradient.flatten());
    const torch::NoGradGuard no_grad;
    const torch::Tensor sums = torch::cat(flat);
    group().all_reduce(sums).wait();
    std::int64_t begin = 0;
    for (torch::Tensor& gradient : gradients) {
      gradient.copy_(sums.narrow(0, begin, gradient.numel()).view(gradient.sizes()));
      begin += gradient.numel();
    }
  }

  examples::Traffic expected_traffic() override {
    const std::int64_t layers = sizes_.layers;
    examples::Traffic expected;
    // Forward, and in the backward pass for the gradient of a block's result and for that of its wide weight.
    expected[Communication::kAllGather] = {3 * layers, 3 * layers * token_bytes() / ranks()};
    expected[Communication::kReduceScatter] = {2 * layers, 2 * layers * token_bytes()};
    expected[Communication::kAllReduce] = {1, 4 * 3 * layers * sizes_.width};
    return expected;
  }
};

bench::Benchmark sequence_parallel() {
  bench::Benchmark benchmark = examples::rank_benchmark(48, {1e-4, 1e-5}, {1e-3, 1e-4});
  benchmark.name = "sequence_parallel";
  benchmark.purpose = "tensor parallel blocks: activations on every rank; a part of the sequence on each";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.least_ratio_cpu = 1.15;
  benchmark.time_bound = 3;  // five calls a block where the baseline has two
  benchmark.baseline.make = [] { return std::make_unique<TensorParallel>(); };
  benchmark.optimized.make = [] { return std::make_unique<SequenceParallel>(); };
  benchmark.reference.make = [] { return std::make_unique<Alone>(); };
  benchmark.check_size = "cpu";  // at size gpu drawing the weights takes a second each time
  benchmark.estimate = estimate;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(sequence_parallel());

}  // namespace workloads::sequence_parallel
