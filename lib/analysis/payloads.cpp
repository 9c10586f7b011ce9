// SPDX-License-Identifier: MIT
#include "analysis/payloads.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "timeline/attachments.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace rangefinder::analysis {
namespace {

template <typename Number>
std::string text_of(Number number) {
  char digits[64];
  return std::string(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

/// With all digits of an integer; nothing for a text and for what is not finite.
std::optional<long double> exact_number(const Attachment& payload) {
  switch (payload.type) {
    case Attachment::Type::kUnsigned:
      return static_cast<long double>(payload.bits);
    case Attachment::Type::kSigned:
      return static_cast<long double>(static_cast<std::int64_t>(payload.bits));
    case Attachment::Type::kDouble:
      if (const double number = std::bit_cast<double>(payload.bits); std::isfinite(number)) return number;
      return std::nullopt;
    case Attachment::Type::kText:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::span<const Attachment> payloads_of(const Timeline& timeline, RangeIndex range) {
  return timeline::attachments_of(timeline, Attachment::Target::kRange, range);
}

bool has_payloads(const Timeline& timeline) noexcept {
  return !timeline.attachments.empty() && timeline.attachments.front().target == Attachment::Target::kRange;
}

std::string payload_text(const Timeline& timeline, const Attachment& payload) {
  switch (payload.type) {
    case Attachment::Type::kUnsigned:
      return text_of(payload.bits);
    case Attachment::Type::kSigned:
      return text_of(static_cast<std::int64_t>(payload.bits));
    case Attachment::Type::kDouble:
      return text_of(std::bit_cast<double>(payload.bits));
    case Attachment::Type::kText:
      return std::string(timeline.text(static_cast<StringId>(payload.bits)));
  }
  return {};
}

std::string payload_text(const Timeline& timeline, RangeIndex range) {
  std::string out;
  for (const Attachment& payload : payloads_of(timeline, range))
    out += (out.empty() ? "" : ", ") + payload_text(timeline, payload);
  return out;
}

std::optional<double> payload_number(const Attachment& payload) {
  const std::optional<long double> number = exact_number(payload);
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

PayloadParts parts_by_payload(const Timeline& timeline) {
  PayloadParts parts;
  std::unordered_map<std::string, std::uint32_t> by_text;
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    std::string text = payload_text(timeline, range);
    const auto [found, added] = by_text.try_emplace(text, static_cast<std::uint32_t>(parts.text.size()));
    if (added) parts.text.push_back(std::move(text));
    parts.part.push_back(found->second);
  }
  return parts;
}

Result<PayloadCondition> PayloadCondition::parse(std::string_view text) {
  constexpr std::pair<std::string_view, Comparison> kWords[] = {
      {"!=", Comparison::kNotEqual}, {"<=", Comparison::kLessOrEqual}, {">=", Comparison::kGreaterOrEqual},
      {"==", Comparison::kEqual},    {"=", Comparison::kEqual},        {"<", Comparison::kLess},
      {">", Comparison::kGreater}};
  const auto wrong = [&](const char* what) {
    return Error(ErrorCode::kInvalidArgument, "payload condition \"" + base::printable(text) + "\" " + what +
                                                  ": write '>=64', '=json' or, for ranges of one name, 'batch>=64' "
                                                  "(operators = != < <= > >=)");
  };
  const std::size_t at = text.find_first_of("!<>=");
  if (at == std::string_view::npos) return wrong("has no operator");
  PayloadCondition condition;
  condition.name_ = trimmed(text.substr(0, at));
  for (const auto& [word, comparison] : kWords) {
    if (!text.substr(at).starts_with(word)) continue;
    condition.comparison_ = comparison;
    condition.text_ = trimmed(text.substr(at + word.size()));
    if (condition.text_.empty()) return wrong("has no value");
    condition.number_ = base::number_in<long double>(condition.text_);
    const bool of_order = comparison != Comparison::kEqual && comparison != Comparison::kNotEqual;
    if (of_order && !condition.number_) return wrong("compares with what is no number");
    return condition;
  }
  return wrong("has no operator");
}

bool PayloadCondition::holds(const Timeline& timeline, const Attachment& payload) const {
  const std::optional<long double> number = exact_number(payload);
  if (!number || !number_) {
    const bool equal = payload_text(timeline, payload) == text_;
    return comparison_ == Comparison::kEqual ? equal : comparison_ == Comparison::kNotEqual && !equal;
  }
  switch (comparison_) {
    case Comparison::kEqual:
      return *number == *number_;
    case Comparison::kNotEqual:
      return *number != *number_;
    case Comparison::kLess:
      return *number < *number_;
    case Comparison::kLessOrEqual:
      return *number <= *number_;
    case Comparison::kGreater:
      return *number > *number_;
    case Comparison::kGreaterOrEqual:
      return *number >= *number_;
  }
  return false;
}

bool PayloadCondition::holds(const Timeline& timeline, RangeIndex range) const {
  if (!name_.empty() && timeline.text(timeline.ranges.name[range]) != name_) return false;
  const std::span<const Attachment> payloads = payloads_of(timeline, range);
  const auto holds_here = [&](const Attachment& payload) { return holds(timeline, payload); };
  return comparison_ == Comparison::kNotEqual
             ? !payloads.empty() && std::all_of(payloads.begin(), payloads.end(), holds_here)
             : std::any_of(payloads.begin(), payloads.end(), holds_here);
}

}  // namespace rangefinder::analysis
