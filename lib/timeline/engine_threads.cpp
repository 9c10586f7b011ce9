// SPDX-License-Identifier: MIT
#include "timeline/engine_threads.hpp"

namespace rangefinder::timeline {

bool is_engine_thread(std::string_view name) noexcept { return name.starts_with("pt_autograd"); }

}  // namespace rangefinder::timeline
