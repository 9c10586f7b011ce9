// SPDX-License-Identifier: MIT
#include "analysis/step_rules.hpp"

#include "base/text.hpp"
#include "base/wildcard.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace rangefinder::analysis {
namespace {

constexpr std::string_view kNames[] = {"data",       "forward",   "backward", "optimizer",
                                       "checkpoint", "recompute", "skipped"};
static_assert(std::size(kNames) == kStepParts);

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool fits(std::string_view pattern, std::string_view name) noexcept {
  return base::fits_wildcard(pattern, name, [](char a, char b) { return lower(a) == lower(b); });
}

/// Calls `use` with what is between the separators, empty pieces left out.
template <typename Use>
void for_each_piece(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (const std::string_view piece = text.substr(0, end); !piece.empty()) use(piece);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

std::string_view name_of(StepPart part) noexcept {
  return part == StepPart::kNone ? std::string_view("other") : kNames[static_cast<std::size_t>(part)];
}

StepRules::StepRules()
    : patterns_{{{"data", "data_*", "data.*", "data load*", "data-load*", "dataload*", "*loader*next*", "*reader*next*",
                  "*dataset*next*", "enumerate(DataLoader)*", "next(*", "*next_batch*", "load_batch*",
                  "batch_generator*", "batch-generator*", "collate*"},
                 {"forward*", "*.forward", "loss"},
                 {"backward*", "*.backward"},
                 {"optimizer*", "zero_grad*", "clip_grad*"},
                 {"checkpoint*", "save_checkpoint*", "load_checkpoint*"},
                 {"recompute*"},
                 {"skipped_step*", "skip_step*", "step_skipped*", "overflow*"}}} {
  std::vector<std::string>& data = patterns_[static_cast<std::size_t>(StepPart::kData)];
  for (const char* verb : {"fetch", "get", "load", "next", "prepare", "read", "sample", "wait"})
    for (const char* noun :
         {"batch", "batches", "data", "examples", "images", "inputs", "records", "rows", "samples", "shard", "shards"})
      for (const char* scope : {"", "*.", "*::"}) data.push_back(std::string(scope) + verb + "*" + noun);
}

Status StepRules::apply(std::string_view text) {
  StepRules changed = *this;
  std::optional<Error> problem;
  for_each_piece(text, ';', [&](std::string_view rule) {
    if (problem) return;
    const std::size_t equals = rule.find('=');
    const std::string_view name = rule.substr(0, equals);
    const auto known = std::find(std::begin(kNames), std::end(kNames), name);
    if (known == std::end(kNames)) {
      const std::string_view near =
          base::nearest(name, std::vector<std::string_view>(std::begin(kNames), std::end(kNames)));
      problem =
          Error(ErrorCode::kInvalidArgument,
                "step names: no part of a step is called \"" + base::printable(name) + "\"" +
                    (near.empty() ? "; there are data, forward, backward, optimizer, checkpoint, recompute, skipped"
                                  : "; did you mean " + std::string(near) + "?"));
      return;
    }
    std::vector<std::string> patterns;
    if (equals != std::string_view::npos)
      for_each_piece(rule.substr(equals + 1), ',', [&](std::string_view pattern) { patterns.emplace_back(pattern); });
    if (patterns.empty())
      problem = Error(ErrorCode::kInvalidArgument, "step names: " + std::string(name) + " has no patterns; write " +
                                                       std::string(name) + "=NAME,NAME*");
    changed.patterns_[static_cast<std::size_t>(known - std::begin(kNames))] = std::move(patterns);
  });
  if (problem) return *std::move(problem);
  *this = std::move(changed);
  return {};
}

StepPart StepRules::part_of(std::string_view name) const noexcept {
  for (std::size_t part = 0; part < kStepParts; ++part) {
    for (const std::string& pattern : patterns_[part])
      if (fits(pattern, name)) return static_cast<StepPart>(part);
  }
  return StepPart::kNone;
}

}  // namespace rangefinder::analysis
