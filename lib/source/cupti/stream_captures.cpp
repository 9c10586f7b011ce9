// SPDX-License-Identifier: MIT
#include "source/cupti/stream_captures.hpp"

#include "base/never_destroyed.hpp"
#include "buffer/held_records.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

namespace rangefinder::source::cupti {
namespace {

// CUstream and cudaStream_t have the same values for them (cuda.h, driver_types.h).
const void* const kLegacyStream = reinterpret_cast<const void*>(1);
const void* const kPerThreadStream = reinterpret_cast<const void*>(2);

// cudaErrorStreamCaptureWrongThread and CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: the capture goes on. After any other
// failure of the call that ends it, it is over.
constexpr std::uint32_t kWrongThread = 908;

std::uint32_t result_of(const CUpti_CallbackData& data) noexcept {
  return data.functionReturnValue != nullptr ? *static_cast<const std::uint32_t*>(data.functionReturnValue) : 0;
}

}  // namespace

StreamCaptures& stream_captures() noexcept {
  static base::NeverDestroyed<StreamCaptures> captures;
  return *captures;
}

void StreamCaptures::on_call(GraphCall call, const CUpti_CallbackData& data) noexcept {
  if (data.callbackSite != CUPTI_API_EXIT || data.functionParams == nullptr) return;
  const std::uint32_t result = result_of(data);
  if (call == GraphCall::kBeginsCapture ? result != 0 : result == kWrongThread) return;
  // The stream is the first parameter of all of these functions. Null is a thread's own stream here: the other default
  // stream cannot be captured.
  const void* const handle = *static_cast<const void* const*>(data.functionParams);
  const bool of_thread = handle == nullptr || handle == kLegacyStream || handle == kPerThreadStream;
  const auto tid = of_thread ? static_cast<std::uint32_t>(::syscall(SYS_gettid)) : 0;
  try {
    change(call, {of_thread ? nullptr : handle, tid});
  } catch (const std::exception&) {  // no memory: a capture that is not known of
  }
}

void StreamCaptures::change(GraphCall call, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const bool before = !streams_.empty();
  // A runtime function calls the driver's, which tells the same once more.
  std::erase(streams_, stream);
  if (call == GraphCall::kBeginsCapture) streams_.push_back(stream);
  if (streams_.empty() == before) set_capturing(!before);
}

void StreamCaptures::forget() noexcept {
  const std::lock_guard lock(mutex_);
  if (streams_.empty()) return;
  streams_.clear();
  set_capturing(false);
}

void StreamCaptures::set_capturing(bool on) noexcept {
  callback_state().capturing.store(on, std::memory_order_relaxed);
  buffer::HeldRecords::instance().set_capturing(on);
}

}  // namespace rangefinder::source::cupti
