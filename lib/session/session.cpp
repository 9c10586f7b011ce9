// SPDX-License-Identifier: MIT
#include "session/options.hpp"
#include "session/parts.hpp"
#include "session/session_impl.hpp"

#include <rangefinder/session.hpp>

namespace rangefinder {

Session::Session(SessionOptions options) noexcept {
  // Not a function-try-block: a constructor's rethrows at its end.
  try {
    auto impl = std::make_shared<Impl>();
    impl_ = impl;
    if (session::disabled_by_environment()) {
      impl->status = Error(ErrorCode::kUnsupported, "session: switched off by RANGEFINDER_DISABLE");
      return;
    }
    options = session::with_environment(std::move(options));
    impl->output = session::resolve_output(options.output);
    session::Parts parts = session::make_parts(options);
    Result<std::shared_ptr<session::SessionCore>> core =
        session::SessionCore::start(std::move(options), std::move(parts));
    if (core.ok()) {
      impl->core = std::move(*core);
      impl->output = impl->core->output();
    } else {
      impl->status = std::move(core).error();
      session::log(session::LogLevel::kError, {impl->status.error().message()});
    }
  } catch (...) {  // no memory: a session that records nothing
    if (impl_ != nullptr && impl_->core != nullptr) (void)impl_->core->stop();
    impl_.reset();
  }
}

Session::~Session() { (void)stop(); }
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    (void)stop();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

const Status& Session::status() const noexcept {
  static const Status* const moved_from =
      new Status(Error(ErrorCode::kInvalidArgument, "session: moved from, or out of memory"));
  return impl_ != nullptr ? impl_->status : *moved_from;
}

bool Session::running() const noexcept { return impl_ != nullptr && impl_->core != nullptr && impl_->core->running(); }

const std::string& Session::output() const noexcept {
  static const std::string* const none = new std::string;
  return impl_ != nullptr ? impl_->output : *none;
}

void Session::step() noexcept { step(0); }

void Session::step(std::uint64_t items) noexcept {
  if (impl_ != nullptr && impl_->core != nullptr) impl_->core->step(items);
}

std::uint64_t Session::step_number() const noexcept {
  return impl_ != nullptr && impl_->core != nullptr ? impl_->core->step_number() : 0;
}

Status Session::flush() noexcept { return running() ? impl_->core->flush() : status(); }

Result<std::string> Session::dump(const std::string& path) noexcept {
  if (!running())
    return status().ok() ? Error(ErrorCode::kInvalidArgument, "dump: the session has stopped") : status().error();
  return impl_->core->dump(path);
}

Status Session::stop() noexcept {
  if (impl_ == nullptr) return {};
  return impl_->core != nullptr ? impl_->core->stop() : impl_->status;
}

CaptureHealth Session::health() const noexcept {
  return impl_ != nullptr && impl_->core != nullptr ? impl_->core->health() : CaptureHealth{};
}

DeviceState Session::device() const noexcept {
  if (impl_ != nullptr && impl_->core != nullptr) return impl_->core->device();
  return {false, status().ok() ? "no session" : status().error().message()};
}

}  // namespace rangefinder
