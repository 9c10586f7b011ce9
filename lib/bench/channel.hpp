// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "bench/json.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace rangefinder::bench {

/// One end of a stream socket that carries a JSON value a line.
class Channel {
 public:
  Channel() = default;
  explicit Channel(base::Fd fd) noexcept : fd_(std::move(fd)) {}

  /// kIo when the other end is gone.
  Status send(const Json& message);

  /// The next message. kTimeout after `timeout_ns` (negative: never), kIncomplete when the other end is gone, kBusy
  /// when `cancelled`, looked at ten times a second, says so.
  Result<Json> receive(std::int64_t timeout_ns, const std::function<bool()>& cancelled = {});

  void close() noexcept { fd_.reset(); }

 private:
  Result<bool> take_line(std::string& line);

  base::Fd fd_;
  std::string waiting_;
};

}  // namespace rangefinder::bench
