// SPDX-License-Identifier: MIT
#include "source/torch/operator_inputs.hpp"

#include <rangefinder/detail/operators.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/torch/operators.hpp>

#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace rangefinder::torch {
namespace {

// What runs at once on one thread. Only operators that end on another thread, which are never taken off, can be more.
constexpr std::size_t kMaxRunning = 4096;

// What all that record ask for together.
std::atomic<bool> wants_shapes{false};
std::atomic<bool> wants_user_scopes{false};
std::atomic<double> sampling{1};
std::atomic<bool> wants_names_alone{true};  // no shapes, and sampling is not below 1

/// What LibTorch runs on one thread, as far as its start was told.
class RunningOperators {
 public:
  void begin(const at::RecordFunction& function) {
    if (top_ == kMaxRunning) forget_oldest();
    const bool is_operator = function.scope() != at::RecordScope::USER_SCOPE;
    Running& now = running_[top_++];
    now = {&function, 0, 0, is_operator};  // before the range opens: to find the inputs may throw
    if (is_operator && wants_names_alone.load(std::memory_order_relaxed))
      now.token = open(function, 0, now.word);
    else
      now.token = begin_at_length(function, now.word);
  }

  void end(const at::RecordFunction& function) noexcept {
    if (top_ == 0 || running_[top_ - 1].function != &function) return end_further_out(function);
    const Running& last = running_[--top_];
    detail::end(last.token, last.word);
  }

 private:
  struct Running {
    const at::RecordFunction* function;  // its address alone counts
    std::uint64_t token, word;           // of the range
    bool is_operator;
  };

  [[gnu::noinline]] void end_further_out(const at::RecordFunction& function) noexcept {
    // Not found: it began before the callback was added, or on another thread. What began later and is still there has
    // ended elsewhere: its range stays open until the one around it closes, and counts as unfinished.
    for (std::size_t i = top_; i-- != 0;) {
      if (running_[i].function != &function) continue;
      top_ = i;
      return detail::end(running_[i].token, running_[i].word);
    }
  }

  // As the recorder's own: give the token, set the word.

  static std::uint64_t open(const at::RecordFunction& function, std::uint32_t inputs, std::uint64_t& word) noexcept {
    const std::int64_t sequence = function.seqNr();
    const std::uint64_t forward_thread = sequence >= 0 ? function.forwardThreadId() : 0;
    if (forward_thread == 0 && inputs == 0) return detail::begin_operator(function.name(), sequence, word);
    return detail::begin_operator(function.name(), sequence, forward_thread, inputs, word);
  }

  [[gnu::noinline]] std::uint64_t begin_at_length(const at::RecordFunction& function, std::uint64_t& word) {
    if (function.scope() == at::RecordScope::USER_SCOPE) return open_user_scope(function, word);
    if (is_left_out()) {
      detail::count_sampled_out();
      return 0;
    }
    return open(function, inputs_of(function), word);
  }

  static std::uint64_t open_user_scope(const at::RecordFunction& function, std::uint64_t& word) noexcept {
    if (!wants_user_scopes.load(std::memory_order_relaxed)) return 0;
    const std::string_view name = function.name();
    if (function.isAsync() && is_gloo_message(name)) return 0;
    return detail::begin_text(name.data(), name.size(), 0, word);
  }

  /// Gloo begins a slice where a message is posted, and ends it only when the work object goes: on any thread, after
  /// what is around it. As a range it would stay open.
  static bool is_gloo_message(std::string_view name) noexcept {
    return name.rfind("gloo:send", 0) == 0 || name.rfind("gloo:recv", 0) == 0;
  }

  std::uint32_t inputs_of(const at::RecordFunction& function) {
    if (!wants_shapes.load(std::memory_order_relaxed) || !detail::is_recording()) return 0;
    const OperatorInputs::Found found = inputs_.find(function);
    if (found.lost) detail::count_lost_inputs();
    return found.id;
  }

  void forget_oldest() noexcept {
    std::copy(running_.get() + kMaxRunning / 2, running_.get() + kMaxRunning, running_.get());
    top_ = kMaxRunning / 2;
  }

  /// Whether the operator that begins now is not recorded.
  bool is_left_out() noexcept {
    const double share = sampling.load(std::memory_order_relaxed);
    if (share >= 1) return false;
    if (is_outermost()) leaves_out_ = !is_drawn(share);
    return leaves_out_;
  }

  /// Whether no other operator is around the one that was told last.
  bool is_outermost() const noexcept {
    return std::none_of(running_.get(), running_.get() + top_ - 1,
                        [](const Running& running) { return running.is_operator; });
  }

  /// Whether the operator that begins now, with none around it, is among those that are recorded. By chance: every
  /// tenth would be the same one of each step, in a program whose steps have ten.
  bool is_drawn(double share) noexcept {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<double>(random_ >> 11) * 0x1p-53 < share;
  }

  std::unique_ptr<Running[]> running_{new Running[kMaxRunning]};  // innermost last; pages that are not used cost none
  std::size_t top_ = 0;
  bool leaves_out_ = false;  // while operators are sampled: what runs now, all of it
  std::uint64_t random_ = (at::RecordFunction::currentThreadId() + 1) * 0x9E3779B97F4A7C15u;
  OperatorInputs inputs_;
};

// As detail::hot_thread: one load, where a thread_local with a destructor asks each time whether it was made.
__thread RunningOperators* list_of_thread __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local bool is_gone = false;

/// Null in a thread that ends and has given up its list: the destructors of other things may still run operators.
[[gnu::noinline]] RunningOperators* make_list() {
  struct Owner {
    RunningOperators running;
    ~Owner() {
      is_gone = true;
      list_of_thread = nullptr;
    }
  };
  if (is_gone) return nullptr;
  thread_local Owner owner;
  return list_of_thread = &owner.running;
}

RunningOperators* on_this_thread() { return list_of_thread != nullptr ? list_of_thread : make_list(); }

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) noexcept try {
  if (RunningOperators* const running = on_this_thread(); running != nullptr) running->begin(function);
  return nullptr;  // a context would be an allocation for every operator
} catch (...) {    // no memory; the operator itself goes on
  detail::count_lost_operator();
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext*) noexcept try {
  if (RunningOperators* const running = on_this_thread(); running != nullptr) running->end(function);
} catch (...) {  // no memory for the thread's own list: then nothing is in it
}

// ---- who records ------------------------------------------------------------------------------------------------

std::mutex mutex;
std::vector<const OperatorOptions*> users;
at::CallbackHandle handle = 0;

void update() {
  const bool had_shapes = wants_shapes.load();
  bool shapes = false, user_scopes = false;
  double share = 0;
  for (const OperatorOptions* options : users) {
    shapes = shapes || options->shapes;
    user_scopes = user_scopes || options->user_scopes;
    share = std::max(share, options->sampling >= 0 ? options->sampling : 1);
  }
  wants_shapes = shapes;
  wants_user_scopes = user_scopes;
  sampling = share;
  wants_names_alone = !shapes && share >= 1;
  if (handle != 0 && !users.empty() && shapes == had_shapes) return;
  if (handle != 0) at::removeCallback(handle);
  handle = 0;
  if (!users.empty()) handle = at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end).needsInputs(shapes));
}

}  // namespace

OperatorRecording::OperatorRecording(const OperatorOptions& options) : options_(options) {
  const std::lock_guard lock(mutex);
  users.push_back(&options_);
  update();
}

OperatorRecording::~OperatorRecording() {
  const std::lock_guard lock(mutex);
  users.erase(std::find(users.begin(), users.end(), &options_));
  update();
}

}  // namespace rangefinder::torch
