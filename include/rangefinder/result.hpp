// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace rangefinder {

/// What kind of thing went wrong. The message says the rest.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  ///< wrong use: an option, a value, a combination
  kNotFound,         ///< no such file, library, view, range
  kUnreadable,       ///< input that is not what it claims to be, or is damaged beyond use
  kUnsupported,      ///< a version, dialect or platform that this build does not handle
  kExists,           ///< the output is there already and may not be replaced
  kIo,               ///< the operating system refused: disk full, permission, short write
  kBusy,             ///< in use by another session or another profiler
  kTimeout,          ///< a bounded wait ran out
  kIncomplete,       ///< readable, but data are missing (reported only under strict options)
  kInternal,         ///< our mistake
  kTooLarge,         ///< needs more memory than it may use; the message says what to do
};

/// "unreadable", "not found", ...: the word used in messages and JSON.
RANGEFINDER_EXPORT std::string_view to_string(ErrorCode code) noexcept;

/// A failure: a code for programs, a message for people. The message says what, where, the offending value,
/// and what was saved or what to do next.
class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

  /// The same error with the caller's frame in front: `open a.rfcap: not a capture`.
  Error with_context(std::string_view context) && {
    std::string message;
    message.reserve(context.size() + 2 + message_.size());
    message.append(context).append(": ").append(message_);
    message_ = std::move(message);
    return std::move(*this);
  }
  Error with_context(std::string_view context) const& { return Error(*this).with_context(context); }

 private:
  ErrorCode code_;
  std::string message_;
};

/// Thrown by Result::value() when there is no value; nothing else in the library throws.
class BadResult : public std::runtime_error {
 public:
  explicit BadResult(const Error& error) : std::runtime_error(error.message()), code_(error.code()) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// A value or an Error. Test it before use; `value()` throws BadResult instead, for examples and small programs.
///
///   auto capture = rangefinder::Capture::open("train.rfcap");
///   if (!capture) return fail(capture.error());
///   use(*capture);
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  T& value() & {
    if (!ok()) throw BadResult(error());
    return **this;
  }
  const T& value() const& {
    if (!ok()) throw BadResult(error());
    return **this;
  }
  T value() && {
    if (!ok()) throw BadResult(error());
    return std::move(*std::get_if<0>(&state_));
  }

  /// Only when !ok().
  const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
  Error error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return !failed_; }
  explicit operator bool() const noexcept { return ok(); }
  void value() const {
    if (failed_) throw BadResult(error_);
  }
  const Error& error() const& noexcept { return error_; }
  Error error() && noexcept { return std::move(error_); }

 private:
  Error error_{ErrorCode::kInternal, {}};
  bool failed_ = false;
};

using Status = Result<void>;

}  // namespace rangefinder
