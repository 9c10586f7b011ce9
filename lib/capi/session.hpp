// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/rangefinder.h>
#include <rangefinder/session.hpp>

#include <utility>

struct rf_session {
  explicit rf_session(rangefinder::SessionOptions options) noexcept : session(std::move(options)) {}
  rangefinder::Session session;
};
