// SPDX-License-Identifier: MIT
#pragma once

#include "common/process_group.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace examples {

struct ShardingOptions {
  bool prefetch = false;  ///< the next block is gathered, and the last one's gradients summed, meanwhile
  bool offload = false;   ///< parts and what is theirs are in the host's memory, pinned where there is a device
  bool keep_after_forward = false;  ///< whole weights stay until their backward pass is done
};

/// Bytes of a rank, counted when memory is taken and given back.
struct ShardingBytes {
  std::int64_t parameters = 0;            ///< its parts
  std::int64_t gradients = 0;             ///< of its parts
  std::int64_t most_gathered = 0;         ///< whole weights, at any time at most
  std::int64_t most_whole_gradients = 0;  ///< before they are summed into parts
};

/// Blocks whose weights are sharded over the ranks: each block is one flat row of numbers, of which a rank keeps a
/// part. The row is gathered before the block runs, forward and backward, and its memory given back after it.
///
///   blocks.begin_step();
///   for (layer ...) x = blocks.forward(layer, x, body);
///   loss(x).backward();
///   blocks.finish_backward();   // gradients of the parts are there: the mean over all ranks
///   optimizer.step();           // on shards()
///
/// Autograd keeps views of a block's row for its backward pass; only the memory beneath them goes and comes back.
/// `body` may use weights in any way whose gradients all come when it is done with them, as linear layers and norms do.
class ShardedBlocks {
 public:
  using Body = std::function<torch::Tensor(const torch::Tensor& x, const std::vector<torch::Tensor>& weights)>;

  ShardedBlocks(ProcessGroup& group, ShardingOptions options);
  ~ShardedBlocks();
  ShardedBlocks(const ShardedBlocks&) = delete;
  ShardedBlocks& operator=(const ShardedBlocks&) = delete;

  /// A block more, with these weights, which are alike on all ranks.
  void add(const std::vector<torch::Tensor>& weights);
  /// This rank's parts, with gradients that exist from the start.
  std::vector<torch::Tensor> shards() const;

  void begin_step();
  torch::Tensor forward(std::int64_t layer, const torch::Tensor& x, const Body& body);
  void finish_backward();

  /// Whole weights of a block, as they are now: a copy.
  std::vector<torch::Tensor> gather_weights(std::int64_t layer);
  const ShardingBytes& bytes() const { return bytes_; }

 private:
  struct Block;
  void begin_gather(Block& block);
  void gather(Block& block);
  void release(Block& block);
  void before_backward(std::int64_t layer);
  void after_backward(std::int64_t layer);
  void finish_reduction();
  std::vector<torch::Tensor> views(const Block& block, const torch::Tensor& whole) const;

  ProcessGroup& group_;
  ShardingOptions options_;
  std::vector<std::unique_ptr<Block>> blocks_;
  Block* reducing_ = nullptr;
  ShardingBytes bytes_;
  std::int64_t gathered_ = 0, whole_gradients_ = 0;  // bytes, now
};

}  // namespace examples
