// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <string>

namespace rangefinder::base {

/// A shared library found at run time. Never closed: CUPTI and NVML hold callbacks and threads of the library.
class Library {
 public:
  /// `only_if_loaded`: finds a library that the process holds already and loads nothing.
  static Result<Library> open(const std::string& name_or_path, bool only_if_loaded = false);

  /// Null when the library does not have it.
  void* symbol(const char* name) const noexcept;
  template <typename Function>
  Function function(const char* name) const noexcept {
    return reinterpret_cast<Function>(symbol(name));
  }
  /// The file it came from, as the loader names it.
  std::string path() const;

 private:
  explicit Library(void* handle) noexcept : handle_(handle) {}
  void* handle_;
};

}  // namespace rangefinder::base
