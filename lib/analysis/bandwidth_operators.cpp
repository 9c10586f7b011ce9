// SPDX-License-Identifier: MIT
#include "analysis/bandwidth_operators.hpp"

#include "analysis/attention_flops.hpp"
#include "analysis/bandwidth_rules.hpp"
#include "analysis/element_types.hpp"
#include "analysis/operator_flops.hpp"
#include "analysis/operator_shapes.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace rangefinder::analysis {
namespace {

constexpr std::string_view kAten = "aten::";

Flops elements_of(const Shape& shape) noexcept { return Product().times(shape).value(); }

/// One call: texts taken apart, and the sum of what it moves; nothing where a size makes no sense.
class Call {
 public:
  Call(const BandwidthOperator& known, std::string_view name, std::string_view shapes, std::string_view types,
       std::string_view values)
      : known_(known),
        in_place_(name.ends_with('_')),
        shapes_(shapes_in(shapes)),
        types_(texts_in(types)),
        values_(texts_in(values)) {}

  std::uint64_t bytes();

 private:
  std::size_t inputs() const noexcept { return std::min(shapes_.size(), types_.size()); }
  bool is_tensor(std::size_t input) const noexcept { return input < inputs() && element_bytes(types_[input]) != 0; }
  std::string_view value(std::size_t input) const noexcept {
    return input < values_.size() ? values_[input] : std::string_view();
  }
  void fail() noexcept { sum_.reset(); }
  void add(Flops elements, std::string_view type) noexcept {
    if (!sum_) return;
    const std::int64_t each = element_bytes(type);
    std::uint64_t bytes = 0;
    if (!elements || each == 0 || __builtin_mul_overflow(*elements, static_cast<std::uint64_t>(each), &bytes) ||
        __builtin_add_overflow(*sum_, bytes, &*sum_))
      fail();
  }
  void add(const Shape& shape, std::string_view type) noexcept { add(elements_of(shape), type); }
  void read(std::size_t input) noexcept {
    if (is_tensor(input)) add(shapes_[input], types_[input]);
  }
  void read_first(std::size_t most) noexcept {
    for (std::size_t input = 0; input < std::min(most, inputs()); ++input) read(input);
  }
  /// Statistics are kept in float, of double in double.
  std::string_view statistics_type() const noexcept { return types_[0] == "double" ? "double" : "float"; }
  void write_statistics(Flops elements) noexcept {
    add(elements, statistics_type());
    add(elements, statistics_type());
  }
  bool writes_gradient(std::size_t mask, int which) const noexcept;

  void elementwise(const BandwidthOperator& known);
  void fill();
  void copy();
  void layer_norm(std::size_t statistics);
  void layer_norm_backward();
  void batch_norm();
  void batch_norm_backward();
  void group_norm(Flops groups);
  void softmax();
  void reduction(std::size_t dimensions_at, std::size_t least_inputs);
  void embedding();
  void embedding_backward();
  void embedding_bag();
  void index_select();
  void gather();

  const BandwidthOperator& known_;
  bool in_place_;
  std::vector<Shape> shapes_;
  std::vector<std::string_view> types_, values_;
  std::optional<std::uint64_t> sum_ = 0;
};

/// As PyTorch broadcasts: sizes from the last one on are equal, or one of them is 1. Nothing where they do not fit.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t ahead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = out[ahead + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) return std::nullopt;
    size = shorter[i];
  }
  return out;
}

void Call::elementwise(const BandwidthOperator& known) {
  Shape out;
  std::string_view type, type_of_numbers;  // tensors of no dimension are numbers: they promote to another category only
  for (std::size_t input = 0; input < std::min(known.inputs, inputs()); ++input) {
    if (!is_tensor(input)) continue;
    const std::optional<Shape> both = broadcast(out, shapes_[input]);
    if (!both) return fail();
    out = *both;
    const bool is_condition = known.name == "where" && input == 0;
    const bool is_mask = known.name == "masked_fill" && input == 1;
    if (is_condition || is_mask) continue;
    std::string_view& of = shapes_[input].empty() ? type_of_numbers : type;
    of = promoted(of, types_[input]);
  }
  if (type.empty()) type = type_of_numbers;
  const bool by_number = !type_of_numbers.empty() && !is_integral(type_of_numbers);
  if (is_integral(type) && (known.rule == BandwidthRule::kFloating || by_number)) type = "float";
  if (known.rule == BandwidthRule::kComparison) type = "bool";
  if (in_place_ && is_tensor(0)) type = types_[0];
  read_first(known.inputs);
  add(out, type);
  if (known.rule == BandwidthRule::kDropout) add(out, "bool");
}

void Call::fill() { return is_tensor(0) ? add(shapes_[0], types_[0]) : fail(); }

void Call::copy() {
  if (!is_tensor(0) || !is_tensor(1)) return fail();
  read(1);
  add(shapes_[0], types_[0]);
}

