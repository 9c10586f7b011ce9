// SPDX-License-Identifier: MIT
#include "buffer/thread_names.hpp"

#include "buffer/name_table.hpp"
#include "buffer/thread_sync.hpp"

#include <rangefinder/detail/nvtx.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace rangefinder::buffer {
namespace {

struct GivenName {
  std::uint32_t tid;
  std::uint32_t name;
};

// Of more threads than anybody names one by one; the oldest make room.
constexpr std::size_t kMax = 4096;
GivenName given[kMax];
std::atomic<std::uint32_t> count{0};
ShortLock lock;

GivenName* find(std::uint32_t tid) noexcept {
  GivenName* const end = given + std::min<std::size_t>(count.load(std::memory_order_relaxed), kMax);
  GivenName* const found = std::find_if(given, end, [&](const GivenName& one) { return one.tid == tid; });
  return found != end ? found : nullptr;
}

}  // namespace

std::uint32_t given_thread_names() noexcept { return count.load(std::memory_order_acquire); }

std::uint32_t given_thread_name(std::uint32_t tid) noexcept {
  const std::lock_guard guard(lock);
  const GivenName* const found = find(tid);
  return found != nullptr ? found->name : 0;
}

void lock_thread_names() noexcept { lock.lock(); }
void unlock_thread_names() noexcept { lock.unlock(); }

}  // namespace rangefinder::buffer

void rangefinder::detail::name_thread(std::uint32_t tid, std::string_view text) noexcept {
  using namespace rangefinder::buffer;
  const std::uint32_t name = text.empty() || tid == 0 ? 0 : names().intern(text, false).id;
  if (name == 0) return;
  const std::lock_guard guard(lock);
  const std::uint32_t number = count.load(std::memory_order_relaxed);
  GivenName* place = find(tid);
  if (place != nullptr && place->name == name) return;
  if (place == nullptr) place = &given[number % kMax];
  *place = {tid, name};
  count.store(number + 1, std::memory_order_release);
}
