// SPDX-License-Identifier: MIT
#include "exporter/html/names.hpp"

#include "exporter/html/encode.hpp"

#include <algorithm>

namespace rangefinder::html {
namespace {

constexpr std::size_t kLongestName = 4096;

void append_name(std::string& out, std::string_view name) {
  const std::string text = utf8_of(name, kLongestName);
  append_varint(out, text.size());
  out += text;
}

}  // namespace

void Names::count(std::string_view words) { words_.try_emplace(std::string(words)); }

void Names::put_in_order() {
  order_.clear();
  for (std::uint32_t id = 0; id < counts_.size(); ++id)
    if (counts_[id] != 0) order_.push_back(id);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return counts_[a] > counts_[b]; });
  indices_.assign(counts_.size(), 0);
  for (std::size_t at = 0; at < order_.size(); ++at) indices_[order_[at]] = static_cast<std::uint32_t>(at);
  std::uint64_t next = order_.size();
  for (auto& [words, index] : words_) index = next++;
}

std::string Names::json(Blocks& blocks) const {
  std::string bytes;
  for (const std::uint32_t id : order_) append_name(bytes, timeline_.text(static_cast<StringId>(id)));
  for (const auto& [words, index] : words_) append_name(bytes, words);
  return "{\"block\":" + std::to_string(blocks.add(bytes)) +
         ",\"count\":" + std::to_string(order_.size() + words_.size()) + "}";
}

}  // namespace rangefinder::html