/// Elements of the input that are normalized together: the product of its second input.
Flops normalized_together(std::string_view text) {
  const Shape sizes = numbers_in(text);
  return sizes.empty() ? std::nullopt : elements_of(sizes);
}

/// `statistics` of each group: mean and reciprocal deviation, or the latter alone.
void Call::layer_norm(std::size_t statistics) {
  if (!is_tensor(0)) return fail();
  const Flops all = elements_of(shapes_[0]);
  Flops together = normalized_together(value(1));
  if (!together && is_tensor(2)) together = elements_of(shapes_[2]);
  if (!all || !together || *together == 0) return fail();
  read_first(4);
  add(shapes_[0], types_[0]);
  for (std::size_t i = 0; i < statistics; ++i) add(Flops(*all / *together), statistics_type());
}

/// `[True, True, False]`: which gradients are wanted; all where it was not recorded.
bool Call::writes_gradient(std::size_t mask, int which) const noexcept {
  std::string_view text = value(mask);
  for (; which > 0 && !text.empty(); --which) text.remove_prefix(std::min(text.find(',') + 1, text.size()));
  return text.empty() || is_true(text.substr(0, text.find(',')));
}

void Call::layer_norm_backward() {
  if (!is_tensor(0)) return fail();
  read_first(6);
  constexpr std::size_t kWeight = 5, kMask = 7;
  if (writes_gradient(kMask, 0)) add(shapes_[0], types_[0]);
  if (!is_tensor(kWeight)) return;
  for (const int gradient : {1, 2})
    if (writes_gradient(kMask, gradient)) add(shapes_[kWeight], types_[kWeight]);
}

void Call::batch_norm() {
  if (!is_tensor(0) || shapes_[0].size() < 2) return fail();
  read_first(5);
  add(shapes_[0], types_[0]);
  if (!is_true(value(5))) return;
  for (const std::size_t running : {3u, 4u}) read(running);  // they are written too
  write_statistics(Product().times(shapes_[0][1]).value());
}

void Call::batch_norm_backward() {
  if (!is_tensor(0)) return fail();
  read_first(7);
  add(shapes_[0], types_[0]);
  if (!is_tensor(2)) return;
  add(shapes_[2], types_[2]);
  add(shapes_[2], types_[2]);
}

/// `groups`: of the whole batch.
void Call::group_norm(Flops groups) {
  if (!is_tensor(0) || !groups) return fail();
  read_first(4);
  add(shapes_[0], types_[0]);
  write_statistics(groups);
}

void Call::softmax() {
  if (!is_tensor(0)) return fail();
  read(0);
  add(shapes_[0], is_true(value(2)) ? "float" : types_[0]);
}

/// Where it has `least_inputs`, the dimensions are a list or a number in the place `dimensions_at`; an empty list is
/// all.
void Call::reduction(std::size_t dimensions_at, std::size_t least_inputs) {
  if (!is_tensor(0)) return fail();
  read(0);
  const Shape& in = shapes_[0];
  Shape out = in;
  if (shapes_.size() < least_inputs) {
    out.clear();
  } else {
    if (values_.size() <= dimensions_at) return fail();
    const Shape dimensions = numbers_in(values_[dimensions_at]);
    if (dimensions.empty()) out.clear();
    for (std::int64_t dimension : dimensions) {
      if (dimension < 0) dimension += static_cast<std::int64_t>(in.size());
      if (dimension < 0 || dimension >= static_cast<std::int64_t>(in.size())) return fail();
      out[static_cast<std::size_t>(dimension)] = 1;
    }
  }
  const std::string_view name = known_.name;
  const bool finds_place = name == "argmax" || name == "argmin";
  std::string_view type = types_[0];
  if (name == "all" || name == "any") type = "bool";
  if (finds_place || ((name == "sum" || name == "prod") && is_integral(type))) type = "long";
  add(out, type);
  if ((name == "max" || name == "min") && shapes_.size() >= least_inputs) add(out, "long");  // and where it is
}

void Call::embedding() {
  if (!is_tensor(0) || !is_tensor(1) || shapes_[0].size() != 2) return fail();
  read(1);
  const Flops rows = Product().times(shapes_[1]).times(shapes_[0][1]).value();
  add(rows, types_[0]);
  add(rows, types_[0]);
}

void Call::embedding_backward() {
  const Shape rows = numbers_in(value(2));
  if (!is_tensor(0) || !is_tensor(1) || shapes_[0].empty() || rows.size() != 1) return fail();
  read_first(2);
  add(Product().times(rows[0]).times(shapes_[0].back()).value(), types_[0]);
}

