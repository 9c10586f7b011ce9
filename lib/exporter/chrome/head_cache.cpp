// SPDX-License-Identifier: MIT
#include "exporter/chrome/head_cache.hpp"

#include "exporter/chrome/clean_json.hpp"

namespace rangefinder::chrome {

std::string_view to_string(Category category) noexcept {
  static constexpr std::array<std::string_view, kCategories> kTexts{
      "user_annotation", "cpu_op",     "python_function", "cuda_runtime", "cuda_driver",        "kernel",
      "gpu_memcpy",      "gpu_memset", "cuda_sync",       "overhead",     "gpu_user_annotation"};
  return kTexts[static_cast<std::size_t>(category)];
}

void append_head(std::string& out, char phase, std::string_view category, std::string_view name) {
  out += "{\"ph\":\"";
  out += phase;
  out += "\",";
  if (!category.empty()) {
    out += "\"cat\":";
    append_quoted(out, category);
    out += ',';
  }
  out += "\"name\":";
  append_quoted(out, name);
}

std::string_view HeadCache::put(Category category, std::uint32_t name, std::string_view text) {
  scratch_.clear();
  append_head(scratch_, 'X', to_string(category), text);
  detail::Cells<std::uint32_t>& heads = heads_[static_cast<std::size_t>(category)];
  if (name >= heads.size()) heads.resize(std::size_t{name} + 1, 0);
  heads[name] = texts_.intern(scratch_);
  return texts_.text(heads[name]);
}

}  // namespace rangefinder::chrome
