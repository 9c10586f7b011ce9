// SPDX-License-Identifier: MIT
#include "report/paths.hpp"

#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

namespace rangefinder::report {

Paths::Node Paths::add_named(Node around, std::int64_t id, Texts::Id name) {
  const bool at_top = around == kNothing;
  const std::size_t bytes = names_.text(name).size() + (at_top ? 0 : nodes_[around].bytes + std::size_t{1});
  nodes_.push_back({id, around, name, at_top ? 0 : nodes_[around].depth + 1,
                    static_cast<std::uint32_t>(std::min(bytes, kLongest + 1))});
  return static_cast<Node>(nodes_.size() - 1);
}

std::string Paths::text(Node node) const { return innermost(node, kLongest); }

std::string Paths::readable(Node node) const {
  constexpr std::size_t kEnoughToTell = 128;
  return is_short(node) ? text(node) : innermost(node, kEnoughToTell);
}

/// At least the last name.
std::string Paths::innermost(Node node, std::size_t most_bytes) const {
  std::size_t bytes = name(node).size();
  Node left_out = around(node);  // and all around it
  for (; left_out != kNothing && bytes + 1 + name(left_out).size() <= most_bytes; left_out = around(left_out))
    bytes += 1 + name(left_out).size();
  std::string out = left_out == kNothing ? "" : ".../";
  const std::size_t begin = out.size();
  out.resize(begin + bytes);
  for (std::size_t end = out.size(); node != left_out; node = around(node)) {
    end -= name(node).copy(out.data() + end - name(node).size(), name(node).size());
    if (end != begin) out[--end] = '/';
  }
  return out;
}

std::string Paths::id_stack(Node node) const {
  constexpr std::size_t kOfMany = 16;
  constexpr std::string_view kMore = ":...";
  const bool many = depth(node) >= kDeepest;
  std::array<char, kDeepest * kMaxDigits> text;  // filled from its end
  char* begin = text.end();
  for (std::size_t count = 0; node != kNothing && (!many || count < kOfMany); node = around(node), ++count) {
    begin = write_plain_number(begin, id(node), 0);
    *--begin = ':';
  }
  if (many) begin = std::copy_backward(kMore.begin(), kMore.end(), begin);
  return {begin, text.end()};
}

std::string Paths::name_tree(Node node) const {
  constexpr std::uint32_t kOfMany = 16;
  const std::uint32_t levels = depth(node);
  const std::size_t dashes = 2 * std::size_t{levels <= kDeepest ? levels : kOfMany};
  std::string out;
  out.reserve(dashes + kMaxDigits + name(node).size());
  out.append(dashes, '-');
  if (levels > kDeepest) {
    out += '[';
    append_plain_number(out, levels, 0);
    out += ']';
  }
  return out.append(name(node));
}

std::vector<std::uint32_t> Paths::ranks() const {
  const std::vector<Node> same = first_of_equal();
  std::vector<Node> order;
  for (Node node = 0; node < nodes_.size(); ++node)
    if (same[node] == node) order.push_back(node);
  const auto outer = [&](Node node) { return around(node) == kNothing ? kNothing : same[around(node)]; };
  // Those inside one path beside each other, last name first: a stack gives them out first name first.
  std::sort(order.begin(), order.end(),
            [&](Node a, Node b) { return outer(a) != outer(b) ? outer(a) < outer(b) : name(a).compare(name(b)) > 0; });
  std::vector<std::size_t> first(nodes_.size() + 1, 0);
  for (const Node node : order)
    if (outer(node) != kNothing) ++first[outer(node) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Node> rest(order.begin() + static_cast<std::ptrdiff_t>(first.back()), order.end());  // kNothing is last
  std::vector<std::uint32_t> ranks(nodes_.size());
  for (std::uint32_t rank = 0; !rest.empty(); ++rank) {
    const Node node = rest.back();
    rest.pop_back();
    ranks[node] = rank;
    rest.insert(rest.end(), order.begin() + static_cast<std::ptrdiff_t>(first[node]),
                order.begin() + static_cast<std::ptrdiff_t>(first[node + 1]));
  }
  for (Node node = 0; node < nodes_.size(); ++node) ranks[node] = ranks[same[node]];
  return ranks;
}

/// For each node the first one whose path has the same names.
std::vector<Paths::Node> Paths::first_of_equal() const {
  std::unordered_map<std::string_view, std::uint32_t> numbers;  // of names
  std::unordered_map<std::uint64_t, Node> first;                // by the path around and the name
  std::vector<Node> same(nodes_.size());
  for (Node node = 0; node < nodes_.size(); ++node) {
    const auto number = numbers.try_emplace(name(node), static_cast<std::uint32_t>(numbers.size())).first->second;
    const Node outer = around(node) == kNothing ? kNothing : same[around(node)];
    same[node] = first.try_emplace(std::uint64_t{outer} << 32 | number, node).first->second;
  }
  return same;
}

}  // namespace rangefinder::report
