// SPDX-License-Identifier: MIT
#include "buffer/literals.hpp"

#include "base/never_destroyed.hpp"
#include "base/signals_blocked.hpp"
#include "buffer/thread_sync.hpp"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <shared_mutex>
#include <thread>

namespace rangefinder::buffer {
namespace {

/// Shared by those who read the list of libraries, exclusive to one who forks. Ranges end in exit handlers too.
std::shared_mutex& libraries() noexcept {
  static base::NeverDestroyed<std::shared_mutex> mutex;
  return *mutex;
}

void read_libraries(int (*visit)(dl_phdr_info*, std::size_t, void*), void* user) noexcept {
  const std::shared_lock lock(libraries());
  ::dl_iterate_phdr(visit, user);
}

/// True for an address in a read-only part of a loaded program or library: where literals are, and nothing that
/// changes.
bool is_constant(const char* address) noexcept {
  struct Search {
    std::uintptr_t address;
    bool found;
  } search{reinterpret_cast<std::uintptr_t>(address), false};
  read_libraries(
      [](dl_phdr_info* info, std::size_t, void* user) {
        auto& wanted = *static_cast<Search*>(user);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || wanted.address < begin || wanted.address - begin >= segment.p_memsz)
            continue;
          wanted.found = (segment.p_flags & PF_W) == 0;
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

}  // namespace

std::uint64_t unloaded_libraries() noexcept {
  std::uint64_t count = 0;
  read_libraries(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_subs;
        return 1;
      },
      &count);
  return count;
}

void keep_off_libraries() noexcept { libraries().lock(); }

void allow_libraries(bool in_child) noexcept {
  libraries().unlock();
  // A thread that waited for the fork is counted in the lock, and is not there in the child.
  if (in_child) new (&libraries()) std::shared_mutex;
}

bool can_read_libraries(std::chrono::milliseconds most) noexcept try {
  static std::atomic<std::uint32_t> answered;  // the thread may never end
  answered.store(0);
  const base::SignalsBlocked blocked;
  std::thread([] {
    (void)unloaded_libraries();
    answered.store(1);
    futex_wake_all(answered);
  }).detach();
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (answered.load() == 0 && std::chrono::steady_clock::now() < deadline) futex_wait(answered, 0, most);
  return answered.load() != 0;
} catch (const std::exception&) {  // no thread: a recording would have none either
  return false;
}

void Literals::forget_first() noexcept {
  for (detail::LiteralSlot& slot : first_) __atomic_store_n(&slot.address, nullptr, __ATOMIC_RELAXED);
}

void Literals::forget_unloaded(std::uint64_t unloaded) noexcept {
  if (unloaded <= unloaded_) return;
  forget_first();
  std::memset(known_, 0, sizeof known_);
  std::memset(not_literals_, 0, sizeof not_literals_);
  known_count_ = 0;
  unloaded_ = unloaded;
}

/// Where the address is, or would go, among the known ones.
detail::LiteralSlot& Literals::known_slot(const char* literal) noexcept {
  std::size_t at = (reinterpret_cast<std::uintptr_t>(literal) * 0x9E3779B97F4A7C15u >> 40) & (kKnown - 1);
  while (known_[at].address != nullptr && known_[at].address != literal) at = (at + 1) & (kKnown - 1);
  return known_[at];
}

std::uint64_t Literals::find_out(const char* literal, std::size_t size,
                                 std::uint32_t (*intern)(const char*, std::size_t)) noexcept {
  const char** const end = not_literals_ + kNotLiterals;
  if (std::find(static_cast<const char**>(not_literals_), end, literal) != end) return 0;
  if (is_constant(literal)) return detail::make_word(detail::RecordKind::kBegin, intern(literal, size));
  not_literals_[reinterpret_cast<std::uintptr_t>(literal) / 8 % kNotLiterals] = literal;
  return 0;
}

std::uint64_t Literals::word(const char* literal, std::size_t size, std::uint64_t unloaded,
                             std::uint32_t (*intern)(const char*, std::size_t)) noexcept {
  detail::LiteralSlot& first = first_[reinterpret_cast<std::uintptr_t>(literal) & (detail::kLiteralSlots - 1)];
  if (__atomic_load_n(&first.address, __ATOMIC_RELAXED) == literal) return first.word;
  forget_unloaded(unloaded);
  if (const detail::LiteralSlot& known = known_slot(literal); known.address == literal) return known.word;
  forget_unloaded(unloaded_libraries());
  const std::uint64_t word = find_out(literal, size, intern);
  if (word == 0) return 0;
  if (__atomic_load_n(&first.address, __ATOMIC_RELAXED) == nullptr) {
    first.word = word;  // before the address, by which it is found
    __atomic_store_n(&first.address, literal, __ATOMIC_RELAXED);
  } else if (known_count_ < kKnown / 2) {
    known_slot(literal) = {literal, word};
    ++known_count_;
  }
  return word;
}

}  // namespace rangefinder::buffer
