// SPDX-License-Identifier: MIT
#include "base/never_destroyed.hpp"
#include "buffer/literals.hpp"
#include "session/dependencies.hpp"
#include "session/options.hpp"
#include "session/output_name.hpp"
#include "session/session_impl.hpp"

#include <rangefinder/detail/nvtx.hpp>
#include <rangefinder/session.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace rangefinder {
namespace {

template <typename Recording>
void keep(Session::Impl& impl, Result<std::shared_ptr<Recording>> started, std::shared_ptr<Recording>& place) {
  if (started.ok()) {
    place = std::move(*started);
    impl.output = place->output();
    return;
  }
  impl.status = std::move(started).error();
  session::log(session::LogLevel::kError, {impl.status.error().message()});
}

/// A process that `rangefinder record` records already is recorded once: what its program starts is the same session.
/// A step is one of its own, or ends with a range of NVTX where the command was told so.
bool join(Session::Impl& impl, const SessionOptions& options) {
  impl.series = session::CaptureSeries::current();
  if (impl.series != nullptr && !impl.series->running()) impl.series.reset();
  if (impl.series == nullptr) {
    impl.core = session::current_session();
    if (impl.core != nullptr && !impl.core->running()) impl.core.reset();
  }
  if (!impl.started()) return false;
  impl.joined = true;
  const char* const step_range = session::environment("RANGEFINDER_STEP_RANGE");
  impl.steps = step_range == nullptr || step_range[0] == '\0';
  impl.output = impl.series != nullptr ? impl.series->output() : impl.core->output();
  if (const std::shared_ptr<session::SessionCore> recording = impl.recording(); recording != nullptr) {
    for (const auto& [key, value] : options.metadata) recording->writer().meta(key, value);
  }
  return true;
}

SessionOptions options_of_record(SessionOptions options) {
  options = session::with_environment(std::move(options));
  options.output = session::environment("RANGEFINDER_RECORD");
  options.replace = true;
  return options;
}

/// Of a session that there is nothing of.
Status nothing_there() noexcept try {
  return Error(ErrorCode::kInvalidArgument, "session: moved from, or out of memory");
} catch (const std::exception&) {
  return session::no_memory();
}

}  // namespace

Session::Session(SessionOptions options) noexcept {
  // Not a function-try-block: a constructor's rethrows at its end.
  try {
    auto impl = std::make_shared<Impl>();
    impl_ = impl;
    if (const char* const reason = session::reason_not_to_record(); reason != nullptr) {
      impl->status = Error(ErrorCode::kUnsupported, std::string("session: nothing is recorded: ") + reason);
      return;
    }
    const bool under_record = session::record_of_environment().has_value();
    if (under_record && join(*impl, options)) return;
    options = under_record ? options_of_record(std::move(options)) : session::with_environment(std::move(options));
    impl->output = session::resolve_output(options.output);
    if (session::CaptureSeries::wanted(options)) {
      keep(*impl, session::CaptureSeries::start(std::move(options), session::make_dependencies), impl->series);
    } else {
      session::Dependencies dependencies = session::make_dependencies(options);
      keep(*impl, session::SessionCore::start(std::move(options), std::move(dependencies)), impl->core);
    }
  } catch (...) {  // no memory: a session that records nothing
    (void)stop();
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
  if (impl_ != nullptr) return impl_->status;
  static base::NeverDestroyed<Status> nothing(nothing_there());
  return *nothing;
}

bool Session::running() const noexcept {
  if (impl_ == nullptr || !impl_->started() || impl_->left.load()) return false;
  return impl_->series != nullptr ? impl_->series->running() : impl_->core->running();
}

const std::string& Session::output() const noexcept {
  static base::NeverDestroyed<std::string> none;
  return impl_ != nullptr ? impl_->output : *none;
}

void Session::step() noexcept { step(0); }

void Session::step(std::uint64_t items) noexcept {
  if (impl_ == nullptr || !impl_->steps || impl_->left.load()) return;
  if (impl_->series != nullptr)
    impl_->series->step(items);
  else if (impl_->core != nullptr)
    impl_->core->step(items);
}

std::uint64_t Session::step_number() const noexcept {
  if (impl_ == nullptr || !impl_->started()) return 0;
  return impl_->series != nullptr ? impl_->series->step_number() : impl_->core->step_number();
}

Status Session::flush() noexcept {
  if (!running()) return session::copy_of(status());
  const std::shared_ptr<session::SessionCore> recording = impl_->recording();
  return recording != nullptr ? recording->flush() : Status();
}

Result<std::string> Session::dump(const std::string& path) noexcept try {
  if (!running())
    return status().ok() ? Error(ErrorCode::kInvalidArgument, "dump: the session has stopped") : status().error();
  const std::shared_ptr<session::SessionCore> recording = impl_->recording();
  if (recording == nullptr) return Error(ErrorCode::kInvalidArgument, "dump: nothing is recorded now");
  return recording->dump(path);
} catch (const std::exception&) {
  return session::no_memory();
}

Status Session::stop() noexcept {
  if (impl_ == nullptr) return {};
  if (impl_->joined) {
    const Status flushed = flush();
    impl_->left.store(true);
    return session::copy_of(flushed);
  }
  if (impl_->series != nullptr) return impl_->series->stop();
  return impl_->core != nullptr ? impl_->core->stop() : session::copy_of(impl_->status);
}

Status Session::release_cupti() noexcept try {
  const std::shared_ptr<session::SessionCore> recording = impl_ != nullptr ? impl_->recording() : nullptr;
  const auto timeout = recording != nullptr ? recording->options().stop_timeout : SessionOptions{}.stop_timeout;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  if (recording != nullptr && !recording->release(deadline))
    return Error(ErrorCode::kTimeout, "release: device records were not delivered within " +
                                          std::to_string(timeout.count()) + " ms; CUPTI is still held");
  Status status = session::release_device(deadline);
  return status.ok() ? status : Status(std::move(status).error().with_context("release"));
} catch (const std::exception&) {
  return session::no_memory();
}

CaptureHealth Session::health() const noexcept {
  if (impl_ == nullptr || !impl_->started()) return {};
  return impl_->series != nullptr ? impl_->series->health() : impl_->core->health();
}

DeviceState Session::device() const noexcept try {
  if (impl_ == nullptr || !impl_->started()) return {false, status().ok() ? "no session" : status().error().message()};
  return impl_->series != nullptr ? impl_->series->device() : impl_->core->device();
} catch (const std::exception&) {
  return {false, session::no_memory().message()};
}

namespace detail {

void cuda_has_come() noexcept {
  if (const std::shared_ptr<session::SessionCore> recording = session::current_session(); recording != nullptr)
    recording->start_device_again();
}

bool child_can_record() noexcept try {
  if (buffer::can_read_libraries(std::chrono::seconds(1))) return true;
  constexpr char kWhy[] = "a thread of its parent was reading the list of loaded libraries when it forked";
  session::log(session::LogLevel::kError, {"a child of fork is not recorded: ", kWhy});
  session::Dependencies dependencies;
  dependencies.record = session::record_of_environment();
  if (!dependencies.record || session::reason_not_to_record() != nullptr) return false;
  session::SessionCore::write_refusal(options_of_record({}), std::move(dependencies), kWhy);
  return false;
} catch (const std::exception&) {  // no memory to say it
  return false;
}

}  // namespace detail

}  // namespace rangefinder
