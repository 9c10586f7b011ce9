// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/rangefinder.h>
#include <rangefinder/session_options.hpp>

#include <string_view>

namespace rangefinder::capi {

rf_session_options default_session_options() noexcept;
/// The numbers of `from`, and no texts, which somebody would have to keep.
rf_session_options c_session_options(const SessionOptions& from) noexcept;

/// The options that `given` stands for; null: the defaults.
rf_status read_session_options(std::string_view function, const rf_session_options* given, SessionOptions& options);

}  // namespace rangefinder::capi
