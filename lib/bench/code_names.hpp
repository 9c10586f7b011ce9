// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::bench {

/// The name of code that no file holds.
inline constexpr std::string_view kUnknownFunction = "[unknown]";

/// Names of this process's code, by the symbol tables of the files that it was loaded from.
class CodeNames {
 public:
  CodeNames();
  ~CodeNames();

  /// The function that holds the instruction, as function_name gives it; "[libm.so.6]" where that file has no symbol
  /// for it, kUnknownFunction where no file does.
  std::string of(std::uintptr_t address);

 private:
  struct Module;
  std::vector<std::unique_ptr<Module>> modules_;
};

/// A function's own name with its namespaces: demangled, without template arguments, parameters and return type.
std::string function_name(std::string_view symbol);

}  // namespace rangefinder::bench
