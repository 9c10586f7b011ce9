// SPDX-License-Identifier: MIT
#include "advice/products.hpp"

#include "advice/launches.hpp"
#include "analysis/operator_flops.hpp"
#include "analysis/operator_shapes.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>

namespace rangefinder::advice {
namespace {

OperandType type_named(std::string_view type) noexcept {
  if (type == "float") return OperandType::kFloat;
  if (type == "c10::Half" || type == "c10::BFloat16") return OperandType::kHalf;
  if (type.find("Float8") != std::string_view::npos || type == "signed char" || type == "unsigned char")
    return OperandType::kEightBit;
  return type.empty() ? OperandType::kUnknown : OperandType::kOther;
}

/// What the name of a product's kernel says of its operands, where the operator does not.
OperandType type_in_name(std::string_view kernel) noexcept {
  const auto has = [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; };
  if (has("bf16") || has("f16f16") || has("fp16") || has("hgemm") || has("h16816") || has("h1688") || has("h884"))
    return OperandType::kHalf;
  if (has("sgemm") || has("tf32") || has("f32f32_f32f32") || has("scudnn")) return OperandType::kFloat;
  return OperandType::kUnknown;
}

/// Where the operands of a product are among the inputs; nothing for other operators.
std::optional<std::size_t> first_operand(std::string_view op) noexcept {
  if (op == "aten::mm" || op == "aten::bmm" || op == "aten::matmul" || op == "aten::_scaled_mm") return 0;
  if (op == "aten::addmm" || op == "aten::baddbmm" || op == "aten::_addmm_activation" || op == "aten::addbmm") return 1;
  return std::nullopt;
}

std::optional<std::array<std::int64_t, 3>> sizes_of(std::string_view op, std::string_view shapes) {
  const std::optional<std::size_t> first = first_operand(op);
  const std::vector<analysis::Shape> inputs = analysis::shapes_in(shapes);
  if (op == "aten::linear" && inputs.size() >= 2 && !inputs[0].empty() && inputs[1].size() == 2) {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < inputs[0].size(); ++i)
      if (__builtin_mul_overflow(rows, inputs[0][i], &rows)) return std::nullopt;
    return std::array{rows, inputs[1][0], inputs[1][1]};
  }
  if (!first || inputs.size() < *first + 2) return std::nullopt;
  const analysis::Shape &a = inputs[*first], &b = inputs[*first + 1];
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  return std::array{a[a.size() - 2], b.back(), a.back()};
}

/// What operators were given: each text is read once.
class OperatorFacts {
 public:
  struct Facts {
    OperandType type = OperandType::kUnknown;
    double flops = 0;
    std::optional<std::array<std::int64_t, 3>> sizes;
  };

  explicit OperatorFacts(const Timeline& timeline) : timeline_(timeline) {}

  const Facts* of(RangeIndex op) {
    const OperatorTable& table = timeline_.operators;
    const auto row = std::lower_bound(table.range.begin(), table.range.end(), op);
    if (row == table.range.end() || *row != op) return nullptr;
    const auto at = static_cast<std::size_t>(row - table.range.begin());
    if (table.shapes[at] == StringId::kEmpty) return nullptr;
    const std::array key{timeline_.ranges.name[op], table.shapes[at], table.types[at], table.values[at]};
    const auto [found, added] = known_.try_emplace(key);
    if (added) found->second = read(timeline_.text(timeline_.ranges.name[op]), at);
    return &found->second;
  }

 private:
  Facts read(std::string_view name, std::size_t row) const {
    const OperatorTable& table = timeline_.operators;
    const std::string_view shapes = timeline_.text(table.shapes[row]), types = timeline_.text(table.types[row]);
    Facts facts;
    facts.type = type_named(analysis::operator_type(name, types));
    facts.flops =
        static_cast<double>(analysis::operator_flops(name, shapes, timeline_.text(table.values[row])).value_or(0));
    facts.sizes = sizes_of(name, shapes);
    return facts;
  }

  const Timeline& timeline_;
  std::map<std::array<StringId, 4>, Facts> known_;
};

}  // namespace

std::int64_t Product::alignment() const noexcept {
  switch (type) {
    case OperandType::kFloat:
      return 4;
    case OperandType::kHalf:
      return 8;
    case OperandType::kEightBit:
      return 16;
    default:
      return 0;
  }
}

bool Product::is_aligned() const noexcept {
  const std::int64_t unit = alignment();
  return unit == 0 || !sizes || ((*sizes)[1] % unit == 0 && (*sizes)[2] % unit == 0);
}

bool Product::has_aligned_rows() const noexcept {
  const std::int64_t unit = alignment();
  return unit == 0 || !sizes || (*sizes)[0] % unit == 0;
}

TensorCores tensor_cores_of(std::string_view kernel) noexcept {
  const auto has_any = [&](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
  };
  if (has_any({"tensor", "wmma", "hmma", "gmma", "xmma", "16816", "161616", "1688", "884gemm", "s884", "h884", "nvjet",
               "warpgroup", "Cijk_", "ck::"}))
    return TensorCores::kUsed;
  if (has_any({"simt", "sgemm", "hgemm", "gemmSN", "gemmk1", "implicit_convolve", "scudnn", "hcudnn"}))
    return TensorCores::kNotUsed;
  return TensorCores::kUnknown;
}

std::vector<Product> products_of(Context& context) {
  const Timeline& timeline = context.timeline();
  OperatorFacts operators(timeline);
  std::vector<Product> out;
  projection::FlatMap longest;  // by operator: its product with the longest kernel
  for (const ActivityIndex kernel : context.work()) {
    const analysis::KernelFamily family = context.families().of(kernel);
    const bool is_gemm = family == analysis::KernelFamily::kGemm;
    if (timeline.activities.kind[kernel] != ActivityKind::kKernel) continue;
    if (!is_gemm && family != analysis::KernelFamily::kConvolution) continue;
    const std::string_view name = timeline.text(timeline.activities.name[kernel]);
    Product product;
    product.kernel = kernel;
    product.is_gemm = is_gemm;
    product.cores = tensor_cores_of(name);
    const RangeIndex op = context.families().operator_of(kernel);
    if (const OperatorFacts::Facts* const facts = operators.of(op); facts != nullptr) {
      product.type = facts->type;
      product.sizes = facts->sizes;
      product.flops = facts->flops;
      const std::uint32_t other = longest.find(op);
      if (other != projection::FlatMap::kAbsent) {
        const bool is_longer = length_of(timeline, kernel) > length_of(timeline, out[other].kernel);
        (is_longer ? out[other] : product).flops = 0;
        if (is_longer) longest.set(op, static_cast<std::uint32_t>(out.size()));
      } else {
        longest.set(op, static_cast<std::uint32_t>(out.size()));
      }
    }
    if (product.type == OperandType::kUnknown) product.type = type_in_name(name);
    out.push_back(product);
  }
  return out;
}

}  // namespace rangefinder::advice
