// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/byte_sink.hpp"

#include <cstring>
#include <memory>
#include <string_view>

namespace rangefinder::chrome {

/// Collects text in a buffer and hands it on in large pieces. Once the sink has refused one, the rest is thrown away
/// and `status` says why: look at it now and then.
class TextOutput {
 public:
  explicit TextOutput(ByteSink& sink) : sink_(sink), buffer_(new char[kBytes]), at_(buffer_.get()) {}

  /// Most that one call of `room` may ask for.
  static constexpr std::size_t kMaxRoom = 8192;

  /// At least `bytes` bytes to write to; `advance` says up to where they were written.
  char* room(std::size_t bytes) noexcept {
    if (static_cast<std::size_t>(buffer_.get() + kBytes - at_) < bytes) flush();
    return at_;
  }
  void advance(char* to) noexcept { at_ = to; }

  void text(std::string_view bytes) noexcept {
    if (bytes.size() > kMaxRoom) return large(bytes);
    char* const out = room(bytes.size());
    std::memcpy(out, bytes.data(), bytes.size());
    advance(out + bytes.size());
  }

  void flush() noexcept {
    pass_on({buffer_.get(), static_cast<std::size_t>(at_ - buffer_.get())});
    at_ = buffer_.get();
  }
  const Status& status() const noexcept { return status_; }

 private:
  // Small enough for the second-level cache, large enough that system calls do not count.
  static constexpr std::size_t kBytes = std::size_t{256} << 10;

  void large(std::string_view bytes) noexcept {
    flush();
    pass_on(bytes);
  }
  void pass_on(std::string_view bytes) noexcept {
    if (status_.ok() && !bytes.empty()) status_ = sink_.write(bytes);
  }

  ByteSink& sink_;
  std::unique_ptr<char[]> buffer_;
  char* at_;
  Status status_;
};

}  // namespace rangefinder::chrome