void Call::embedding_bag() {
  if (!is_tensor(0) || !is_tensor(1) || !is_tensor(2) || shapes_[0].size() != 2) return fail();
  if (shapes_[2].size() != 1) return fail();
  const std::int64_t bags =
      shapes_[2][0] - (is_true(value(7)) && shapes_[2][0] > 0 ? 1 : 0);  // the last one is the end
  read(1);
  read(2);
  add(Product().times(shapes_[1]).times(shapes_[0][1]).value(), types_[0]);
  add(Product().times(bags).times(shapes_[0][1]).value(), types_[0]);
}

void Call::index_select() {
  const Shape dimension = numbers_in(value(1));
  if (!is_tensor(0) || !is_tensor(2) || dimension.size() != 1 || shapes_[0].empty()) return fail();
  const auto dimensions = static_cast<std::int64_t>(shapes_[0].size());
  const std::int64_t at = dimension[0] < 0 ? dimension[0] + dimensions : dimension[0];
  if (at < 0 || at >= dimensions) return fail();
  Shape out = shapes_[0];
  out[static_cast<std::size_t>(at)] = 1;
  const Flops elements = Product().times(out).times(shapes_[2]).value();
  read(2);
  add(elements, types_[0]);
  add(elements, types_[0]);
}

void Call::gather() {
  if (!is_tensor(0) || !is_tensor(2)) return fail();
  read(2);
  add(shapes_[2], types_[0]);
  add(shapes_[2], types_[0]);
}

std::uint64_t Call::bytes() {
  switch (known_.rule) {
    case BandwidthRule::kElementwise:
    case BandwidthRule::kFloating:
    case BandwidthRule::kComparison:
    case BandwidthRule::kDropout:
      elementwise(known_);
      break;
    case BandwidthRule::kFill:
      fill();
      break;
    case BandwidthRule::kCopy:
      copy();
      break;
    case BandwidthRule::kLayerNorm:
      layer_norm(2);
      break;
    case BandwidthRule::kRmsNorm:
      layer_norm(1);
      break;
    case BandwidthRule::kLayerNormBackward:
      layer_norm_backward();
      break;
    case BandwidthRule::kBatchNorm:
      batch_norm();
      break;
    case BandwidthRule::kBatchNormBackward:
      batch_norm_backward();
      break;
    case BandwidthRule::kGroupNorm: {
      const Shape groups = numbers_in(value(1));
      const bool sensible = groups.size() == 1 && is_tensor(0) && !shapes_[0].empty();
      group_norm(sensible ? Product().times(groups[0]).times(shapes_[0][0]).value() : std::nullopt);
      break;
    }
    case BandwidthRule::kNativeGroupNorm: {
      const Shape batch = numbers_in(value(3)), groups = numbers_in(value(6));
      const bool sensible = batch.size() == 1 && groups.size() == 1;
      group_norm(sensible ? Product().times(batch[0]).times(groups[0]).value() : std::nullopt);
      break;
    }
    case BandwidthRule::kSoftmax:
      softmax();
      break;
    case BandwidthRule::kReduction:
      // The larger one of two tensors, which has the same name, is elementwise.
      if (is_tensor(1) && (known_.name == "max" || known_.name == "min"))
        elementwise({known_.name, BandwidthRule::kElementwise, 2});
      else
        reduction(1, 3);
      break;
    case BandwidthRule::kNorm:
      reduction(2, 4);
      break;
    case BandwidthRule::kEmbedding:
      embedding();
      break;
    case BandwidthRule::kEmbeddingBackward:
      embedding_backward();
      break;
    case BandwidthRule::kEmbeddingBag:
      embedding_bag();
      break;
    case BandwidthRule::kIndexSelect:
      index_select();
      break;
    case BandwidthRule::kGather:
      gather();
      break;
  }
  return sum_.value_or(0);
}

std::string_view family_of(BandwidthRule rule) noexcept {
  if (rule <= BandwidthRule::kCopy) return "elementwise";
  if (rule <= BandwidthRule::kSoftmax) return "normalization";
  return rule <= BandwidthRule::kNorm ? "reduction" : "embedding";
}

}  // namespace

bool is_bandwidth_operator(std::string_view name) noexcept { return find_bandwidth_operator(name) != nullptr; }

std::uint64_t bandwidth_bytes(std::string_view name, std::string_view shapes, std::string_view types,
                              std::string_view values) {
  const BandwidthOperator* const known = find_bandwidth_operator(name);
  if (known == nullptr || shapes.empty()) return 0;
  return Call(*known, name, shapes, types, values).bytes();
}

std::string_view operator_family(std::string_view name) noexcept {
  if (const BandwidthOperator* const known = find_bandwidth_operator(name)) return family_of(known->rule);
  if (!has_operator_flops(name)) return "other";
  name.remove_prefix(kAten.size());
  if (is_attention(name)) return "attention";
  return name.find("conv") != std::string_view::npos ? "convolution" : "GEMM";
}

}  // namespace rangefinder::analysis
