// SPDX-License-Identifier: MIT
#include "analysis/element_types.hpp"

#include <cstdint>
#include <utility>

namespace rangefinder::analysis {
namespace {

enum class Category : std::uint8_t { kNone, kBool, kInteger, kFloat, kComplex };

struct ElementType {
  std::string_view name;
  std::int64_t bytes;
  Category category;
};

constexpr ElementType kTypes[] = {
    {"float", 4, Category::kFloat},
    {"double", 8, Category::kFloat},
    {"c10::Half", 2, Category::kFloat},
    {"c10::BFloat16", 2, Category::kFloat},
    {"bool", 1, Category::kBool},
    {"int", 4, Category::kInteger},
    {"long int", 8, Category::kInteger},
    {"long", 8, Category::kInteger},
    {"short int", 2, Category::kInteger},
    {"short", 2, Category::kInteger},
    {"signed char", 1, Category::kInteger},
    {"unsigned char", 1, Category::kInteger},
    {"c10::complex<float>", 8, Category::kComplex},
    {"c10::complex<double>", 16, Category::kComplex},
};

ElementType find_type(std::string_view name) noexcept {
  for (const ElementType& type : kTypes)
    if (type.name == name) return type;
  if (name.starts_with("c10::Float8_")) return {name, 1, Category::kFloat};
  return {{}, 0, Category::kNone};
}

}  // namespace

std::int64_t element_bytes(std::string_view type) noexcept { return find_type(type).bytes; }

bool is_integral(std::string_view type) noexcept {
  const Category category = find_type(type).category;
  return category == Category::kBool || category == Category::kInteger;
}

std::string_view promoted(std::string_view a, std::string_view b) noexcept {
  const ElementType first = find_type(a), second = find_type(b);
  if (second.category == Category::kNone) return a;
  if (first.category == Category::kNone) return b;
  const bool differ = first.category == second.category && first.bytes == second.bytes && a != b;
  if (differ && first.category == Category::kFloat && first.bytes == 2) return "float";
  return std::pair(first.category, first.bytes) < std::pair(second.category, second.bytes) ? b : a;
}

}  // namespace rangefinder::analysis
