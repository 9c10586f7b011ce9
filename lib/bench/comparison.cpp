// SPDX-License-Identifier: MIT
#include "bench/comparison.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace rangefinder::bench {
namespace {

template <typename T>
T at(const TensorView& tensor, std::uint64_t index) {
  T value;  // the bytes come from a file too, at any alignment
  std::memcpy(&value, static_cast<const char*>(tensor.data) + index * sizeof(T), sizeof(T));
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const double fraction = bits & 0x3FF, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 0x1F)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return exponent == 0 ? sign * std::ldexp(fraction, -24) : sign * std::ldexp(fraction + 1024, exponent - 25);
}

bool is_float(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBFloat16 || type == ElementType::kFloat32 ||
         type == ElementType::kFloat64;
}

std::int64_t integer_at(const TensorView& tensor, std::uint64_t index) {
  switch (tensor.type) {
    case ElementType::kInt8:
      return at<std::int8_t>(tensor, index);
    case ElementType::kInt16:
      return at<std::int16_t>(tensor, index);
    case ElementType::kInt32:
      return at<std::int32_t>(tensor, index);
    case ElementType::kInt64:
      return at<std::int64_t>(tensor, index);
    default:
      return at<std::uint8_t>(tensor, index);
  }
}

std::string shape_text(const TensorView& tensor) {
  return fmt::format("{} of shape [{}]", to_string(tensor.type), fmt::join(tensor.shape, ", "));
}

void note_outside(Difference& out, const TensorView& tensor, std::uint64_t index, const std::string& values) {
  if (out.outside++ == 0) out.failure = fmt::format("output \"{}\", element {}: {}", tensor.name, index, values);
}

void compare_integers(const TensorView& reference, const TensorView& found, std::uint64_t count, Difference& out) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::int64_t want = integer_at(reference, i), got = integer_at(found, i);
    if (want == got) continue;
    const double apart = std::abs(static_cast<double>(got) - static_cast<double>(want));
    out.most_absolute = std::max(out.most_absolute, apart);
    note_outside(out, reference, i, fmt::format("{} is not {}", got, want));
  }
}

void compare_floats(const TensorView& reference, const TensorView& found, std::uint64_t count,
                    const Tolerance& tolerance, Difference& out) {
  double squares = 0, difference_squares = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double want = float_at(reference, i), got = float_at(found, i);
    if (!std::isfinite(want) || !std::isfinite(got)) {
      const bool same = want == got || (std::isnan(want) && std::isnan(got));
      if (!same) note_outside(out, reference, i, fmt::format("{} is not {}", got, want));
      continue;
    }
    const double apart = std::abs(got - want), size = std::abs(want);
    squares += size * size;
    difference_squares += apart * apart;
    out.most_absolute = std::max(out.most_absolute, apart);
    if (size > 0) out.most_relative = std::max(out.most_relative, apart / size);
    if (tolerance.frobenius == 0 && !(apart <= tolerance.absolute + tolerance.relative * size))
      note_outside(
          out, reference, i,
          fmt::format("{} is not {} within {} + {} x {}", got, want, tolerance.absolute, tolerance.relative, size));
  }
  const double relative = squares > 0                 ? std::sqrt(difference_squares / squares)
                          : difference_squares == 0.0 ? 0
                                                      : std::numeric_limits<double>::infinity();
  out.frobenius = std::max(out.frobenius, relative);
  if (tolerance.frobenius > 0 && !(relative <= tolerance.frobenius) && out.failure.empty()) {
    out.outside += count;
    out.failure = fmt::format("output \"{}\": relative Frobenius error {} is over {}", reference.name, relative,
                              tolerance.frobenius);
  }
}

std::string mismatch(const TensorView& reference, const TensorView& found) {
  if (reference.name != found.name) return fmt::format("output \"{}\" is called \"{}\"", reference.name, found.name);
  if (reference.type != found.type || reference.shape != found.shape)
    return fmt::format("output \"{}\" is {}, not {}", reference.name, shape_text(found), shape_text(reference));
  return {};
}

}  // namespace

double float_at(const TensorView& tensor, std::uint64_t index) {
  switch (tensor.type) {
    case ElementType::kFloat16:
      return half_to_double(at<std::uint16_t>(tensor, index));
    case ElementType::kBFloat16:
      return std::bit_cast<float>(std::uint32_t{at<std::uint16_t>(tensor, index)} << 16);
    case ElementType::kFloat32:
      return at<float>(tensor, index);
    default:
      return at<double>(tensor, index);
  }
}

Result<std::uint64_t> element_count(const TensorView& tensor) {
  std::uint64_t count = 1;
  const std::uint64_t most = (std::uint64_t{1} << 62) / size_of(tensor.type);
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0 || (extent > 0 && count > most / static_cast<std::uint64_t>(extent)))
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("tensor \"{}\": no shape: [{}]", tensor.name, fmt::join(tensor.shape, ", "))};
    count *= static_cast<std::uint64_t>(extent);
  }
  return count;
}

Difference compare(const std::vector<TensorView>& reference, const std::vector<TensorView>& found,
                   const Tolerance& tolerance) {
  Difference out;
  if (reference.size() != found.size()) {
    out.failure = fmt::format("{} outputs, not {}", found.size(), reference.size());
    return out;
  }
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (std::string wrong = mismatch(reference[i], found[i]); !wrong.empty()) {
      out.failure = std::move(wrong);
      return out;
    }
    const Result<std::uint64_t> count = element_count(reference[i]);
    if (!count) {
      out.failure = count.error().message();
      return out;
    }
    out.elements += *count;
    if (is_float(reference[i].type))
      compare_floats(reference[i], found[i], *count, tolerance, out);
    else
      compare_integers(reference[i], found[i], *count, out);
  }
  if (out.elements == 0 && out.failure.empty()) out.failure = "no output to compare";
  if (out.outside > 1) out.failure += fmt::format("; {} of {} elements differ so", out.outside, out.elements);
  return out;
}

bool looser(const Tolerance& a, const Tolerance& b) {
  // Norm and elements are different questions: neither is looser than the other by its numbers, so they must be alike.
  if ((a.frobenius > 0) != (b.frobenius > 0)) return true;
  return a.frobenius > 0 ? a.frobenius > b.frobenius : a.relative > b.relative || a.absolute > b.absolute;
}

}  // namespace rangefinder::bench
