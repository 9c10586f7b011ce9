// SPDX-License-Identifier: MIT
#include "source/cupti/cupti_source.hpp"

#include "source/cupti/process.hpp"

#include <mutex>
#include <utility>

namespace rangefinder::source {

using cupti::Closed;
using cupti::Process;

namespace {

/// Empty while this process may use CUPTI.
std::string_view why_closed() noexcept {
  switch (cupti::callback_state().closed.load(std::memory_order_relaxed)) {
    case Closed::kNo:
      break;
    case Closed::kForked:
      return "CUPTI cannot be used in a child of fork; start it with exec, or record in the parent";
    case Closed::kExiting:
      return "the process is exiting";
  }
  return {};
}

}  // namespace

namespace {

SourceState not_started(const std::exception& error) noexcept try {
  return {false, std::string("starting CUPTI: ") + error.what()};
} catch (const std::exception&) {
  return {false, "no memory"};
}

}  // namespace

/// What `state` says when nothing runs.
struct CuptiSource::Shared {
  std::mutex mutex;
  SourceState last{false, "not started"};
};

CuptiSource::CuptiSource(CuptiOptions options, CuptiSeams seams)
    : options_(options), seams_(std::move(seams)), shared_(std::make_unique<Shared>()) {}

CuptiSource::~CuptiSource() {
  // In a child of fork a mutex may be held by a thread that is not there.
  if (!why_closed().empty()) return;
  stop(std::chrono::steady_clock::now() + std::chrono::seconds(2));
}

SourceState CuptiSource::start(RowSink& sink) noexcept {
  if (!why_closed().empty()) return state();
  SourceState state;
  try {
    state = Process::instance().start(this, sink, options_, seams_);
    const std::lock_guard lock(shared_->mutex);
    shared_->last = state;
  } catch (const std::exception& error) {
    state = not_started(error);
  }
  return state;
}

void CuptiSource::set_active(bool active) noexcept {
  if (!why_closed().empty() || Process::instance().owner() != this) return;
  try {
    Process::instance().set_active(active);
  } catch (const std::exception&) {  // no thread for the calls: tried again with the next change
  }
}

void CuptiSource::flush(std::chrono::steady_clock::time_point deadline) noexcept {
  if (!why_closed().empty() || Process::instance().owner() != this) return;
  try {
    Process::instance().flush(deadline);
  } catch (const std::exception&) {
  }
}

void CuptiSource::stop(std::chrono::steady_clock::time_point deadline) noexcept {
  // Also while the process exits: the exit handler may have left a thread at the sink.
  if (!at_sink()) return;
  SourceState last = state();
  try {
    Process::instance().stop(this, deadline);
  } catch (const std::exception&) {
  }
  if (last.working) last = {false, "stopped"};
  const std::lock_guard lock(shared_->mutex);
  shared_->last = std::move(last);
}

bool CuptiSource::at_sink() const noexcept {
  return cupti::callback_state().closed.load(std::memory_order_relaxed) != Closed::kForked &&
         Process::instance().owner() == this;
}

SourceState CuptiSource::state() const noexcept {
  try {
    if (const std::string_view why = why_closed(); !why.empty()) return {false, std::string(why)};
    if (Process::instance().owner() == this) return Process::instance().state();
    const std::lock_guard lock(shared_->mutex);
    return shared_->last;
  } catch (const std::exception&) {
    return {false, "no memory"};  // for the reason
  }
}

SourceState cupti_prepare(const CuptiSeams& seams, const CuptiOptions& options) noexcept {
  try {
    if (const std::string_view why = why_closed(); !why.empty()) return {false, std::string(why)};
    return Process::instance().prepare(options, seams);
  } catch (const std::exception& error) {
    return not_started(error);
  }
}

void cupti_is_in_cuinit(bool now) noexcept { cupti::cuda_is_initializing(now); }

Status cupti_release(std::chrono::steady_clock::time_point deadline) noexcept try {
  return why_closed().empty() ? Process::instance().release(deadline) : Status();
} catch (...) {
  return Error(ErrorCode::kInternal, "no memory");
}

void cupti_after_fork_in_child() noexcept { cupti::callback_state().closed.store(Closed::kForked); }

}  // namespace rangefinder::source
