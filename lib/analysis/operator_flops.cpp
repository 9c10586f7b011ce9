// SPDX-License-Identifier: MIT
#include "analysis/operator_flops.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace rangefinder::analysis {
namespace {

using Shape = std::vector<std::int64_t>;

// An operator has a handful of inputs of a handful of dimensions; a file may claim more.
constexpr std::size_t kMostInputs = 64;
constexpr std::size_t kMostDimensions = 16;

/// Products of hostile sizes count as nothing.
class Product {
 public:
  Product& times(std::int64_t factor) noexcept {
    ok_ = ok_ && factor >= 0 && !__builtin_mul_overflow(value_, static_cast<std::uint64_t>(factor), &value_);
    return *this;
  }
  Product& times(const Shape& shape) noexcept {
    for (const std::int64_t size : shape) times(size);
    return *this;
  }
  std::uint64_t value() const noexcept { return ok_ ? value_ : 0; }

 private:
  std::uint64_t value_ = 1;
  bool ok_ = true;
};

/// The numbers of `[4, 288]`, wherever they stand in the text; nothing of anything else.
Shape numbers_in(std::string_view text) {
  Shape numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && numbers.size() <= kMostDimensions) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(number);
    at = next != at ? next : at + 1;
  }
  return numbers;
}

/// `[[4, 288], [], [10]]`, a list each. A list of lists (an input that is a list of tensors) is one without numbers.
std::vector<Shape> shapes_in(std::string_view text) {
  std::vector<Shape> shapes;
  int depth = 0;
  bool nested = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size() && shapes.size() < kMostInputs; ++i) {
    if (text[i] == '[') {
      ++depth;
      if (depth == 2) begin = i + 1;
      nested = depth > 2 || (nested && depth != 2);
    } else if (text[i] == ']') {
      if (depth == 2) shapes.push_back(nested ? Shape{} : numbers_in(text.substr(begin, i - begin)));
      if (depth == 2) nested = false;
      --depth;
    }
  }
  return shapes;
}

/// `["", "[1, 1]", "2"]`: the texts between quotes.
std::vector<std::string_view> texts_in(std::string_view text) {
  std::vector<std::string_view> texts;
  for (std::size_t at = text.find('"'); at != std::string_view::npos && texts.size() < kMostInputs;) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    if (end >= text.size()) break;
    texts.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('"', end + 1);
  }
  return texts;
}

/// Of two matrices, or batches of them, that are multiplied.
std::uint64_t product_of(const Shape& a, const Shape& b, std::size_t dimensions) {
  if (a.size() != dimensions || b.size() != dimensions || a.back() != b[dimensions - 2]) return 0;
  return Product().times(2).times(a).times(b.back()).value();
}

/// Height and width of what a convolution gives; nothing where it makes no sense.
Shape convolved(const std::vector<Shape>& shapes, const std::vector<std::string_view>& values) {
  if (shapes.size() < 2 || shapes[0].size() != 4 || shapes[1].size() != 4 || values.size() < 7) return {};
  const Shape &input = shapes[0], &weight = shapes[1];
  Shape stride = numbers_in(values[3]), padding = numbers_in(values[4]), dilation = numbers_in(values[5]);
  const Shape groups = numbers_in(values[6]);
  for (Shape* each : {&stride, &padding, &dilation}) {
    if (each->size() == 1) each->push_back(each->front());
    if (each->size() != 2) return {};
  }
  if (groups.size() != 1 || groups[0] <= 0) return {};
  Shape out;
  for (std::size_t i = 0; i < 2; ++i) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    const std::int64_t in = input[2 + i], kernel = weight[2 + i];
    for (const std::int64_t number : {in, kernel, stride[i], padding[i], dilation[i]})
      if (number < 0 || number > kMost) return {};
    if (stride[i] == 0) return {};
    const __int128 room =
        static_cast<__int128>(in) + __int128{2} * padding[i] - static_cast<__int128>(dilation[i]) * (kernel - 1) - 1;
    if (room < 0) return {};
    out.push_back(static_cast<std::int64_t>(room / stride[i]) + 1);
  }
  return out;
}

std::uint64_t convolution(const std::vector<Shape>& shapes, const std::vector<std::string_view>& values) {
  const Shape out = convolved(shapes, values);
  if (out.empty()) return 0;
  const Shape &input = shapes[0], &weight = shapes[1];
  Product product;
  product.times(2).times(input[0]).times(input[1]).times(weight[0]).times(weight[2]).times(weight[3]).times(out);
  return product.value() / static_cast<std::uint64_t>(numbers_in(values[6])[0]);
}

