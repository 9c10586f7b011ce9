// SPDX-License-Identifier: MIT
#include "analysis/operator_flops.hpp"

#include "analysis/attention_flops.hpp"
#include "analysis/bandwidth_operators.hpp"
#include "analysis/element_types.hpp"
#include "analysis/operator_shapes.hpp"
#include "analysis/operators_without_flops.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace rangefinder::analysis {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

/// Of two matrices, or batches of them, that are multiplied.
Flops product_of(const std::vector<Shape>& shapes, std::size_t first, std::size_t dimensions) {
  if (shapes.size() < first + 2) return std::nullopt;
  const Shape &a = shapes[first], &b = shapes[first + 1];
  if (a.size() != dimensions || b.size() != dimensions || a.back() != b[dimensions - 2]) return std::nullopt;
  return Product().times(2).times(a).times(b.back()).value();
}

/// Where a convolution has its arguments; input and weights come first.
struct Convolution {
  std::string_view name;
  std::size_t stride, padding, dilation, groups;
  std::size_t transposed;  ///< 0: it never is; output padding comes behind it
};

constexpr Convolution kConvolutions[] = {
    {"conv1d", 3, 4, 5, 6, 0},
    {"conv2d", 3, 4, 5, 6, 0},
    {"conv3d", 3, 4, 5, 6, 0},
    {"convolution", 3, 4, 5, 8, 6},
    {"_convolution", 3, 4, 5, 8, 6},
    {"cudnn_convolution", 3, 2, 4, 5, 0},
    {"mkldnn_convolution", 4, 3, 5, 6, 0},
    {"miopen_convolution", 4, 3, 5, 6, 0},
};

const Convolution* find_convolution(std::string_view name) noexcept {
  const auto* const found = std::find_if(std::begin(kConvolutions), std::end(kConvolutions),
                                         [&](const Convolution& each) { return each.name == name; });
  return found == std::end(kConvolutions) ? nullptr : found;
}

/// One number for every dimension, or a number each; nothing of anything else.
Shape per_dimension(std::string_view text, std::size_t dimensions) {
  Shape numbers = numbers_in(text);
  if (numbers.size() == 1) numbers.resize(dimensions, numbers.front());
  const bool sensible = std::all_of(numbers.begin(), numbers.end(), [](auto n) { return n >= 0 && n <= kMaxSize; });
  return sensible && numbers.size() == dimensions ? numbers : Shape{};
}

/// What a convolution gives: batch, channels, and sizes; nothing where it makes no sense.
Shape convolved(const Convolution& of, const std::vector<Shape>& shapes, const std::vector<std::string_view>& values) {
  if (shapes.size() < 2 || shapes[0].size() < 3 || shapes[0].size() != shapes[1].size()) return {};
  if (values.size() <= std::max({of.stride, of.padding, of.dilation, of.groups})) return {};
  const Shape &input = shapes[0], &weight = shapes[1];
  const std::size_t dimensions = input.size() - 2;
  const bool transposed = of.transposed != 0 && is_true(values[of.transposed]);
  const Shape stride = per_dimension(values[of.stride], dimensions);
  const Shape padding = per_dimension(values[of.padding], dimensions);
  const Shape dilation = per_dimension(values[of.dilation], dimensions);
  const Shape more = transposed ? per_dimension(values[of.transposed + 1], dimensions) : Shape(dimensions, 0);
  const Shape groups = numbers_in(values[of.groups]);
  if (stride.empty() || padding.empty() || dilation.empty() || more.empty()) return {};
  if (groups.size() != 1 || groups[0] <= 0 || groups[0] > kMaxSize) return {};
  if (input[1] != (transposed ? weight[0] : weight[1] * groups[0])) return {};
  Shape out{input[0], transposed ? weight[1] * groups[0] : weight[0]};
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::int64_t in = input[2 + i], kernel = weight[2 + i];
    if (in < 0 || in > kMaxSize || kernel < 0 || kernel > kMaxSize || stride[i] == 0) return {};
    const __int128 reach = static_cast<__int128>(dilation[i]) * (kernel - 1) + 1;
    const __int128 size = transposed
                              ? static_cast<__int128>(in - 1) * stride[i] - __int128{2} * padding[i] + reach + more[i]
                              : (in + __int128{2} * padding[i] - reach) / stride[i] + 1;
    const bool fits = transposed || in + __int128{2} * padding[i] >= reach;
    if (!fits || size < 0 || size > std::numeric_limits<std::int64_t>::max()) return {};
    out.push_back(static_cast<std::int64_t>(size));
  }
  return out;
}

/// Every output meets all weights of its group; transposed, every input does.
Flops convolution(const Convolution& of, const std::vector<Shape>& shapes,
                  const std::vector<std::string_view>& values) {
  const Shape out = convolved(of, shapes, values);
  if (out.empty()) return std::nullopt;
  const bool transposed = of.transposed != 0 && is_true(values[of.transposed]);
  const Shape& meets = transposed ? shapes[0] : out;
  Product product;
  product.times(2).times(meets[0]).times(shapes[1]);
  for (std::size_t i = 2; i < meets.size(); ++i) product.times(meets[i]);
  return product.value();
}

/// Whether the operator gives the gradient of its input, and that of the weights: `[True, True, False]`.
std::size_t gradients_wanted(std::string_view mask) noexcept {
  std::size_t wanted = 0;
  for (int i = 0; i < 2; ++i) {
    const std::size_t end = std::min(mask.find(','), mask.size());
    wanted += is_true(mask.substr(0, end)) ? 1 : 0;
    mask.remove_prefix(std::min(end + 1, mask.size()));
  }
  return wanted;
}

