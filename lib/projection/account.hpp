// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

namespace rangefinder::projection {

/// Tells outside, before and unknown apart in `projection.owner`, and adds up all device time by what became of it.
void settle_account(const Timeline& timeline, Projection& projection);

/// Of windows.
void add_account(Account& to, const Account& more) noexcept;

}  // namespace rangefinder::projection