/// Whether the operator gives the gradient of its input, and that of the weights: `[True, True, False]`.
std::size_t gradients_wanted(std::string_view mask) noexcept {
  std::size_t wanted = 0;
  for (int i = 0; i < 2; ++i) {
    const std::size_t end = std::min(mask.find(','), mask.size());
    wanted += mask.substr(0, end).find_first_of("T1") != std::string_view::npos ? 1 : 0;
    mask.remove_prefix(std::min(end + 1, mask.size()));
  }
  return wanted;
}

/// Each gradient takes as many operations as the convolution itself.
std::uint64_t convolution_backward(const std::vector<Shape>& shapes, const std::vector<std::string_view>& values) {
  if (shapes.size() < 3 || values.size() < 11) return 0;
  const Shape &gradient = shapes[0], &input = shapes[1], &weight = shapes[2];
  if (gradient.size() < 3 || input.size() != gradient.size() || weight.size() != gradient.size()) return 0;
  // Every output meets all weights of its group; transposed, every input does.
  const bool transposed = values[7].find_first_of("T1") != std::string_view::npos;
  Product product;
  product.times(2).times(transposed ? input : gradient);
  for (std::size_t i = 1; i < weight.size(); ++i) product.times(weight[i]);
  return product.times(static_cast<std::int64_t>(gradients_wanted(values[10]))).value();
}

bool are_attention(const std::vector<Shape>& shapes, std::size_t count) noexcept {
  return shapes.size() >= count && std::all_of(shapes.begin(), shapes.begin() + static_cast<std::ptrdiff_t>(count),
                                               [](const Shape& shape) { return shape.size() == 4; });
}

/// Products of every query with every key, each as long as a query or as a value.
std::uint64_t products_of_attention(const Shape& query, const Shape& key, const Shape& value, std::int64_t of_queries,
                                    std::int64_t of_values) {
  const auto product = [&](std::int64_t length, std::int64_t times) {
    return Product().times(2).times(query[0]).times(query[1]).times(query[2]).times(key[2]).times(length).times(times);
  };
  const std::uint64_t a = product(query[3], of_queries).value(), b = product(value[3], of_values).value();
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? 0 : sum;
}

/// Query and key, then the weights and value.
std::uint64_t attention(const std::vector<Shape>& shapes) {
  return are_attention(shapes, 3) ? products_of_attention(shapes[0], shapes[1], shapes[2], 1, 1) : 0;
}

/// The gradient of the output comes first. The weights are computed again; then they and value, and query and key, each
/// have two gradients.
std::uint64_t attention_backward(const std::vector<Shape>& shapes) {
  return are_attention(shapes, 4) ? products_of_attention(shapes[1], shapes[2], shapes[3], 3, 2) : 0;
}

std::uint64_t elementwise(const std::vector<Shape>& shapes) {
  return shapes.empty() || shapes[0].empty() ? 0 : Product().times(shapes[0]).value();
}

/// Bytes of an element; 0 for what is no tensor, and types that we do not know.
std::int64_t bytes_of(std::string_view type) noexcept {
  constexpr std::pair<std::string_view, std::int64_t> kTypes[] = {{"float", 4},
                                                                  {"double", 8},
                                                                  {"c10::Half", 2},
                                                                  {"c10::BFloat16", 2},
                                                                  {"bool", 1},
                                                                  {"int", 4},
                                                                  {"long int", 8},
                                                                  {"long", 8},
                                                                  {"short int", 2},
                                                                  {"short", 2},
                                                                  {"signed char", 1},
                                                                  {"unsigned char", 1},
                                                                  {"c10::complex<float>", 8},
                                                                  {"c10::complex<double>", 16}};
  for (const auto& [name, bytes] : kTypes)
    if (name == type) return bytes;
  return type.starts_with("c10::Float8_") ? 1 : 0;
}

constexpr std::string_view kOperators = "aten::";

