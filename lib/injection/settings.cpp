// SPDX-License-Identifier: MIT
#include "injection/settings.hpp"

#include <atomic>
#include <cstdlib>

namespace rangefinder::injection {
namespace {

std::atomic<const char*> step_range{nullptr};

}  // namespace

bool records_domain(std::string_view name) noexcept {
  const char* const value = ::secure_getenv("RANGEFINDER_NVTX_DOMAINS");
  std::string_view list = value != nullptr ? value : "";
  if (name.empty()) name = "default";
  bool has_wanted = false;
  bool is_wanted = false;
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(item.size() < list.size() ? item.size() + 1 : item.size());
    if (item.starts_with('-')) {
      if (item.substr(1) == name) return false;
    } else if (!item.empty()) {
      has_wanted = true;
      is_wanted = is_wanted || item == name;
    }
  }
  return is_wanted || !has_wanted;
}

void read_step_range() noexcept {
  const char* const value = ::secure_getenv("RANGEFINDER_STEP_RANGE");
  if (value != nullptr && value[0] != '\0') step_range.store(value, std::memory_order_relaxed);
}

bool is_step_range(std::string_view name) noexcept {
  const char* const wanted = step_range.load(std::memory_order_relaxed);
  return wanted != nullptr && name == wanted;
}

}  // namespace rangefinder::injection
