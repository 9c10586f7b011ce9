// SPDX-License-Identifier: MIT
#include "analysis/operator_flops.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using rangefinder::analysis::operator_flops;

namespace {

enum class Align { kTopLeft, kBottomRight };

/// An operator, how many arguments it has, and which of them is `is_causal`: of PyTorch 2.11's schemas.
struct Operator {
  const char* name;
  std::size_t arguments;
  std::size_t causal;
  Align align;
  bool heads_last = false;
  bool backward = false;
};

constexpr Operator kOperators[] = {
    {"scaled_dot_product_attention", 8, 5, Align::kTopLeft},
    {"_scaled_dot_product_flash_attention", 7, 4, Align::kBottomRight},
    {"_scaled_dot_product_flash_attention", 10, 7, Align::kBottomRight},  // the overload `quantized`
    {"_scaled_dot_product_efficient_attention", 8, 6, Align::kTopLeft},
    {"_scaled_dot_product_cudnn_attention", 9, 6, Align::kTopLeft},
    {"_scaled_dot_product_flash_attention_for_cpu", 7, 4, Align::kTopLeft},
    {"_scaled_dot_product_fused_attention_overrideable", 8, 5, Align::kTopLeft},
    {"_scaled_dot_product_attention_math", 9, 5, Align::kTopLeft},
    {"_scaled_dot_product_attention_math_for_mps", 8, 5, Align::kTopLeft},
    {"_flash_attention_forward", 15, 8, Align::kBottomRight, true},
    {"_flash_attention_forward", 18, 8, Align::kBottomRight, true},  // the overload `quantized`
    {"_cudnn_attention_forward", 13, 10, Align::kTopLeft},
    {"_scaled_dot_product_flash_attention_backward", 15, 11, Align::kBottomRight, false, true},
    {"_scaled_dot_product_efficient_attention_backward", 13, 11, Align::kTopLeft, false, true},
    {"_scaled_dot_product_cudnn_attention_backward", 16, 14, Align::kTopLeft, false, true},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", 10, 7, Align::kTopLeft, false, true},
    {"_scaled_dot_product_fused_attention_overrideable_backward", 17, 13, Align::kTopLeft, false, true},
    {"_flash_attention_backward", 17, 11, Align::kBottomRight, true, true},
    {"_cudnn_attention_backward", 16, 14, Align::kTopLeft, false, true},
};

struct Sizes {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
};

std::string shapes_of(const Operator& of, Sizes sizes) {
  const auto shape = [&](std::int64_t sequence, int length) {
    const std::string s = std::to_string(sequence), d = std::to_string(length);
    return of.heads_last ? "[3, " + s + ", 5, " + d + "]" : "[3, 5, " + s + ", " + d + "]";
  };
  std::string text = of.backward ? "[" + shape(sizes.queries, 32) + ", " : "[";
  text += shape(sizes.queries, 16) + ", " + shape(sizes.keys, 16) + ", " + shape(sizes.keys, 32);
  for (std::size_t i = of.backward ? 4 : 3; i < of.arguments; ++i) text += ", []";
  return text + "]";
}

/// Of 3 sequences, 5 heads, and queries of 16 with values of 32.
std::uint64_t flops_of_pairs(const Operator& of, std::uint64_t pairs) {
  return 2 * 3 * 5 * pairs * (of.backward ? 3 * 16 + 2 * 32 : 16 + 32);
}

std::string values_with(std::size_t arguments, const std::vector<std::pair<std::size_t, std::string>>& given) {
  std::vector<std::string> values(arguments);
  for (const auto& [index, text] : given) values.at(index) = text;
  std::string text = "[";
  for (const std::string& value : values) text += (text.size() > 1 ? ", \"" : "\"") + value + "\"";
  return text + "]";
}

std::uint64_t count_pairs(Sizes sizes, const std::function<bool(std::int64_t, std::int64_t)>& left) {
  std::uint64_t pairs = 0;
  for (std::int64_t i = 0; i < sizes.queries; ++i)
    for (std::int64_t j = 0; j < sizes.keys; ++j) pairs += left(i, j) ? 1u : 0u;
  return pairs;
}

constexpr Sizes kSizes[] = {{7, 9}, {9, 7}, {8, 8}, {1, 6}, {6, 1}, {0, 4}, {4, 0}};

}  // namespace

