// SPDX-License-Identifier: MIT
#include "common/operator_count.hpp"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>

namespace examples {
namespace {

std::atomic<std::int64_t> operators{0};

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction&) {
  operators.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace

std::int64_t operators_of(const std::function<void()>& work) {
  operators = 0;
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return operators;
}

}  // namespace examples
