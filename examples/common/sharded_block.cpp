// SPDX-License-Identifier: MIT
#include "common/sharded_block.hpp"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

namespace examples {

struct ShardedBlocks::Block {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::int64_t> elements;  ///< of each weight, and of what fills the row up to equal parts
  torch::Tensor shard;                 ///< with its gradient
  torch::Tensor whole;                 ///< a leaf of autograd; without memory unless `present`
  bool present = false;
  Pending gathering;
  torch::Tensor whole_gradient;  ///< while it is being summed
  torch::Tensor part_gradient;   ///< its sum: the shard's gradient, or where it waits for its way to the host
  Pending reducing;
  std::shared_ptr<torch::autograd::Node> accumulator;  ///< dies with its hook if nobody keeps it
};

ShardedBlocks::ShardedBlocks(ProcessGroup& group, ShardingOptions options) : group_(group), options_(options) {}
ShardedBlocks::~ShardedBlocks() = default;

void ShardedBlocks::add(const std::vector<torch::Tensor>& weights) {
  const torch::NoGradGuard no_grad;
  auto block = std::make_unique<Block>();
  std::vector<torch::Tensor> pieces;
  std::int64_t total = 0;
  for (const torch::Tensor& weight : weights) {
    block->shapes.push_back(weight.sizes().vec());
    block->elements.push_back(weight.numel());
    pieces.push_back(weight.flatten());
    total += weight.numel();
  }
  const std::int64_t part = (total + group_.size() - 1) / group_.size(), padding = part * group_.size() - total;
  block->elements.push_back(padding);
  pieces.push_back(torch::zeros({padding}, weights.at(0).options()));
  const torch::Tensor row = torch::cat(pieces);
  const torch::TensorOptions device = row.options();
  const torch::TensorOptions home = options_.offload ? device.device(torch::kCPU).pinned_memory(row.is_cuda()) : device;
  block->shard = torch::empty({part}, home);
  block->shard.copy_(row.narrow(0, group_.rank() * part, part));
  block->shard.mutable_grad() = torch::zeros({part}, home);
  block->part_gradient = options_.offload ? torch::Tensor() : block->shard.grad();
  block->whole = torch::empty({part * group_.size()}, device).requires_grad_();
  block->accumulator = torch::autograd::impl::grad_accumulator(block->whole);
  block->accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
      [this, layer = static_cast<std::int64_t>(blocks_.size())](const torch::autograd::variable_list& outputs,
                                                                const torch::autograd::variable_list&) {
        after_backward(layer);
        return outputs;
      }));
  block->present = true;
  gathered_ += static_cast<std::int64_t>(block->whole.nbytes());
  release(*block);
  bytes_.parameters += static_cast<std::int64_t>(block->shard.nbytes());
  bytes_.gradients += static_cast<std::int64_t>(block->shard.grad().nbytes());
  blocks_.push_back(std::move(block));
}

std::vector<torch::Tensor> ShardedBlocks::shards() const {
  std::vector<torch::Tensor> all;
  for (const auto& block : blocks_) all.push_back(block->shard);
  return all;
}

void ShardedBlocks::begin_step() {
  for (const auto& block : blocks_)
    TORCH_CHECK(!block->present && !block->whole.grad().defined(), "a block is still there from the last step");
}

torch::Tensor ShardedBlocks::forward(std::int64_t layer, const torch::Tensor& x, const Body& body) {
  Block& block = *blocks_.at(static_cast<std::size_t>(layer));
  gather(block);
  if (options_.prefetch && layer + 1 < static_cast<std::int64_t>(blocks_.size()))
    begin_gather(*blocks_[static_cast<std::size_t>(layer) + 1]);
  const torch::Tensor y = body(x, views(block, block.whole));
  y.register_hook([this, layer](const torch::Tensor& gradient) {
    before_backward(layer);
    return gradient;
  });
  if (!options_.keep_after_forward) release(block);
  return y;
}

void ShardedBlocks::finish_backward() { finish_reduction(); }

