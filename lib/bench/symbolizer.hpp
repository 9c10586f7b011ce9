// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rangefinder::bench {

/// The name of code that is in no file.
inline constexpr std::string_view kUnknownFunction = "[unknown]";

/// Names the functions of this process. Reads the symbol tables of its files, so it is for after sampling, never for a
/// signal handler. Built with libdw (symbolizer_libdw.cpp) or without (symbolizer_addresses.cpp).
class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();

  /// The function that holds the instruction, as function_name writes it. "[libm.so.6]" where the file has no symbol
  /// for it; kUnknownFunction for code that is in no file. Without libdw "[libm.so.6+0x2f31]": file and offset.
  std::string function_at(std::uintptr_t address);

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace rangefinder::bench
