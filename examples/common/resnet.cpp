// SPDX-License-Identifier: MIT
#include "common/resnet.hpp"

#include "common/checkpoint.hpp"

#include <rangefinder/range.hpp>

#include <string>

namespace examples {
namespace {

constexpr std::int64_t kStages = 4, kChannelsOfGroup = 8;

torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

torch::nn::GroupNorm norm(std::int64_t channels) {
  return torch::nn::GroupNorm(torch::nn::GroupNormOptions(channels / kChannelsOfGroup, channels));
}

class ResidualImpl : public torch::nn::Module {
 public:
  ResidualImpl(std::int64_t in, std::int64_t out, std::int64_t stride)
      : first_(register_module("first", convolution(in, out, 3, stride))),
        second_(register_module("second", convolution(out, out, 3, 1))),
        norm1_(register_module("norm1", norm(out))),
        norm2_(register_module("norm2", norm(out))) {
    if (in != out || stride != 1) shortcut_ = register_module("shortcut", convolution(in, out, 1, stride));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor inside = norm2_(second_(torch::silu(norm1_(first_(x)))));
    return torch::silu(inside + (shortcut_ ? shortcut_(x) : x));
  }

 private:
  torch::nn::Conv2d first_, second_, shortcut_{nullptr};
  torch::nn::GroupNorm norm1_, norm2_;
};
TORCH_MODULE(Residual);

}  // namespace

ResNetCosts costs_of(const ResNetOptions& options, std::int64_t image) {
  ResNetCosts costs;
  const auto weights = [&costs](std::int64_t kernel, std::int64_t in, std::int64_t out, std::int64_t side) {
    const auto count = static_cast<double>(kernel * kernel * in * out);
    costs.parameters += count;
    costs.forward_flops += 2 * count * static_cast<double>(side * side);
  };
  const auto norm_of = [&costs](std::int64_t channels) { costs.parameters += static_cast<double>(2 * channels); };
  weights(3, 3, options.width, image);
  const double of_images = costs.forward_flops;
  norm_of(options.width);
  std::int64_t channels = options.width, side = image;
  for (std::int64_t stage = 0; stage < kStages; ++stage) {
    const std::int64_t out = options.width << stage;
    if (stage > 0) side = (side + 1) / 2;
    for (std::int64_t block = 0; block < options.blocks; ++block, channels = out) {
      weights(3, channels, out, side);
      weights(3, out, out, side);
      if (channels != out) weights(1, channels, out, side);
      norm_of(out);
      norm_of(out);
    }
  }
  weights(1, channels, options.classes, 1);
  costs.parameters += static_cast<double>(options.classes);
  costs.training_flops = 3 * costs.forward_flops - of_images;
  return costs;
}

ResNetImpl::ResNetImpl(const ResNetOptions& options)
    : options_(options),
      stem_(register_module("stem", convolution(3, options.width, 3, 1))),
      norm_(register_module("norm", norm(options.width))),
      blocks_(register_module("blocks", torch::nn::ModuleList())),
      head_(register_module("head", torch::nn::Linear(options.width << (kStages - 1), options.classes))) {
  std::int64_t channels = options.width;
  for (std::int64_t stage = 0; stage < kStages; ++stage) {
    for (std::int64_t block = 0; block < options.blocks; ++block) {
      const bool narrows = stage > 0 && block == 0;
      const std::int64_t out = options.width << stage;
      blocks_->push_back(Residual(channels, out, narrows ? 2 : 1));
      channels = out;
    }
  }
}

torch::Tensor ResNetImpl::forward(const torch::Tensor& images) {
  torch::Tensor x;
  {
    const rangefinder::ProfileRange range{"stem"};
    x = torch::silu(norm_(stem_(images)));
  }
  for (std::int64_t stage = 0; stage < kStages; ++stage) {
    const rangefinder::ProfileRange range{"stage." + std::to_string(stage)};
    for (std::int64_t i = stage * options_.blocks; i < (stage + 1) * options_.blocks; ++i) {
      ResidualImpl& block = blocks_->at<ResidualImpl>(static_cast<std::size_t>(i));
      x = options_.checkpointed ? checkpoint([&block](const torch::Tensor& in) { return block.forward(in); }, x)
                                : block.forward(x);
    }
  }
  const rangefinder::ProfileRange range{"head"};
  return head_(x.mean({2, 3}));
}

}  // namespace examples