std::vector<torch::Tensor> ShardedBlocks::views(const Block& block, const torch::Tensor& whole) const {
  // One operator, whose backward pass writes each gradient once. A slice for each weight would add up as many whole
  // rows.
  std::vector<torch::Tensor> weights = whole.split_with_sizes(block.elements);
  weights.pop_back();
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = weights[i].view(block.shapes[i]);
  return weights;
}

void ShardedBlocks::begin_gather(Block& block) {
  if (block.present) return;
  c10::StorageImpl& storage = *block.whole.storage().unsafeGetStorageImpl();
  const auto bytes = static_cast<std::int64_t>(block.whole.nbytes());
  storage.set_data_ptr_noswap(storage.allocator()->allocate(static_cast<std::size_t>(bytes)));
  storage.set_nbytes(static_cast<std::size_t>(bytes));
  block.present = true;
  gathered_ += bytes;
  bytes_.most_gathered = std::max(bytes_.most_gathered, gathered_);
  const torch::NoGradGuard no_grad;
  const torch::Tensor part =
      options_.offload
          ? torch::empty(block.shard.sizes(), block.whole.options().requires_grad(false)).copy_(block.shard, true)
          : block.shard;
  // The same memory under another version counter: autograd must not take the weights that come back for changed ones.
  block.gathering = group_.all_gather(block.whole.variable_data(), part);
}

void ShardedBlocks::gather(Block& block) {
  begin_gather(block);
  block.gathering.wait();
}

void ShardedBlocks::release(Block& block) {
  c10::StorageImpl& storage = *block.whole.storage().unsafeGetStorageImpl();
  storage.set_data_ptr_noswap(c10::DataPtr(nullptr, block.whole.device()));
  storage.set_nbytes(std::size_t{0});
  block.present = false;
  gathered_ -= static_cast<std::int64_t>(block.whole.nbytes());
}

void ShardedBlocks::before_backward(std::int64_t layer) {
  gather(*blocks_[static_cast<std::size_t>(layer)]);
  if (options_.prefetch && layer > 0) begin_gather(*blocks_[static_cast<std::size_t>(layer) - 1]);
}

void ShardedBlocks::after_backward(std::int64_t layer) {
  Block& block = *blocks_[static_cast<std::size_t>(layer)];
  release(block);
  block.whole_gradient = std::exchange(block.whole.mutable_grad(), torch::Tensor());
  whole_gradients_ += static_cast<std::int64_t>(block.whole_gradient.nbytes());
  bytes_.most_whole_gradients = std::max(bytes_.most_whole_gradients, whole_gradients_);
  finish_reduction();
  const torch::NoGradGuard no_grad;
  block.whole_gradient.div_(group_.size());
  if (options_.offload) block.part_gradient = torch::empty(block.shard.sizes(), block.whole_gradient.options());
  block.reducing = group_.reduce_scatter(block.part_gradient, block.whole_gradient);
  reducing_ = &block;
  if (!options_.prefetch) finish_reduction();
}

void ShardedBlocks::finish_reduction() {
  if (reducing_ == nullptr) return;
  Block& block = *std::exchange(reducing_, nullptr);
  block.reducing.wait();
  whole_gradients_ -= static_cast<std::int64_t>(block.whole_gradient.nbytes());
  block.whole_gradient.reset();
  if (!options_.offload) return;
  const torch::NoGradGuard no_grad;
  block.shard.mutable_grad().copy_(block.part_gradient);
  block.part_gradient.reset();
}

std::vector<torch::Tensor> ShardedBlocks::gather_weights(std::int64_t layer) {
  const torch::NoGradGuard no_grad;
  const Block& block = *blocks_.at(static_cast<std::size_t>(layer));
  const torch::Tensor whole = torch::empty(block.whole.sizes(), block.whole.options().requires_grad(false));
  group_.all_gather(whole, block.shard.to(whole.device())).wait();
  return views(block, whole);
}

}  // namespace examples
