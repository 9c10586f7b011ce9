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
constexpr std::size_t kMostRunning = 4096;

// What all that record ask for together.
std::atomic<bool> wants_shapes{false};
std::atomic<bool> wants_user_scopes{false};
std::atomic<double> sampling{1};
std::atomic<bool> samples{false};  // sampling is below 1

/// What LibTorch runs on one thread, as far as its start was told.
class RunningOperators {
 public:
  void begin(const at::RecordFunction& function) {
    if (running_.size() == kMostRunning) forget_oldest();
    const bool is_operator = function.scope() != at::RecordScope::USER_SCOPE;
    running_.push_back({&function, {}, is_operator});  // before the range opens: it may throw
    if (samples.load(std::memory_order_relaxed) && is_operator && is_outermost()) is_left_out_ = !is_drawn();
    running_.back().range = is_operator ? begin_operator(function) : begin_user_scope(function);
  }

  void end(const at::RecordFunction& function) noexcept {
    if (running_.empty() || running_.back().function != &function) return end_further_out(function);
    const detail::OpenRange range = running_.back().range;
    running_.pop_back();
    detail::end(range.token, range.word);
  }

 private:
  struct Running {
    const at::RecordFunction* function;  // its address alone counts
    detail::OpenRange range;
    bool is_operator;
  };

  void end_further_out(const at::RecordFunction& function) noexcept {
    // Not found: it began before the callback was added, or on another thread. What began later and is still there has
    // ended elsewhere: its range stays open until the one around it closes, and counts as unfinished.
    const auto found = std::find_if(running_.rbegin(), running_.rend(),
                                    [&](const Running& running) { return running.function == &function; });
    if (found == running_.rend()) return;
    const detail::OpenRange range = found->range;
    while (running_.back().function != &function) running_.pop_back();
    running_.pop_back();
    detail::end(range.token, range.word);
  }

  detail::OpenRange begin_operator(const at::RecordFunction& function) {
    if (samples.load(std::memory_order_relaxed) && is_left_out_) {
      detail::count_sampled_out();
      return {};
    }
    const std::int64_t sequence = function.seqNr();
    const std::uint64_t made_on = sequence >= 0 ? function.forwardThreadId() : 0;
    return detail::begin_operator(function.name(), Category::operators().id(), sequence, made_on, inputs_of(function));
  }

  std::uint32_t inputs_of(const at::RecordFunction& function) {
    if (!wants_shapes.load(std::memory_order_relaxed) || !detail::is_recording()) return 0;
    const OperatorInputs::Found found = inputs_.find(function);
    if (found.lost) detail::count_lost_inputs();
    return found.id;
  }

  static detail::OpenRange begin_user_scope(const at::RecordFunction& function) noexcept {
    detail::OpenRange range;
    if (!wants_user_scopes.load(std::memory_order_relaxed)) return range;
    const std::string_view name = function.name();
    range.token = detail::begin_text(name.data(), name.size(), 0, range.word);
    return range;
  }

  void forget_oldest() noexcept {
    running_.erase(running_.begin(), running_.begin() + static_cast<std::ptrdiff_t>(running_.size() / 2));
  }

  /// Whether no other operator is around the one that was told last.
  bool is_outermost() const noexcept {
    return std::none_of(running_.begin(), running_.end() - 1,
                        [](const Running& running) { return running.is_operator; });
  }

  /// Whether the operator that begins now, with none around it, is among those that are recorded. By chance: every
  /// tenth would be the same one of each step, in a program whose steps have ten.
  bool is_drawn() noexcept {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<double>(random_ >> 11) * 0x1p-53 < sampling.load(std::memory_order_relaxed);
  }

  std::vector<Running> running_;  // innermost last
  bool is_left_out_ = false;      // while operators are sampled: what runs now, all of it
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
  samples = share < 1;
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
