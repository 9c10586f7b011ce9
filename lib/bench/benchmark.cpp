// SPDX-License-Identifier: MIT
#include "bench/comparison.hpp"

#include <rangefinder/bench/benchmark.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace rangefinder::bench {
namespace {

struct TypeFacts {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<TypeFacts, 10> kTypes{{{"bool", 1},
                                            {"uint8", 1},
                                            {"int8", 1},
                                            {"int16", 2},
                                            {"int32", 4},
                                            {"int64", 8},
                                            {"float16", 2},
                                            {"bfloat16", 2},
                                            {"float32", 4},
                                            {"float64", 8}}};

std::vector<Benchmark>& registry() {
  static std::vector<Benchmark> all;
  return all;
}

template <typename T>
void change(void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  // An index stays an index: the next even number is odd, and the other way round.
  if constexpr (std::is_integral_v<T>)
    value = static_cast<T>(value ^ 1);
  else
    value = std::isfinite(value) ? static_cast<T>(value < 0 ? value - 1 : value + 1) : T{1};
  std::memcpy(at, &value, sizeof value);
}

void change_element(ElementType type, void* at) {
  switch (type) {
    case ElementType::kFloat32:
      return change<float>(at);
    case ElementType::kFloat64:
      return change<double>(at);
    case ElementType::kFloat16:
    case ElementType::kBFloat16: {
      // The topmost bit of the exponent: from at most 1 to far more, or back.
      std::uint16_t bits;
      std::memcpy(&bits, at, sizeof bits);
      bits = static_cast<std::uint16_t>(bits == 0 ? 0x3C00 : bits ^ 0x4000);
      std::memcpy(at, &bits, sizeof bits);
      return;
    }
    default:
      return change<std::uint8_t>(at);  // the lowest byte, which is enough
  }
}

}  // namespace

std::string_view to_string(ElementType type) noexcept { return kTypes[static_cast<std::size_t>(type)].name; }
std::size_t size_of(ElementType type) noexcept { return kTypes[static_cast<std::size_t>(type)].size; }

Variant::~Variant() = default;

void Variant::perturb() {
  const std::vector<TensorView> tensors = inputs();
  if (tensors.empty()) throw std::runtime_error("no input to change");
  const Result<std::uint64_t> count = element_count(tensors.front());
  if (!count || *count == 0) throw std::runtime_error("no element of the first input to change");
  const std::size_t size = size_of(tensors.front().type);
  change_element(tensors.front().type, static_cast<char*>(tensors.front().data) + *count / 2 * size);
}

bool add_benchmark(Benchmark benchmark) {
  std::vector<Benchmark>& all = registry();
  const auto at = std::lower_bound(all.begin(), all.end(), benchmark.name,
                                   [](const Benchmark& each, const std::string& name) { return each.name < name; });
  if (at != all.end() && at->name == benchmark.name) return false;
  all.insert(at, std::move(benchmark));
  return true;
}

const std::vector<Benchmark>& benchmarks() { return registry(); }

}  // namespace rangefinder::bench
