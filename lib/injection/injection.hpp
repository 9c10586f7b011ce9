// SPDX-License-Identifier: MIT
#pragma once

namespace rangefinder::injection {

/// Starts the session of this process, the first time that it is called; later calls and those in a child of fork do
/// nothing. False in a setuid program, which is left alone.
bool start() noexcept;

/// The recording's step ends, and the next begins.
void end_step() noexcept;

}  // namespace rangefinder::injection
