// SPDX-License-Identifier: MIT
// What ProcessGroupGloo.hpp names of Gloo's context; names and types are those of Gloo's gloo/context.h.
#pragma once

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
