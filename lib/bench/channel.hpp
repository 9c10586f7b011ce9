// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "bench/json.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
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

  // For who waits for several ends at once.
  int fd() const noexcept { return fd_.get(); }
  /// Reads what has arrived; waits where nothing has. kIncomplete when the other end is gone.
  Status read_some();
  /// A message that has arrived whole; none: it has not.
  Result<std::optional<Json>> take();

  void close() noexcept { fd_.reset(); }

 private:
  base::Fd fd_;
  std::string waiting_;
};

}  // namespace rangefinder::bench
