// SPDX-License-Identifier: MIT
#include "capi/status.hpp"

#include <rangefinder/version.hpp>

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace rangefinder::capi {
namespace {

constexpr std::size_t kErrorBytes = 2048;

// Behind a pointer: what the library has for each thread comes out of the static TLS reserve of 1.6 kB when it is
// loaded with dlopen, because detail::hot_thread does.
struct LastError {
  const char* text;  // null: none
  char* buffer;      // null until the thread's first error
};
__thread LastError last_error;

void release_message(void* buffer) noexcept {
  last_error = {};
  std::free(buffer);
}

char* message_buffer() noexcept {
  if (last_error.buffer != nullptr) return last_error.buffer;
  static pthread_key_t key;
  static const bool made = ::pthread_key_create(&key, release_message) == 0;
  void* const buffer = made ? std::malloc(kErrorBytes) : nullptr;
  if (buffer == nullptr) return nullptr;
  if (::pthread_setspecific(key, buffer) != 0) return std::free(buffer), nullptr;
  return last_error.buffer = static_cast<char*>(buffer);
}

constexpr bool is_continuation(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

rf_status fail(rf_status status, std::initializer_list<std::string_view> message) noexcept {
  char* const buffer = message_buffer();
  last_error.text = buffer != nullptr ? buffer : "out of memory, also for the message of what went wrong";
  if (buffer == nullptr) return status;
  std::size_t used = 0;
  for (const std::string_view part : message) {
    std::size_t taken = std::min(part.size(), kErrorBytes - 1 - used);
    if (taken < part.size()) {
      while (taken > 0 && is_continuation(part[taken])) --taken;
    }
    std::memcpy(buffer + used, part.data(), taken);
    used += taken;
    if (taken < part.size()) break;
  }
  buffer[used] = '\0';
  return status;
}

rf_status fail(std::string_view function, const Error& error) noexcept {
  return fail(status_of(error.code()), {function, ": ", error.message()});
}

rf_status null_argument(std::string_view function, std::string_view argument) noexcept {
  return fail(RF_STATUS_INVALID_ARGUMENT, {function, ": ", argument, " is null"});
}

rf_status no_such_value(std::string_view function, std::string_view member, std::uint64_t number) noexcept {
  char digits[24];
  const char* const end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  return fail(RF_STATUS_INVALID_ARGUMENT,
              {function, ": ", member, ": ", std::string_view(digits, static_cast<std::size_t>(end - digits)),
               " is no value that it has; use one of the enumeration in rangefinder/c/rangefinder.h"});
}

rf_status no_entry(std::string_view function, std::size_t index, std::size_t count) {
  return fail(RF_STATUS_NOT_FOUND, {function, ": no entry ", std::to_string(index), " of ", std::to_string(count)});
}

rf_status status_of(ErrorCode code) noexcept {
  // The same words in the same order, moved by one because 0 is success.
  static_assert(RF_STATUS_INVALID_ARGUMENT == static_cast<int>(ErrorCode::kInvalidArgument) + 1);
  static_assert(RF_STATUS_NOT_FOUND == static_cast<int>(ErrorCode::kNotFound) + 1);
  static_assert(RF_STATUS_UNREADABLE == static_cast<int>(ErrorCode::kUnreadable) + 1);
  static_assert(RF_STATUS_UNSUPPORTED == static_cast<int>(ErrorCode::kUnsupported) + 1);
  static_assert(RF_STATUS_EXISTS == static_cast<int>(ErrorCode::kExists) + 1);
  static_assert(RF_STATUS_IO == static_cast<int>(ErrorCode::kIo) + 1);
  static_assert(RF_STATUS_BUSY == static_cast<int>(ErrorCode::kBusy) + 1);
  static_assert(RF_STATUS_TIMEOUT == static_cast<int>(ErrorCode::kTimeout) + 1);
  static_assert(RF_STATUS_INCOMPLETE == static_cast<int>(ErrorCode::kIncomplete) + 1);
  static_assert(RF_STATUS_INTERNAL == static_cast<int>(ErrorCode::kInternal) + 1);
  static_assert(RF_STATUS_TOO_LARGE == static_cast<int>(ErrorCode::kTooLarge) + 1);
  return static_cast<rf_status>(static_cast<int>(code) + 1);
}

}  // namespace rangefinder::capi

const char* rf_status_name(rf_status status) noexcept {
  const auto number = static_cast<unsigned>(status);
  if (number == RF_STATUS_OK) return "ok";
  if (number > RF_STATUS_TOO_LARGE) return "unknown status";
  return rangefinder::to_string(static_cast<rangefinder::ErrorCode>(number - 1)).data();  // of a literal
}

const char* rf_last_error(void) noexcept {
  const char* const text = rangefinder::capi::last_error.text;
  return text != nullptr ? text : "";
}
const char* rf_version(void) noexcept { return rangefinder::version(); }
uint32_t rf_abi_version(void) noexcept { return RF_ABI_VERSION; }
