// SPDX-License-Identifier: MIT
#include "common/float8_linear.hpp"

#include <rangefinder/range.hpp>

#include <utility>

namespace examples {
namespace {

using rangefinder::ProfileRange;
using torch::Tensor;

Float8 rows_of(const Tensor& x) {
  const ProfileRange range("quantize");
  return quantize_float8(x, Format::kE4m3, Scales::kOfRows);
}

Tensor ranged_product(const Float8& a, const Float8& b, const ProductOptions& options) {
  const ProfileRange range("product");
  return product(a, b, options);
}

struct Float8Node : torch::autograd::Function<Float8Node> {
  using Context = torch::autograd::AutogradContext;

  static Tensor forward(Context* context, const Tensor& x, const Tensor& weight,
                        const c10::intrusive_ptr<Float8State>& state, torch::ScalarType type) {
    context->saved_data["state"] = c10::IValue::make_capsule(state);
    context->saved_data["input_type"] = x.scalar_type();
    const ProductOptions options{.type = type, .fast_sums = true};
    if (state->recipe != Float8Recipe::kDelayed) {
      context->save_for_backward({x, weight});
      return ranged_product(rows_of(x), rows_of(weight), options);
    }
    Float8 x8, weight8;
    {
      const ProfileRange range("quantize");
      x8 = state->input.quantize(x);
      weight8 = state->weight.quantize(weight);
    }
    // A byte for each element of the input is kept, not two or four.
    context->save_for_backward({x8.values, x8.scales, weight8.values, weight8.scales});
    return ranged_product(x8, weight8, options);
  }

  static torch::autograd::variable_list backward(Context* context, const torch::autograd::variable_list& gradients) {
    const auto state = c10::static_intrusive_pointer_cast<Float8State>(context->saved_data["state"].toCapsule());
    const auto saved = context->get_saved_variables();
    auto [of_x, of_weight] = state->recipe == Float8Recipe::kDelayed ? delayed(context, *state, saved, gradients[0])
                                                                     : rows(context, *state, saved, gradients[0]);
    if (of_x.defined()) of_x = of_x.to(context->saved_data["input_type"].toScalarType());
    return {of_x, of_weight.to(torch::kFloat), Tensor(), Tensor()};
  }

 private:
  static std::pair<Tensor, Tensor> delayed(Context* context, Float8State& state,
                                           const torch::autograd::variable_list& saved, const Tensor& gradient) {
    const Float8 x{saved[0], saved[1]}, weight{saved[2], saved[3]};
    const ProductOptions options{.type = gradient.scalar_type()};
    Float8 g;
    {
      const ProfileRange range("quantize");
      g = state.gradient.quantize(gradient);
    }
    Tensor of_x;
    if (context->needs_input_grad(0)) of_x = ranged_product(g, transposed(weight), options);
    return {of_x, ranged_product(transposed(g), transposed(x), options)};
  }

  /// Scales belong to rows of what is multiplied, so each product has matrices scaled for itself.
  static std::pair<Tensor, Tensor> rows(Context* context, const Float8State& state,
                                        const torch::autograd::variable_list& saved, const Tensor& gradient) {
    const Tensor &x = saved[0], &weight = saved[1];
    const ProductOptions options{.type = gradient.scalar_type()};
    Tensor of_x;
    if (context->needs_input_grad(0)) of_x = ranged_product(rows_of(gradient), rows_of(weight.t()), options);
    if (state.recipe == Float8Recipe::kRowsExactWeights) {
      const ProfileRange range("exact product");
      return {of_x, at::mm(gradient.t(), x.to(gradient.scalar_type()))};
    }
    return {of_x, ranged_product(rows_of(gradient.t()), rows_of(x.t()), options)};
  }
};

}  // namespace

DelayedScale::DelayedScale(Format format, std::int64_t history, torch::Device device)
    : format_(format), history_(torch::zeros({history}, torch::TensorOptions(device).dtype(torch::kFloat))) {}

Float8 DelayedScale::quantize(const Tensor& x) {
  const torch::NoGradGuard no_grad;
  const Tensor amax = amax_of(x, Scales::kOfTensor);
  // The maximum, of whatever order: the oldest entry is written over. Nothing waits for the device.
  const Tensor expected = count_ == 0 ? amax : history_.amax().view({1});
  const Tensor scales = scales_from(expected, format_);
  history_.narrow(0, count_++ % history_.size(0), 1).copy_(amax);
  return to_float8(x, scales, format_);
}

Float8State::Float8State(Float8Recipe how, std::int64_t history, torch::Device device)
    : recipe(how),
      input(Format::kE4m3, history, device),
      weight(Format::kE4m3, history, device),
      gradient(Format::kE5m2, history, device) {}

Tensor float8_linear(const Tensor& x, const Tensor& weight, const c10::intrusive_ptr<Float8State>& state,
                     torch::ScalarType type) {
  return Float8Node::apply(x, weight, state, type);
}

}  // namespace examples
