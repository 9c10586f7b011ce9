// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/callbacks.hpp"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace rangefinder::source::cupti {

/// Streams whose work is being captured into CUDA graphs. While there are any, ranges are recorded (held_records.hpp).
///
/// Threads: any. Takes locks where a capture begins and ends, and nowhere else.
class StreamCaptures {
 public:
  /// A call that begins or ends a capture has returned.
  void on_call(GraphCall call, const CUpti_CallbackData& data) noexcept;
  /// No more is heard of them.
  void forget() noexcept;

 private:
  // The handle of a thread's own default stream says nothing without the thread.
  using Stream = std::pair<const void*, std::uint32_t>;
  void change(GraphCall call, const Stream& stream);
  static void set_capturing(bool on) noexcept;

  std::mutex mutex_;
  std::vector<Stream> streams_;
};

/// The one of the process; never destroyed.
StreamCaptures& stream_captures() noexcept;

}  // namespace rangefinder::source::cupti
