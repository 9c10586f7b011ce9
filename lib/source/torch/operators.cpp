// SPDX-License-Identifier: MIT
#include <rangefinder/range.hpp>
#include <rangefinder/torch/operators.hpp>

#include <ATen/record_function.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace rangefinder::torch {
namespace {

// The ranges of the operators that run on this thread, innermost last. LibTorch calls start and end in pairs; a pair
// that began before the callback was added has no entry, and its end finds none.
thread_local std::vector<detail::OpenRange> open_operators;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const char* name = function.name();
  detail::OpenRange range;
  range.token = detail::begin_text(name, std::char_traits<char>::length(name), Category::operators().id(), range.word);
  open_operators.push_back(range);
  return nullptr;  // a context would be an allocation for every operator
}

void on_end(const at::RecordFunction&, at::ObserverContext*) {
  if (open_operators.empty()) return;
  const detail::OpenRange range = open_operators.back();
  open_operators.pop_back();
  detail::end(range.token, range.word);
}

std::mutex mutex;
std::size_t users = 0;
at::CallbackHandle handle = 0;

}  // namespace

OperatorRecording::OperatorRecording() {
  const std::lock_guard lock(mutex);
  if (users++ != 0) return;
  handle = at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end)
                                     .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OperatorRecording::~OperatorRecording() {
  const std::lock_guard lock(mutex);
  if (--users == 0) at::removeCallback(handle);
}

}  // namespace rangefinder::torch
