// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/training_loop.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

// Models that only the third part has, with the names of modules that their codebases have.
namespace rangefinder::testing::corpus {

/// Rotary embeddings and gated layers; norms are kernels of a library. `fused`: so are the elementwise operators
/// between the products, by torch.compile.
struct LlamaShape {
  std::int64_t layers = 8, rows = 16384, sequence = 4096, width = 1024, hidden = 2816, vocabulary = 32000;
  bool fused = true;
  Math head_math = Math::kBf16;
};
Model llama(const LlamaShape& shape);

/// Convolutions of a denoiser of images.
struct UnetShape {
  std::int64_t blocks = 8, batch = 32, channels = 640, size = 32;
  Math math = Math::kBf16;
};
Model unet(const UnetShape& shape);

/// Convolutions on a graph: features of the nodes go along its edges and are summed up.
struct GraphNetShape {
  std::int64_t layers = 6, nodes = 200'000, edges = 2'000'000, width = 256;
};
Model graph_net(const GraphNetShape& shape);

/// Each layer is four: attention, the first product of the expert that all tokens share, the experts, and the second
/// product of the shared one.
struct ExpertsShape {
  std::int64_t layers = 5, tokens = 8192, width = 2048, shared = 4096, hidden = 2048;
};
inline constexpr std::size_t kPartsOfExperts = 4;
Model mixture_of_experts(const ExpertsShape& shape);

/// Embeddings, their products in pairs, and a stack of products whose first has so many columns as there are pairs.
struct ClickShape {
  std::int64_t batch = 65536, pairs = 480, layers = 3, width = 2048;
  Math first = Math::kBf16;
};
Model click_through(const ClickShape& shape);

/// A transformer of patches of images, with a head of so many classes.
struct PatchShape {
  std::int64_t layers = 10, images = 64, patches = 256, width = 1280, classes = 1000;
};
Model patch_transformer(const PatchShape& shape);

/// Calls the layers of a model so: the first and last ones by name, those between them by this and a number.
void rename_layers(Model& model, const std::string& first, const std::string& middle, const std::string& last);
/// Every `period`-th layer launches a kernel of the program's own too.
void launch_in_layers(Model& model, std::size_t period, const std::string& op, const Kernel& kernel);
/// Of a program that opens no ranges: there are operators, and marked steps.
inline LoopNames no_names() { return {"", "", "", "", "", ""}; }
LoopNames short_names();
/// A model whose modules open no ranges.
void without_module_ranges(Model& model);

}  // namespace rangefinder::testing::corpus
