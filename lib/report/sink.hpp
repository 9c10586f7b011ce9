// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::report {

/// Takes rendered text piece by piece. An error ends the rendering and becomes its result.
using Sink = std::function<Status(std::string_view)>;

/// Collects small pieces for a sink.
class SinkBuffer {
 public:
  explicit SinkBuffer(const Sink& sink) : sink_(sink) {}

  std::string& text() noexcept { return text_; }
  /// Passes the text on when there is enough of it; false after an error.
  bool flush_if_full() { return text_.size() < kEnough || flush(); }
  Status finish() {
    flush();
    return std::move(status_);
  }

 private:
  static constexpr std::size_t kEnough = 64 << 10;

  bool flush() {
    if (status_.ok() && !text_.empty()) status_ = sink_(text_);
    text_.clear();
    return status_.ok();
  }

  const Sink& sink_;
  std::string text_;
  Status status_;
};

}  // namespace rangefinder::report
