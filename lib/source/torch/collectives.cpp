// SPDX-License-Identifier: MIT
#include "source/torch/c10d_calls.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/torch/collectives.hpp>

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::torch {
namespace {

using detail::CollectivePhase;

constexpr std::string_view kOperators = "c10d::", kGloo = "gloo:", kTold = "record_param_comms";
// Copied by LibTorch to the threads that do Gloo's work. Nothing in a program but LibTorch's own tests uses it.
constexpr auto kCallInfo = c10::DebugInfoKind::TEST_INFO_2;

// Of the thread: the call that it is in, and the one that it began last. 0: none.
thread_local std::uint32_t open_call = 0;
thread_local std::uint32_t last_call = 0;

/// The call of a collective for which a thread works.
struct CallInfo final : c10::DebugInfoBase {
  explicit CallInfo(std::uint32_t call) : handle(call) {}
  std::uint32_t handle;
};

/// What the end of a function has to know of its start.
class Context : public at::ObserverContext {
 public:
  virtual void end() noexcept = 0;
};

/// A call, from one of c10d's operators or as a backend tells it.
class Call final : public Context {
 public:
  explicit Call(const BegunCall& begun) : begun_(begun), outer_call_(open_call) {
    if (begun.handle == 0) return;
    working_for_.emplace(kCallInfo, std::make_shared<CallInfo>(begun.handle));
    open_call = last_call = begun.handle;
  }
  void end() noexcept override {
    end_message(begun_.messages_of);
    if (begun_.handle == 0) return;
    open_call = outer_call_;
    working_for_.reset();
    detail::note_collective(begun_.handle, CollectivePhase::kReturned);
  }

 private:
  BegunCall begun_;
  std::uint32_t outer_call_;
  std::optional<c10::DebugInfoGuard> working_for_;
};

/// Gloo's work, mostly on a thread of its own.
class Work final : public Context {
 public:
  explicit Work(std::uint32_t handle) : handle_(handle) { detail::note_collective(handle, CollectivePhase::kStarted); }
  void end() noexcept override {
    // Gloo ends work that failed while it handles the error: a rank is gone, or did not come in time. That work is
    // never completed.
    if (std::current_exception() == nullptr) detail::note_collective(handle_, CollectivePhase::kCompleted);
  }

 private:
  std::uint32_t handle_;
};

class Waiting final : public Context {
 public:
  explicit Waiting(std::uint32_t handle) : handle_(handle) {
    detail::note_collective(handle, CollectivePhase::kWaitBegan);
  }
  void end() noexcept override { detail::note_collective(handle_, CollectivePhase::kWaitEnded); }

 private:
  std::uint32_t handle_;
};

std::unique_ptr<at::ObserverContext> on_operator(const at::RecordFunction& function, std::string_view name) {
  const BegunCall begun = begin_operator_call(function, name);
  if (begun.handle == 0 && begun.messages_of == nullptr) return nullptr;
  return std::make_unique<Call>(begun);
}

std::unique_ptr<at::ObserverContext> on_told(const at::RecordFunction& function) {
  if (open_call != 0) {  // inside an operator of c10d, which has told all of it
    remember_told(function, open_call);
    return nullptr;
  }
  if (const std::uint32_t waited_for = find_told_wait(function); waited_for != 0)
    return std::make_unique<Waiting>(waited_for);
  const std::uint32_t handle = begin_told_call();
  if (handle == 0) return nullptr;
  remember_told(function, handle);
  return std::make_unique<Call>(BegunCall{handle, nullptr});
}

std::unique_ptr<at::ObserverContext> on_gloo() {
  const auto* const info = static_cast<const CallInfo*>(c10::ThreadLocalDebugInfo::get(kCallInfo));
  return info != nullptr ? std::make_unique<Work>(info->handle) : nullptr;
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) noexcept try {
  const std::string_view name = function.name();
  switch (name.empty() ? '\0' : name.front()) {
    case 'c':  // also while nothing is recorded: sends and receives are counted
      if (!name.starts_with(kOperators) || function.inputs().empty()) return nullptr;
      return on_operator(function, name.substr(kOperators.size()));
    case 'r':
      return name == kTold && detail::is_recording() ? on_told(function) : nullptr;
    case 'g':
      return name.starts_with(kGloo) && detail::is_recording() ? on_gloo() : nullptr;
    default:
      return nullptr;
  }
} catch (...) {  // no memory; the operator itself goes on
  detail::count_lost_collective();
  return nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) noexcept {
  if (context != nullptr) static_cast<Context*>(context)->end();
}

std::mutex mutex;
std::vector<const CollectiveOptions*> users;
at::CallbackHandle handle = 0;

void update() {
  if (handle != 0) at::removeCallback(handle);
  handle = 0;
  if (users.empty()) return;
  const bool inputs = std::any_of(users.begin(), users.end(), [](const auto* options) { return options->inputs; });
  handle = at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end)
                                     .needsInputs(inputs)
                                     .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
}

}  // namespace

CollectiveRecording::CollectiveRecording(const CollectiveOptions& options) : options_(options) {
  const std::lock_guard lock(mutex);
  users.push_back(&options_);
  update();
}

CollectiveRecording::~CollectiveRecording() {
  const std::lock_guard lock(mutex);
  users.erase(std::find(users.begin(), users.end(), &options_));
  update();
}

const std::string& CollectiveRecording::state() const noexcept {
  static const std::string& recorded = *new std::string("recorded");
  return recorded;
}

CalledCollective::CalledCollective() noexcept : handle_(std::exchange(last_call, 0)) {}

WaitForCollective::WaitForCollective(const CalledCollective& called) noexcept : handle_(called.handle_) {
  detail::note_collective(handle_, CollectivePhase::kWaitBegan);
}

WaitForCollective::~WaitForCollective() { detail::note_collective(handle_, CollectivePhase::kWaitEnded); }

}  // namespace rangefinder::torch
