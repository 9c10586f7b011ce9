// SPDX-License-Identifier: MIT
#include "compare/path_alignment.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rangefinder::compare {
namespace {

/// Of names that differ in numbers alone, more pairs than these are not tried: those of the same place in line are the
/// same then.
constexpr std::size_t kMostPairs = std::size_t{1} << 20;

/// "layers.#.attention" for "layers.11.attention": any digits, also those behind letters.
std::string without_numbers(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit)
      text += c;
    else if (text.empty() || text.back() != '#')
      text += '#';
  }
  return text;
}

/// Names as numbers that both runs share.
class Words {
 public:
  std::uint32_t of(const std::string& text) {
    return numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// The paths of a run.
struct Tree {
  std::span<const PathNode> nodes;
  std::vector<std::uint32_t> roots;
  std::vector<std::vector<std::uint32_t>> inside;  // by path, in order
  std::vector<std::uint32_t> name;                 // by path
  std::vector<std::uint32_t> folded;               // by path: name without its numbers
  std::vector<std::vector<std::uint32_t>> below;   // by path: folded names of its children, sorted

  Tree(std::span<const PathNode> paths, Words& words)
      : nodes(paths), inside(paths.size()), name(paths.size()), folded(paths.size()), below(paths.size()) {
    for (std::uint32_t path = 0; path < nodes.size(); ++path) {
      name[path] = words.of(nodes[path].name);
      folded[path] = words.of(without_numbers(nodes[path].name));
      const std::uint32_t around = nodes[path].around;
      (around < path ? inside[around] : roots).push_back(path);
      if (around < path) below[around].push_back(folded[path]);
    }
    for (std::vector<std::uint32_t>& names : below) std::sort(names.begin(), names.end());
  }
};

/// "layers.2" before "layers.10": as text, but whole numbers as such.
bool is_before(std::string_view a, std::string_view b) noexcept {
  const auto digits = [](std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    return end - at;
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const std::size_t in_a = digits(a, i), in_b = digits(b, j);
    if (in_a != in_b) return in_a < in_b;  // longer numbers are greater; what has none comes first
    const std::size_t length = std::max<std::size_t>(in_a, 1);
    if (const int order = a.substr(i, length).compare(b.substr(j, length)); order != 0) return order < 0;
    i += length;
    j += length;
  }
  return a.size() - i < b.size() - j;
}

/// Twice what both have, over what there is: 0 to 1; of two that hold nothing 1.
double likeness(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  if (a.empty() && b.empty()) return 1;
  std::size_t common = 0, i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i] == b[j]) ++common;
    const bool first = a[i] <= b[j], second = b[j] <= a[i];
    i += first ? 1 : 0;
    j += second ? 1 : 0;
  }
  return 2 * static_cast<double>(common) / static_cast<double>(a.size() + b.size());
}

using Paths = std::vector<std::uint32_t>;

void put_in_order(const Tree& tree, Paths& paths) {
  std::stable_sort(paths.begin(), paths.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return is_before(tree.nodes[a].name, tree.nodes[b].name); });
}

class Aligner {
 public:
  Aligner(std::span<const PathNode> baseline, std::span<const PathNode> candidate)
      : baseline_(baseline, words_), candidate_(candidate, words_) {
    result_.candidate_of.assign(baseline.size(), kNone);
    result_.baseline_of.assign(candidate.size(), kNone);
  }

  PathAlignment run() && {
    align(baseline_.roots, candidate_.roots);
    while (!open_.empty()) {
      const auto [a, b] = open_.back();
      open_.pop_back();
      align(baseline_.inside[a], candidate_.inside[b]);
    }
    find_moved();
    return std::move(result_);
  }

 private:
  bool is_open_a(std::uint32_t path) const noexcept { return result_.candidate_of[path] == kNone; }
  bool is_open_b(std::uint32_t path) const noexcept { return result_.baseline_of[path] == kNone; }
  Paths left_a(const Paths& all) const {
    Paths left;
    for (const std::uint32_t path : all)
      if (is_open_a(path)) left.push_back(path);
    return left;
  }
  Paths left_b(const Paths& all) const {
    Paths left;
    for (const std::uint32_t path : all)
      if (is_open_b(path)) left.push_back(path);
    return left;
  }
  void match(std::uint32_t a, std::uint32_t b) {
    result_.candidate_of[a] = b;
    result_.baseline_of[b] = a;
    open_.emplace_back(a, b);
  }

  void align(const Paths& a, const Paths& b);
  void match_alike(const Paths& a, const Paths& b);
  void match_in_line(const Paths& a, const Paths& b);
  void match_levels(const Paths& a, const Paths& b);
  template <typename Match>
  void match_level(const Tree& outer, const Paths& levels, const Tree& other, const Paths& beside, Match match);
  void find_moved();

  Words words_;
  Tree baseline_, candidate_;
  PathAlignment result_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open_;  // whose children have not been looked at
};

/// Children of two paths that are the same, or what is left of them.
void Aligner::align(const Paths& a, const Paths& b) {
  // Groups of names that differ in numbers alone; with one name on each side that is the comparison by name.
  std::map<std::uint32_t, std::pair<Paths, Paths>> groups;
  for (const std::uint32_t path : left_a(a)) groups[baseline_.folded[path]].first.push_back(path);
  for (const std::uint32_t path : left_b(b)) groups[candidate_.folded[path]].second.push_back(path);
  for (auto& [folded, group] : groups) {
    if (group.first.empty() || group.second.empty()) continue;
    put_in_order(baseline_, group.first);
    put_in_order(candidate_, group.second);
    match_alike(group.first, group.second);
  }
  match_levels(left_a(a), left_b(b));
}

