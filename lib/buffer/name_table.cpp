// SPDX-License-Identifier: MIT
#include "buffer/name_table.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace rangefinder::buffer {
namespace {

constexpr std::size_t kTextBlock = std::size_t{1} << 20;

void* reserve(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Leaked: ranges run until the last instruction of the process.
template <int Which>
NameTable& table() noexcept {
  alignas(NameTable) static std::byte storage[sizeof(NameTable)];
  static NameTable* const instance = new (storage) NameTable;
  return *instance;
}

void lock_tables() noexcept {
  table<0>().lock();
  table<1>().lock();
}
void unlock_tables() noexcept {
  table<1>().unlock();
  table<0>().unlock();
}

// As the library is loaded: a range that only a listener hears is named too, long before any recording. A child of fork
// must not wait for a thread that interned a name in the parent.
[[maybe_unused]] const int watches_forks =
    (lock_tables(), unlock_tables(), ::pthread_atfork(lock_tables, unlock_tables, unlock_tables));

}  // namespace

bool NameTable::reserve_memory() noexcept {
  if (slots_.load(std::memory_order_relaxed) != nullptr) return true;
  if (entries_ == nullptr) entries_ = static_cast<Entry*>(reserve(kCapacity * sizeof(Entry)));
  void* slots = reserve(kSlots * sizeof(std::uint32_t));
  if (entries_ == nullptr || slots == nullptr) return false;
  slots_.store(static_cast<std::atomic<std::uint32_t>*>(slots), std::memory_order_release);
  return true;
}

const char* NameTable::store(std::string_view text) noexcept {
  if (text.size() > text_left_) {
    text_at_ = static_cast<char*>(reserve(kTextBlock));
    text_left_ = text_at_ != nullptr ? kTextBlock : 0;
    if (text_at_ == nullptr) return nullptr;
  }
  char* const at = text_at_;
  std::memcpy(at, text.data(), text.size());
  text_at_ += text.size();
  text_left_ -= text.size();
  text_bytes_ += text.size();
  return at;
}

std::size_t NameTable::find_slot(std::string_view text, std::uint32_t hash) const noexcept {
  const std::atomic<std::uint32_t>* slots = slots_.load(std::memory_order_acquire);
  std::size_t at = hash & (kSlots - 1);
  for (;; at = (at + 1) & (kSlots - 1)) {
    const std::uint32_t id = slots[at].load(std::memory_order_acquire);
    if (id == 0) return at;
    const Entry& entry = entries_[id - 1];
    if (entry.hash == hash && std::string_view(entry.text, entry.size) == text) return at;
  }
}

bool NameTable::has_room(std::size_t bytes, Use use) const noexcept {
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  if (use == Use::kReserved) return count < kCapacity;
  if (use == Use::kInputs && (inputs_ >= kMaxInputs || input_bytes_ + bytes > kMaxInputBytes)) return false;
  return count < kMaxNames && text_bytes_ + bytes <= kMaxTextBytes;
}

NameTable::Interned NameTable::intern(std::string_view text, Use use) noexcept {
  Interned result;
  result.truncated = text.size() > kMaxNameBytes;
  text = text.substr(0, kMaxNameBytes);
  const auto hash = static_cast<std::uint32_t>(detail::hash_text(text.data(), text.size()) >> 32);
  if (const std::atomic<std::uint32_t>* slots = slots_.load(std::memory_order_acquire); slots != nullptr) {
    result.id = slots[find_slot(text, hash)].load(std::memory_order_acquire);
    if (result.id != 0) return result;
  }
  lock();
  if (reserve_memory()) {
    const std::size_t at = find_slot(text, hash);
    std::atomic<std::uint32_t>& slot = slots_.load(std::memory_order_relaxed)[at];
    result.id = slot.load(std::memory_order_relaxed);
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    if (result.id == 0 && has_room(text.size(), use)) {
      if (const char* stored = text.empty() ? "" : store(text); stored != nullptr) {
        Entry& entry = entries_[count];
        entry.text = stored;
        entry.size = static_cast<std::uint32_t>(text.size());
        entry.hash = hash;
        result.id = count + 1;
        result.is_new = true;
        inputs_ += use == Use::kInputs ? 1 : 0;
        input_bytes_ += use == Use::kInputs ? text.size() : 0;
        count_.store(result.id, std::memory_order_release);
        slot.store(result.id, std::memory_order_release);
      }
    }
  }
  unlock();
  return result;
}

std::string_view NameTable::text(std::uint32_t id) const noexcept {
  if (id == 0 || id > size()) return {};
  return {entries_[id - 1].text, entries_[id - 1].size};
}

NameTable& names() noexcept { return table<0>(); }

NameTable& categories() noexcept {
  NameTable& table_of_categories = table<1>();
  if (table_of_categories.size() == 0) table_of_categories.intern("operator", false);
  return table_of_categories;
}

}  // namespace rangefinder::buffer
