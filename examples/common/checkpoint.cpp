// SPDX-License-Identifier: MIT
#include "common/checkpoint.hpp"

#include "common/mixed_precision.hpp"

#include <rangefinder/range.hpp>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include <mutex>
#include <utility>
#include <vector>

namespace examples {
namespace {

/// Where the generators were that a segment may draw from.
class GeneratorStates {
 public:
  explicit GeneratorStates(torch::Device device) {
    add(torch::kCPU);
    if (!device.is_cpu()) add(device);
  }
  void restore() const {
    for (const State& each : states_) {
      torch::Generator generator = each.generator;
      const std::lock_guard lock(generator.mutex());
      generator.set_state(each.state);
    }
  }

 private:
  struct State {
    torch::Generator generator;
    torch::Tensor state;
  };
  void add(torch::Device device) {
    torch::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard lock(generator.mutex());
    states_.push_back({generator, generator.get_state()});
  }
  std::vector<State> states_;
};

/// For a second run: the generators as they were before the first, and after it as they are now.
class Replay {
 public:
  Replay(torch::Device device, const GeneratorStates& then) : now_(device) { then.restore(); }
  ~Replay() { now_.restore(); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

 private:
  GeneratorStates now_;
};

/// All that a second run needs beside the input.
struct Rerun : torch::CustomClassHolder {
  Rerun(Segment run, torch::Device on)
      : segment(std::move(run)),
        device(on),
        generators(on),
        autocast(at::autocast::is_autocast_enabled(on.type())),
        autocast_type(at::autocast::get_autocast_dtype(on.type())) {}

  /// Casts of weights are not cached: one that was made without a graph, in the first run, would be found where the
  /// graph is needed, and one of the second run would outlive its graph.
  torch::Tensor run(const torch::Tensor& x) const {
    const Autocast precision(device.type(), autocast_type, autocast, /*cache=*/false);
    return segment(x);
  }

  Segment segment;
  torch::Device device;
  GeneratorStates generators;
  bool autocast;
  torch::ScalarType autocast_type;
};

struct CheckpointNode : torch::autograd::Function<CheckpointNode> {
  using Context = torch::autograd::AutogradContext;

  static torch::Tensor forward(Context* context, const torch::Tensor& x, const torch::Tensor&,
                               const c10::intrusive_ptr<Rerun>& rerun) {
    context->save_for_backward({x});
    context->saved_data["rerun"] = c10::IValue::make_capsule(rerun);
    return rerun->run(x);
  }

  static torch::autograd::variable_list backward(Context* context, const torch::autograd::variable_list& gradients) {
    const auto rerun = c10::static_intrusive_pointer_cast<Rerun>(context->saved_data["rerun"].toCapsule());
    const torch::Tensor saved = context->get_saved_variables()[0];
    torch::Tensor x = saved.detach();
    x.set_requires_grad(saved.requires_grad());
    torch::Tensor y;
    {
      const rangefinder::ProfileRange range("recompute");
      const torch::AutoGradMode with_graph(true);
      const Replay replay(rerun->device, rerun->generators);
      y = rerun->run(x);
    }
    if (y.requires_grad()) torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor checkpoint(Segment segment, const torch::Tensor& x) {
  if (!torch::GradMode::is_enabled()) return segment(x);
  // A node of autograd is only made for an input that wants a gradient; tokens and data want none.
  const torch::Tensor anchor = torch::empty({0}, torch::TensorOptions().requires_grad(true));
  return CheckpointNode::apply(x, anchor, c10::make_intrusive<Rerun>(std::move(segment), x.device()));
}

}  // namespace examples