/// Each gradient takes as many operations as the convolution itself.
Flops convolution_backward(const std::vector<Shape>& shapes, const std::vector<std::string_view>& values) {
  if (shapes.size() < 3 || values.size() < 11) return std::nullopt;
  const Shape &gradient = shapes[0], &input = shapes[1], &weight = shapes[2];
  if (gradient.size() < 3 || input.size() != gradient.size() || weight.size() != gradient.size()) return std::nullopt;
  Product product;
  product.times(2).times(is_true(values[7]) ? input : gradient);
  for (std::size_t i = 1; i < weight.size(); ++i) product.times(weight[i]);
  return product.times(static_cast<std::int64_t>(gradients_wanted(values[10]))).value();
}

Flops elementwise(const std::vector<Shape>& shapes) {
  return shapes.empty() || shapes[0].empty() ? 0 : Product().times(shapes[0]).value();
}

constexpr std::string_view kAten = "aten::";

/// By torch.utils.flop_counter's formulas, or torch.profiler's where that has none.
Flops flops_by_formula(std::string_view name, std::string_view shapes_text, std::string_view values_text) {
  const std::vector<Shape> shapes = shapes_in(shapes_text);
  if (name == "mm" || name == "_scaled_mm") return product_of(shapes, 0, 2);
  if (name == "addmm") return product_of(shapes, 1, 2);
  if (name == "bmm") return product_of(shapes, 0, 3);
  if (name == "baddbmm") return product_of(shapes, 1, 3);
  if (name == "mul" || name == "add") return elementwise(shapes);
  if (name == "convolution_backward") return convolution_backward(shapes, texts_in(values_text));
  if (const Convolution* const found = find_convolution(name))
    return convolution(*found, shapes, texts_in(values_text));
  if (is_attention(name)) return attention_flops(name, shapes, texts_in(values_text));
  return std::nullopt;
}

/// How many of its arguments may be tensors that it reads: behind them an overload `out`, which compiled programs call,
/// has what it writes.
std::size_t most_inputs(std::string_view name) noexcept {
  if (name == "mm" || name == "bmm") return 2;
  if (name == "addmm" || name == "baddbmm") return 3;
  return name == "_scaled_mm" ? 7 : std::numeric_limits<std::size_t>::max();
}

/// What the operator gives, from what it takes; it is one that has operations to count.
std::vector<Shape> outputs_of(std::string_view name, const std::vector<Shape>& shapes,
                              const std::vector<std::string_view>& values) {
  const auto product = [&](std::size_t first) {
    Shape out = shapes[first];
    out.back() = shapes[first + 1].back();
    return out;
  };
  if (name == "mm" || name == "bmm" || name == "_scaled_mm") return {product(0)};
  if (name == "addmm" || name == "baddbmm") return {product(1)};
  if (const Convolution* const found = find_convolution(name)) return {convolved(*found, shapes, values)};
  if (name == "convolution_backward")
    return gradients_wanted(values[10]) == 1 ? std::vector<Shape>{shapes[2]} : std::vector<Shape>{shapes[1], shapes[2]};
  if (is_attention(name)) return attention_outputs(name, shapes);
  return {};
}

}  // namespace

std::optional<std::uint64_t> operator_flops(std::string_view name, std::string_view shapes, std::string_view values) {
  if (has_operator_flops(name)) {
    if (shapes.empty()) return std::nullopt;
    return flops_by_formula(name.substr(kAten.size()), shapes, values);
  }
  return is_operator_without_flops(name) ? std::optional<std::uint64_t>(0) : std::nullopt;
}

bool torch_profiler_counts(std::string_view name) noexcept {
  constexpr std::string_view kNames[] = {"mm",     "addmm", "bmm", "baddbmm",
                                         "conv2d", "mul",   "add", "scaled_dot_product_attention"};
  if (!name.starts_with(kAten)) return false;
  name.remove_prefix(kAten.size());
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool has_operator_flops(std::string_view name) noexcept {
  if (torch_profiler_counts(name)) return true;
  if (!name.starts_with(kAten)) return false;
  name.remove_prefix(kAten.size());
  return name == "_scaled_mm" || name == "convolution_backward" || find_convolution(name) != nullptr ||
         is_attention(name);
}

std::string_view operator_type(std::string_view name, std::string_view types_text) {
  const std::vector<std::string_view> types = texts_in(types_text);
  const std::size_t first = name == "aten::addmm" || name == "aten::baddbmm" ? 1 : 0;
  return first < types.size() ? types[first] : std::string_view();
}

std::uint64_t operator_bytes(std::string_view name, std::string_view shapes_text, std::string_view types_text,
                             std::string_view values_text) {
  if (is_bandwidth_operator(name)) return bandwidth_bytes(name, shapes_text, types_text, values_text);
  if (!has_operator_flops(name) || operator_flops(name, shapes_text, values_text).value_or(0) == 0) return 0;
  const std::vector<Shape> shapes = shapes_in(shapes_text);
  const std::vector<std::string_view> types = texts_in(types_text);
  std::uint64_t sum = 0;
  const auto add = [&](const Shape& shape, std::string_view type) {
    const std::uint64_t bytes = Product().times(shape).times(element_bytes(type)).value().value_or(0);
    if (__builtin_add_overflow(sum, bytes, &sum)) sum = 0;
  };
  const std::string_view short_name = name.substr(kAten.size());
  const std::size_t inputs = std::min({shapes.size(), types.size(), most_inputs(short_name)});
  for (std::size_t i = 0; i < inputs; ++i) add(shapes[i], types[i]);
  for (const Shape& output : outputs_of(short_name, shapes, texts_in(values_text)))
    add(output, operator_type(name, types_text));
  return sum;
}

}  // namespace rangefinder::analysis