/// The order stays; of all ways to put pairs together the one whose pairs are most alike, inside and then by name.
void Aligner::match_alike(const Paths& a, const Paths& b) {
  if (a.size() == 1 && b.size() == 1) return match(a.front(), b.front());
  if (a.size() > kMostPairs / b.size()) return match_in_line(a, b);
  constexpr float kSameName = 0.25F;
  const std::size_t width = b.size() + 1;
  std::vector<float> best((a.size() + 1) * width);  // of the first i and the first j
  const auto alike = [&](std::size_t i, std::size_t j) {
    const auto inside = static_cast<float>(likeness(baseline_.below[a[i]], candidate_.below[b[j]]));
    return inside + (baseline_.name[a[i]] == candidate_.name[b[j]] ? kSameName : 0.0F);
  };
  std::vector<float> pairs(a.size() * b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) {
      const float pair = pairs[i * b.size() + j] = alike(i, j);
      best[(i + 1) * width + j + 1] =
          std::max({best[i * width + j] + pair, best[i * width + j + 1], best[(i + 1) * width + j]});
    }
  for (std::size_t i = a.size(), j = b.size(); i > 0 && j > 0;) {
    const float pair = pairs[(i - 1) * b.size() + j - 1];
    const float here = best[i * width + j];
    if (pair > 0 && here == best[(i - 1) * width + j - 1] + pair) {
      match(a[--i], b[--j]);
    } else if (here == best[(i - 1) * width + j]) {
      --i;
    } else {
      --j;
    }
  }
}

void Aligner::match_in_line(const Paths& a, const Paths& b) {
  std::unordered_map<std::uint32_t, std::uint32_t> by_name;
  for (const std::uint32_t path : b) by_name.emplace(candidate_.name[path], path);
  for (const std::uint32_t path : a)
    if (const auto found = by_name.find(baseline_.name[path]); found != by_name.end()) match(path, found->second);
  const Paths rest_a = left_a(a), rest_b = left_b(b);
  for (std::size_t i = 0; i < std::min(rest_a.size(), rest_b.size()); ++i) match(rest_a[i], rest_b[i]);
}

/// A path that holds what is beside it in the other run is a level that one of them has and the other has not: what it
/// holds is the same place there. `match(inside, beside)`.
template <typename Match>
void Aligner::match_level(const Tree& outer, const Paths& levels, const Tree& other, const Paths& beside, Match match) {
  std::unordered_map<std::uint32_t, std::uint32_t> by_name;
  for (const std::uint32_t path : beside) by_name.emplace(other.name[path], path);
  for (const std::uint32_t level : levels) {
    const Paths& inside = outer.inside[level];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const std::uint32_t path : inside)
      if (const auto same = by_name.find(outer.name[path]); same != by_name.end())
        found.emplace_back(path, same->second);
    if (found.empty() || 2 * found.size() < inside.size()) continue;
    for (const auto& [path, same] : found) {
      match(path, same);
      by_name.erase(outer.name[path]);
    }
  }
}

void Aligner::match_levels(const Paths& a, const Paths& b) {
  match_level(candidate_, b, baseline_, a, [this](std::uint32_t path, std::uint32_t same) {
    if (is_open_a(same) && is_open_b(path)) match(same, path);
  });
  match_level(baseline_, left_a(a), candidate_, left_b(b), [this](std::uint32_t path, std::uint32_t same) {
    if (is_open_a(path) && is_open_b(same)) match(path, same);
  });
}

/// Names that are left over once on each side, outer paths first. Leaves alone are not enough: "loss" may be anything.
void Aligner::find_moved() {
  const auto singles = [](const Tree& tree, const std::vector<std::uint32_t>& matched) {
    std::map<std::uint32_t, std::uint32_t> found;  // by name; kNone: several
    for (std::uint32_t path = 0; path < tree.nodes.size(); ++path) {
      if (matched[path] != kNone) continue;
      const auto [place, is_first] = found.try_emplace(tree.name[path], path);
      if (!is_first) place->second = kNone;
    }
    return found;
  };
  const auto in_b = singles(candidate_, result_.baseline_of);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const auto& [name, path] : singles(baseline_, result_.candidate_of))
    if (const auto found = in_b.find(name); path != kNone && found != in_b.end() && found->second != kNone)
      pairs.emplace_back(path, found->second);
  std::sort(pairs.begin(), pairs.end());
  for (const auto& [a, b] : pairs) {
    if (!is_open_a(a) || !is_open_b(b)) continue;
    if (likeness(baseline_.below[a], candidate_.below[b]) < 0.5) continue;
    match(a, b);
    while (!open_.empty()) {
      const auto [x, y] = open_.back();
      open_.pop_back();
      align(baseline_.inside[x], candidate_.inside[y]);
    }
  }
}

}  // namespace

PathAlignment align_paths(std::span<const PathNode> baseline, std::span<const PathNode> candidate) {
  return Aligner(baseline, candidate).run();
}

PathFate fate_of(const PathAlignment& alignment, std::span<const PathNode> baseline,
                 std::span<const PathNode> candidate, std::uint32_t in_baseline, std::uint32_t in_candidate) {
  if (in_baseline == kNone) return PathFate::kNew;
  if (in_candidate == kNone) return PathFate::kGone;
  const std::uint32_t around = baseline[in_baseline].around, around_candidate = candidate[in_candidate].around;
  const std::uint32_t expected = around == kNone ? std::uint32_t{kNone} : alignment.candidate_of[around];
  if (expected != around_candidate || (around != kNone && expected == kNone)) return PathFate::kMoved;
  return baseline[in_baseline].name == candidate[in_candidate].name ? PathFate::kSame : PathFate::kRenumbered;
}

}  // namespace rangefinder::compare