TEST_CASE("a causal mask leaves a query the keys up to its own", "[analysis]") {
  for (const Operator& of : kOperators) {
    for (const Sizes sizes : kSizes) {
      CAPTURE(of.name, of.arguments, sizes.queries, sizes.keys);
      const auto flops = [&](const std::string& causal) {
        return operator_flops(std::string("aten::") + of.name, shapes_of(of, sizes),
                              values_with(of.arguments, {{of.causal, causal}}));
      };
      const std::int64_t shift = of.align == Align::kBottomRight ? sizes.keys - sizes.queries : 0;
      const std::uint64_t all = flops_of_pairs(of, static_cast<std::uint64_t>(sizes.queries * sizes.keys));
      CHECK(flops("True") == flops_of_pairs(of, count_pairs(sizes, [&](auto i, auto j) { return j <= i + shift; })));
      // Not told, or an argument of another version of the operator: all count.
      for (const char* other : {"False", "", "0.5", "1", "nonsense"}) CHECK(flops(other) == all);
    }
  }
  // Of a trace of Qwen: 559 keys and queries, a little more than half of 20'478'754'816.
  CHECK(operator_flops("aten::_scaled_dot_product_flash_attention",
                       "[[16,16,559,64],[16,16,559,64],[16,16,559,64],[],[],[],[]]",
                       R"(["","","","0.","True","False","0.125"])") == 20'478'754'816 / 559 * 280);
}

TEST_CASE("windows leave a query the keys around its own", "[analysis]") {
  const auto reach = [](const std::string& text) { return text.empty() || text == "-1" ? 1000 : std::stoi(text); };
  const Operator forward{"_flash_attention_forward", 15, 8, Align::kBottomRight, true};
  const Operator quantized{"_flash_attention_forward", 18, 8, Align::kBottomRight, true};
  const Operator backward{"_flash_attention_backward", 17, 11, Align::kBottomRight, true, true};
  for (const auto& [of, first] : {std::pair(forward, 11), std::pair(quantized, 14), std::pair(backward, 15)}) {
    const auto window = static_cast<std::size_t>(first);
    for (const Sizes sizes : kSizes) {
      for (const std::string causal : {"True", "False"}) {
        for (const std::string left : {"", "-1", "0", "2", "100"}) {
          for (const std::string right : {"", "-1", "0", "3", "100"}) {
            CAPTURE(of.name, sizes.queries, sizes.keys, causal, left, right);
            const std::int64_t behind = causal == "True" ? 0 : reach(right);
            const std::uint64_t pairs = count_pairs(sizes, [&](std::int64_t i, std::int64_t j) {
              const std::int64_t own = i + sizes.keys - sizes.queries;
              return j >= own - reach(left) && j <= own + behind;
            });
            CHECK(
                operator_flops(std::string("aten::") + of.name, shapes_of(of, sizes),
                               values_with(of.arguments, {{of.causal, causal}, {window, left}, {window + 1, right}})) ==
                flops_of_pairs(of, pairs));
          }
        }
      }
    }
  }
}

TEST_CASE("custom_mask_type tells where a causal mask begins, window_size how many keys it leaves", "[analysis]") {
  const Operator forward{"_efficient_attention_forward", 14, 9, Align::kTopLeft, true};
  const Operator backward{"_efficient_attention_backward", 20, 15, Align::kTopLeft, true, true};
  for (const auto& [of, window] : {std::pair(forward, 13), std::pair(backward, 18)}) {
    for (const Sizes sizes : kSizes) {
      for (const std::string mask : {"0", "1", "2", "3", "True", ""}) {
        for (const std::string size : {"", "0", "1", "3", "100"}) {
          CAPTURE(of.name, sizes.queries, sizes.keys, mask, size);
          const bool causal = mask == "1" || mask == "2";
          const std::int64_t shift = mask == "2" ? sizes.keys - sizes.queries : 0;
          const std::int64_t width = size.empty() || size == "0" ? 1000 : std::stoi(size);
          const std::uint64_t pairs = count_pairs(sizes, [&](std::int64_t i, std::int64_t j) {
            return !causal || (j <= i + shift && j > i + shift - width);
          });
          CHECK(operator_flops(
                    std::string("aten::") + of.name, shapes_of(of, sizes),
                    values_with(of.arguments, {{of.causal, mask}, {static_cast<std::size_t>(window), size}})) ==
                flops_of_pairs(of, pairs));
        }
      }
    }
  }
}

TEST_CASE("a mask of any sizes leaves as many pairs as counting finds, and never more than all",
          "[analysis][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("attention pairs"));
  const Operator of{"_flash_attention_forward", 15, 8, Align::kBottomRight, true};
  const auto any = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  for (int round = 0; round < rangefinder::testing::repeats(300); ++round) {
    const Sizes sizes{any(40), any(40)};
    const std::int64_t left = any(45) - 2, right = any(45) - 2;
    CAPTURE(sizes.queries, sizes.keys, left, right);
    const std::uint64_t pairs = count_pairs(sizes, [&](std::int64_t i, std::int64_t j) {
      const std::int64_t own = i + sizes.keys - sizes.queries;
      return (left < 0 || j >= own - left) && (right < 0 || j <= own + right);
    });
    CHECK(operator_flops("aten::_flash_attention_forward", shapes_of(of, sizes),
                         values_with(15, {{8, "False"}, {11, std::to_string(left)}, {12, std::to_string(right)}})) ==
          flops_of_pairs(of, pairs));
  }
  for (int round = 0; round < rangefinder::testing::repeats(1000); ++round) {  // of any size: none overflows
    const auto size = [&] { return static_cast<std::int64_t>(random() >> (1 + random() % 63)); };
    const Sizes sizes{size(), size()};
    const auto flops = [&](const std::string& causal, std::int64_t left, std::int64_t right) {
      return operator_flops("aten::_flash_attention_forward", shapes_of(of, sizes),
                            values_with(15, {{8, causal}, {11, std::to_string(left)}, {12, std::to_string(right)}}));
    };
    const std::int64_t left = size(), right = size();
    const std::optional<std::uint64_t> all = flops("False", -1, -1);
    CAPTURE(sizes.queries, sizes.keys, left, right);
    if (!all) continue;  // more than a number can hold
    for (const auto& some : {flops("True", -1, -1), flops("True", left, -1), flops("False", left, right)}) {
      REQUIRE(some);
      CHECK(*some <= *all);
    }
    CHECK(*flops("True", left, -1) <= *flops("True", -1, -1));
  }
}
