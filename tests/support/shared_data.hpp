// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <string>

namespace rangefinder::testing {

/// A file of the collection of real traces that may lie beside the source tree (RANGEFINDER_SHARED, else ../shared);
/// empty when it is not there. Tests that need it skip then.
inline std::string shared_file(const std::string& relative) {
  const char* root = std::getenv("RANGEFINDER_SHARED");
  const std::string path =
      (root != nullptr ? std::string(root) : std::string(RANGEFINDER_SHARED_DEFAULT)) + "/" + relative;
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? path : std::string();
}

}  // namespace rangefinder::testing
