// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "exporter/stacks/writers.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rangefinder::stacks {
namespace {

/// A frame ends at a semicolon, a line at its end.
std::string folded_name(std::string_view name) {
  std::string out = base::printable(name);
  std::replace(out.begin(), out.end(), ';', ':');
  return out;
}

}  // namespace

void write_folded(const StackTree& tree, chrome::TextOutput& out) {
  std::vector<std::string> frames, profiles;
  for (const Frame& frame : tree.frames) frames.push_back(folded_name(frame.name));
  for (const std::string& profile : tree.profiles) profiles.push_back(folded_name(profile));
  std::vector<std::uint32_t> path;
  std::string line;
  for (const Weight& weight : tree.weights) {
    if (weight.self_ns <= 0) continue;
    line.clear();
    if (profiles.size() > 1) line += profiles[weight.profile];
    tree.path_of(weight.node, path);
    for (const std::uint32_t frame : path) {
      if (!line.empty()) line += ';';
      line += frames[frame];
    }
    line += ' ';
    line += std::to_string(weight.self_ns);
    line += '\n';
    out.text(line);
  }
}

}  // namespace rangefinder::stacks
