// SPDX-License-Identifier: MIT
#include <rangefinder/detail/autograd.hpp>

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

// The nodes of a backward pass, as the engine runs them. Nothing watches the forward pass: ranges note how far the
// numbers of nodes are (rangefinder/detail/autograd.hpp).

namespace rangefinder::torch {
namespace {

// Of the nodes that run on this thread, innermost last, whether they were recorded. LibTorch calls start and end in
// pairs; a pair that began before the callback was added has no entry, and its end finds none.
thread_local std::vector<bool> running;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  running.push_back(detail::node_begin(function.name(), function.seqNr(), function.forwardThreadId()));
  return nullptr;  // a context would be an allocation for every node
}

void on_end(const at::RecordFunction&, at::ObserverContext*) {
  if (running.empty()) return;
  if (running.back()) detail::node_end();
  running.pop_back();
}

// LibTorch's own function: one more around it would cost every range twice.
constexpr detail::AutogradHooks kHooks{&at::sequence_number::peek,
                                       []() { return at::RecordFunction::currentThreadId(); }};

// When the library is loaded, as LibTorch asks of callbacks for all threads. They stay: no operator of a forward pass
// looks at a callback that wants nodes alone.
const bool added = [] {
  at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  detail::set_autograd_hooks(&kHooks);
  return true;
}();

}  // namespace
}  // namespace rangefinder::torch
