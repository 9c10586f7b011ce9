// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/kernels.hpp"
#include "advice/corpus/simulation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Programs that train or infer: a model, and the loop around it. As they stand they are healthy; a case replaces a
// piece of the loop.
namespace rangefinder::testing::corpus {

struct Layer {
  std::string name;
  std::vector<Op> forward, backward;
  std::int64_t parameters = 0;
};

struct Model {
  std::vector<Layer> layers;
  std::uint64_t batch_bytes = 0;  ///< of input a step
  bool fused_optimizer = true;
  std::int64_t parameters() const;
};

struct TransformerShape {
  std::int64_t layers = 8, batch = 4, sequence = 2048, width = 2048, heads = 16, vocabulary = 50304;
  Math math = Math::kBf16;
  Math head_math = Math::kBf16;  ///< of the product with the vocabulary
};
Model transformer(const TransformerShape& shape);

struct CnnShape {
  std::int64_t blocks = 24, batch = 256;
  double block_gflops = 180;
  Math math = Math::kBf16;
};
Model cnn(const CnnShape& shape);

/// A stack of products with small elementwise work between them.
struct MlpShape {
  std::int64_t layers = 12, batch = 8192, width = 4096;
  Math math = Math::kBf16;
};
Model mlp(const MlpShape& shape);

/// Kernels of some microseconds, several a time step.
struct LstmShape {
  std::int64_t layers = 2, time_steps = 48, batch = 64, width = 512;
};
Model lstm(const LstmShape& shape);

/// Bags of embeddings, and two stacks of products.
struct RecommenderShape {
  std::int64_t tables = 26, batch = 32768, width = 128, dense_layers = 6, dense_width = 2048;
};
Model recommender(const RecommenderShape& shape);

/// One token a step; without backward pass.
struct DecoderShape {
  std::int64_t layers = 32, batch = 16, width = 4096;
};
Model decoder(const DecoderShape& shape);

/// What the program calls its ranges; where a name is empty there is none.
struct LoopNames {
  std::string step;  ///< around all that follows
  std::string data = "data", forward = "forward", backward = "backward", optimizer = "optimizer";
  std::string graph = "forward_backward_optimizer";  ///< in place of the last three
};

/// The loop. What a case does not set is done as a good program does it.
struct Loop {
  Model model;
  int steps = 24;
  bool training = true;
  /// Gets the batch; by default one that workers prepared is there, and goes to the device from pinned memory on a
  /// stream of its own.
  std::function<void(Simulation&, int step)> data;
  std::function<void(Simulation&, int step)> before_step, after_forward, after_backward, after_step;
  std::function<void(Simulation&, int step, std::size_t layer)> after_layer, after_layer_backward;
  /// In place of forward, backward and optimizer: all of it as one CUDA graph.
  bool graph = false;
  double host_us_of_layer = 6;  ///< Python of a module
  LoopNames names{};
};

/// Does it in a range of that name, or of none.
template <typename Body>
void in_range(Simulation& run, const std::string& name, Body body) {
  if (name.empty()) return body();
  const auto range = run.range(name);
  body();
}

/// A host that runs ahead of its device by two steps, as pinned buffers that are used in turn make it: the one of the
/// step before last has to be free.
class TwoStepsAhead {
 public:
  /// As a step begins.
  void wait(Simulation& run) {
    if (events_.size() == 2) {
      run.synchronize_event(events_.front());
      events_.erase(events_.begin());
    }
  }
  /// As its work has been launched.
  void mark(Simulation& run) { events_.push_back(run.record_event()); }

 private:
  std::vector<ProgramEvent> events_;
};

/// In ranges of data, forward, backward and optimizer; the backward pass is launched by the engine's thread.
void run_loop(Simulation& run, const Loop& loop);
Program run_loop(std::uint64_t seed, const Loop& loop);
void default_data(Simulation& run, const Model& model);
/// The pieces, for loops of another form.
void run_op(Simulation& run, const Op& op);
void run_forward(Simulation& run, const Loop& loop, int step);
void run_backward(Simulation& run, const Loop& loop, int step);
void run_optimizer(Simulation& run, const Model& model, const std::string& name = "optimizer");
std::vector<Kernel> kernels_of_step(const Loop& loop);

}  // namespace rangefinder::testing::corpus
