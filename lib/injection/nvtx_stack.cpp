// SPDX-License-Identifier: MIT
#include "injection/nvtx_stack.hpp"

#include "injection/injection.hpp"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace rangefinder::injection {
namespace {

struct Open {
  const Domain* domain;
  std::int32_t depth;  // among the ranges of its domain
  bool is_step;
  detail::OpenRange range;
};

struct Stack {
  static constexpr std::uint32_t kDeepest = 65535;
  std::uint32_t size;
  std::uint32_t beyond;  // pushed above the deepest, and only counted
  Open places[kDeepest];
};

// Reached without a call; 8 bytes of the static reserve.
__thread Stack* thread_stack __attribute__((tls_model("initial-exec")));

void release(void* stack) noexcept {
  thread_stack = nullptr;
  ::munmap(stack, sizeof(Stack));
}

// Mapped at its full size, of which the system gives what is touched: it never moves, and a push allocates nothing.
Stack* map_stack() noexcept {
  static pthread_key_t key;
  static const bool made = ::pthread_key_create(&key, release) == 0;
  if (!made) return nullptr;
  void* const memory =
      ::mmap(nullptr, sizeof(Stack), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (::pthread_setspecific(key, memory) != 0) return ::munmap(memory, sizeof(Stack)), nullptr;
  return thread_stack = static_cast<Stack*>(memory);
}

/// Position of the innermost range of the domain, plus one; 0: none.
std::uint32_t find(const Stack& stack, const Domain* domain) noexcept {
  std::uint32_t at = stack.size;
  while (at > 0 && stack.places[at - 1].domain != domain) --at;
  return at;
}

}  // namespace

Push::Push(const Domain* domain) noexcept : depth_(NVTX_NO_PUSH_POP_TRACKING) {
  Stack* const stack = thread_stack != nullptr ? thread_stack : map_stack();
  if (stack == nullptr) return;
  const std::uint32_t outer = find(*stack, domain);
  depth_ = outer == 0 ? 0 : stack->places[outer - 1].depth + 1;
  if (stack->size == Stack::kDeepest) {
    depth_ += static_cast<std::int32_t>(stack->beyond++);
    return;
  }
  Open& open = stack->places[stack->size++];
  open = {domain, depth_, false, {}};
  place_ = &open.range;
}

void Push::set_step() noexcept {
  if (place_ != nullptr) thread_stack->places[thread_stack->size - 1].is_step = true;
}

int pop(const Domain* domain) noexcept {
  Stack* const stack = thread_stack;
  if (stack == nullptr) return -1;
  const std::uint32_t found = find(*stack, domain);
  if (stack->beyond > 0) return (found == 0 ? 0 : stack->places[found - 1].depth) + static_cast<int>(stack->beyond--);
  if (found == 0) return -1;
  Open* const at = stack->places + found - 1;
  Open* const end = stack->places + stack->size;
  const Open popped = *at;
  std::copy(at + 1, end, at);
  --stack->size;
  // Ranges of other domains that are open inside stay so.
  const bool innermost = std::all_of(at, end - 1, [](const Open& open) { return open.range.token == 0; });
  if (innermost)
    detail::end(popped.range.token, popped.range.word);
  else
    detail::end_out_of_order(popped.range.token, popped.range.word);
  if (popped.is_step) end_step();
  return popped.depth;
}

}  // namespace rangefinder::injection
