// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline/collective_table.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

// Names that tell more of collectives; lib/buffer/collectives.cpp writes them.
namespace rangefinder::importer {

/// Takes the text up to the next line break off.
inline std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

inline std::int64_t number_of(std::string_view text, std::int64_t otherwise) noexcept {
  std::int64_t number = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

inline std::int32_t small_number_of(std::string_view text, std::int32_t otherwise) noexcept {
  const std::int64_t number = number_of(text, otherwise);
  return number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max()
             ? otherwise
             : static_cast<std::int32_t>(number);
}

/// What the name behind AssembledCollective::signature tells.
struct CollectiveSignature {
  std::int32_t channels = 0;
  std::string_view dtype, algorithm, protocol, name;
};

inline CollectiveSignature split_signature(std::string_view text) noexcept {
  CollectiveSignature out;
  out.channels = small_number_of(take_line(text), 0);
  out.dtype = take_line(text);
  out.algorithm = take_line(text);
  out.protocol = take_line(text);
  out.name = take_line(text);
  return out;
}

/// "0-7 12 16-1008/16" -> 0 to 7, 12, 16, 32, ... 1008. Empty where it is damaged.
inline std::vector<std::int64_t> split_ranks(std::string_view text) {
  constexpr std::size_t kMaxRanks = std::size_t{1} << 20;  // beyond it, it is damage
  std::vector<std::int64_t> ranks;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(' '));
    text.remove_prefix(part.size() + (part.size() < text.size() ? 1 : 0));
    const std::size_t dash = part.find('-', 1), slash = part.find('/');
    const std::int64_t first = number_of(part.substr(0, dash), -1);
    const std::int64_t last =
        dash == std::string_view::npos ? first : number_of(part.substr(dash + 1, slash - dash - 1), -1);
    const std::int64_t stride = slash == std::string_view::npos ? 1 : number_of(part.substr(slash + 1), 0);
    if (first < 0 || last < first || stride < 1 ||
        static_cast<std::uint64_t>((last - first) / stride) + ranks.size() >= kMaxRanks)
      return {};
    for (std::int64_t rank = first; rank <= last; rank += stride) ranks.push_back(rank);
  }
  return ranks;
}

/// What the name behind AssembledCollective::group tells.
inline ProcessGroupInfo split_group(std::string_view text, CollectiveSource source) {
  ProcessGroupInfo out;
  out.source = source;
  out.size = small_number_of(take_line(text), 0);
  take_line(text);  // the rank in the group, which the process' own tells
  out.ranks = split_ranks(take_line(text));
  out.name = take_line(text);
  out.description = text;
  return out;
}

}  // namespace rangefinder::importer
