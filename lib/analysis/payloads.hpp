// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Values that programs attach to ranges: the batch size, the number of tokens, a file name.
namespace rangefinder::analysis {

/// The values of a range; mostly one or none.
std::span<const Attachment> payloads_of(const Timeline& timeline, RangeIndex range);
/// Whether any range has one.
bool has_payloads(const Timeline& timeline) noexcept;

/// "64", "0.5", "json". A double is written as short as it can be read again exactly.
std::string payload_text(const Timeline& timeline, const Attachment& payload);
/// All values of a range: "64, json"; empty: it has none.
std::string payload_text(const Timeline& timeline, RangeIndex range);
/// Nothing for a text, and for a double that is not finite.
std::optional<double> payload_number(const Attachment& payload);

/// Ranges with equal payload texts have equal numbers, from 0 on.
struct PayloadParts {
  std::vector<std::uint32_t> part;  ///< per range, as Parts
  std::vector<std::string> text;    ///< per number; empty: ranges without a payload
};
PayloadParts parts_by_payload(const Timeline& timeline);

/// A condition on ranges: `>=64`, `=json`, `batch>=64` (ranges of that name alone). Operators: = != < <= > >=.
/// Numbers are compared as numbers; texts are equal or not, and neither less nor greater.
class PayloadCondition {
 public:
  /// Errors: kInvalidArgument with what a condition looks like.
  static Result<PayloadCondition> parse(std::string_view text);

  /// One of the range's values fulfils it. Of `!=`: there is a value, and none is equal.
  bool holds(const Timeline& timeline, RangeIndex range) const;

 private:
  enum class Comparison : std::uint8_t { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

  bool holds(const Timeline& timeline, const Attachment& payload) const;

  std::string name_;  // empty: any range
  Comparison comparison_ = Comparison::kEqual;
  std::string text_;
  std::optional<long double> number_;  // of text_; has room for every 64-bit integer
};

}  // namespace rangefinder::analysis
