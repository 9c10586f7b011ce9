// SPDX-License-Identifier: MIT
#pragma once

#include "report/texts.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::report {

/// Paths of names, "step/forward/layer.0". A path is its last name and a reference to the path around it, so that the
/// paths of ranges that nest a million deep take no more memory than their names.
class Paths {
 public:
  using Node = std::uint32_t;
  static constexpr Node kNothing = 0xFFFFFFFFu;
  /// A path of more bytes is never written whole.
  static constexpr std::size_t kLongest = 4096;

  /// `around` has been added before, or is kNothing. `id` is the number that users know the path by; 0: this is no
  /// path, but words in the place of one.
  Node add(Node around, std::int64_t id, std::string_view name) { return add_named(around, id, names_.add(name)); }
  /// The timeline has to outlive this.
  Node add(Node around, std::int64_t id, const Timeline& timeline, StringId name) {
    return add_named(around, id, names_.add(timeline, name));
  }

  std::size_t size() const noexcept { return nodes_.size(); }
  Node around(Node node) const noexcept { return nodes_[node].around; }
  std::int64_t id(Node node) const noexcept { return nodes_[node].id; }
  std::uint32_t depth(Node node) const noexcept { return nodes_[node].depth; }
  std::string_view name(Node node) const noexcept { return names_.text(nodes_[node].name); }
  bool is_short(Node node) const noexcept { return nodes_[node].bytes <= kLongest; }
  /// All names, slashes between them; only of a path that is short.
  std::string text(Node node) const;
  /// The same of any path; of one that is not short ".../" and the innermost names.
  std::string readable(Node node) const;
  /// ":1:2:7", the ids from the outermost one inwards. Of more than kDeepest ":..." and the innermost ones.
  std::string id_stack(Node node) const;
  /// "----layer.0": two dashes for each path around it; for more than kDeepest a few, and their number.
  std::string name_tree(Node node) const;
  static constexpr std::uint32_t kDeepest = 256;
  /// For each node its place in the order of the paths, compared name by name; equal paths have equal ones.
  std::vector<std::uint32_t> ranks() const;

 private:
  struct Entry {
    std::int64_t id;
    Node around;
    Texts::Id name;
    std::uint32_t depth;
    std::uint32_t bytes;  // of the path's text; kLongest + 1: more
  };
  Node add_named(Node around, std::int64_t id, Texts::Id name);
  std::vector<Node> first_of_equal() const;
  std::string innermost(Node node, std::size_t most_bytes) const;

  std::vector<Entry> nodes_;
  Texts names_;
};

}  // namespace rangefinder::report