/// scaled_dot_product_attention, and what it calls; a compiled program calls that by itself.
bool is_attention(std::string_view name) noexcept {
  constexpr std::string_view kNames[] = {
      "scaled_dot_product_attention", "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
      "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_attention_backward(std::string_view name) noexcept {
  constexpr std::string_view kBackward = "_backward";
  if (!name.ends_with(kBackward) || name == "scaled_dot_product_attention_backward") return false;
  name.remove_suffix(kBackward.size());
  return is_attention(name);
}

bool is_in_key_averages(std::string_view name) noexcept {
  constexpr std::string_view kNames[] = {"mm",     "addmm", "bmm", "baddbmm",
                                         "conv2d", "mul",   "add", "scaled_dot_product_attention"};
  if (!name.starts_with(kOperators)) return false;
  name.remove_prefix(kOperators.size());
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
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
  if (name == "conv2d") {
    const Shape out = convolved(shapes, values);
    return {{shapes[0][0], shapes[1][0], out[0], out[1]}};
  }
  if (name == "convolution_backward")
    return gradients_wanted(values[10]) == 1 ? std::vector<Shape>{shapes[2]} : std::vector<Shape>{shapes[1], shapes[2]};
  if (is_attention_backward(name)) return {shapes[1], shapes[2], shapes[3]};
  if (is_attention(name)) {
    Shape out = shapes[0];
    out.back() = shapes[2].back();
    return {out};
  }
  // Element by element: of the larger one, where the other is repeated.
  Shape out = shapes[0];
  if (shapes.size() > 1 && Product().times(shapes[1]).value() > Product().times(out).value()) out = shapes[1];
  return {out};
}

}  // namespace

std::uint64_t operator_flops(std::string_view name, std::string_view shapes_text, std::string_view values_text) {
  if (!name.starts_with(kOperators) || shapes_text.empty()) return 0;
  name.remove_prefix(kOperators.size());
  const auto shapes = [&] { return shapes_in(shapes_text); };
  const auto product = [&](std::size_t first, std::size_t dimensions) -> std::uint64_t {
    const std::vector<Shape> all = shapes();
    return all.size() < first + 2 ? 0 : product_of(all[first], all[first + 1], dimensions);
  };
  if (name == "mm" || name == "_scaled_mm") return product(0, 2);
  if (name == "addmm") return product(1, 2);
  if (name == "bmm") return product(0, 3);
  if (name == "baddbmm") return product(1, 3);
  if (name == "conv2d") return convolution(shapes(), texts_in(values_text));
  if (name == "mul" || name == "add") return elementwise(shapes());
  if (name == "convolution_backward") return convolution_backward(shapes(), texts_in(values_text));
  if (is_attention(name)) return attention(shapes());
  if (is_attention_backward(name)) return attention_backward(shapes());
  return 0;
}

std::uint64_t key_average_flops(std::string_view name, std::string_view shapes, std::string_view values) {
  return is_in_key_averages(name) ? operator_flops(name, shapes, values) : 0;
}

bool has_operator_flops(std::string_view name) noexcept {
  if (is_in_key_averages(name)) return true;
  if (!name.starts_with(kOperators)) return false;
  name.remove_prefix(kOperators.size());
  return name == "_scaled_mm" || name == "convolution_backward" || is_attention(name) || is_attention_backward(name);
}

std::string_view operator_type(std::string_view name, std::string_view types_text) {
  const std::vector<std::string_view> types = texts_in(types_text);
  const std::size_t first = name == "aten::addmm" || name == "aten::baddbmm" ? 1 : 0;
  return first < types.size() ? types[first] : std::string_view();
}

std::uint64_t operator_bytes(std::string_view name, std::string_view shapes_text, std::string_view types_text,
                             std::string_view values_text) {
  if (operator_flops(name, shapes_text, values_text) == 0) return 0;
  const std::vector<Shape> shapes = shapes_in(shapes_text);
  const std::vector<std::string_view> types = texts_in(types_text);
  std::uint64_t sum = 0;
  const auto add = [&](const Shape& shape, std::string_view type) {
    const std::uint64_t bytes = Product().times(shape).times(bytes_of(type)).value();
    if (__builtin_add_overflow(sum, bytes, &sum)) sum = 0;
  };
  for (std::size_t i = 0; i < shapes.size() && i < types.size(); ++i) add(shapes[i], types[i]);
  const std::string_view short_name = name.substr(kOperators.size());
  for (const Shape& output : outputs_of(short_name, shapes, texts_in(values_text)))
    add(output, operator_type(name, types_text));
  return sum;
}

}  // namespace rangefinder::analysis
