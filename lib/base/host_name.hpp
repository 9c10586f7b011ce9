// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <string>

namespace rangefinder::base {

inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace rangefinder::base
