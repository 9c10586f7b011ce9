// SPDX-License-Identifier: MIT
#include "base/library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace rangefinder::base {

Result<Library> Library::open(const std::string& name_or_path, bool only_if_loaded) {
  void* handle = ::dlopen(name_or_path.c_str(), RTLD_NOW | RTLD_LOCAL | (only_if_loaded ? RTLD_NOLOAD : 0));
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return Error(ErrorCode::kNotFound, why != nullptr ? why : name_or_path + ": not loaded in this process");
  }
  return Library(handle);
}

void* Library::symbol(const char* name) const noexcept { return ::dlsym(handle_, name); }

std::string Library::path() const {
  const link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

}  // namespace rangefinder::base
