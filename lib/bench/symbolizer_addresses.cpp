// SPDX-License-Identifier: MIT
#include "bench/symbolizer.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace rangefinder::bench {

struct Symbolizer::Modules {};

Symbolizer::Symbolizer() = default;

Symbolizer::~Symbolizer() = default;

std::string Symbolizer::function_at(std::uintptr_t address) {
  Dl_info file{};
  if (::dladdr(reinterpret_cast<const void*>(address), &file) == 0) return std::string(kUnknownFunction);
  const std::string_view path = file.dli_fname;
  return fmt::format("[{}+{:#x}]", path.substr(path.rfind('/') + 1),
                     address - reinterpret_cast<std::uintptr_t>(file.dli_fbase));
}

}  // namespace rangefinder::bench
