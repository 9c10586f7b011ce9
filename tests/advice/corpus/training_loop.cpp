// SPDX-License-Identifier: MIT
#include "advice/corpus/training_loop.hpp"

#include <algorithm>
#include <iterator>

namespace rangefinder::testing::corpus {
namespace {

constexpr std::uint32_t kStepGraph = 1;

/// A launch of a fused optimizer takes so many parameters.
constexpr std::int64_t kParametersOfLaunch = 60'000'000;

Kernel optimizer_kernel(std::int64_t parameters) {
  Kernel kernel = streaming_kernel(
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
      "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
      "(at::native::ADAM_MODE)1, false> >",
      26 * static_cast<double>(parameters), 512);
  // Four blocks fit on a multiprocessor: so many waves, all of them full.
  kernel.grid = 4 * kMultiprocessors * (1 + static_cast<std::uint32_t>(parameters / 35'000'000));
  return kernel;
}

std::vector<Kernel> optimizer_kernels(const Model& model) {
  std::vector<Kernel> kernels;
  for (std::int64_t left = model.parameters(); left > 0; left -= kParametersOfLaunch)
    kernels.push_back(optimizer_kernel(std::min(left, kParametersOfLaunch)));
  return kernels;
}

void run_as_graph(Simulation& run, const Loop& loop) {
  in_range(run, loop.names.graph, [&] {
    run.host(12);
    run.launch_graph(kernels_of_step(loop), kStepGraph);
  });
}

void run_step(Simulation& run, const Loop& loop, int step, TwoStepsAhead& ahead) {
  ahead.wait(run);
  if (loop.before_step) loop.before_step(run, step);
  in_range(run, loop.names.data, [&] {
    if (loop.data)
      loop.data(run, step);
    else
      default_data(run, loop.model);
  });
  if (loop.graph) {
    run_as_graph(run, loop);
  } else {
    run_forward(run, loop, step);
    if (loop.after_forward) loop.after_forward(run, step);
    if (loop.training) run_backward(run, loop, step);
    if (loop.after_backward) loop.after_backward(run, step);
    if (loop.training) run_optimizer(run, loop.model, loop.names.optimizer);
  }
  ahead.mark(run);
  if (loop.after_step) loop.after_step(run, step);
  run.host(20);
}

}  // namespace

std::int64_t Model::parameters() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.parameters;
  return sum;
}

void run_op(Simulation& run, const Op& op) {
  const auto outer = run.op(op.name, op.inner.empty() ? op.shapes : std::string(), op.inner.empty() ? op.types : "");
  if (op.inner.empty()) {
    for (const Kernel& kernel : op.kernels) run.launch(kernel);
    return;
  }
  const auto inner = run.op(op.inner, op.shapes, op.types);
  for (const Kernel& kernel : op.kernels) run.launch(kernel);
}

void default_data(Simulation& run, const Model& model) {
  run.host(45);
  const auto op = run.op("aten::copy_", shapes_of({{static_cast<std::int64_t>(model.batch_bytes / 4)}}), "[\"float\"]");
  run.copy_to_device(model.batch_bytes, HostMemory::kPinned, kCopyStream);
  run.wait_event(kComputeStream, kCopyStream);
}

void run_forward(Simulation& run, const Loop& loop, int step) {
  in_range(run, loop.names.forward, [&] {
    for (std::size_t i = 0; i < loop.model.layers.size(); ++i)
      in_range(run, loop.model.layers[i].name, [&] {
        run.host(loop.host_us_of_layer);
        for (const Op& op : loop.model.layers[i].forward) run_op(run, op);
        if (loop.after_layer) loop.after_layer(run, step, i);
      });
  });
}

void run_backward(Simulation& run, const Loop& loop, int step) {
  in_range(run, loop.names.backward, [&] {
    run.host(18);
    run.on_thread(kEngineThread);
    for (std::size_t i = loop.model.layers.size(); i-- > 0;) {
      for (const Op& op : loop.model.layers[i].backward) run_op(run, op);
      if (loop.after_layer_backward) loop.after_layer_backward(run, step, i);
    }
    run.on_thread(kMainThread);
    run.host(6);
  });
}

void run_optimizer(Simulation& run, const Model& model, const std::string& name) {
  in_range(run, name, [&] {
    run.host(35);
    const auto op = run.op("aten::_fused_adamw_");
    for (const Kernel& kernel : optimizer_kernels(model)) run.launch(kernel);
  });
}

std::vector<Kernel> kernels_of_step(const Loop& loop) {
  std::vector<Kernel> kernels;
  const auto add = [&](const std::vector<Op>& ops) {
    for (const Op& op : ops) kernels.insert(kernels.end(), op.kernels.begin(), op.kernels.end());
  };
  for (const Layer& layer : loop.model.layers) add(layer.forward);
  if (!loop.training) return kernels;
  for (std::size_t i = loop.model.layers.size(); i-- > 0;) add(loop.model.layers[i].backward);
  const std::vector<Kernel> last = optimizer_kernels(loop.model);
  kernels.insert(kernels.end(), last.begin(), last.end());
  return kernels;
}

void run_loop(Simulation& run, const Loop& loop) {
  run.sample_sensors();
  TwoStepsAhead ahead;
  for (int step = 0; step < loop.steps; ++step) {
    run.begin_step();
    in_range(run, loop.names.step, [&] { run_step(run, loop, step, ahead); });
  }
}

Program run_loop(std::uint64_t seed, const Loop& loop) {
  Simulation run(seed);
  run_loop(run, loop);
  return run.finish();
}

}  // namespace rangefinder::testing::corpus
