// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "exporter/stacks/writers.hpp"

#include <rangefinder/version.hpp>

#include <span>
#include <string>
#include <vector>

// The format: https://www.speedscope.app/file-format-schema.json
namespace rangefinder::stacks {
namespace {

void append_frames(std::string& out, const StackTree& tree) {
  out += "\"shared\":{\"frames\":[";
  for (std::size_t i = 0; i < tree.frames.size(); ++i) {
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    base::append_json_string(out, tree.frames[i].name);
    out += '}';
  }
  out += "]}";
}

/// A sample for each stack that has time of its own, as heavy as that time.
void write_profile(const StackTree& tree, std::string_view name, std::span<const Weight> weights,
                   chrome::TextOutput& out) {
  std::int64_t total_ns = 0;
  std::string weights_text, text = "{\"type\":\"sampled\",\"name\":";
  base::append_json_string(text, name);
  text += ",\"unit\":\"nanoseconds\",\"startValue\":0,\"samples\":[";
  std::vector<std::uint32_t> path;
  for (const Weight& weight : weights) {
    if (weight.self_ns <= 0) continue;
    text += weights_text.empty() ? "[" : ",[";
    weights_text += (weights_text.empty() ? "" : ",") + std::to_string(weight.self_ns);
    total_ns += weight.self_ns;
    tree.path_of(weight.node, path);
    for (std::size_t i = 0; i < path.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(path[i]);
    text += ']';
    if (text.size() > chrome::TextOutput::kMaxRoom) {
      out.text(text);
      text.clear();
    }
  }
  out.text(text);
  out.text("],\"weights\":[");
  out.text(weights_text);
  out.text("],\"endValue\":" + std::to_string(total_ns) + "}");
}

}  // namespace

void write_speedscope(const StackTree& tree, std::string_view name, chrome::TextOutput& out) {
  std::string head = "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":";
  base::append_json_string(head, name);
  head += ",\"exporter\":\"rangefinder@" RANGEFINDER_VERSION "\",\"activeProfileIndex\":0,";
  append_frames(head, tree);
  out.text(head + ",\"profiles\":[");
  std::size_t begin = 0;
  for (std::uint32_t profile = 0; profile < tree.profiles.size(); ++profile) {
    std::size_t end = begin;
    while (end < tree.weights.size() && tree.weights[end].profile == profile) ++end;
    if (profile != 0) out.text(",");
    write_profile(tree, tree.profiles[profile], std::span(tree.weights).subspan(begin, end - begin), out);
    begin = end;
  }
  out.text("]}\n");
}

}  // namespace rangefinder::stacks
