// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

namespace examples {

/// How many operators LibTorch dispatches while `work` runs, of all threads, those within others too.
std::int64_t operators_of(const std::function<void()>& work);

}  // namespace examples
