// SPDX-License-Identifier: MIT
#include "analysis/attention_flops.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <system_error>

namespace rangefinder::analysis {
namespace {

/// What a true `is_causal` means where there are more keys than queries, or fewer.
enum class Mask : std::uint8_t {
  kTopLeft,      ///< query i meets the keys up to i
  kBottomRight,  ///< the last query meets all keys
  kByNumber,     ///< `custom_mask_type` tells: 0 for none, 1 for top left, 2 for bottom right
};

/// A compiled program calls those inside scaled_dot_product_attention by themselves. A backward pass takes the gradient
/// of the output first, then the same.
struct Attention {
  std::string_view name;
  bool backward;
  bool heads_last;      ///< batch, sequence, heads, length; else batch, heads, sequence, length
  std::size_t offsets;  ///< where sequences of different lengths begin is this argument; 0: there is none
  Mask mask;
  std::size_t causal;         ///< the argument that tells the mask
  std::size_t window = 0;     ///< window_size_left, and right behind it; kByNumber: window_size; 0: there is none
  std::size_t arguments = 0;  ///< of an overload with a row of its own; 0: however many there are
};

constexpr Attention kAttention[] = {
    {"scaled_dot_product_attention", false, false, 0, Mask::kTopLeft, 5},
    {"_scaled_dot_product_flash_attention", false, false, 0, Mask::kBottomRight, 7, 0, 10},  // of 8-bit numbers
    {"_scaled_dot_product_flash_attention", false, false, 0, Mask::kBottomRight, 4},
    {"_scaled_dot_product_efficient_attention", false, false, 0, Mask::kTopLeft, 6},
    {"_scaled_dot_product_cudnn_attention", false, false, 0, Mask::kTopLeft, 6},
    {"_scaled_dot_product_flash_attention_for_cpu", false, false, 0, Mask::kTopLeft, 4},
    {"_scaled_dot_product_fused_attention_overrideable", false, false, 0, Mask::kTopLeft, 5},
    {"_scaled_dot_product_attention_math", false, false, 0, Mask::kTopLeft, 5},
    {"_scaled_dot_product_attention_math_for_mps", false, false, 0, Mask::kTopLeft, 5},
    {"_flash_attention_forward", false, true, 3, Mask::kBottomRight, 8, 14, 18},  // of 8-bit numbers
    {"_flash_attention_forward", false, true, 3, Mask::kBottomRight, 8, 11},
    {"_efficient_attention_forward", false, true, 4, Mask::kByNumber, 9, 13},
    {"_cudnn_attention_forward", false, false, 4, Mask::kTopLeft, 10},
    {"_scaled_dot_product_flash_attention_backward", true, false, 0, Mask::kBottomRight, 11},
    {"_scaled_dot_product_efficient_attention_backward", true, false, 0, Mask::kTopLeft, 11},
    {"_scaled_dot_product_cudnn_attention_backward", true, false, 0, Mask::kTopLeft, 14},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", true, false, 0, Mask::kTopLeft, 7},
    {"_scaled_dot_product_fused_attention_overrideable_backward", true, false, 0, Mask::kTopLeft, 13},
    {"_flash_attention_backward", true, true, 6, Mask::kBottomRight, 11, 15},
    {"_efficient_attention_backward", true, true, 6, Mask::kByNumber, 15, 18},
    {"_cudnn_attention_backward", true, false, 9, Mask::kTopLeft, 14},
};

const Attention* find_attention(std::string_view name, std::size_t arguments) noexcept {
  const auto* const found = std::find_if(std::begin(kAttention), std::end(kAttention), [&](const Attention& each) {
    return each.name == name && (each.arguments == 0 || each.arguments == arguments);
  });
  return found == std::end(kAttention) ? nullptr : found;
}

/// Of queries and keys whose places differ by `least` to `most` (key less query); wide enough for any two sizes.
struct Band {
  __int128 least = std::numeric_limits<std::int64_t>::min();
  __int128 most = std::numeric_limits<std::int64_t>::max();
};

/// A number that is not negative; nothing of anything else.
std::optional<std::int64_t> window_in(std::string_view text) noexcept {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

Band band_of(const Attention& of, std::int64_t queries, std::int64_t keys,
             const std::vector<std::string_view>& values) {
  const auto text = [&](std::size_t i) { return i != 0 && i < values.size() ? values[i] : std::string_view(); };
  const std::string_view mask = text(of.causal);
  const bool by_number = of.mask == Mask::kByNumber;
  const bool causal = by_number ? mask == "1" || mask == "2" : mask == "True";
  const bool from_end = by_number ? mask == "2" : of.mask == Mask::kBottomRight;
  const std::int64_t middle = from_end ? keys - queries : 0;
  Band band;
  if (causal) band.most = middle;
  if (const auto left = window_in(text(of.window)); left && !by_number) band.least = __int128{middle} - *left;
  // Behind the last key of a causal mask, and as many as it says with it.
  else if (left && causal && *left > 0)
    band.least = __int128{middle} - *left + 1;
  if (const auto right = by_number ? std::nullopt : window_in(text(of.window + 1)); right && !causal && of.window != 0)
    band.most = __int128{middle} + *right;
  return band;
}

/// How many of `queries` times `keys` have a key at most `most` places behind the query. Sums are of half the square of
/// a size, 63 bits each, and fit.
__int128 pairs_up_to(__int128 most, std::int64_t queries, std::int64_t keys) noexcept {
  // Query i meets i + most + 1 keys, or none, or all: a sum over a stretch is the difference of two from the beginning.
  const auto sum_to = [&](__int128 end) -> __int128 {
    const __int128 sloped = std::clamp<__int128>(end, 0, keys);
    return sloped * (sloped + 1) / 2 + std::max<__int128>(end - keys, 0) * keys;
  };
  most = std::clamp<__int128>(most, -__int128{queries}, keys);
  return sum_to(most + queries) - sum_to(most);
}

Flops pairs_left(const Attention& of, std::int64_t queries, std::int64_t keys,
                 const std::vector<std::string_view>& values) {
  if (queries < 0 || keys < 0) return std::nullopt;
  const Band band = band_of(of, queries, keys, values);
  if (band.least > band.most) return 0;
  const __int128 pairs = pairs_up_to(band.most, queries, keys) - pairs_up_to(band.least - 1, queries, keys);
  if (pairs > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(pairs);
}

}  // namespace

bool is_attention(std::string_view name) noexcept {
  return std::any_of(std::begin(kAttention), std::end(kAttention),
                     [&](const Attention& each) { return each.name == name; });
}

/// Products of a query with a key, each as long as a query or as a value: forward one of each (query and key, then the
/// weights and value). Backward the weights are computed again; then they and value, and query and key, each have two
/// gradients.
Flops attention_flops(std::string_view name, const std::vector<Shape>& shapes,
                      const std::vector<std::string_view>& values) {
  const Attention* const of = find_attention(name, values.size());
  const std::size_t first = of != nullptr && of->backward ? 1 : 0;
  if (of == nullptr || shapes.size() < first + 3) return std::nullopt;
  if (of->offsets != 0 && shapes.size() > of->offsets && !shapes[of->offsets].empty()) return std::nullopt;
  const Shape &query = shapes[first], &key = shapes[first + 1], &value = shapes[first + 2];
  for (const Shape* each : {&query, &key, &value})
    if (each->size() != 4) return std::nullopt;
  const std::size_t heads = of->heads_last ? 2 : 1, sequence = of->heads_last ? 1 : 2;
  if (key[0] != query[0] || value[0] != query[0] || key[3] != query[3]) return std::nullopt;
  if (value[sequence] != key[sequence] || value[heads] != key[heads]) return std::nullopt;
  if (key[heads] == 0 || query[heads] % key[heads] != 0) return std::nullopt;  // queries may share keys
  const Flops pairs = pairs_left(*of, query[sequence], key[sequence], values);
  if (!pairs) return std::nullopt;
  const auto products = [&](std::int64_t length, std::int64_t times) {
    return Product()
        .times(2)
        .times(query[0])
        .times(query[heads])
        .times(static_cast<std::int64_t>(*pairs))
        .times(length)
        .times(times);
  };
  const Flops a = products(query[3], of->backward ? 3 : 1).value(),
              b = products(value[3], of->backward ? 2 : 1).value();
  std::uint64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

std::vector<Shape> attention_outputs(std::string_view name, const std::vector<Shape>& shapes) {
  const Attention* const of = find_attention(name, 0);
  if (of == nullptr) return {};
  if (of->backward) return {shapes[1], shapes[2], shapes[3]};
  Shape out = shapes[0];
  out.back() = shapes[2].back();
  return {out};
}

}  // namespace rangefinder::analysis
