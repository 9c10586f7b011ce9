// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Inputs of operators as OperatorTable has them: texts, from any program's file.
namespace rangefinder::analysis {

using Shape = std::vector<std::int64_t>;
using Flops = std::optional<std::uint64_t>;

/// Nothing where sizes make no sense or there are too many.
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
  Flops value() const noexcept { return ok_ ? Flops(value_) : std::nullopt; }

 private:
  std::uint64_t value_ = 1;
  bool ok_ = true;
};

/// The numbers of `[4, 288]`, wherever they stand in the text; nothing of anything else.
Shape numbers_in(std::string_view text);

/// `[[4, 288], [], [10]]`, a list each. A list of lists (an input that is a list of tensors) is one without numbers.
std::vector<Shape> shapes_in(std::string_view text);

/// `["", "[1, 1]", "2"]`: the texts between quotes.
std::vector<std::string_view> texts_in(std::string_view text);

/// "True" or "1".
bool is_true(std::string_view value) noexcept;

}  // namespace rangefinder::analysis
