// SPDX-License-Identifier: MIT
#pragma once

#include "session/session_core.hpp"

#include <rangefinder/session.hpp>

#include <memory>
#include <mutex>
#include <string>

namespace rangefinder {

namespace summary {
class LiveSummary;
}

struct Session::Impl {
  std::shared_ptr<session::SessionCore> core;  // null when the session could not start
  Status status;
  std::string output;
  std::mutex summary_mutex;
  std::shared_ptr<summary::LiveSummary> summary;  // made by the first call of Session::summary
};

}  // namespace rangefinder
